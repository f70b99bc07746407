"""Step 1: the confidential file, how it is read, and its first rows."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.forms import Form, setting_text, state
from pramble.app.tasks import BUILT_IN, survey, survey_built_in
from pramble.app.view import PageView, status, table, when
from pramble.app.wizard import SourceFile, Wizard
from pramble.data.formats.registry import FORMATS
from pramble.errors import InvalidInput
from pramble.releasing.profile.survey import FileProfile
from pramble.releasing.spec.document import FILE
from pramble.words import several, visible

# Enough to see whether a file was read right.
SHOWN_ROWS = 20
SHOWN_LETTERS = 40


@module.ui
def open_ui() -> Tag:
    endings = sorted({ending for form in FORMATS for ending in form.endings})
    return tags.section(
        tags.h2("Which file?"),
        tags.p(
            "The confidential file, one row for each person (or several). It is read where it is; "
            "nothing leaves this machine, and nothing is released before you say so.",
            class_="lead-in",
        ),
        tags.div(
            way_in(
                "A file on this machine",
                ui.input_text("path", "Path of the file", placeholder="people.csv", width="100%"),
                ui.input_action_button("open", "Open", class_="btn-primary"),
            ),
            way_in(
                "A file to upload",
                ui.input_file("upload", "From this browser", accept=endings, width="100%"),
                tags.p(
                    "It lies in a private temporary folder until the desk is closed.",
                    class_="form-text",
                ),
            ),
            way_in(
                "To try it out",
                tags.p(f"{BUILT_IN:,} synthetic New Yorkers, ten columns."),
                ui.input_action_button("built_in", "Take the built-in people"),
            ),
            class_="choices",
        ),
        ui.output_ui("state"),
        ui.output_ui("opened"),
        aria_label="Open",
    )


def way_in(title: str, *shown: TagChild) -> Tag:
    return tags.div(tags.h3(title), *shown, class_="choice")


@module.server
def open_server(input: Inputs, output: Outputs, session: Session, view: PageView) -> None:
    wizard = view.wizard

    def read_again() -> None:
        assert wizard.source is not None
        assert wizard.survey is not None
        sent, reading = input.again(), dict(wizard.reading)
        for name, row in FILE.items():
            known = getattr(wizard.survey.reading, name)
            # What was not changed is found out again.
            if sent[name] not in (known or False, setting_text(row, known)):
                state(reading, row, sent[name])
        begin_survey(view, wizard.source, reading)

    when(
        input.open,
        lambda: view.attempt("open", lambda: begin_survey(view, written_path(input.path()))),
    )
    when(input.upload, lambda: begin_survey(view, uploaded(wizard, input.upload())))
    when(input.built_in, lambda: begin_survey(view, built_in(wizard), task=survey_built_in))
    when(input.again, lambda: view.attempt("open", read_again))
    when(input.onwards, lambda: view.go("columns"))
    view.fill("state", lambda: status(view, "open"))
    view.fill("opened", lambda: opened_file(session, wizard), "source")

    @reactive.effect
    def _() -> None:
        view.watch("open")
        if wizard.survey is not None:
            view.changed("source", "plan")


def begin_survey(
    view: PageView,
    source: SourceFile,
    reading: dict[str, Any] | None = None,
    task: Callable[..., FileProfile] = survey,
) -> None:
    wizard = view.wizard
    wizard.source, wizard.reading, wizard.survey = source, reading or {}, None
    view.begin("open", task, source.path, wizard.reading, then=wizard.take_survey)
    view.changed("source")


def written_path(path: str) -> SourceFile:
    if not path.strip():
        raise InvalidInput("Write the path of a file.")
    own = Path(path.strip()).expanduser()
    return SourceFile(own, own.name)


def built_in(wizard: Wizard) -> SourceFile:
    return SourceFile(wizard.folder / "people.parquet", "people.parquet", is_ours=True)


def uploaded(wizard: Wizard, files: Sequence[Mapping[str, Any]]) -> SourceFile:
    """Return an uploaded file, moved to where nobody else can read it."""
    name = Path(files[0]["name"]).name.strip(".") or "upload"
    own = wizard.folder / "upload" / name
    shutil.rmtree(own.parent, ignore_errors=True)
    # Other users of the machine must not read it, not even while it is moved.
    own.parent.mkdir(mode=0o700)
    shutil.move(files[0]["datapath"], own)
    own.chmod(0o600)
    return SourceFile(own, name, is_ours=True)


def opened_file(session: Session, wizard: Wizard) -> TagChild:
    """Return the size of the file, how it was read and its first rows."""
    if wizard.survey is None or wizard.source is None:
        return None
    rows, columns = wizard.survey.rows, len(wizard.survey.profiles)
    return TagList(
        tags.h3(visible(wizard.source.name)),
        tags.p(
            f"{numbers.count(rows)} rows and {several(columns, 'column')}. ",
            ui.input_action_button("onwards", "Go on: columns", class_="btn-primary"),
        ),
        reading_form(session, wizard.survey.reading, wizard.reading),
        first_rows_table(wizard.survey.first),
    )


def reading_form(session: Session, found: Any, said: dict[str, Any]) -> TagChild:
    """Return how a file was read, to be corrected; only texts and workbooks can be."""
    if found.separator is None and found.sheet is None:
        return None
    form, known = Form(session), {name: getattr(found, name) for name in FILE}
    return tags.details(
        tags.summary("How the file is read: correct it if the rows below look wrong"),
        tags.div(
            tags.div(*form.settings(FILE.values(), known), class_="fields"),
            form.button("again", "Read again", "btn btn-default"),
            class_="form",
        ),
        open="" if said else None,
    )


def first_rows_table(rows: Any) -> Tag:
    shown = rows.slice(0, SHOWN_ROWS).to_pylist()
    cells = [[cell_text(one) for one in row.values()] for row in shown]
    names = [visible(name) for name in rows.column_names]
    return table(
        names, cells, caption=f"The first {several(len(cells), 'row')}", left=range(len(names))
    )


def cell_text(cell: Any) -> TagChild:
    """Return a cell as it is shown: missing ones so, long ones cut."""
    if cell is None or cell != cell:
        return tags.span("missing", class_="missing")
    text = visible(str(cell))
    return text if len(text) <= SHOWN_LETTERS else f"{text[:SHOWN_LETTERS]}…"
