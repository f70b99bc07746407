"""``pramble study``: the source paper reproduced and corrected, as a folder with a page."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from pramble.cli.console import answers, messages, shown_progress
from pramble.cli.inputs import new_folder, option


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
    from pramble.errors import InvalidInput
    from pramble_study.runner import run_studies, select_studies, write_folder

    asked = tuple(names or ())
    try:
        select_studies(asked)
    except InvalidInput as error:
        raise typer.BadParameter(str(error), param_hint="NAME") from error
    started = time.perf_counter()
    with shown_progress() as progress:
        finished = run_studies(asked, quick=quick, seed=seed, workers=workers, progress=progress)
    page = write_folder(finished, out, quick=quick, seed=seed)
    messages().print(f"Studies done: {len(finished)}, in {time.perf_counter() - started:.0f} s.")
    answers().print(str(page))
