"""``pramble try``: which promise, for this file."""

from pathlib import Path
from typing import Annotated, Any

import typer

import pramble
from pramble.cli.console import answers, print_json
from pramble.cli.design_records import wanted_tables
from pramble.cli.options import AsJson, names
from pramble.cli.outputs import new_picture
from pramble.cli.progress import shown_progress
from pramble.errors import InvalidInput
from pramble.plots.images import save


def try_(
    source: Annotated[Path, typer.Argument(help="The confidential file, of any known format.")],
    plan: Annotated[Path | None, typer.Option(help="A plan, as `pramble init` writes.")] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns to randomise, or some of the plan's: a,b,c.")
    ] = None,
    alpha: Annotated[str | None, typer.Option(help="Local promises to try: 1,2,4.")] = None,
    central: Annotated[
        str | None, typer.Option(help="Central ε towards readers to try: 0.5,1, or none.")
    ] = None,
    delta: Annotated[float, typer.Option(help="δ of the central promises.")] = 1e-6,
    tables: Annotated[
        str | None, typer.Option(help="Tables that readers will want: 1, 2, all, or a+b,a+c.")
    ] = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out: a,b,c.")] = None,
    keys: Annotated[
        str | None, typer.Option(help="What an intruder may know: a,b,c (with --population).")
    ] = None,
    population: Annotated[int | None, typer.Option(help="Size of the population.")] = None,
    plot: Annotated[
        Path | None, typer.Option(callback=new_picture, help="Draw it: .svg, .png or .pdf.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare promises for a file side by side; nothing is written.

    A local α holds against everybody, also whoever handles the file before it is released. A
    central ε holds against those who only read the release: protected tables, with complete
    records drawn from them. Of a few columns, randomised records in random order are compared.

    Examples
    --------
      pramble try people.parquet --plan plan.toml

      pramble try people.parquet --columns sex,age,region --alpha 1,2,4 --plot promises.svg
    """
    settings: dict[str, Any] = {
        "tables": None if tables is None else wanted_tables(tables),
        "drop": None if drop is None else names([drop]),
    }
    if keys is not None:
        size = {} if population is None else {"population_size": population}
        settings["risk"] = {"keys": names([keys]), **size}
    with shown_progress() as progress:
        found = pramble.try_release(
            source,
            plan=plan,
            columns=None if columns is None else names([columns]),
            alphas=numbers_of(alpha),
            centrals=numbers_of(central),
            delta=delta,
            progress=progress,
            **{name: value for name, value in settings.items() if value is not None},
        )
    if plot is not None:
        save(found.plot(), plot, name="promises", description="Promises side by side")
    if as_json:
        print_json({"candidates": found.to_arrow().to_pylist(), "notes": list(found.notes)})
    else:
        answers().print(repr(found), markup=False, highlight=False, soft_wrap=True)


def numbers_of(text: str | None) -> list[float] | None:
    """Return the numbers of a list; none for the word none."""
    if text is None:
        return None
    if text.strip() == "none":
        return []
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"Promises to try are numbers such as 1,2,4; found {text!r}.") from None
