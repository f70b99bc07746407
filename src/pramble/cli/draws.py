"""``pramble impute`` and ``pramble synthesize``: records drawn from a release alone."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from pramble.cli.console import answers, facts_table, messages, print_json, shown_progress, table_of
from pramble.cli.inputs import released_data
from pramble.cli.options import AsJson, Verify, names, new_file, new_folder, tables_in
from pramble.data.formats.registry import target_format
from pramble.data.save import save_table
from pramble.engine.files import check_places
from pramble.errors import InvalidInput
from pramble.estimation.draws.impute import Imputation, imputation
from pramble.estimation.draws.released import CLASSES
from pramble.estimation.draws.synthesize import Synthesis, synthesis

MOST_TABLES = 20
PRIVACY = (
    "Drawn from the release alone: the copies reveal nothing beyond it and cost no privacy. Do the "
    "same with each of them, and put the answers together with pramble.combine."
)


def impute(
    release: Annotated[
        Path, typer.Argument(help="A release folder; or released data, with --plan.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", callback=new_folder, help="The folder to make, a file a copy."),
    ],
    plan: Annotated[
        Path | None, typer.Option(help="The plan that the data was released with, as JSON.")
    ] = None,
    copies: Annotated[int, typer.Option(help="How many copies.")] = 20,
    seed: Annotated[int | None, typer.Option(help="The same number draws the same copies.")] = None,
    using: Annotated[
        str | None,
        typer.Option(
            help="Columns released as they are, to draw given: a,b; by default all that can be."
        ),
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option(help="Tables of the law: 2 (all pairs), 3, a+b,a+c, or all columns (all)."),
    ] = None,
    ending: Annotated[
        str, typer.Option("--format", help="The ending of the files: parquet, csv …")
    ] = "parquet",
    verify: Verify = None,
    as_json: AsJson = False,
) -> None:
    """Draw what the original records may have been, several times, for any software.

    All that you will relate to a randomised column must be among --using, or the relation is
    attenuated. They come from the release alone and cost no privacy.

    Examples
    --------
      pramble impute out --out copies --copies 20 --seed 1

      pramble impute out --out copies --using age,region --format csv --json
    """
    ending = f".{ending.lstrip('.')}"
    target_format(out / f"1{ending}")
    check_places(release, out, overwrite=False)
    data, own = released_data(release, plan, verify=verify)
    with shown_progress() as progress:
        made = imputation(
            data,
            own,
            copies=copies,
            seed=seed,
            using=None if using is None else names([using]),
            tables=None if tables is None else tables_in(tables),
            progress=progress,
        )
    files = write(made, out, ending=ending)
    for note in made.notes:
        messages().print(note, soft_wrap=True)
    if as_json:
        print_json(document_of(made, files))
        return
    answers().print(f"Wrote {len(files)} copies of {made.rows:,} records to {out}.", soft_wrap=True)
    answers().print(terminal_table(made))
    answers().print(PRIVACY, soft_wrap=True)


def write(made: Imputation, folder: Path, *, ending: str) -> list[Path]:
    """Write one file for each copy, numbered from 1."""
    try:
        folder.mkdir()
    except OSError as error:
        raise InvalidInput(f"Cannot make the folder {folder}: {error.strerror}.") from None
    files = [folder / f"{number}{ending}" for number in range(1, len(made.frames) + 1)]
    for file, frame in zip(files, made.frames, strict=True):
        save_table(frame, file)
    return files


def document_of(made: Imputation, files: list[Path]) -> dict[str, Any]:
    """Return what was drawn as a plain document."""
    return {
        "files": [str(file) for file in files],
        "rows": made.rows,
        "columns": list(made.columns),
        "given": list(made.given),
        "classes": list(made.classes),
        "tables": [list(table) for table in made.tables],
        "sweeps": made.sweeps,
        "notes": list(made.notes),
    }


def terminal_table(made: Imputation) -> Table:
    """Return what was drawn, given what, and from which law."""
    table = facts_table("Imputation")
    table.add_row("columns drawn", ", ".join(made.columns))
    table.add_row("given", ", ".join(made.given) or "nothing")
    if made.classes:
        table.add_row(f"in {CLASSES} classes", ", ".join(made.classes))
    shown = [" × ".join(own) for own in made.tables[:MOST_TABLES]]
    more = [f"… {len(made.tables) - MOST_TABLES} more: --json"] * (len(made.tables) > MOST_TABLES)
    table.add_row("tables of the law", "\n".join([*shown, *more]))
    table.add_row("sweeps for each copy", str(made.sweeps))
    return table


SYNTHESIS_HEADINGS = ("table", "cells", "mean distance", "largest", "± se of estimate")
SYNTHESIS_PRIVACY = (
    "Drawn from the release alone: these records reveal nothing beyond it and are as private as it "
    "is. Take intervals from `pramble estimate`, not from these records."
)


def synthesize(
    release: Annotated[
        Path, typer.Argument(help="A release folder; or released data, with --plan.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", callback=new_file, help="The file to write: .parquet, .csv …"),
    ],
    plan: Annotated[
        Path | None, typer.Option(help="The plan that the data was released with, as JSON.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="How many records; as many as the release has.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="The same number draws the same records.")
    ] = None,
    tables: Annotated[
        str, typer.Option(help="Tables to fit: 1, 2 (all pairs), 3, or a+b,a+c.")
    ] = "2",
    columns: Annotated[
        str | None, typer.Option(help="Columns of the records: a,b,c; all that can be.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="auto, cells (one array over all cells), or records.")
    ] = "auto",
    verify: Verify = None,
    as_json: AsJson = False,
) -> None:
    """Draw complete records, without blanks, whose tables fit a release.

    They come from the release alone: they reveal nothing beyond it and are as private as it is.

    Examples
    --------
      pramble synthesize out --out synthetic.parquet --seed 1

      pramble synthesize out --out synthetic.csv --rows 10000 --tables sex+age,sex+region --json
    """
    target_format(out)
    check_places(release, out, overwrite=False)
    data, own = released_data(release, plan, verify=verify)
    with shown_progress() as progress:
        made = synthesis(
            data,
            own,
            rows=rows,
            seed=seed,
            tables=tables_in(tables),
            columns=None if columns is None else names([columns]),
            method=method,
            progress=progress,
        )
    save_table(made.frame, out)
    for note in made.notes:
        messages().print(note, soft_wrap=True)
    if as_json:
        print_json(synthesis_document(made, out))
        return
    answers().print(f"Wrote {made.rows:,} records to {out}.", soft_wrap=True)
    answers().print(synthesis_table(made))
    answers().print(SYNTHESIS_PRIVACY, soft_wrap=True)


def synthesis_document(made: Synthesis, target: Path) -> dict[str, Any]:
    """Return what was drawn as a plain document, distances in shares."""
    fits = [
        {
            "columns": list(fit.columns),
            "cells": fit.cells,
            "mean_distance": fit.mean,
            "largest_distance": fit.largest,
            "standard_error": fit.standard_error,
        }
        for fit in made.fits
    ]
    return {
        "file": str(target),
        "rows": made.rows,
        "method": made.method,
        "notes": list(made.notes),
        "tables": fits,
    }


def synthesis_table(made: Synthesis) -> Table:
    """Return how far the tables are from their estimates, the farthest first."""
    table = table_of(
        "Distance from the estimated shares, in points", *SYNTHESIS_HEADINGS, left={"table"},
        title_justify="left",
    )  # fmt: skip
    fits = sorted(made.fits, key=lambda fit: -fit.mean)
    for fit in fits[:MOST_TABLES]:
        points = (100 * fit.mean, 100 * fit.largest, 100 * fit.standard_error)
        table.add_row(" × ".join(fit.columns), f"{fit.cells:,}", *(f"{p:.3f}" for p in points))
    if len(fits) > MOST_TABLES:
        rest = f"… {len(fits) - MOST_TABLES} nearer: --json"
        table.add_row(rest, *[""] * (len(SYNTHESIS_HEADINGS) - 1))
    return table
