"""Step 2: what each column is, what happens to it, and what readers will want."""

from typing import Any

import numpy as np
import pyarrow as pa
from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.requirements import serve_requirements
from pramble.app.tasks import count
from pramble.app.view import (
    View,
    button,
    figure,
    notice,
    refusal,
    refused,
    scrolled,
    selection,
    table,
    when,
    work_line,
)
from pramble.app.wizard import Wizard
from pramble.app.written import category_lines, edges_text, fields_of, missing_text, settings_of
from pramble.data.arrays import numbers as finite_numbers
from pramble.data.recode import apply_all, as_recodings
from pramble.errors import PrambleError
from pramble.plots.estimates import bands_figure
from pramble.plots.images import to_svg
from pramble.releasing.profile.columns import ColumnProfile
from pramble.releasing.spec.column import ColumnSpec
from pramble.values import Floats
from pramble.words import several, visible, visible_names

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
    serve_choices(input, view)

    @render.ui
    def ahead() -> TagChild:
        view.watch("source", "plan")
        return missing_step(wizard)

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


def serve_choices(input: Inputs, view: View) -> None:
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


def missing_step(wizard: Wizard) -> TagChild:
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
    return wizard.survey.profiles[int(place)].name


def listed_columns(wizard: Wizard, session: Session) -> Tag:
    """Return every column with what it looks like, and what happens to it."""
    assert wizard.survey is not None
    rows = [
        tags.tr(
            tags.th(pick_button(look, place, session), scope="row"),
            tags.td(f"{look.kind}: {visible(look.reason)}"),
            tags.td(action_choice(wizard, look, place, session)),
        )
        for place, look in enumerate(wizard.survey.profiles)
    ]
    head = ("Column", "What it looks like", "What happens to it")
    shown = tags.table(
        tags.caption("Every column of the file; choose one for its details"),
        tags.thead(tags.tr([tags.th(word, scope="col") for word in head])),
        tags.tbody(rows),
        class_="table table-sm of-columns",
    )
    return scrolled(shown, "Columns of the file")


def pick_button(look: ColumnProfile, place: int, session: Session) -> Tag:
    """Return a column's name as a button that shows its details."""
    words, details = visible(look.name) or "(no name)", session.ns("details")
    return button(session, "pick", words, str(place), class_="btn btn-link", aria_controls=details)


def action_choice(wizard: Wizard, look: ColumnProfile, place: int, session: Session) -> Tag:
    """Return what can happen to a column; only one with categories can be randomised."""
    fits = look.can_be_randomised and look.size > 1
    return selection(
        session,
        "action",
        {name: words for name, words in ACTIONS.items() if name != "randomise" or fits},
        wizard.action(look.name),
        class_="form-select form-select-sm",
        aria_label=f"What happens to {visible(look.name)}",
        data_about=str(place),
    )


MOST_COUNTED = 200
BEFORE_BANDS = ("trim", "missing_values")
AS = {
    "band": "the band, such as 25-34",
    "midpoint": "the middle of the band",
    "point": "a number drawn within the band",
}
APART = {
    "": "alike, whichever two they are",
    "path": "the better the nearer they are in this order",
}


def serve_column(input: Inputs, view: View) -> None:
    """Show the column that was picked, and take what is said of it."""
    wizard = view.wizard

    @render.ui
    def column() -> TagChild:
        view.watch("source", "column")
        return column_details(wizard)

    @render.ui
    def picture() -> TagChild:
        view.watch("plan", "column")
        return bands_picture(wizard)

    @render.ui
    def counts() -> TagChild:
        view.watch("counts", "column")
        return column_counts(view)

    @reactive.effect
    @reactive.event(input.apply)
    def _() -> None:
        name = wizard.picked
        assert name is not None

        def change() -> None:
            written = {field: input[field]() for field in fields_of(wizard.columns[name])}
            wizard.settle(name, settings_of(wizard, name, written))
            if written.get("declared"):
                wizard.declared.add(name)
            else:
                wizard.declared.discard(name)

        view.attempt("column said", change, "plan")


