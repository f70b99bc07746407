"""``pramble synthesize``: complete records whose tables fit a release."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import pramble
from pramble.cli.console import answers, messages, print_json, table_of
from pramble.cli.options import AsJson, Verify, names
from pramble.cli.plans import read_plan
from pramble.cli.progress import shown_progress
from pramble.data.formats.registry import target_format
from pramble.data.save import saving
from pramble.engine.files import check_places
from pramble.errors import InvalidInput
from pramble.estimation.draws.synthesis import Synthesis, synthesis
from pramble.releasing.folder.manifest import MANIFEST

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
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write: .parquet, .csv …")],
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
    data, own = opened(release, plan, verify=verify)
    with shown_progress() as progress:
        made = synthesis(
            data,
            own,
            rows=rows,
            seed=seed,
            tables=int(tables) if tables.isdigit() else listed(tables),
            columns=None if columns is None else names([columns]),
            method=method,
            progress=progress,
        )
    write(made, out)
    for note in made.notes:
        messages().print(note, soft_wrap=True)
    if as_json:
        print_json(document_of(made, out))
        return
    answers().print(f"Wrote {made.rows:,} records to {out}.", soft_wrap=True)
    answers().print(terminal_table(made))
    answers().print(PRIVACY, soft_wrap=True)


def opened(release: Path, plan: Path | None, *, verify: Path | None) -> tuple[Any, Any]:
    """Return an opened release folder; or data, and the plan that it was released with."""
    if plan is not None:
        return release, read_plan(plan, verify=verify)
    if release.is_dir() and (release / MANIFEST).exists():
        return pramble.open_release(release, verify=verify), None
    raise InvalidInput(
        f"{str(release)!r} is no release folder; say with --plan how the data was released."
    )


def listed(text: str) -> list[tuple[str, ...]]:
    """Return the tables in a list such as ``sex+age,sex+region``.

    >>> listed("sex+age,region")
    [('sex', 'age'), ('region',)]
    """
    return [tuple(names(part.split("+"))) for part in names([text])]


def write(made: Synthesis, target: Path) -> None:
    """Write the records, whole or not at all."""
    with saving(target, made.frame.schema) as writer:
        for batch in made.frame.to_batches():
            writer.write(batch)


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
