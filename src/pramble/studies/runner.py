"""Run studies and write their folder: tables, figures, and the page that tells the story."""

import csv
import json
import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pramble.plots.images import Picture, to_png, to_svg
from pramble.studies.catalogue import chosen
from pramble.studies.page import render
from pramble.studies.parallel import Watched, new_pool
from pramble.studies.study import Study, Table, generator
from pramble.values import Clock, Watcher


@dataclass(frozen=True)
class Finished:
    """A study that has run: what it found and how it is shown."""

    study: Study
    config: Any
    data: Any
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]


def run_studies(
    names: tuple[str, ...],
    *,
    quick: bool,
    seed: int,
    workers: int,
    progress: Watcher | None = None,
) -> tuple[Finished, ...]:
    """Run the named studies, all of them for no name.

    The numbers depend on ``quick`` and ``seed`` only, not on the number of workers nor on which
    other studies run. Progress tells the study's name, and the tasks of it that are done.
    """
    studies = chosen(names)
    clock, part = Clock(progress), 1 / max(len(studies), 1)
    with new_pool(workers) as pool:
        return tuple(
            finish(
                one,
                Watched(
                    one.name,
                    clock.part(i * part, part),
                    pool if one.heavy and workers > 1 else None,
                ),
                quick=quick,
                seed=seed,
            )
            for i, one in enumerate(studies)
        )


def finish(study: Study, each: Watched, *, quick: bool, seed: int) -> Finished:
    """Run one study and prepare what shows it."""
    config = study.quick if quick else study.full
    data = study.run(config, generator(seed, study.name), each=each)
    return Finished(study, config, data, study.tables(data), study.pictures(data))


def write_folder(finished: tuple[Finished, ...], folder: Path, *, quick: bool, seed: int) -> Path:
    """Write every table as CSV, every figure as SVG and PNG, the set-up, and the page."""
    folder.mkdir(parents=True, exist_ok=True)
    drawings = {}
    for one in finished:
        for table in one.tables:
            write_csv(table, folder / "tables" / f"{table.name}.csv")
        for picture in one.pictures:
            drawings[picture.name] = write_picture(picture, folder / "figures")
    setup = {
        "quick": quick,
        "seed": seed,
        "studies": {one.study.name: asdict(one.config) for one in finished},
    }
    (folder / "study.json").write_text(json.dumps(setup, indent=2, default=str) + "\n", "utf-8")
    page = folder / "index.html"
    page.write_text(render(finished, drawings, quick=quick, seed=seed), encoding="utf-8")
    return page


def write_csv(table: Table, path: Path) -> None:
    """Write a table with all digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([column.heading for column in table.columns])
        writer.writerows([[plain(value) for value in row] for row in table.rows])


def plain(value: Any) -> Any:
    """Return a value as a spreadsheet reads it: no fractions, nothing for what is infinite."""
    if isinstance(value, Fraction):
        return float(value)
    return "" if isinstance(value, float) and not math.isfinite(value) else value


def write_picture(picture: Picture, folder: Path) -> str:
    """Write a figure as PNG and SVG and return the SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    svg = to_svg(picture.figure, name=picture.name, description=picture.description)
    (folder / f"{picture.name}.svg").write_text(svg, encoding="utf-8")
    (folder / f"{picture.name}.png").write_bytes(to_png(picture.figure))
    return svg
