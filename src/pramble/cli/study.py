"""``pramble study``: the source paper reproduced and corrected, as a folder with a page."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from pramble.cli.console import answers, messages
from pramble.cli.inputs import new_folder
from pramble.values import Progress as Told


def study(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Studies to run; all of them if none is named."),
    ] = None,
    out: Annotated[Path, typer.Option(callback=new_folder, help="Folder to write.")] = Path(
        "study"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer repetitions; done within a minute.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random draw.")] = 1,
    workers: Annotated[int, typer.Option(min=1, help="Processes to use.")] = os.cpu_count() or 1,
) -> None:
    """Reproduce and correct every table and figure of the source paper.

    Writes CSV tables, SVG and PNG figures and one self-contained page, index.html. The studies are
    gallery, errata, tables, estimates, ratios, sex and new-york.

    Examples
    --------
      pramble study --quick
      pramble study tables new-york --out study --seed 7
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from pramble.errors import InvalidInput
    from pramble_study.runner import run_studies, select_studies, write_folder

    asked = tuple(names or ())
    try:
        studies = select_studies(asked)
    except InvalidInput as error:
        raise typer.BadParameter(str(error), param_hint="NAME") from error
    started = time.perf_counter()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=messages(), transient=False) as bars:
        tasks = {one.name: bars.add_task(one.title, total=None, start=False) for one in studies}

        def show(told: Told) -> None:
            bars.start_task(tasks[told.what])
            done, total = told.figures["done"], told.figures["tasks"]
            bars.update(tasks[told.what], completed=done, total=total)

        finished = run_studies(asked, quick=quick, seed=seed, workers=workers, progress=show)
    page = write_folder(finished, out, quick=quick, seed=seed)
    messages().print(f"Studies done: {len(finished)}, in {time.perf_counter() - started:.0f} s.")
    answers().print(str(page))
