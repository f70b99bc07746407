"""``pramble assess``: how likely is re-identification."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

import pramble
from pramble.cli.console import answers, print_json, shown_progress, table_of
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
    for answer in (a, comparison):
        if answer is not None:
            answers().print(repr(answer), markup=False, highlight=False, soft_wrap=True)
    if riskiest:
        answers().print(riskiest_table(a, riskiest))


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