def column_details(wizard: Wizard) -> TagChild:
    """Return what a column looks like, and its fields if it is randomised."""
    if wizard.survey is None:
        return None
    name = wizard.picked
    if name is None:
        return tags.p("Choose a column on the left to see its categories or bands.")
    look, action = wizard.look(name), wizard.action(name)
    about: list[TagChild] = [
        tags.h3(visible(name)),
        tags.p(f"{look.kind}: {visible(look.reason)}. ", empty_text(look.empty)),
    ]
    if name in wizard.survey.tells:
        revealed = visible(wizard.survey.tells[name])
        about.append(notice("warning", f"As it is, it tells {revealed}, which is randomised."))
    if action == "keep":
        about.append(notice("warning", "Released as it is: it has no protection at all."))
    if action != "randomise":
        return TagList(*about)
    return TagList(*about, editor(wizard, name), ui.output_ui("picture"), ui.output_ui("counts"))


def bands_picture(wizard: Wizard) -> TagChild:
    """Return the histogram of a column in bands, with their edges."""
    name = wizard.picked
    edges = wizard.columns.get(name or "", {}).get("bands")
    if name is None or not isinstance(edges, list):
        return None
    found = band_values(wizard, name)
    if found is None or not found.size:
        return None
    drawn = bands_figure(found, edges, name=visible(name))
    words = f"Histogram of {visible(name)} with {several(len(edges), 'edge')} of bands"
    return figure(
        to_svg(drawn, name="bands", description=words),
        f"The first {several(found.size, 'row')}; dashed lines are the edges of the bands.",
    )


def column_counts(view: View) -> TagChild:
    """Return the counted categories of a column, or why they could not be counted."""
    wizard, name = view.wizard, view.wizard.picked
    if name is None or wizard.action(name) != "randomise":
        return None
    found = (wizard.found.get("counts") or {}).get(name)
    said = refused(view, "column said")
    if found is not None and found.error:
        return TagList(said, refusal(found.error, found.values))
    waiting = work_line(view, "counts")
    if found is None:
        return TagList(waiting, said)
    pairs = list(zip(found.labels, found.counts, strict=True))[:MOST_COUNTED]
    rows = [
        ("(empty)" if label is None else visible(str(label)), numbers.count(own))
        for label, own in pairs
    ]
    counted = table(("Category", "Rows"), rows, caption="Categories, in order")
    return TagList(said, waiting, counted)


def empty_text(empty: int) -> str:
    """Say how many cells are empty."""
    return f"{several(empty, 'cell')} {'is' if empty == 1 else 'are'} empty." if empty else ""


def editor(wizard: Wizard, name: str) -> Tag:
    """Return the fields of a randomised column."""
    settings, look = wizard.columns[name], wizard.look(name)
    shown: dict[str, TagChild] = {
        "categories": ui.input_text_area(
            "categories",
            "Categories, one a line, in order; “new = old | old” merges some",
            category_lines(settings),
            rows=min(max(len(settings.get("categories", ())), 3), 14),
            width="100%",
            spellcheck="false",
        ),
        "edges": ui.input_text(
            "edges",
            "Edges of the bands; the last is open above",
            edges_text(settings["bands"]) if "edges" in fields_of(settings) else "",
            width="100%",
        ),
        "low": ui.input_checkbox(
            "low", "Smaller numbers count with the first band", "low" in settings,
            width="100%",
        ),
        "release_as": ui.input_select(
            "release_as", "What stands in the file", AS, selected=settings.get("release_as", "band")
        ),
        "missing": ui.input_text(
            "missing",
            "What empty cells are released as (nothing: there must be none)",
            missing_text(settings.get("missing")),
            width="100%",
        ),
        "distance": ui.input_select(
            "distance", "Two categories are hidden from each other",
            APART, selected=settings.get("distance") if settings.get("distance") == "path" else "",
            width="100%",
        ),
        "declared": ui.input_checkbox(
            "declared",
            "These are all there can be, whether they occur in this file or not",
            name in wizard.declared,
            width="100%",
        ),
    }  # fmt: skip
    own = [shown[field] for field in fields_of(settings)]
    note = (
        tags.p(f"It also has: {'; '.join(look.meanings)}", class_="form-text")
        if look.meanings
        else None
    )
    return tags.div(*own, note, ui.input_action_button("apply", "Apply", class_="btn-primary"))


def band_values(wizard: Wizard, name: str) -> Floats | None:
    """Return the numbers of a column among the first rows of the file; None if they are none."""
    assert wizard.survey is not None
    steps = {key: own for key, own in wizard.columns[name].items() if key in BEFORE_BANDS}
    column: Any = wizard.survey.first[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0)
    try:
        plain = apply_all(as_recodings(ColumnSpec(name, **steps).recode), column, column=name)
        found = finite_numbers(plain, column=name)
    except PrambleError:
        return None
    return np.asarray(found.drop_null().cast(pa.float64(), safe=False), dtype=np.float64)
