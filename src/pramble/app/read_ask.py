"""What can be asked of a release: tables, regressions, and how near they are to the truth."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from shiny import Inputs, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble.app.read_tasks import FolderFacts, ReadAnswer, TableQuestion, ask_regression, ask_table
from pramble.app.read_truth import compare_with
from pramble.app.view import View, figure, fill_output, notice, refused, table, when, work_line
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
# What is chosen in this step, which the wizard remembers.
CHOSEN = (*BY, *WITHIN, "unit", "covers", "formula", "family", "truth_path", "truth_plan")

# What estimates of tables come from.
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

STOPPED = {"read table": "stop_table", "read regression": "stop_fit", "read truth": "stop_truth"}


def serve_questions(input: Inputs, view: View) -> None:
    """Serve the questions of step 5: called in its module."""
    wizard = view.wizard
    for name in CHOSEN:
        remember(input, wizard, name)
    for button in STOPPED.values():
        when(input[button], lambda: stop(view))

    @render.ui
    def questions() -> TagChild:
        view.watch("read", "source")
        facts = wizard.found.get("read")
        return None if facts is None else question_panels(facts, wizard)

    for event, name, begin in (
        (input.estimate, "read table", begin_table),
        (input.fit, "read regression", begin_regression),
        (input.compare, "read truth", begin_comparison),
    ):
        when(event, partial(ask, input, view, name, begin))
    serve_answers(view)


def remember(input: Inputs, wizard: Wizard, name: str) -> None:
    """Note what is chosen, for the page may be loaded again."""

    @reactive.effect
    def _() -> None:
        wizard.asked[name] = input[name]()


def stop(view: View) -> None:
    view.wizard.reader.stop()
    view.changed("work")


def serve_answers(view: View) -> None:
    """Show the answers, and let them be downloaded."""
    as_csv = "Download as CSV"
    answers = {
        "table_answer": ("read table", ui.download_button("table_csv", as_csv)),
        "fit_answer": ("read regression", ui.download_button("fit_csv", as_csv)),
        "truth_answer": ("read truth", None),
    }
    for output, (name, download) in answers.items():
        fill_output(output, partial(answer_panel, view, name, download))

    @render.download(filename="estimate.csv", media_type="text/csv")
    def table_csv() -> Any:
        yield view.wizard.found["read table"].csv

    @render.download(filename="regression.csv", media_type="text/csv")
    def fit_csv() -> Any:
        yield view.wizard.found["read regression"].csv


def ask(input: Inputs, view: View, name: str, begin: Callable[[View], None]) -> None:
    """Begin to find an answer; a question that cannot be asked is refused in its place."""
    wizard = view.wizard

    def change() -> None:
        wizard.asked.update({one: input[one]() for one in CHOSEN})
        wizard.found.pop(name, None)
        wizard.works.pop(name, None)
        begin(view)

    view.attempt(f"ask {name}", change, name)


def begin_table(view: View) -> None:
    start(view, "read table", ask_table, question_in(view.wizard.asked))


def begin_regression(view: View) -> None:
    asked = view.wizard.asked
    formula = asked.get("formula", "").strip()
    start(view, "read regression", ask_regression, formula, asked["family"])


def begin_comparison(view: View) -> None:
    path, more = confidential(view.wizard)
    start(view, "read truth", compare_with, question_in(view.wizard.asked), path, **more)


def start(view: View, name: str, task: Callable[..., Any], *given: Any, **more: Any) -> None:
    """Begin to find an answer, in the process that holds the opened release."""
    wizard = view.wizard
    folder = wizard.reading_folder
    view.begin(name, task, folder, *given, worker=wizard.reader, progress=True, **more)


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


def confidential(wizard: Wizard) -> tuple[Path, dict[str, Any]]:
    """Return the confidential file to compare with, and how it is read and recoded."""
    path, plan = (wizard.asked.get(name, "").strip() for name in ("truth_path", "truth_plan"))
    own = Path(plan).expanduser() if plan else None
    if path:
        return Path(path).expanduser(), {"plan": own}
    if wizard.source is None:
        raise InvalidInput("Write the path of the confidential file, or open it in step 1.")
    return wizard.source.path, {"plan": own or wizard.plan or None, "reading": wizard.reading}


def question_panels(facts: FolderFacts, wizard: Wizard) -> Tag:
    """Return what can be asked of a release."""
    return tags.div(
        table_panel(facts, wizard.asked), fit_panel(facts, wizard.asked), truth_panel(facts, wizard)
    )


def table_panel(facts: FolderFacts, asked: dict[str, Any]) -> Tag:
    names = {
        **{name: f"{visible(name)} ({size})" for name, size in facts.randomised.items()},
        **{name: f"{visible(name)} (as it was)" for name in facts.untouched},
    }
    first = asked.get("first") if asked.get("first") in names else facts.columns[0]

    def chooser(name: str, label: str) -> Any:
        selected = asked.get(name, "") if asked.get(name) in names else ""
        return ui.input_select(name, label, {"": "–", **names}, selected=selected)

    return tags.div(
        tags.h3("Ask for a table"),
        tags.p(
            "In brackets: how many categories a column has. ",
            ABOUT["tables" if facts.tables else "records"],
            class_="lead-in",
        ),
        tags.div(
            ui.input_select("first", BY["first"], names, selected=first),
            *[chooser(name, label) for name, label in BY.items() if name != "first"],
            *[chooser(name, label) for name, label in WITHIN.items()],
            ui.input_select("unit", "Answer in", ANSWER_IN, selected=asked.get("unit", "shares")),
            ui.input_select(
                "covers", "Intervals are for", COVERS, selected=asked.get("covers", "both")
            ),
            class_="fields",
        ),
        ui.input_action_button("estimate", "Estimate", class_="btn-primary"),
        ui.output_ui("table_answer"),
        class_="panel",
    )


def fit_panel(facts: FolderFacts, asked: dict[str, Any]) -> Tag:
    """Return what asks for a regression."""
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
            ui.input_text(
                "formula",
                "Formula",
                asked.get("formula", ""),
                placeholder=visible(example),
                width="min(100%, 46rem)",
            ),
            ui.input_select(
                "family", "Family", list(FAMILIES), selected=asked.get("family", "logistic")
            ),
            class_="fields formula",
        ),
        ui.input_action_button("fit", "Fit", class_="btn-primary"),
        ui.output_ui("fit_answer"),
        class_="panel",
    )


def truth_panel(facts: FolderFacts, wizard: Wizard) -> Tag:
    """Return what compares estimates with the confidential file."""
    fits = wizard.survey is not None and wizard.source is not None and fits_file(facts, wizard)
    name = visible(wizard.source.name) if fits and wizard.source else ""
    return tags.div(
        tags.h3("Before and after"),
        notice(
            "warning",
            "Confidential: this shows counts of the original file, for the curator’s eyes alone. "
            "Nothing of it is in the release; do not pass it on.",
        ),
        tags.p(
            "The table chosen above, counted in the confidential file with the recodings of the "
            "plan, beside its estimate from the release.",
            class_="lead-in",
        ),
        tags.div(
            ui.input_text(
                "truth_path",
                "Path of the confidential file",
                wizard.asked.get("truth_path", ""),
                placeholder=f"that of step 1: {name}" if name else "people.csv",
                width="100%",
            ),
            ui.input_text(
                "truth_plan",
                "Plan file, where columns were recoded (optional)",
                wizard.asked.get("truth_plan", ""),
                placeholder="that of the desk" if name else "plan.toml",
                width="100%",
            ),
            class_="fields",
        ),
        ui.input_action_button("compare", "Compare"),
        ui.output_ui("truth_answer"),
        class_="panel",
    )


def fits_file(facts: FolderFacts, wizard: Wizard) -> bool:
    """Whether the open file has the columns of a release."""
    assert wizard.survey is not None
    return set(facts.columns) <= {look.name for look in wizard.survey.profiles}


def answer_panel(view: View, name: str, download: TagChild = None) -> TagChild:
    """Return what there is to say of a question: why it is refused, how far it is, the answer."""
    stop = ui.input_action_button(STOPPED[name], "Stop", class_="btn-sm")
    said = TagList(refused(view, f"ask {name}"), work_line(view, name, stop=stop))
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
        download,
    )
