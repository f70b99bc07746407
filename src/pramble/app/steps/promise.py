"""Step 3: what is promised, what an intruder can learn, and what readers will get."""

from shiny import Inputs, Outputs, Session, module
from shiny.ui import Tag, tags

from pramble.app.view import View


@module.ui
def promise_ui() -> Tag:
    """Return what is shown."""
    return tags.section(tags.h2("How much privacy?"), aria_label="Promise")


@module.server
def promise_server(input: Inputs, output: Outputs, session: Session, view: View) -> None:
    """Do what the step offers."""
