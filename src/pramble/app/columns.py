"""Step 2: what each column is, what happens to it, and what readers will want."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.forms import Form, change_plan, options_of, state
from pramble.app.tasks import count_categories
from pramble.app.view import (
    PageView,
    event_button,
    notice,
    refusal,
    refused,
    scrolled,
    status,
    step_section,
    table,
    when,
)
from pramble.app.wizard import Wizard
from pramble.limits import LEAST_ROWS_OF_A_VALUE
from pramble.releasing.profile.survey import rare_text
from pramble.releasing.spec import settings as read
from pramble.releasing.spec.document import COLUMN, PLAN, RISK
from pramble.words import several, visible, visible_names

# Categories whose counts are shown.
MOST_COUNTED = 200
ACTIONS = {
    "randomise": "randomise (protected)",
    "drop": "drop (left out)",
    "keep": "keep as it is (not protected)",
}
# Settings of a column that its form shows first.
FIRST_SHOWN = ("categories", "bands", "merge", "missing")
# What else this step asks: each question with the settings of a plan that answer it.
QUESTIONS = {
    "tables": ("Which tables will readers want?", ("tables", "whole", "objective")),
    "rules": ("Which records cannot occur?", ("possible",)),
    "risk": ("What may an intruder know?", tuple(RISK)),
    "person": ("Has a person several rows?", ("person", "rows_per_person")),
}

RARE = f"The release reveals that values occur that fewer than {LEAST_ROWS_OF_A_VALUE} rows hold:"


@module.ui
def columns_ui() -> Tag:
    details = tags.div(ui.output_ui("column"), class_="panel", id=module.resolve_id("details"))
    onwards = ui.input_action_button("onwards", "Go on: the promise", class_="btn-primary")
    return step_section(
        "Columns",
        "What happens to each column?",
        "Randomised columns are protected together by one promise. Columns that are dropped "
        "are left out. Columns that are kept as they are have no protection at all, and can "
        "single people out.",
        "ahead",
        tags.div(tags.div(ui.output_ui("listing")), details, class_="columns-of"),
        *("requirements", "requirements_said", onwards),
    )


@module.server
def columns_server(input: Inputs, output: Outputs, session: Session, view: PageView) -> None:
    wizard = view.wizard
    view.fill(
        "ahead", lambda: TagList(people_found(wizard), missing_step(wizard)), "source", "plan"
    )
    view.fill("listing", partial(listed_columns, wizard, session), "source")
    view.fill("column", partial(column_details, wizard, session), "source", "column")
    view.fill("counts", partial(column_counts, view), "counts", "column")
    # Not drawn again when its own controls change the plan: they would lose the focus.
    view.fill("requirements", partial(question_forms, wizard, session), "source", "columns")
    view.fill("requirements_said", partial(refused, view, "requirements"))
    when(input.requirement, lambda: take_requirement(view, **input.requirement()))
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
            view.changed("plan", "columns")
        view.changed("column")

    def merge_rare() -> None:
        assert wizard.picked is not None
        wizard.merge_rare(wizard.picked)
        view.changed("plan", "column")

    def change() -> None:
        # Another column may have been picked since.
        name, sent = input.apply()["about"], input.apply()["value"]
        wizard.settle(name, settings_sent(wizard, name, sent))

    when(input.action, lambda: pick(input.action()["about"], input.action()["value"]))
    when(input.pick, lambda: pick(input.pick()["about"]))
    when(input.merge_rare, merge_rare)
    when(input.apply, lambda: view.attempt("counts", change, "plan"))


def people_found(wizard: Wizard) -> TagChild:
    """Say which columns look like people with several rows, if any."""
    found = [] if wizard.survey is None else wizard.survey.repeats
    if not found:
        return None
    title = QUESTIONS["person"][0]
    return notice(
        "warning",
        *(tags.p(visible(str(one))) for one in found),
        tags.p(f"Whose rows these are is stated below, in “{title}”: check it. "),
    )


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
        f"The categories of {names} were read off the file, and the release will say so. A release "
        "reveals its categories: rare values that only this file has would be given away. Look at "
        "them, add what else can occur, and confirm those that are known without the file.",
    )


def listed_columns(wizard: Wizard, session: Session) -> TagChild:
    """Return every column with what it looks like, and what happens to it."""
    if wizard.survey is None:
        return None
    rows = []
    for place, look in enumerate(wizard.survey.profiles):
        name = visible(look.name) or "(no name)"
        # Only a column with categories can be randomised.
        fits = look.can_be_randomised and look.size > 1
        choices = {one: words for one, words in ACTIONS.items() if one != "randomise" or fits}
        pick = event_button(
            session.ns("pick"), name, str(place),
            class_="btn btn-link", aria_controls=session.ns("details"),
        )  # fmt: skip
        action = tags.select(
            options_of(choices, wizard.action(look.name)),
            class_="form-select form-select-sm",
            aria_label=f"What happens to {name}",
            data_sends=session.ns("action"),
            data_about=str(place),
        )
        said = tags.td(f"{look.kind}: {visible(look.reason)}")
        rows.append(tags.tr(tags.th(pick, scope="row"), said, tags.td(action)))
    head = ("Column", "What it looks like", "What happens to it")
    shown = tags.table(
        tags.caption("Every column of the file; choose one for its details"),
        tags.thead(tags.tr([tags.th(word, scope="col") for word in head])),
        tags.tbody(rows),
        class_="table table-sm of-columns",
    )
    return scrolled(shown, "Columns of the file")


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
    if look.rare and "merge" not in wizard.columns[name] and name in wizard.undeclared:
        about.append(
            notice(
                "warning",
                tags.p(f"{RARE} {visible(rare_text(look))}."),
                ui.input_action_button("merge_rare", "Merge them into “other”", class_="btn-sm"),
            )
        )
    return TagList(
        *about,
        column_form(session, wizard, name),
        ui.output_ui("counts"),
    )


def column_form(session: Session, wizard: Wizard, name: str) -> Tag:
    """Return the settings of a column: what its categories are, and below all others."""
    form, meanings = Form(session), wizard.look(name).meanings
    rows = [row for row in COLUMN.values() if wizard.design in row.designs]
    first = [COLUMN[one] for one in FIRST_SHOWN]
    others = [row for row in rows if row.name not in FIRST_SHOWN]
    return tags.div(
        *form.settings(first, wizard.columns[name]),
        form.tick(
            "declared",
            "These are all there can be, and known without this file",
            is_on=name not in wizard.undeclared,
        ),
        tags.p(f"In the file: {'; '.join(meanings)}", class_="form-text") if meanings else None,
        tags.details(
            tags.summary("Other settings of this column"),
            *form.settings(others, wizard.columns[name]),
        ),
        form.button("apply", "Apply", about=name),
        class_="form",
    )


def settings_sent(wizard: Wizard, name: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return a column's settings with what was written into its form."""
    found, look = dict(wizard.columns[name]), wizard.look(name)
    sources = {one: read.source_and_value(one, found[one]) for one in read.SOURCED if one in found}
    found |= {one: own for one, (_, own) in sources.items()}
    merged = (old for olds in found.get("merge", {}).values() for old in olds)
    known = [*look.labels, *found.get("categories", ()), *merged]
    for row in COLUMN.values():
        if row.name in sent:
            state(found, row, sent[row.name], known)
    for one in set(read.SOURCED) & set(found):
        source, before = sources.get(one, (read.DECLARED, None))
        if source != read.STANDARD or found[one] != before:
            # What is not confirmed may have been chosen by the counts that are shown.
            source = read.DECLARED if sent["declared"] else read.SEEN
        found[one] = found[one] if source == read.DECLARED else {source: found[one]}
    return found


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


