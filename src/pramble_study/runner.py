"""Run studies, in the order of the page, and write their folder: tables, figures and the page."""

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pramble.errors import InvalidInput
from pramble.plots.images import Picture, page_environment, to_png, to_svg
from pramble.values import Reporter, Watcher
from pramble_study import errata, estimates, gallery, new_york, sex, story, tables
from pramble_study.study import Answer, Study, Table, Task, generator


def study(title: str, module: Any, *, heavy: bool = True, **quick: Any) -> Study:
    """Return the study of a module, named as it is; ``quick`` says what a quick run changes."""
    return Study(
        module.__name__.rpartition(".")[2].replace("_", "-"),
        title,
        full=module.Config(),
        quick=module.Config(**quick),
        run=module.run,
        tables=module.tables,
        pictures=getattr(module, "pictures", lambda _: ()),
        heavy=heavy,
    )


# The studies.
STUDIES = (
    study("the feasible set and its vertices", gallery, heavy=False),
    study("errors of the paper, with exact counterexamples", errata, heavy=False),
    study("tables 1 to 4: printed and true optima", tables, redraws=20, tolerance=1e-6),
    study(
        "figures 1 to 4: estimates from repeated releases",
        estimates,
        alphas=(0.5, 2.0),
        repetitions=10,
        tolerance=1e-2,
    ),
    study("figures 5 and 6: sex in New York", sex, repetitions=20),
    study("ten New York variables", new_york, alphas=(1.0, 4.0), tolerance=1e-3),
)

NAMES = tuple(one.name for one in STUDIES)


def select_studies(names: tuple[str, ...]) -> tuple[Study, ...]:
    for name in names:
        if name not in NAMES:
            raise InvalidInput(f"A study is one of {', '.join(NAMES)}; found {name!r}.")
    return tuple(one for one in STUDIES if not names or one.name in names)


@dataclass(frozen=True)
class Finished:
    study: Study
    config: Any
    data: Any
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class Watched:
    """Runs tasks and tells how far it is: in this process, or on a pool where there is one.

    Each task carries its own generator, so the answers do not depend on the number of processes.
    """

    name: str
    reporter: Reporter = field(default_factory=lambda: Reporter(None))
    pool: ProcessPoolExecutor | None = None

    def __call__(self, function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
        """Return the answers in the order of the tasks; after a failure the rest is called off."""
        self.tell(0, len(tasks))
        if self.pool is None:
            answers = []
            for done, task in enumerate(tasks, start=1):
                answers.append(function(task))
                self.tell(done, len(tasks))
            return answers
        futures = [self.pool.submit(function, task) for task in tasks]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                self.tell(done, len(tasks))
        finally:
            for future in futures:
                future.cancel()
        return [future.result() for future in futures]

    def tell(self, done: int, tasks: int) -> None:
        self.reporter.report(self.name, done / max(tasks, 1), done=done, tasks=tasks)


def new_pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool of fresh processes: none inherits a generator or a thread."""
    return ProcessPoolExecutor(max_workers=workers, mp_context=get_context("spawn"))


def run_studies(
    names: tuple[str, ...], *, quick: bool, seed: int, workers: int, progress: Watcher | None = None
) -> tuple[Finished, ...]:
    """Run the named studies, all of them for no name.

    The numbers depend on ``quick`` and ``seed`` only, not on the number of workers nor on which
    other studies run. Progress tells the study's name, and the tasks of it that are done.
    """
    studies = select_studies(names)
    reporter, part = Reporter(progress), 1 / max(len(studies), 1)
    with new_pool(workers) as pool:
        finished = []
        for i, one in enumerate(studies):
            own_pool = pool if one.heavy and workers > 1 else None
            each = Watched(one.name, reporter.part(i * part, part), own_pool)
            config = one.quick if quick else one.full
            data = one.run(config, generator(seed, one.name), each=each)
            finished.append(Finished(one, config, data, one.tables(data), one.pictures(data)))
        return tuple(finished)


def write_folder(finished: tuple[Finished, ...], folder: Path, *, quick: bool, seed: int) -> Path:
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
    folder.mkdir(parents=True, exist_ok=True)
    svg = to_svg(picture.figure, name=picture.name, description=picture.description)
    (folder / f"{picture.name}.svg").write_text(svg, encoding="utf-8")
    (folder / f"{picture.name}.png").write_bytes(to_png(picture.figure))
    return svg


def render(
    finished: tuple[Finished, ...], drawings: Mapping[str, str], *, quick: bool, seed: int
) -> str:
    """Return the page as one self-contained HTML document.

    A study that did not run leaves its section out.
    """
    from markupsafe import Markup

    environment = page_environment("pramble_study")
    environment.filters.update(story.FILTERS)
    return environment.get_template("study.html").render(
        data={one.study.name: one.data for one in finished},
        config={one.study.name: one.config for one in finished},
        tables={table.name: table for one in finished for table in one.tables},
        pictures={picture.name: picture for one in finished for picture in one.pictures},
        drawings={name: Markup(svg) for name, svg in drawings.items()},  # noqa: S704 (our own SVG)
        story=story,
        quick=quick,
        seed=seed,
    )
