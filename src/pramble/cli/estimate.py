"""``pramble estimate``, ``impute`` and ``synthesize``: what a release says about the original."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import pramble
from pramble.cli.console import (
    answers,
    facts_table,
    messages,
    print_csv,
    print_json,
    shown_progress,
    table_of,
)
from pramble.cli.inputs import (
    AsCsv,
    AsJson,
    Verify,
    names,
    new_file,
    new_folder,
    new_picture,
    released_data,
    tables_in,
)
from pramble.data.formats.registry import target_format
from pramble.data.open import open_records
from pramble.data.save import save_table
from pramble.engine.files import check_places
from pramble.errors import InvalidInput
from pramble.estimation.draws.impute import Imputation, imputation
from pramble.estimation.draws.released import CLASSES
from pramble.estimation.draws.synthesize import Synthesis, synthesis
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
FolderOrData = Annotated[
    Path, typer.Argument(help="A release folder; or released data, with --plan.")
]
OwnPlan = Annotated[
    Path | None, typer.Option(help="The plan that the data was released with, as JSON.")
]


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
        print_json(estimate_document(answer))
    elif as_csv:
        columns = answer.columns()
        print_csv(list(columns), zip(*columns.values(), strict=True))
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


def estimate_document(answer: Estimate) -> dict[str, Any]:
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


MOST_TABLES = 20
IMPUTATION_PRIVACY = (
    "Drawn from the release alone: the copies reveal nothing beyond it and cost no privacy. Do the "
    "same with each of them, and put the answers together with pramble.combine."
)


def impute(
    release: FolderOrData,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", callback=new_folder, help="The folder to make, a file a copy."),
    ],
    plan: OwnPlan = None,
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
    files = write_numbered(made, out, ending=ending)
    for note in made.notes:
        messages().print(note, soft_wrap=True)
    if as_json:
        print_json(imputation_document(made, files))
        return
    answers().print(f"Wrote {len(files)} copies of {made.rows:,} records to {out}.", soft_wrap=True)
    answers().print(imputation_table(made))
    answers().print(IMPUTATION_PRIVACY, soft_wrap=True)


def write_numbered(made: Imputation, folder: Path, *, ending: str) -> list[Path]:
    """Write one file for each copy, numbered from 1."""
    try:
        folder.mkdir()
    except OSError as error:
        raise InvalidInput(f"Cannot make the folder {folder}: {error.strerror}.") from None
    files = [folder / f"{number}{ending}" for number in range(1, len(made.frames) + 1)]
    for file, frame in zip(files, made.frames, strict=True):
        save_table(frame, file)
    return files


def imputation_document(made: Imputation, files: list[Path]) -> dict[str, Any]:
    """Return what was drawn as a plain document."""
    return {
        "files": [str(file) for file in files],
        "rows": made.rows,
        **{name: list(getattr(made, name)) for name in ("columns", "given", "classes")},
        "tables": [list(table) for table in made.tables],
        "sweeps": made.sweeps,
        "notes": list(made.notes),
    }


def imputation_table(made: Imputation) -> Table:
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
    release: FolderOrData,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", callback=new_file, help="The file to write: .parquet, .csv …"),
    ],
    plan: OwnPlan = None,
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
    about = {"file": str(target), "rows": made.rows, "method": made.method}
    return {**about, "notes": list(made.notes), "tables": fits}


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
