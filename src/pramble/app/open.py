"""Step 1: the confidential file, how it is read, and its first rows."""

import shutil
from pathlib import Path
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.parts import notice, table, work_line
from pramble.app.tasks import BUILT_IN, survey, survey_built_in
from pramble.app.view import View
from pramble.app.wizard import Source
from pramble.data.formats.registry import FORMATS
from pramble.data.reading import reading_of
from pramble.errors import InvalidInput
from pramble.words import several, visible

SHOWN_ROWS = 20
SHOWN_LETTERS = 40
SEPARATORS = {"": "find out", ",": "comma ,", ";": "semicolon ;", "tab": "tab", "|": "bar |"}
DECIMALS = {"": "find out", ".": "point .", ",": "comma ,"}
ENCODINGS = {"": "find out", **{one: one for one in ("utf-8", "utf-16", "cp1252", "latin-1")}}


@module.ui
def open_ui() -> Tag:
    """Return what is shown."""
    endings = sorted({ending for form in FORMATS for ending in form.endings})
    return tags.section(
        tags.h2("Which file?"),
        tags.p(
            "The confidential file, one row for each person (or several). It is read where it is; "
            "nothing leaves this machine, and nothing is released before you say so.",
            class_="lead-in",
        ),
        tags.div(
            tags.div(
                tags.h3("A file on this machine"),
                ui.input_text("path", "Path of the file", placeholder="people.csv", width="100%"),
                ui.input_action_button("open", "Open", class_="btn-primary"),
                class_="choice",
            ),
            tags.div(
                tags.h3("A file to upload"),
                ui.input_file("upload", "From this browser", accept=endings, width="100%"),
                tags.p(
                    "It is kept in a private temporary folder until the desk is closed.",
                    class_="form-text",
                ),
                class_="choice",
            ),
            tags.div(
                tags.h3("To try it out"),
                tags.p(f"{BUILT_IN:,} made-up people of New York, ten columns."),
                ui.input_action_button("built_in", "Take the built-in people"),
                class_="choice",
            ),
            class_="choices",
        ),
        ui.output_ui("state"),
        ui.output_ui("opened"),
        aria_label="Open",
    )


@module.server
def open_server(input: Inputs, output: Outputs, session: Session, view: View) -> None:
    """Do what the step offers."""
    desk = view.desk

    def look_at(source: Source, reading: dict[str, Any]) -> None:
        desk.source, desk.reading = source, reading
        desk.survey = None
        view.begin("open", survey, source.path, reading, then=desk.take_survey, progress=True)
        view.changed("source")

    @reactive.effect
    @reactive.event(input.open)
    def _() -> None:
        path = Path(input.path().strip()).expanduser()

        def change() -> None:
            if not input.path().strip():
                raise InvalidInput("Write the path of a file.")
            look_at(Source(path, path.name), {})

        view.attempt("which file", change)

    @reactive.effect
    @reactive.event(input.upload)
    def _() -> None:
        files = input.upload()
        if files:
            name = Path(files[0]["name"]).name.strip(".") or "upload"
            kept = desk.folder / "upload" / name
            shutil.rmtree(kept.parent, ignore_errors=True)
            kept.parent.mkdir(mode=0o700)
            shutil.move(files[0]["datapath"], kept)
            kept.chmod(0o600)
            look_at(Source(kept, name, is_ours=True), {})

    @reactive.effect
    @reactive.event(input.built_in)
    def _() -> None:
        desk.source = Source(desk.folder / "people.parquet", "people.parquet", is_ours=True)
        desk.reading, desk.survey = {}, None
        view.begin("open", survey_built_in, desk.source.path, then=desk.take_survey, progress=True)
        view.changed("source")

    @reactive.effect
    @reactive.event(input.again)
    def _() -> None:
        def change() -> None:
            assert desk.source is not None
            said = [
                input[name]().strip() or None
                for name in ("separator", "encoding", "decimal", "missing", "sheet")
            ]
            reading = reading_of(*said)
            own = {
                name: getattr(reading, name)
                for name in ("separator", "encoding", "decimal", "missing", "sheet")
            }
            look_at(desk.source, {name: said for name, said in own.items() if said is not None})

        view.attempt("which file", change)

    @reactive.effect
    def _() -> None:
        view.watch("open")
        if desk.survey is not None:
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
        desk.worker.stop("open")
        view.changed("open")

    @render.ui
    def opened() -> TagChild:
        view.watch("source")
        if desk.survey is None or desk.source is None:
            return None
        rows, columns = desk.survey.rows, len(desk.survey.looks)
        return TagList(
            tags.h3(visible(desk.source.name)),
            tags.p(
                f"{numbers.count(rows)} rows and {several(columns, 'column')}. ",
                ui.input_action_button("onwards", "Go on: columns", class_="btn-primary"),
            ),
            how_read(desk.survey.reading, desk.reading),
            first_rows(desk.survey.first),
        )

    @reactive.effect
    @reactive.event(input.onwards)
    def _() -> None:
        view.go("columns")


def how_read(found: Any, said: dict[str, Any]) -> TagChild:
    """Return how a file was read, to be corrected; only texts and workbooks can be."""
    if found.separator is None and found.sheet is None:
        return None
    marks = ", ".join(found.missing or ())
    separator = "tab" if found.separator == "\t" else found.separator

    def choices(known: dict[str, str], own: str | None) -> dict[str, str]:
        return known if own is None or own in known else {**known, own: own}

    return tags.details(
        tags.summary("How the file is read: correct it if the rows below look wrong"),
        tags.div(
            ui.input_select(
                "separator",
                "Fields are parted by",
                choices(SEPARATORS, separator),
                selected=separator or "",
            ),
            ui.input_select(
                "decimal",
                "Decimal sign",
                choices(DECIMALS, found.decimal),
                selected=found.decimal or "",
            ),
            ui.input_select(
                "encoding",
                "Encoding",
                choices(ENCODINGS, found.encoding),
                selected=found.encoding or "",
            ),
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
