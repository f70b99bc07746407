"""Step 5: a release as its analyst sees it: what it promises, its tables and regressions."""

from collections.abc import Callable
from functools import partial
from typing import Any

from shiny import Inputs, Outputs, Session, module, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble.app.forms import Form
from pramble.app.read_tasks import (
    FolderFacts,
    ReadAnswer,
    TableQuestion,
    ask_regression,
    ask_table,
    look_into,
)
from pramble.app.view import PageView, figure, notice, status, step_section, table, text_tags, when
from pramble.app.wizard import Wizard
from pramble.errors import InvalidInput
from pramble.estimation.regression.families import FAMILIES
from pramble.words import visible, visible_names

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
}


@module.ui
def read_ui() -> Tag:
    return step_section(
        "Read",
        "Read a release",
        "A release folder as those see it who get it: what it promises, and what can be "
        "estimated from it, with intervals. It is checked before it is read.",
        *("where", "state", "promised", "questions"),
    )


@module.server
def read_server(input: Inputs, output: Outputs, session: Session, view: PageView) -> None:
    wizard = view.wizard

    def choose() -> None:
        if not input.folder().strip():
            raise InvalidInput("Write the path of a release folder.")
        wizard.reading_folder = input.folder().strip()

    def begin() -> None:
        for name in ("read", *QUESTIONS):
            for of_folder in (wizard.found, wizard.works, wizard.then, view.refused):
                of_folder.pop(name, None)
        view.begin("read", look_into, wizard.reading_folder, worker=wizard.reader)
        view.changed(*QUESTIONS)

    view.fill("where", partial(folder_field, wizard), "read folder")
    when(input.open, lambda: view.attempt("read", choose, "read folder"))
    when(lambda: view.topic("read folder").get(), begin, at_first=False)
    view.fill("state", partial(status, view, "read"))
    view.fill("promised", partial(folder_facts, wizard), "read")
    serve_questions(input, session, view)


def folder_field(wizard: Wizard) -> TagList:
    label, width = "Path of a release folder", "min(100%, 46rem)"
    now, example = wizard.reading_folder, "people-release"
    return TagList(
        ui.input_text("folder", label, now, placeholder=example, width=width),
        ui.input_action_button("open", "Open", class_="btn-primary"),
    )


def folder_facts(wizard: Wizard) -> TagChild:
    """Return what a release promises and what it is good for."""
    facts: FolderFacts | None = wizard.found.get("read")
    if facts is None:
        return None
    rows = [(what, visible(said)) for what, said in facts.shown.rows]
    untouched = visible(visible_names(facts.untouched))
    return TagList(
        tags.h3("What is promised", class_="mt-4"),
        table(("", ""), rows, caption=visible(facts.shown.title), left=(0, 1)),
        *[tags.p(visible(sentence), class_="lead-in") for sentence in facts.shown.notes],
        notice("warning", f"Released as they were, not protected: {untouched}.")
        if facts.untouched
        else None,
        *[sentence_list(title, sentences) for title, sentences in facts.details.items()],
    )


def sentence_list(title: str, sentences: tuple[str, ...]) -> TagChild:
    if not sentences:
        return None
    points = [tags.li(visible(sentence)) for sentence in sentences]
    return tags.details(tags.summary(title), tags.ul(*points))


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
    return ask_table, question_in(asked)


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
    return tags.div(table_panel(form, facts, wizard), fit_panel(form, facts, wizard), class_="form")


def table_panel(form: Form, facts: FolderFacts, wizard: Wizard) -> Tag:
    names = {name: f"{visible(name)} ({size})" for name, size in facts.columns.items()}
    optional = {"": "–", **names}
    choices = {"first": names, **dict.fromkeys([*BY, *WITHIN][1:], optional)}
    labels = {**BY, **WITHIN, "unit": "Answer in", "covers": "Intervals are for"}
    choices |= {"unit": ANSWER_IN, "covers": COVERS}
    return tags.div(
        tags.h3("Ask for a table"),
        tags.p(
            "In brackets: how many categories a column has. ",
            ABOUT["tables" if facts.of_tables else "records"],
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
    example = " ~ ".join(list(facts.columns)[:2]) if len(facts.columns) > 1 else "ill ~ age"
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
            text_tags(answer.grid), figure(answer.svg) if answer.svg else None, class_="answer"
        ),
        tags.p(visible(answer.grid.below), class_="form-text lead-in"),
        ui.download_button(download, "Download as CSV"),
    )
