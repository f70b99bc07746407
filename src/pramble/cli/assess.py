"""``pramble assess``: how likely is re-identification."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

import pramble
from pramble.cli.console import answers, facts_table, print_json, shown_progress, table_of
from pramble.cli.inputs import read_plan
from pramble.cli.options import (
    AsJson,
    File,
    Impossible,
    Keys,
    Margins,
    Missing,
    ModelName,
    Population,
    Verify,
    Weights,
    margins,
    names,
    rules,
)
from pramble.risk.after import PlanComparison
from pramble.risk.assess import Assessment


def assess(
    file: File,
    keys: Keys,
    population: Population = None,
    model: ModelName = "two-way",
    margin: Margins = None,
    weights: Weights = None,
    household: Annotated[str | None, typer.Option(help="The column that names households.")] = None,
    impossible: Impossible = None,
    missing: Missing = "category",
    plan: Annotated[
        list[Path] | None,
        typer.Option(
            help="A release folder or plan: show the risk that it leaves; give several to compare."
        ),
    ] = None,
    verify: Verify = None,
    riskiest: Annotated[
        int, typer.Option(help="List so many rows of highest risk. Shows confidential values.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Say how likely re-identification is, and what a plan leaves of it.

    Examples
    --------
      pramble assess people.csv --keys age,sex,region --population 19867248

      pramble assess people.csv --keys age,sex --population 19867248 --plan out --plan other
    """
    with shown_progress() as progress:
        a = pramble.assess(
            file,
            names(keys),
            population_size=population,
            model=margins(model, margin or []),
            weights=weights,
            household=household,
            impossible=rules(impossible or []),
            missing=missing,
            progress=progress,
        )
        plans = {str(path): read_plan(path, verify=verify) for path in plan or []}
        comparison = a.compare(plans) if plans else None
    if as_json:
        document = a.summary()
        if comparison is not None:
            document["after"] = comparison.summary()
        if riskiest:
            document["riskiest"] = a.riskiest(riskiest)
        print_json(document)
        return
    answers().print(figures_table(a))
    if comparison is not None:
        answers().print(comparison_table(comparison))
        answers().print(comparison.verdict)
    if riskiest:
        answers().print(riskiest_table(a, riskiest))


def figures_table(a: Assessment) -> Table:
    """Return the figures of the whole file."""
    table = facts_table(f"Disclosure risk by {', '.join(a.keys)}")
    table.add_row("records", f"{a.n:,}")
    if a.population_size == a.population_size:
        table.add_row("population", f"{a.population_size:,.0f}")
    table.add_row("classes, of possible cells", f"{len(a.table.counts):,} of {a.cells:,}")
    table.add_row("sample uniques", f"{a.sample_uniques:,}")
    table.add_row("records in classes below 3; below 5", f"{a.below(3):,}; {a.below(5):,}")
    if a.fit is not None or a.sample_uniques == 0:
        table.add_row("unique in the population too (τ1)", f"{a.tau1:.4g}")
        table.add_row("right matches of sample uniques (τ2)", f"{a.tau2:.4g}")
    if a.intervals is not None:
        table.add_row("95 % interval of τ1", _interval(a.intervals.tau1))
        table.add_row("95 % interval of τ2", _interval(a.intervals.tau2))
    if a.chains is not None:
        table.add_row("chains", a.chains.verdict)
    if a.criteria is not None:
        z1, z2 = a.criteria.standardised
        table.add_row("fit: B1/√v1, B2/√v2", f"{z1:.2f}, {z2:.2f}")
    for name in ("individual", "household"):
        if name in a.records.dtype.names:
            table.add_row(f"sum of {name} risk", f"{a.records[name].sum():.6g}")
    table.add_row("model", f"{a.model} ({a.reason})")
    return table


def comparison_table(comparison: PlanComparison) -> Table:
    """Return plans side by side."""
    level = f"r2 above {comparison.level:g}"
    figures = ("α", "τ1 left", "τ2 left", "largest r2", level, "information kept")
    table = table_of("Risk left and information kept", "plan", *figures, left={"plan"})
    none = f"{comparison.before_tau1:.4g}", f"{comparison.before_tau2:.4g}"
    table.add_row("as it is", "∞", *none, "", "", "100 %")
    for plan in comparison:
        table.add_row(
            plan.name,
            f"{plan.alpha:.4g}",
            f"{plan.tau1:.4g}",
            f"{plan.tau2:.4g}",
            f"{plan.worst:.3f}",
            f"{100 * plan.share:.2f} %",
            f"{100 * plan.kept:.0f} %",
        )
    return table


def riskiest_table(a: Assessment, count: int) -> Table:
    """Return the rows of highest risk."""
    risks = [name for name in a.records.dtype.names if name != "class_size"]
    headings = ("row", *a.keys, "class size", *risks)
    table = table_of("Rows of highest risk (confidential)", *headings, left=a.keys)
    for row in a.riskiest(count):
        values = [str(value) for value in row["keys"].values()]
        figures = [f"{row[name]:.4f}" for name in risks]
        table.add_row(str(row["row"]), *values, str(row["class_size"]), *figures)
    return table


def _interval(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.4g} to {ends[1]:.4g}"
