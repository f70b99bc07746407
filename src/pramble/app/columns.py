"""Step 2: what each column is, what happens to it, and what readers will want."""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from shiny import Inputs, Outputs, Session, module, reactive, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.column_form import column_form, column_settings
from pramble.app.controls import options_of
from pramble.app.requirements import serve_requirements
from pramble.app.tasks import count_categories
from pramble.app.view import (
    PageView,
    event_button,
    figure,
    notice,
    refusal,
    scrolled,
    status,
    step_section,
    table,
    when,
)
from pramble.app.wizard import Wizard
from pramble.data.arrays import numbers as finite_numbers
from pramble.data.recode import apply_all, as_recodings
from pramble.errors import PrambleError
from pramble.plots.estimates import bands_figure
from pramble.plots.images import to_svg
from pramble.releasing.profile.columns import ColumnProfile
from pramble.releasing.spec.column import ColumnSpec
from pramble.values import Floats
from pramble.words import several, visible, visible_names

# Categories whose counts are shown.
MOST_COUNTED = 200
# Recodings that come before bands.
BEFORE_BANDS = ("trim", "missing_values")
ACTIONS = {
    "randomise": "randomise (protected)",
    "drop": "drop (left out)",
    "keep": "keep as it is (not protected)",
}


@module.ui
def columns_ui() -> Tag:
    details = tags.div(ui.output_ui("column"), class_="panel", id=module.resolve_id("details"))
    return step_section(
        "Columns",
        "What happens to each column?",
        "Randomised columns are protected together by one promise. Columns that are dropped "
        "are left out. Columns that are kept as they are have no protection at all, and can "
        "single people out.",
        "ahead",
        tags.div(tags.div(ui.output_ui("listing")), details, class_="columns-of"),
        *("requirements", "onwards_line"),
    )


@module.server
def columns_server(input: Inputs, output: Outputs, session: Session, view: PageView) -> None:
    wizard = view.wizard
    view.fill("ahead", partial(missing_step, wizard), "source", "plan")
    view.fill("listing", partial(listed_columns, wizard, session), "source")
    view.fill("column", partial(column_details, wizard, session), "source", "column")
    view.fill("picture", partial(bands_picture, wizard), "plan", "column")
    view.fill("counts", partial(column_counts, view), "counts", "column")
    view.fill("onwards_line", partial(onwards_button, wizard), "source")
    serve_requirements(input, session, view)
    serve_choices(input, view)
    when(input.onwards, lambda: view.go("promise"))

    @reactive.effect
    def _() -> None:  # categories are counted whenever they are others
        view.watch("source", "plan")
        columns = wizard.columns_alone if wizard.columns else {}
        if wizard.survey is not None and wizard.columns and wizard.counted_for != columns:
            wizard.counted_for = columns
            assert wizard.source is not None
            view.begin("counts", count_categories, wizard.source.path, columns)


def serve_choices(input: Inputs, view: PageView) -> None:
    """Take which column is picked, what happens to it, and what is said of it."""
    wizard = view.wizard

    def pick(place: str, action: str = "") -> None:
        wizard.picked = wizard.names[int(place)]
        if action:
            wizard.act(wizard.picked, action)
            view.changed("plan")
        view.changed("column")

    def declare_all() -> None:
        wizard.declared |= set(wizard.columns)
        view.changed("plan", "column")

    def change() -> None:
        name, sent = wizard.picked, input.apply()
        assert name is not None
        wizard.settle(name, column_settings(wizard, name, sent))
        wizard.declared = (wizard.declared - {name}) | ({name} if sent["declared"] else set())

    when(input.action, lambda: pick(input.action()["about"], input.action()["value"]))
    when(input.pick, lambda: pick(input.pick()["about"]))
    when(input.declare_all, declare_all)
    when(input.apply, lambda: view.attempt("counts", change, "plan"))


def onwards_button(wizard: Wizard) -> TagChild:
    if wizard.survey is None:
        return None
    return ui.input_action_button("onwards", "Go on: the promise", class_="btn-primary")


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
            f"The categories of {names} are values that occur in the file. A release reveals its "
            "categories: rare values that only this file has would be given away. Look at them, "
            "and add what else can occur."
        ),
        ui.input_action_button("declare_all", "Confirm: these lists are complete", class_="btn-sm"),
    )


def listed_columns(wizard: Wizard, session: Session) -> TagChild:
    """Return every column with what it looks like, and what happens to it."""
    if wizard.survey is None:
        return None
    pick = partial(event_button, session.ns("pick"), class_="btn btn-link")
    rows = [
        tags.tr(
            tags.th(
                pick(
                    visible(look.name) or "(no name)",
                    str(place),
                    aria_controls=session.ns("details"),
                ),
                scope="row",
            ),
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


def action_choice(wizard: Wizard, look: ColumnProfile, place: int, session: Session) -> Tag:
    """Return what can happen to a column; only one with categories can be randomised."""
    fits = look.can_be_randomised and look.size > 1
    choices = {name: words for name, words in ACTIONS.items() if name != "randomise" or fits}
    return tags.select(
        options_of(choices, wizard.action(look.name)),
        class_="form-select form-select-sm",
        aria_label=f"What happens to {visible(look.name)}",
        data_sends=session.ns("action"),
        data_about=str(place),
    )


def column_details(wizard: Wizard, session: Session) -> TagChild:
    """Return what a column looks like, and its fields if it is randomised."""
    if wizard.survey is None:
        return None
    name = wizard.picked
    if name is None:
        return tags.p("Choose a column on the left to see its categories or bands.")
    look, action = wizard.look(name), wizard.action(name)
    verb = "is" if look.empty == 1 else "are"
    empty = f"{several(look.empty, 'cell')} {verb} empty." if look.empty else ""
    about: list[TagChild] = [
        tags.h3(visible(name)),
        tags.p(f"{look.kind}: {visible(look.reason)}. ", empty),
    ]
    if name in wizard.survey.tells:
        revealed = visible(wizard.survey.tells[name])
        about.append(notice("warning", f"As it is, it reveals {revealed}, which is randomised."))
    if action == "keep":
        about.append(notice("warning", "Released as it is: it has no protection at all."))
    if action != "randomise":
        return TagList(*about)
    return TagList(
        *about,
        column_form(session, wizard, name),
        ui.output_ui("picture"),
        ui.output_ui("counts"),
    )


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


def column_counts(view: PageView) -> TagChild:
    """Return the counted categories of a column, or why they could not be counted."""
    wizard, name = view.wizard, view.wizard.picked
    if name is None or wizard.action(name) != "randomise":
        return None
    found = (wizard.found.get("counts") or {}).get(name)
    said = status(view, "counts")
    if found is None:
        return said
    if found.error:
        return TagList(said, refusal(found.error, found.values))
    pairs = list(zip(found.labels, found.counts, strict=True))[:MOST_COUNTED]
    rows = [
        ("(empty)" if label is None else visible(str(label)), numbers.count(own))
        for label, own in pairs
    ]
    counted = table(("Category", "Rows"), rows, caption="Categories, in order")
    return TagList(said, counted)


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
