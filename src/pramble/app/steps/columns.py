"""Step 2: what each column is, what happens to it, and what readers will want."""

from shiny import Inputs, Outputs, Session, module
from shiny.ui import Tag, tags

from pramble.app.view import View


@module.ui
def columns_ui() -> Tag:
    """Return what is shown."""
    return tags.section(tags.h2("What happens to each column?"), aria_label="Columns")


@module.server
def columns_server(input: Inputs, output: Outputs, session: Session, view: View) -> None:
    """Do what the step offers."""
