"""Step 5: a release as its analyst sees it."""

from shiny import Inputs, Outputs, Session, module
from shiny.ui import Tag, tags

from pramble.app.view import View


@module.ui
def read_ui() -> Tag:
    """Return what is shown."""
    return tags.section(tags.h2("Read a release"), aria_label="Read")


@module.server
def read_server(input: Inputs, output: Outputs, session: Session, view: View) -> None:
    """Do what the step offers."""
