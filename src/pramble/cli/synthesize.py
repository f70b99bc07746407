"""``pramble synthesize``: complete records whose tables fit a release."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from pramble.cli.console import answers, messages, print_json, table_of
from pramble.cli.options import AsJson, Verify, names, tables_in
from pramble.cli.outputs import new_file
from pramble.cli.plans import released_data
from pramble.cli.progress import shown_progress
from pramble.data.formats.registry import target_format
from pramble.data.save import save_table
from pramble.engine.files import check_places
from pramble.estimation.draws.synthesis import Synthesis, synthesis

MOST_TABLES = 20
HEADINGS = ("table", "cells", "mean distance", "largest", "± se of estimate")
PRIVACY = (
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
        print_json(document_of(made, out))
        return
    answers().print(f"Wrote {made.rows:,} records to {out}.", soft_wrap=True)
    answers().print(terminal_table(made))
    answers().print(PRIVACY, soft_wrap=True)


def document_of(made: Synthesis, target: Path) -> dict[str, Any]:
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


def terminal_table(made: Synthesis) -> Table:
    """Return how far the tables are from their estimates, the farthest first."""
    table = table_of(
        "Distance from the estimated shares, in points", *HEADINGS, left={"table"},
        title_justify="left",
    )  # fmt: skip
    fits = sorted(made.fits, key=lambda fit: -fit.mean)
    for fit in fits[:MOST_TABLES]:
        points = (100 * fit.mean, 100 * fit.largest, 100 * fit.standard_error)
        table.add_row(" × ".join(fit.columns), f"{fit.cells:,}", *(f"{p:.3f}" for p in points))
    if len(fits) > MOST_TABLES:
        rest = f"… {len(fits) - MOST_TABLES} nearer: --json"
        table.add_row(rest, *[""] * (len(HEADINGS) - 1))
    return table
