"""Step 4: the plan, a dry run, and the release itself."""

from shiny import Inputs, Outputs, Session, module
from shiny.ui import Tag, tags

from pramble.app.view import View


@module.ui
def release_ui() -> Tag:
    """Return what is shown."""
    return tags.section(tags.h2("Release"), aria_label="Release")


@module.server
def release_server(input: Inputs, output: Outputs, session: Session, view: View) -> None:
    """Do what the step offers."""
