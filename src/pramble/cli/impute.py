"""``pramble impute``: copies of a release with every randomised value drawn."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from pramble.cli.console import answers, facts_table, messages, print_json
from pramble.cli.options import AsJson, Verify, names, tables_in
from pramble.cli.outputs import new_folder
from pramble.cli.plans import released_data
from pramble.cli.progress import shown_progress
from pramble.data.formats.registry import target_format
from pramble.data.save import save_table
from pramble.engine.files import check_places
from pramble.errors import InvalidInput
from pramble.estimation.draws.given import CLASSES
from pramble.estimation.draws.imputation import Imputation, imputation

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
