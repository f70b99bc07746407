"""``pramble demo``: the curator's and the analyst's whole job, on sample data."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pyarrow.compute as pc
from pyarrow import parquet

import pramble
from pramble.cli.console import messages, show, without_remarks
from pramble.cli.inputs import new_folder, option
from pramble.cli.release import promise_text
from pramble.errors import InvalidInput
from pramble.estimation.functionals.result import Estimate
from pramble.numbers import percent
from pramble.report.outcome_text import release_text
from pramble.shown import Grid

# People of New York State in 2024, as the Census Bureau estimates.
POPULATION = 19_867_248
# What a neighbour or a colleague usually knows of a person.
KEYS = ("SEX", "AGE", "MARST", "RACESING", "EDUC", "EMPSTAT")
# The first release: a local promise of three columns, whatever happens to the file. The second: a
# central one of all ten, against those who read the release.
RELEASES: dict[str, dict[str, Any]] = {
    "release": {
        "columns": ["SEX", "MARST", "EDUC"],
        "alpha": 6.0,
        "risk": {"keys": list(KEYS), "population_size": POPULATION},
    },
    "central": {"central": 1.0},
}


def demo(
    out: Annotated[Path, option("Folder to make.", "--out", "-o", callback=new_folder)] = Path(
        "demo-release"
    ),
    rows: Annotated[int, option("Number of people.", min=1000)] = 953_076,
) -> None:
    """Play both parts on synthetic New Yorkers: assess, release, and estimate from the release.

    First under a local promise, which holds whatever happens to the file: randomised records. Then
    under a central one, against those who read the release: protected tables of all ten columns,
    and complete records drawn from them.

    Examples
    --------
      pramble demo

      pramble demo --rows 10000 --out try
    """
    fresh_folder(out)
    source = out / "people.parquet"
    with step(f"drawing {rows:,} people with ten variables"):
        people = pramble.datasets.synthetic_new_york(rows)
        parquet.write_table(people, source)
    show(f"A confidential file: {rows:,} synthetic New Yorkers, ten variables, {source}.")
    with step("measuring the risk"):
        risk = pramble.assess(people, keys=list(KEYS), population_size=POPULATION, model="two-way")
    show(
        f"The risk: someone who knows {', '.join(KEYS)} of a person finds {risk.sample_uniques:,} "
        f"of them alone in their combination, and would match {risk.tau2:,.0f} of those correctly."
    )
    for name, settings in RELEASES.items():
        with step("designing, protecting, checking, reporting"), without_remarks():
            given = {"columns": people.column_names, **settings}
            outcome = pramble.release(source, out / name, ledger=False, **given).outcome
        assert outcome is not None
        show(f"Released to {out / name}: {promise_text(outcome)}", style="bold")
        show(*release_text(outcome))
        with step("estimating from the release alone"):
            estimate = pramble.estimate(pramble.open_release(out / name), by=["MARST"])
        show(recovered(estimate, original=people))
    show(
        f"\nWhat readers get: open {out}/central/summary.html. The curator's own report: "
        f"{out}/central-report.html."
    )


def fresh_folder(folder: Path) -> None:
    """Empty the folder, or make it; refuse to touch one that a demo did not make."""
    mark = folder / "made-by-pramble-demo"
    if folder.exists() and any(folder.iterdir()):
        if not mark.exists():
            raise InvalidInput(
                f"The demo makes its folder itself, and {folder} holds other files. "
                "Name another with --out."
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    mark.touch()


@contextmanager
def step(what: str) -> Iterator[None]:
    """Say what is going on, then how long it took."""
    console, started = messages(), time.perf_counter()
    with console.status(f"{what} …"):
        yield
    console.print(f"{what}: {time.perf_counter() - started:.1f} s", style="dim")


def recovered(estimate: Estimate, *, original: Any) -> Grid:
    """Return the shares of marital status in the file, and as an analyst estimates them."""
    counts = pc.value_counts(original["MARST"]).to_pylist()
    before = {entry["values"]: entry["counts"] / original.num_rows for entry in counts}
    rows = [
        [str(label), *(percent(one, 2) for one in (before.get(label, 0), share, lower, upper))]
        for label, share, lower, upper in zip(
            estimate.cells["MARST"], estimate.values, estimate.lower, estimate.upper, strict=True
        )
    ]
    head = ["", "in the file", "estimated", "from", "to"]
    return Grid("What an analyst recovers: marital status, with 95 % intervals", head, rows)
