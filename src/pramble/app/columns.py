"""Step 2: what each column is, what happens to it, and what readers will want."""

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, tags

from pramble.app.column import serve_column
from pramble.app.requirements import serve_requirements
from pramble.app.tasks import count
from pramble.app.view import View, button, notice, scrolled, selection, when
from pramble.app.wizard import Wizard
from pramble.releasing.profile.columns import Look
from pramble.releasing.profile.draft import size_of
from pramble.words import visible, visible_names

ACTIONS = {
    "randomise": "randomise (protected)",
    "drop": "drop (left out)",
    "keep": "keep as it is (not protected)",
}


@module.ui
def columns_ui() -> Tag:
    return tags.section(
        tags.h2("What happens to each column?"),
        tags.p(
            "Randomised columns are protected together by one promise. Columns that are dropped "
            "are left out. Columns that are kept as they are have no protection at all, and can "
            "single people out.",
            class_="lead-in",
        ),
        ui.output_ui("ahead"),
        tags.div(
            tags.div(ui.output_ui("listing")),
            tags.div(ui.output_ui("column"), class_="panel", id=module.resolve_id("details")),
            class_="columns-of",
        ),
        ui.output_ui("requirements"),
        ui.output_ui("onwards_line"),
        aria_label="Columns",
    )


@module.server
def columns_server(input: Inputs, output: Outputs, session: Session, view: View) -> None:
    wizard = view.wizard
    serve_column(input, view)
    serve_requirements(input, session, view)
    serve_actions(input, view)

    @render.ui
    def ahead() -> TagChild:
        view.watch("source", "plan")
        return what_is_missing(wizard)

    @render.ui
    def listing() -> TagChild:
        view.watch("source")
        return None if wizard.survey is None else listed_columns(wizard, session)

    @render.ui
    def onwards_line() -> TagChild:
        view.watch("source")
        if wizard.survey is None:
            return None
        return ui.input_action_button("onwards", "Go on: the promise", class_="btn-primary")

    when(input.onwards, lambda: view.go("promise"))

    @reactive.effect
    def _() -> None:  # categories are counted whenever they are others
        view.watch("source", "plan")
        columns = wizard.columns_alone if wizard.columns else {}
        if wizard.survey is not None and wizard.columns and wizard.counted_for != columns:
            wizard.counted_for = columns
            assert wizard.source is not None
            view.begin("counts", count, wizard.source.path, columns, progress=True)


def serve_actions(input: Inputs, view: View) -> None:
    """Take which column is picked, what happens to it, and that categories are complete."""
    wizard = view.wizard

    @reactive.effect
    @reactive.event(input.action)
    def _() -> None:
        event = input.action()
        name = name_at(wizard, event["about"])
        wizard.act(name, event["value"])
        wizard.picked = name
        view.changed("plan", "column")

    @reactive.effect
    @reactive.event(input.pick)
    def _() -> None:
        wizard.picked = name_at(wizard, input.pick()["about"])
        view.changed("column")

    @reactive.effect
    @reactive.event(input.declare_all)
    def _() -> None:
        wizard.declared |= set(wizard.columns)
        view.changed("plan", "column")


def what_is_missing(wizard: Wizard) -> TagChild:
    """Say what has to be done in this step before a release, if anything."""
    if wizard.survey is None:
        return notice("note", "Open a file first, in step 1.")
    if not wizard.columns:
        return notice("warning", "No column is randomised yet: choose some below.")
    if not wizard.undeclared:
        return None
    names = visible_names(wizard.undeclared)
    return notice(
        "warning",
        tags.p(
            f"The categories of {names} are values that occur in the file. A release tells its "
            "categories: rare values that only this file has would be given away. Look at them, "
            "and add what else can occur."
        ),
        ui.input_action_button(
            "declare_all", "I have looked: they are all there can be", class_="btn-sm"
        ),
    )


def name_at(wizard: Wizard, place: str) -> str:
    """Return the name of a column by its place in the file."""
    assert wizard.survey is not None
    return wizard.survey.looks[int(place)].name


def listed_columns(wizard: Wizard, session: Session) -> Tag:
    """Return every column with what it looks like, and what happens to it."""
    assert wizard.survey is not None
    rows = [
        tags.tr(
            tags.th(pick_button(look, place, session), scope="row"),
            tags.td(f"{look.kind}: {visible(look.reason)}"),
            tags.td(action_choice(wizard, look, place, session)),
        )
        for place, look in enumerate(wizard.survey.looks)
    ]
    head = ("Column", "What it looks like", "What happens to it")
    shown = tags.table(
        tags.caption("Every column of the file; choose one for its details"),
        tags.thead(tags.tr([tags.th(word, scope="col") for word in head])),
        tags.tbody(rows),
        class_="table table-sm of-columns",
    )
    return scrolled(shown, "Columns of the file")


def pick_button(look: Look, place: int, session: Session) -> Tag:
    """Return a column's name as a button that shows its details."""
    words, details = visible(look.name) or "(no name)", session.ns("details")
    return button(session, "pick", words, str(place), class_="btn btn-link", aria_controls=details)


def action_choice(wizard: Wizard, look: Look, place: int, session: Session) -> Tag:
    """Return what can happen to a column; only one with categories can be randomised."""
    fits = look.can_be_randomised and size_of(look) > 1
    return selection(
        session,
        "action",
        {name: words for name, words in ACTIONS.items() if name != "randomise" or fits},
        wizard.action(look.name),
        class_="form-select form-select-sm",
        aria_label=f"What happens to {visible(look.name)}",
        data_about=str(place),
    )