def question_forms(wizard: Wizard, session: Session) -> TagChild:
    """Return what else a plan states, one part below the other."""
    if wizard.survey is None:
        return None
    form = Form(session, "requirement")
    columns = [one for one in wizard.names if wizard.action(one) != "drop"]
    parts = []
    for name, (title, settings) in QUESTIONS.items():
        rows, stated = (RISK, wizard.risk) if name == "risk" else (PLAN, wizard.document)
        is_open = name == "tables" or (name == "person" and wizard.survey.repeats)
        parts.append(
            tags.details(
                tags.summary(tags.h3(title)),
                *form.settings([rows[one] for one in settings], stated, columns),
                class_="panel",
                open="" if is_open else None,
            )
        )
    return tags.div(*parts, class_="requirements")


def take_requirement(view: PageView, about: str, value: Any) -> None:
    """State a setting of the plan, or of what an intruder may know."""
    wizard = view.wizard

    def change() -> None:
        if about not in RISK:
            state(wizard.document, PLAN[about], value)
            return
        state(wizard.risk, RISK[about], value)
        wizard.document.pop("risk", None)
        # Half of it is no setting of a plan.
        if {"keys", "population_size"} <= set(wizard.risk):
            wizard.document["risk"] = dict(wizard.risk)

    change_plan(view, "requirements", change)
