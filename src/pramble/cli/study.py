"""``pramble study``: the source paper reproduced and corrected, as a folder with a page."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from pramble.cli.console import answers, messages
from pramble.cli.inputs import new_folder, option
from pramble.values import Progress as Step


def study(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Studies to run; all of them if none is named."),
    ] = None,
    out: Annotated[Path, option("Folder to write.", callback=new_folder)] = Path("study"),
    quick: Annotated[bool, option("Fewer repetitions; done within a minute.", "--quick")] = False,
    seed: Annotated[int, option("Seed of every random draw.", min=0)] = 1,
    workers: Annotated[int, option("Processes to use.", min=1)] = os.cpu_count() or 1,
) -> None:
    """Reproduce and correct every table and figure of the source paper.

    Writes CSV tables, SVG and PNG figures and one self-contained page, index.html. The studies are
    gallery, errata, tables, estimates, sex and new-york.

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

        def update(now: Step) -> None:
            bars.start_task(tasks[now.what])
            done, total = now.figures["done"], now.figures["tasks"]
            bars.update(tasks[now.what], completed=done, total=total)

        finished = run_studies(asked, quick=quick, seed=seed, workers=workers, progress=update)
    page = write_folder(finished, out, quick=quick, seed=seed)
    messages().print(f"Studies done: {len(finished)}, in {time.perf_counter() - started:.0f} s.")
    answers().print(str(page))
