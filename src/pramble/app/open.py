"""Step 1: the confidential file, how it is read, and its first rows."""

import shutil
from pathlib import Path
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.tasks import BUILT_IN, survey, survey_built_in
from pramble.app.view import View, notice, table, when, work_line
from pramble.app.wizard import Source, Wizard
from pramble.data.formats.registry import FORMATS
from pramble.data.recode import reading_of
from pramble.errors import InvalidInput
from pramble.words import several, visible

READING = ("separator", "encoding", "decimal", "missing", "sheet")
SHOWN_ROWS = 20
SHOWN_LETTERS = 40
SEPARATORS = {"": "find out", ",": "comma ,", ";": "semicolon ;", "tab": "tab", "|": "bar |"}
DECIMALS = {"": "find out", ".": "point .", ",": "comma ,"}
ENCODINGS = {"": "find out", **{one: one for one in ("utf-8", "utf-16", "cp1252", "latin-1")}}


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
                    "It is kept in a private temporary folder until the desk is closed.",
                    class_="form-text",
                ),
            ),
            way_in(
                "To try it out",
                tags.p(f"{BUILT_IN:,} made-up people of New York, ten columns."),
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
def open_server(input: Inputs, output: Outputs, session: Session, view: View) -> None:
    take_path(input, view)
    take_upload(input, view)
    take_reading(input, view)
    when(input.built_in, lambda: open_built_in(view))
    when(input.onwards, lambda: view.go("columns"))
    serve_survey(input, view)

    @render.ui
    def opened() -> TagChild:
        view.watch("source")
        return opened_file(view.wizard)


def profile(view: View, source: Source, reading: dict[str, Any]) -> None:
    """Begin to look at a file."""
    wizard = view.wizard
    wizard.source, wizard.reading, wizard.survey = source, reading, None
    view.begin("open", survey, source.path, reading, then=wizard.take_survey, progress=True)
    view.changed("source")


def open_built_in(view: View) -> None:
    """Begin to make the sample data and look at it."""
    wizard = view.wizard
    wizard.source = Source(wizard.folder / "people.parquet", "people.parquet", is_ours=True)
    wizard.reading, wizard.survey = {}, None
    view.begin("open", survey_built_in, wizard.source.path, then=wizard.take_survey, progress=True)
    view.changed("source")


def take_path(input: Inputs, view: View) -> None:
    """Open the file whose path was written."""

    def change() -> None:
        written = input.path().strip()
        if not written:
            raise InvalidInput("Write the path of a file.")
        path = Path(written).expanduser()
        profile(view, Source(path, path.name), {})

    when(input.open, lambda: view.attempt("which file", change))


def take_upload(input: Inputs, view: View) -> None:
    """Keep an uploaded file where nobody else can read it, and open it."""

    @reactive.effect
    @reactive.event(input.upload)
    def _() -> None:
        files = input.upload()
        if files:
            name = Path(files[0]["name"]).name.strip(".") or "upload"
            kept = view.wizard.folder / "upload" / name
            shutil.rmtree(kept.parent, ignore_errors=True)
            kept.parent.mkdir(mode=0o700)
            shutil.move(files[0]["datapath"], kept)
            kept.chmod(0o600)
            profile(view, Source(kept, name, is_ours=True), {})


def take_reading(input: Inputs, view: View) -> None:
    """Read the file again, as the curator says."""
    wizard = view.wizard

    def change() -> None:
        assert wizard.source is not None
        reading = reading_of(*[input[name]().strip() or None for name in READING])
        own = {name: getattr(reading, name) for name in READING}
        given = {name: one for name, one in own.items() if one is not None}
        profile(view, wizard.source, given)

    when(input.again, lambda: view.attempt("which file", change))


def serve_survey(input: Inputs, view: View) -> None:
    """Show how far the look at a file is, and stop it."""
    wizard = view.wizard

    @reactive.effect
    def _() -> None:
        view.watch("open")
        if wizard.survey is not None:
            view.changed("source", "plan")

    @render.ui
    def state() -> TagChild:
        view.watch("which file")
        error = view.refused.get("which file")
        said = None if error is None else notice("error", visible(str(error)))
        stop = ui.input_action_button("stop", "Stop", class_="btn-sm")
        return TagList(said, work_line(view, "open", stop=stop))

    @reactive.effect
    @reactive.event(input.stop)
    def _() -> None:
        wizard.worker.stop("open")
        view.changed("open")


def opened_file(wizard: Wizard) -> TagChild:
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
        how_read(wizard.survey.reading, wizard.reading),
        first_rows(wizard.survey.first),
    )


def how_read(found: Any, said: dict[str, Any]) -> TagChild:
    """Return how a file was read, to be corrected; only texts and workbooks can be."""
    if found.separator is None and found.sheet is None:
        return None
    marks = ", ".join(found.missing or ())
    separator = "tab" if found.separator == "\t" else found.separator

    def chooser(name: str, label: str, known: dict[str, str], own: str | None) -> Tag:
        options = known if own is None or own in known else {**known, own: own}
        return ui.input_select(name, label, options, selected=own or "")

    return tags.details(
        tags.summary("How the file is read: correct it if the rows below look wrong"),
        tags.div(
            chooser("separator", "Fields are parted by", SEPARATORS, separator),
            chooser("decimal", "Decimal sign", DECIMALS, found.decimal),
            chooser("encoding", "Encoding", ENCODINGS, found.encoding),
            ui.input_text("missing", "Texts that mean “missing”", marks, placeholder="NA,-9"),
            ui.input_text("sheet", "Sheet of a workbook", str(found.sheet or "")),
            class_="fields",
        ),
        ui.input_action_button("again", "Read again"),
        open="" if said else None,
    )


def first_rows(rows: Any) -> Tag:
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
