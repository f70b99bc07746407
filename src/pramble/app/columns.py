"""Step 2: what each column is, what happens to it, and what readers will want."""

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, tags

from pramble.app.column import serve_column
from pramble.app.parts import notice
from pramble.app.requirements import serve_wishes
from pramble.app.tasks import count
from pramble.app.view import View
from pramble.app.wizard import Wizard
from pramble.releasing.profile.columns import Look
from pramble.words import visible, visible_names

ACTIONS = {
    "randomise": "randomise (protected)",
    "drop": "drop (left out)",
    "keep": "keep as it is (not protected)",
}


@module.ui
def columns_ui() -> Tag:
    """Return what is shown."""
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
        ui.output_ui("wishes"),
        ui.output_ui("onwards_line"),
        aria_label="Columns",
    )


@module.server
def columns_server(input: Inputs, output: Outputs, session: Session, view: View) -> None:
    """Do what the step offers."""
    desk = view.desk
    serve_column(input, session, view)
    serve_wishes(input, session, view)

    @reactive.effect
    def _() -> None:
        """Count the categories whenever they are others."""
        view.watch("source", "plan")
        if desk.survey is not None and desk.columns and desk.counted_for != desk.columns_alone:
            desk.counted_for = desk.columns_alone
            assert desk.source is not None
            view.begin("counts", count, desk.source.path, desk.columns_alone, progress=True)

    @reactive.effect
    @reactive.event(input.action)
    def _() -> None:
        told = input.action()
        name = name_at(desk, told["about"])
        desk.act(name, told["value"])
        desk.picked = name
        view.changed("plan", "column")

    @reactive.effect
    @reactive.event(input.pick)
    def _() -> None:
        desk.picked = name_at(desk, input.pick()["about"])
        view.changed("column")

    @reactive.effect
    @reactive.event(input.declare_all)
    def _() -> None:
        desk.declared |= set(desk.columns)
        view.changed("plan", "column")

    @render.ui
    def ahead() -> TagChild:
        view.watch("source", "plan")
        if desk.survey is None:
            return notice("note", "Open a file first, in step 1.")
        if not desk.columns:
            return notice("warning", "No column is randomised yet: choose some below.")
        if not desk.undeclared:
            return None
        return notice(
            "warning",
            tags.p(
                f"The categories of {visible_names(desk.undeclared)} are values that occur in the "
                "file. A release tells its categories: rare values that only this file has would "
                "be given away. Look at them, and add what else can occur."
            ),
            ui.input_action_button(
                "declare_all", "I have looked: they are all there can be", class_="btn-sm"
            ),
        )

    @render.ui
    def listing() -> TagChild:
        view.watch("source")
        return None if desk.survey is None else listed_columns(desk, session)

    @render.ui
    def onwards_line() -> TagChild:
        view.watch("source")
        if desk.survey is None:
            return None
        return ui.input_action_button("onwards", "Go on: the promise", class_="btn-primary")

    @reactive.effect
    @reactive.event(input.onwards)
    def _() -> None:
        view.go("promise")


def name_at(desk: Wizard, place: str) -> str:
    """Return the name of a column by its place in the file."""
    assert desk.survey is not None
    return desk.survey.looks[int(place)].name


def listed_columns(desk: Wizard, session: Session) -> Tag:
    """Return every column with what it looks like, and what happens to it."""
    assert desk.survey is not None
    rows = [
        tags.tr(
            tags.th(pick_button(look, place, session), scope="row"),
            tags.td(f"{look.kind}: {visible(look.reason)}"),
            tags.td(action_choice(desk, look, place, session)),
        )
        for place, look in enumerate(desk.survey.looks)
    ]
    head = ("Column", "What it looks like", "What happens to it")
    return tags.div(
        tags.table(
            tags.caption("Every column of the file; choose one for its details"),
            tags.thead(tags.tr(*[tags.th(word, scope="col") for word in head])),
            tags.tbody(*rows),
            class_="table table-sm of-columns",
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="Columns of the file",
    )


def pick_button(look: Look, place: int, session: Session) -> Tag:
    """Return a column's name as a button that shows its details."""
    return tags.button(
        visible(look.name) or "(no name)",
        type="button",
        class_="btn btn-link",
        aria_controls=session.ns("details"),
        data_tells=session.ns("pick"),
        data_about=str(place),
    )


def action_choice(desk: Wizard, look: Look, place: int, session: Session) -> Tag:
    """Return what can happen to a column, to choose from."""
    can = {name: words for name, words in ACTIONS.items() if name != "randomise" or fits(look)}
    now = desk.action(look.name)
    options = [
        tags.option(words, value=name, selected="" if name == now else None)
        for name, words in can.items()
    ]
    return tags.select(
        *options,
        class_="form-select form-select-sm",
        aria_label=f"What happens to {visible(look.name)}",
        data_tells=session.ns("action"),
        data_about=str(place),
    )


def fits(look: Look) -> bool:
    """Whether categories can be proposed for a column."""
    return look.can_be_randomised and look.size > 1
