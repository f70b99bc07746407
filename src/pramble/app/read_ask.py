"""What can be asked of a release: tables, regressions, and how near they are to the truth."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from shiny import Inputs, Session, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble.app.controls import Form
from pramble.app.read_tasks import FolderFacts, ReadAnswer, TableQuestion, ask_regression, ask_table
from pramble.app.read_truth import compare_with
from pramble.app.view import PageView, figure, notice, status, table, when
from pramble.app.wizard import Wizard
from pramble.errors import InvalidInput
from pramble.estimation.regression.families import FAMILIES
from pramble.words import visible

BY = {
    "first": "First column",
    "second": "Second column (optional)",
    "third": "Third column (optional)",
}
WITHIN = {"given": "Shares within each (optional)", "given_too": "and within each (optional)"}
ANSWER_IN = {"shares": "shares", "counts": "numbers of records"}
COVERS = {"both": "the people behind the file", "randomisation": "the file itself"}
ABOUT = {
    "records": (
        "Numbers in the released file itself are those of randomised values; these are estimates "
        "of the original ones."
    ),
    "tables": (
        "Estimates come from the protected tables, listed above. Tables and regressions of columns "
        "that were measured together have exact intervals. Tables of other columns are modelled "
        "from the measured ones; a note says so, and their intervals hold if the model does."
    ),
}

# Each question: the button that asks it, the output of its answer, and the file to download.
QUESTIONS = {
    "read table": ("estimate", "table_answer", "table_csv"),
    "read regression": ("fit", "fit_answer", "fit_csv"),
    "read truth": ("compare", "truth_answer", ""),
}


def serve_questions(input: Inputs, session: Session, view: PageView) -> None:
    """Serve the questions of step 5: called in its module."""
    wizard = view.wizard
    view.fill("questions", partial(question_panels, session, wizard), "read", "source")
    for name, (button, answer, _) in QUESTIONS.items():
        when(input[button], partial(ask, view, name, input[button]))
        view.fill(answer, partial(answer_panel, view, name))

    @render.download(filename="estimate.csv", media_type="text/csv")
    def table_csv() -> Any:
        yield wizard.found["read table"].csv

    @render.download(filename="regression.csv", media_type="text/csv")
    def fit_csv() -> Any:
        yield wizard.found["read regression"].csv


def ask(view: PageView, name: str, sent: Callable[[], dict[str, Any]]) -> None:
    """Begin to find an answer; a question that cannot be asked is refused in its place."""
    wizard = view.wizard

    def change() -> None:
        wizard.asked = sent()
        wizard.found.pop(name, None)
        wizard.works.pop(name, None)
        task, *given = question_of(wizard, name)
        # The process of `reader` holds the opened release.
        view.begin(name, task, wizard.reading_folder, *given, worker=wizard.reader)

    view.attempt(name, change)


def question_of(wizard: Wizard, name: str) -> tuple[Any, ...]:
    asked = wizard.asked
    if name == "read regression":
        return ask_regression, asked["formula"].strip(), asked["family"]
    if name == "read table":
        return ask_table, question_in(asked)
    path, plan = asked["truth_path"].strip(), asked["truth_plan"].strip()
    own = Path(plan).expanduser() if plan else None
    if path:
        return compare_with, question_in(asked), Path(path).expanduser(), own
    if wizard.source is None:
        raise InvalidInput("Write the path of the confidential file, or open it in step 1.")
    return compare_with, question_in(asked), wizard.source.path, own or wizard.plan


def question_in(asked: dict[str, Any]) -> TableQuestion:
    """Return the table that was chosen.

    >>> question_in({"first": "SEX", "second": "", "third": "AGE", "given": "EDUC"}).by
    ('SEX', 'AGE')
    >>> question_in({"first": "SEX", "second": "SEX"})
    Traceback (most recent call last):
    ...
    pramble.errors.InvalidInput: Choose each column once; 'SEX' is chosen twice.
    """
    by, given = ([asked[one] for one in names if asked.get(one)] for names in (BY, WITHIN))
    unit, covers = asked.get("unit", "shares"), asked.get("covers", "both")
    return TableQuestion(tuple(by), tuple(given), unit, covers)


def question_panels(session: Session, wizard: Wizard) -> TagChild:
    facts: FolderFacts | None = wizard.found.get("read")
    if facts is None:
        return None
    form = Form(session)
    panels = [panel(form, facts, wizard) for panel in (table_panel, fit_panel, truth_panel)]
    return tags.div(*panels, class_="form")


def table_panel(form: Form, facts: FolderFacts, wizard: Wizard) -> Tag:
    names = {
        **{name: f"{visible(name)} ({size})" for name, size in facts.randomised.items()},
        **{name: f"{visible(name)} (as it was)" for name in facts.untouched},
    }
    optional = {"": "–", **names}
    choices = {"first": names, **dict.fromkeys([*BY, *WITHIN][1:], optional)}
    labels = {**BY, **WITHIN, "unit": "Answer in", "covers": "Intervals are for"}
    choices |= {"unit": ANSWER_IN, "covers": COVERS}
    return tags.div(
        tags.h3("Ask for a table"),
        tags.p(
            "In brackets: how many categories a column has. ",
            ABOUT["tables" if facts.tables else "records"],
            class_="lead-in",
        ),
        tags.div(
            *[
                form.selection(name, labels[name], options, wizard.asked.get(name, ""))
                for name, options in choices.items()
            ],
            class_="fields",
        ),
        form.button("estimate", "Estimate"),
        ui.output_ui("table_answer"),
        class_="panel",
    )


def fit_panel(form: Form, facts: FolderFacts, wizard: Wizard) -> Tag:
    asked, families = wizard.asked, {name: name for name in FAMILIES}
    example = " ~ ".join(facts.columns[:2]) if len(facts.columns) > 1 else "ill ~ age"
    return tags.div(
        tags.h3("Ask for a regression"),
        tags.p(
            "What the original values would have given, corrected for the noise of the release, "
            "which pulls coefficients towards zero. Write it as in R; whether a column has a label "
            "is ",
            tags.code("C(EMPSTAT == 'Employed')"),
            ". A formula holds expressions of Python: take none from people you do not trust.",
            class_="lead-in",
        ),
        tags.div(
            form.text("formula", "Formula", asked.get("formula", ""), placeholder=visible(example)),
            form.selection("family", "Family", families, asked.get("family", "logistic")),
            class_="fields formula",
        ),
        form.button("fit", "Fit"),
        ui.output_ui("fit_answer"),
        class_="panel",
    )


def truth_panel(form: Form, facts: FolderFacts, wizard: Wizard) -> Tag:
    fits = wizard.source is not None and set(facts.columns) <= set(wizard.names)
    name = visible(wizard.source.name) if fits and wizard.source else ""
    path, plan = (wizard.asked.get(one, "") for one in ("truth_path", "truth_plan"))
    return tags.div(
        tags.h3("Before and after"),
        notice(
            "warning",
            "Confidential: this shows counts of the original file, for the curator’s eyes alone. "
            "Nothing of it is in the release; do not pass it on.",
        ),
        tags.p(
            "The table chosen above, counted in the confidential file with the recodings of the "
            "plan, next to its estimate from the release.",
            class_="lead-in",
        ),
        tags.div(
            form.text(
                "truth_path",
                "Path of the confidential file",
                path,
                placeholder=f"that of step 1: {name}" if name else "people.csv",
            ),
            form.text(
                "truth_plan",
                "Plan file, where columns were recoded (optional)",
                plan,
                placeholder="that of the desk" if name else "plan.toml",
            ),
            class_="fields",
        ),
        form.button("compare", "Compare", "btn btn-default"),
        ui.output_ui("truth_answer"),
        class_="panel",
    )


def answer_panel(view: PageView, name: str) -> TagChild:
    """Return what there is to say of a question: why it is refused, how far it is, the answer."""
    said, download = status(view, name), QUESTIONS[name][-1]
    answer: ReadAnswer | None = view.wizard.found.get(name)
    if answer is None:
        return said
    return TagList(
        said,
        *[notice("warning", visible(one)) for one in answer.warnings],
        *[notice("note", visible(one)) for one in answer.notes],
        tags.div(
            table(
                [visible(one) for one in answer.head],
                answer.rows,
                caption=visible(answer.title),
                left=range(answer.left),
            ),
            figure(answer.svg) if answer.svg else None,
            class_="answer",
        ),
        tags.p(visible(answer.below), class_="form-text lead-in"),
        ui.download_button(download, "Download as CSV") if download else None,
    )
