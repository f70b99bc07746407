"""``pramble estimate``: what a release says about the original."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import pramble
from pramble.cli.console import answers, messages, print_csv, print_json, table_of
from pramble.cli.options import AsJson, Verify, new_picture
from pramble.data.open import open_records
from pramble.errors import InvalidInput
from pramble.estimation.follow.result import Covers, Estimate, Method
from pramble.estimation.survey import ReplicateMethod, Survey
from pramble.plots.images import save

MOST_ROWS = 200
"""Rows that a table in a terminal shows; --csv and --json give all."""

Folder = Annotated[Path, typer.Argument(help="A release folder.", show_default=False)]
By = Annotated[str, typer.Option(help="Columns of the table, randomised or not: a,b,c.")]
Queries = Annotated[
    list[str] | None,
    typer.Option(
        "--query", help="The share of some cells, as 'sex=f,region=north|south'; repeat for more."
    ),
]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]


def estimate(
    release: Folder,
    by: By,
    given: Annotated[
        str | None, typer.Option(help="Shares within each combination of these columns: a,b.")
    ] = None,
    query: Queries = None,
    mean: Annotated[
        str | None, typer.Option(help="A numeric column: its mean in each cell.")
    ] = None,
    total: Annotated[
        str | None, typer.Option(help="A numeric column: its total in each cell.")
    ] = None,
    weights: Annotated[str | None, typer.Option(help="The column of survey weights.")] = None,
    strata: Annotated[str | None, typer.Option(help="The column of sampling strata.")] = None,
    clusters: Annotated[str | None, typer.Option(help="The column of sampled clusters.")] = None,
    replicates: Annotated[
        str | None, typer.Option(help="Columns of replicate weights, as w1,w2,w3.")
    ] = None,
    replicate_method: Annotated[
        ReplicateMethod, typer.Option(help="How replicates were made: acs, brr or jackknife.")
    ] = "acs",
    method: Annotated[
        Method, typer.Option(help="mle (maximum likelihood), or inverse (unbiased).")
    ] = "mle",
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    covers: Annotated[
        Covers,
        typer.Option(help="What intervals cover: both (sampling too), or randomisation alone."),
    ] = "both",
    population: Annotated[
        float | None, typer.Option(help="Size of the finite population the file is a sample of.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(callback=new_picture, help="Plot with intervals: .svg, .png or .pdf."),
    ] = None,
    verify: Verify = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Estimate the original distribution from a release, with intervals.

    Examples
    --------
      pramble estimate out --by sex,region

      pramble estimate out --by sex,region --query "sex=f,region=north|south" --json

      pramble estimate out --by employed --given sex

      pramble estimate out --by sex --mean income --plot income.png
    """
    if as_json and as_csv:
        raise InvalidInput("Ask for one of --json and --csv.")
    opened = pramble.open_release(release, verify=verify)
    known = opened.plan.columns if opened.data is None else open_records(opened.data).names
    answer = pramble.estimate(
        opened,
        by=names_among(by, known),
        given=None if given is None else names_among(given, known),
        query=query or None,
        mean=mean,
        total=total,
        weights=weights,
        survey=Survey(
            strata=strata,
            clusters=clusters,
            replicates=() if replicates is None else names_among(replicates, known),
            replicate_method=replicate_method,
            population_size=population,
        ),
        method=method,
        level=level,
        covers=covers,
    )
    for note in answer.notes:
        messages().print(note)
    if as_json:
        print_json(document_of(answer))
    elif as_csv:
        print_cells(answer)
    else:
        answers().print(terminal_table(answer))
    if plot is not None:
        words = f"Estimates by {', '.join(answer.cells)} with intervals"
        save(answer.plot(), plot, name="estimate", description=words)
        messages().print(f"Wrote {plot}.")


def names_among(given: str, known: Sequence[str]) -> list[str]:
    """Return the columns that ``a,b,c`` names; blanks count only where a column has them.

    >>> names_among("sex, region, age", ["sex", " region", "age"])
    ['sex', ' region', 'age']
    """
    return [name if name in known else name.strip() for name in given.split(",")]


def document_of(answer: Estimate) -> dict[str, Any]:
    """Return an estimate as a plain document, one entry per cell."""
    columns = answer.columns()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    shown = ("n", "method", "level", "covers", "log_likelihood", "gap", "misfit")
    return {
        **{name: getattr(answer, name) for name in shown},
        "modelled": answer.is_modelled,
        "rests_on": [list(table) for table in answer.rests_on],
        "notes": list(answer.notes),
        "cells": rows,
    }


def print_cells(answer: Estimate) -> None:
    """Print the tidy table as CSV."""
    columns = answer.columns()
    print_csv(list(columns), zip(*columns.values(), strict=True))


def terminal_table(answer: Estimate) -> Table:
    """Return the table that a terminal shows."""
    modelled = "Modelled: " * answer.is_modelled
    title = f"{modelled}{answer.n:,.0f} records, {100 * answer.level:g} % intervals"
    headings = (*answer.cells, answer.quantity, "± se", "from", "to")
    caption = f"Intervals cover {answer.covers_what}."
    table = table_of(title, *headings, left=answer.cells, caption=caption)
    numbers = (answer.values, answer.standard_errors, answer.lower, answer.upper)
    cells = zip(*answer.cells.values(), strict=True)
    rows = zip(cells, zip(*numbers, strict=True), strict=True)
    share = answer.quantity in {"probability", "share"} or "query" in answer.cells
    for position, (cell, values) in enumerate(rows):
        if position == MOST_ROWS:
            rest = len(answer.values) - MOST_ROWS
            table.add_row(f"… {rest:,} more: --csv", *[""] * (len(cell) + 3))
            break
        shown = [f"{value:.2%}" if share else f"{value:,.4g}" for value in values]
        table.add_row(*(str(label) for label in cell), *shown)
    return table
