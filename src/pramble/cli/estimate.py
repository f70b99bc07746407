"""``pramble estimate``, ``impute`` and ``synthesize``: what a release says about the original."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import pramble
from pramble.cli.console import attributes, messages, print_answer, print_csv, show, shown_progress
from pramble.cli.inputs import (
    AsCsv,
    AsJson,
    Text,
    Verify,
    listed_names,
    new_file,
    new_folder,
    new_picture,
    option,
    tables_in,
)
from pramble.data.formats.registry import target_format
from pramble.data.open import open_records
from pramble.data.save import save_table
from pramble.engine.files import check_places
from pramble.errors import InvalidInput
from pramble.estimation.draws.impute import Imputation, imputation
from pramble.estimation.draws.synthesize import Synthesis, synthesis
from pramble.estimation.functionals.result import Covers, Estimate, Method
from pramble.plots.images import save
from pramble.report.outcome_text import estimate_grid

IMPUTATION_PRIVACY = (
    "Drawn from the release alone: the copies reveal nothing beyond it and cost no privacy. Do the "
    "same with each of them, and put the answers together with pramble.combine."
)
SYNTHESIS_PRIVACY = (
    "Drawn from the release alone: these records reveal nothing beyond it and are as private as it "
    "is. Take intervals from `pramble estimate`, not from these records."
)

Folder = Annotated[Path, typer.Argument(help="A release folder.", show_default=False)]


def estimate(
    release: Folder,
    by: Annotated[str, option("Columns of the table, randomised or not: a,b,c.")],
    given: Annotated[Text, option("Shares within each combination of these columns: a,b.")] = None,
    query: Annotated[
        list[str] | None,
        option("The share of some cells, as 'sex=f,town=a|b'; repeat for more."),
    ] = None,
    mean: Annotated[Text, option("A numeric column: its mean in each cell.")] = None,
    weights: Annotated[Text, option("The column of survey weights.")] = None,
    method: Annotated[Method, option("mle (maximum likelihood), or inverse (unbiased).")] = "mle",
    level: Annotated[float, option("Confidence level of the intervals.")] = 0.95,
    covers: Annotated[
        Covers, option("What intervals cover: both (sampling too), or randomisation alone.")
    ] = "both",
    plot: Annotated[
        Path | None, option("Plot with intervals: .svg, .png or .pdf.", callback=new_picture)
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
    # Protected tables have no data, and the columns of their plan can be asked for.
    known = opened.plan.columns if opened.data is None else open_records(opened.data).names
    answer = pramble.estimate(
        opened,
        by=names_among(by, known),
        given=None if given is None else names_among(given, known),
        query=query or None,
        mean=mean,
        weights=weights,
        method=method,
        level=level,
        covers=covers,
    )
    # Notes are for people: what is piped elsewhere holds the table alone.
    show(*answer.notes, console=messages())
    if as_csv:
        columns = answer.columns()
        print_csv(list(columns), zip(*columns.values(), strict=True))
    else:
        print_answer(
            as_json, lambda: estimate_document(answer), estimate_grid(answer, hint=": --csv")
        )
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
    columns = answer.columns()
    names = ("n", "method", "level", "covers", "log_likelihood", "gap", "misfit", "rests_on")
    return {
        **attributes(answer, names),
        "modelled": answer.is_modelled,
        "notes": list(answer.notes),
        "cells": [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ],
    }


def impute(
    release: Folder,
    out: Annotated[
        Path, option("The folder to make, a file a copy.", "--out", "-o", callback=new_folder)
    ],
    copies: Annotated[int, option("How many copies.")] = 20,
    seed: Annotated[int | None, option("The same number draws the same copies.")] = None,
    using: Annotated[
        Text,
        option("Columns released as they are, to draw given: a,b; by default all that can be."),
    ] = None,
    tables: Annotated[
        Text,
        option("Tables of the distribution: 2 (all pairs), 3, a+b,a+c, or all columns (all)."),
    ] = None,
    ending: Annotated[
        str, option("The ending of the files: parquet, csv …", "--format")
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
    opened = pramble.open_release(release, verify=verify)
    with shown_progress() as progress:
        made = imputation(
            opened,
            None,
            copies=copies,
            seed=seed,
            using=listed_names(using),
            tables=tables_in(tables),
            progress=progress,
        )
    files = write_numbered(made, out, ending=ending)
    names = ("rows", "columns", "given", "classes", "tables", "sweeps", "notes")
    show(*made.notes, console=messages())
    print_answer(
        as_json,
        lambda: {"files": list(map(str, files)), **attributes(made, names)},
        f"Wrote {len(files)} copies of {made.rows:,} records to {out}.",
        f"Drawn: {', '.join(made.columns)}, given {', '.join(made.given) or 'nothing'}; --json "
        "names the tables of their distribution.",
        IMPUTATION_PRIVACY,
    )


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


def synthesize(
    release: Folder,
    out: Annotated[
        Path, option("The file to write: .parquet, .csv …", "--out", "-o", callback=new_file)
    ],
    rows: Annotated[
        int | None, option("How many records; as many as the release has by default.")
    ] = None,
    seed: Annotated[int | None, option("The same number draws the same records.")] = None,
    tables: Annotated[str, option("Tables to fit: 1, 2 (all pairs), 3, or a+b,a+c.")] = "2",
    columns: Annotated[
        Text, option("Columns of the records: a,b,c; all that can be by default.")
    ] = None,
    method: Annotated[str, option("auto, cells (one array over all cells), or records.")] = "auto",
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
    # Refused now, and not after the drawing.
    target_format(out)
    check_places(release, out, overwrite=False)
    opened = pramble.open_release(release, verify=verify)
    with shown_progress() as progress:
        made = synthesis(
            opened,
            None,
            rows=rows,
            seed=seed,
            tables=tables_in(tables),
            columns=listed_names(columns),
            method=method,
            progress=progress,
        )
    save_table(made.frame, out)
    farthest = max(made.fits, key=lambda fit: fit.mean)
    show(*made.notes, console=messages())
    print_answer(
        as_json,
        lambda: synthesis_document(made, out),
        f"Wrote {made.rows:,} records to {out}.",
        f"Their tables are at most {100 * farthest.mean:.3f} points a cell from their estimates "
        f"({' × '.join(farthest.columns)}); --json says so of each.",
        SYNTHESIS_PRIVACY,
    )


def synthesis_document(made: Synthesis, target: Path) -> dict[str, Any]:
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
    about = attributes(made, ("rows", "method", "notes"))
    return {"file": str(target), **about, "tables": fits}
