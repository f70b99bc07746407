"""``pramble demo``: the curator's and the analyst's whole job, on built-in people."""

import math
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow.compute as pc
import typer
from pyarrow import parquet
from rich.markup import escape

import pramble
from pramble.cli.console import answers, messages, said_later, table_of
from pramble.cli.inputs import new_folder
from pramble.cli.release import promise_text, show_record
from pramble.errors import InvalidInput
from pramble.estimation.follow.result import Estimate

POPULATION = 19_867_248
COLUMNS = ("SEX", "MARST", "EDUC")
KEYS = ("SEX", "AGE", "MARST", "RACESING", "EDUC", "EMPSTAT")
ALPHA, CENTRAL = 6.0, 1.0
TABLE = ("AGE", "EDUC")


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=new_folder, help="Folder to make.")
    ] = Path("demo-release"),
    rows: Annotated[int, typer.Option(help="Number of people.", min=1000)] = 953_076,
) -> None:
    """Play both parts on made-up New Yorkers: assess, release, and estimate from the release.

    First under a local promise, which holds whatever happens to the file: randomised records. Then
    under a central one, against those who read the release: protected tables of all ten columns,
    and complete records drawn from them.

    Examples
    --------
      pramble demo

      pramble demo --rows 10000 --out try
    """
    say = partial(answers().print, markup=True)
    fresh_folder(out)
    source = out / "people.parquet"
    with step(f"drawing {rows:,} people with ten variables"):
        people = write_people(source, rows)
    say(
        f"[bold]A confidential file[/bold]: {rows:,} made-up New Yorkers, ten variables, "
        f"{escape(str(source))}."
    )
    with step("measuring the risk"):
        risk = pramble.assess(people, keys=list(KEYS), population_size=POPULATION, model="two-way")
    say(
        f"[bold]The risk[/bold]: someone who knows {', '.join(KEYS)} of a person finds "
        f"{risk.sample_uniques:,} of them alone in their combination, and would match "
        f"{risk.tau2:,.0f} of those correctly."
    )
    with step("designing, randomising, checking, reporting"):
        release = quiet_release(
            source,
            out / "release",
            columns=list(COLUMNS),
            alpha=ALPHA,
            ledger=False,
            risk={"keys": list(KEYS), "population_size": POPULATION},
        )
    show_release(release)
    with step("estimating from the release alone"):
        opened = pramble.open_release(out / "release")
        estimate = pramble.estimate(opened, by=["MARST"])
    show_estimate(estimate, truth=people, released=opened.data)
    with step("the same people from a trusted office: protected tables of all ten columns"):
        central = quiet_release(
            source, out / "central", columns=people.column_names, central=CENTRAL, ledger=False
        )
    with step("estimating a table from the protected ones"):
        table = pramble.estimate(pramble.open_release(out / "central"), by=list(TABLE))
    show_central(central, table, truth=people)
    say(
        f"\nOpen [bold]{escape(str(out))}/release-report.html[/bold] and "
        f"[bold]{escape(str(out))}/central-report.html[/bold] in a browser for the whole story."
    )


def quiet_release(source: Path, target: Path, **settings: Any) -> pramble.Release:
    """Release without remarks: the report has them."""
    with said_later():
        return pramble.release(source, target, **settings)


def fresh_folder(folder: Path) -> None:
    """Make the folder anew; refuse to touch one that a demo did not make."""
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


def write_people(path: Path, rows: int) -> Any:
    """Draw the people, write them, and return the table."""
    people = pramble.datasets.synthetic_new_york(rows)
    parquet.write_table(people, path)
    return people


@contextmanager
def step(what: str) -> Iterator[None]:
    """Say what is going on, then how long it took."""
    console, started = messages(), time.perf_counter()
    with console.status(f"{what} …"):
        yield
    console.print(f"{what}: {time.perf_counter() - started:.1f} s", style="dim")


def show_release(release: Any) -> None:
    """Print what the release protects, and what its tables will be worth."""
    outcome = release.outcome
    answers().print(f"Released at α = {outcome.alpha:.4g} a record", style="bold")
    show_record(outcome.record)
    risk = outcome.risk
    answers().print(
        f"The risk afterwards: {risk.tau2_after:,.0f} correct matches expected, "
        f"not {risk.tau2_before:,.0f}."
    )


def show_central(release: Any, estimate: Estimate, *, truth: Any) -> None:
    """Print the central promise, and how near an estimated table is to the file."""
    counted = truth.group_by(list(TABLE)).aggregate([([], "count_all")]).to_pylist()
    true = {tuple(row[name] for name in TABLE): row["count_all"] for row in counted}
    cells = list(zip(*(estimate.cells[name] for name in TABLE), strict=True))
    found = estimate.n * estimate.probabilities
    off = math.sqrt(
        sum((own - true.get(cell, 0)) ** 2 for own, cell in zip(found, cells, strict=True))
        / len(cells)
    )
    say = partial(answers().print, soft_wrap=True)
    say(f"Released again: {promise_text(release.outcome)}", style="bold")
    protected = release.outcome.protected
    say(
        f"All {protected.tables} tables of two of the ten columns, each with noise of "
        f"± {protected.noise:,.0f} people a cell; complete records of all columns are drawn from "
        f"them, whose tables are {protected.fit:,.0f} people a cell from these on average."
    )
    say(
        f"{' × '.join(TABLE)}, {len(cells)} cells: the estimate is {off:,.0f} people off in a "
        f"typical cell, of {estimate.n:,.0f}."
    )


def show_estimate(estimate: Estimate, *, truth: Any, released: Any) -> None:
    """Print truth, face value and estimate side by side."""

    def shares(table: Any) -> dict[str, float]:
        counts = pc.value_counts(table["MARST"]).to_pylist()
        shown = {entry["values"]: entry["counts"] for entry in counts if entry["values"]}
        return {label: count / sum(shown.values()) for label, count in shown.items()}

    before, after = shares(truth), shares(released)
    headings = ("", "in the file", "at face value", "estimated", "95 % interval")
    title = "What an analyst recovers: marital status"
    table = table_of(title, *headings, left={""}, title_justify="left")
    for row in estimate.table.to_pylist():
        label = row["MARST"]
        table.add_row(
            str(label),
            f"{before.get(label, 0):.2%}",
            f"{after.get(label, 0):.2%}",
            f"{row['probability']:.2%}",
            f"{row['lower']:.2%} to {row['upper']:.2%}",
        )
    answers().print(table)
