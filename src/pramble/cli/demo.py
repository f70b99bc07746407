"""``pramble demo``: the curator's and the analyst's whole job, on sample data."""

import math
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
from pramble.estimation.follow.result import Estimate
from pramble.report.outcome_text import plan_sentences
from pramble.shown import Grid

# People of New York State in 2024, as the Census Bureau estimates.
POPULATION = 19_867_248
COLUMNS = ("SEX", "MARST", "EDUC")
KEYS = ("SEX", "AGE", "MARST", "RACESING", "EDUC", "EMPSTAT")
ALPHA, CENTRAL = 6.0, 1.0
TABLE = ("AGE", "EDUC")


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
    with step("designing, randomising, checking, reporting"), without_remarks():
        local = pramble.release(
            source, out / "release", columns=list(COLUMNS), alpha=ALPHA, ledger=False,
            risk={"keys": list(KEYS), "population_size": POPULATION},
        )  # fmt: skip
    show_local(local)
    with step("estimating from the release alone"):
        opened = pramble.open_release(out / "release")
        estimate = pramble.estimate(opened, by=["MARST"])
    show(recovered(estimate, original=people, released=opened.data))
    with (
        step("the same people from a trusted office: protected tables of all ten columns"),
        without_remarks(),
    ):
        central = pramble.release(
            source, out / "central", columns=people.column_names, central=CENTRAL, ledger=False
        )
    with step("estimating a table from the protected ones"):
        table = pramble.estimate(pramble.open_release(out / "central"), by=list(TABLE))
    show_central(central, table, original=people)
    show(f"\nThe whole story: open {out}/release-report.html and {out}/central-report.html.")


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


def show_local(release: Any) -> None:
    """Print what the release protects, and the risk that it leaves."""
    outcome = release.outcome
    show(f"Released at α = {outcome.alpha:.4g} a record", style="bold")
    show(
        *plan_sentences(outcome.record),
        f"The risk afterwards: {outcome.risk.tau2_after:,.0f} correct matches expected, not "
        f"{outcome.risk.tau2_before:,.0f}.",
    )


def show_central(release: Any, estimate: Estimate, *, original: Any) -> None:
    """Print the central promise, and how near an estimated table is to the file."""
    outcome = release.outcome
    counted = original.group_by(list(TABLE)).aggregate([([], "count_all")]).to_pylist()
    true = {tuple(row[name] for name in TABLE): row["count_all"] for row in counted}
    cells = list(zip(*(estimate.cells[name] for name in TABLE), strict=True))
    found = estimate.n * estimate.probabilities
    errors = [own - true.get(cell, 0) for own, cell in zip(found, cells, strict=True)]
    off = math.sqrt(sum(error**2 for error in errors) / len(cells))
    protected = outcome.protected
    show(f"Released again: {promise_text(outcome)}", style="bold")
    show(
        f"All {protected.tables} tables of two of the ten columns, each with noise of "
        f"± {protected.noise:,.0f} people a cell; complete records of all columns are drawn from "
        f"them, whose tables are {protected.fit:,.0f} people a cell from these on average.",
        f"{' × '.join(TABLE)}, {len(cells)} cells: the estimate is {off:,.0f} people off in a "
        f"typical cell, of {estimate.n:,.0f}.",
    )


def recovered(estimate: Estimate, *, original: Any, released: Any) -> Grid:
    """Return truth, face value and estimate side by side."""

    def shares(table: Any) -> dict[str, float]:
        counts = pc.value_counts(table["MARST"]).to_pylist()
        shown = {entry["values"]: entry["counts"] for entry in counts if entry["values"]}
        return {label: count / sum(shown.values()) for label, count in shown.items()}

    before, after = shares(original), shares(released)
    rows = [
        [
            str(row["MARST"]),
            f"{before.get(row['MARST'], 0):.2%}",
            f"{after.get(row['MARST'], 0):.2%}",
            f"{row['probability']:.2%}",
            f"{row['lower']:.2%} to {row['upper']:.2%}",
        ]
        for row in estimate.table.to_pylist()
    ]
    head = ["", "in the file", "at face value", "estimated", "95 % interval"]
    return Grid("What an analyst recovers: marital status", head, rows)
