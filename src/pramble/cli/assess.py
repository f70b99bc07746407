"""``pramble assess``, ``try`` and ``calibrate``: the risk, and which promise keeps it small."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import pramble
from pramble.calibration.calibration import PromiseName, list_measures
from pramble.cli.console import (
    answers,
    complain,
    print_json,
    shown_progress,
    table_of,
)
from pramble.cli.inputs import (
    AsJson,
    File,
    Impossible,
    Keys,
    Margins,
    Missing,
    ModelName,
    Objective,
    Population,
    Verify,
    Weights,
    margins,
    names,
    new_file,
    new_picture,
    read_plan,
    rules,
    tables_in,
    write_json,
)
from pramble.errors import InvalidInput
from pramble.plots.images import save
from pramble.risk.assess import Assessment
from pramble.solvers.problem import FamilyName


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


def try_(
    source: Annotated[Path, typer.Argument(help="The confidential file, of any known format.")],
    plan: Annotated[Path | None, typer.Option(help="A plan, as `pramble init` writes.")] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns to randomise, or some of the plan's: a,b,c.")
    ] = None,
    alpha: Annotated[str | None, typer.Option(help="Local promises to try: 1,2,4.")] = None,
    central: Annotated[
        str | None, typer.Option(help="Central ε towards readers to try: 0.5,1, or none.")
    ] = None,
    delta: Annotated[float, typer.Option(help="δ of the central promises.")] = 1e-6,
    tables: Annotated[
        str | None, typer.Option(help="Tables that readers will want: 1, 2, all, or a+b,a+c.")
    ] = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out: a,b,c.")] = None,
    keys: Annotated[
        str | None, typer.Option(help="What an intruder may know: a,b,c (with --population).")
    ] = None,
    population: Annotated[int | None, typer.Option(help="Size of the population.")] = None,
    plot: Annotated[
        Path | None, typer.Option(callback=new_picture, help="Draw it: .svg, .png or .pdf.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare promises for a file side by side; nothing is written.

    A local α holds against everybody, also whoever handles the file before it is released. A
    central ε holds against those who only read the release: protected tables, with complete
    records drawn from them. Of a few columns, randomised records in random order are compared.

    Examples
    --------
      pramble try people.parquet --plan plan.toml

      pramble try people.parquet --columns sex,age,region --alpha 1,2,4 --plot promises.svg
    """
    settings: dict[str, Any] = {
        "tables": None if tables is None else tables_in(tables),
        "drop": None if drop is None else names([drop]),
    }
    if keys is not None:
        size = {} if population is None else {"population_size": population}
        settings["risk"] = {"keys": names([keys]), **size}
    with shown_progress() as progress:
        found = pramble.try_release(
            source,
            plan=plan,
            columns=None if columns is None else names([columns]),
            alphas=promises_in(alpha),
            centrals=promises_in(central),
            delta=delta,
            progress=progress,
            **{name: value for name, value in settings.items() if value is not None},
        )
    if plot is not None:
        save(found.plot(), plot, name="promises", description="Promises side by side")
    if as_json:
        print_json({"candidates": found.to_arrow().to_pylist(), "notes": list(found.notes)})
    else:
        answers().print(repr(found), markup=False, highlight=False, soft_wrap=True)


def promises_in(text: str | None) -> list[float] | None:
    """Return the numbers of a list; none for the word none."""
    if text is None:
        return None
    if text.strip() == "none":
        return []
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"Promises to try are numbers such as 1,2,4; found {text!r}.") from None


def calibrate(
    file: File,
    keys: Keys,
    at_most: Annotated[float, typer.Option(help="The target.")],
    column: Annotated[
        list[str] | None, typer.Option(help="The key to randomise; several share α equally.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Keys to randomise together, by one plan: a,b,c.")
    ] = None,
    tables: Annotated[
        str | None, typer.Option(help="With --columns: wanted tables, as 2, all, or a+b,a+c.")
    ] = None,
    measure: Annotated[
        str, typer.Option(help=f"What the target is for. {list_measures()}.")
    ] = "tau2",
    level: Annotated[
        float | None, typer.Option(help="With share: the chance above which a record counts.")
    ] = None,
    population: Population = None,
    model: ModelName = "two-way",
    promise: Annotated[
        PromiseName,
        typer.Option(help="With --columns: search α (local), or ε of the shuffled file (central)."),
    ] = "local",
    delta: Annotated[
        float | None, typer.Option(help="δ of a central promise, or of measure epsilon: 1e-6.")
    ] = None,
    family: Annotated[
        FamilyName | None, typer.Option(help="With --column: uniform or general matrices.")
    ] = None,
    objective: Objective = None,
    plan: Annotated[
        Path | None,
        typer.Option(callback=new_file, help="Write the mechanisms found to this JSON file."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(callback=new_picture, help="Draw the curve: .svg, .png or .pdf.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the α, or the central ε, up to which risk, or from which on error, is at most a target.

    All of this is of randomised records. For protected tables see `pramble design --central`.

    Examples
    --------
      pramble calibrate people.csv --keys age,sex --population 19867248 --column age --at-most 25

      pramble calibrate people.csv --keys age,sex --column age --measure error --at-most 0.02

      pramble calibrate people.csv --keys age,sex,town --columns age,sex --at-most 25 --plan p.json

      pramble calibrate p.csv --keys age --column age --measure epsilon --delta 1e-6 --at-most 1

      pramble calibrate p.csv --keys a --columns a,b --promise central --measure error --at-most .1
    """
    if (column is None) == (columns is None):
        raise typer.BadParameter("give --column, or --columns for one plan", param_hint="--column")
    settings = {
        "tables": None if tables is None else tables_in(tables),
        "family": family,
        "objective": objective,
    }
    with shown_progress() as progress:
        k = pramble.calibrate(
            file,
            names(keys),
            column=None if column is None else names(column),
            columns=None if columns is None else names([columns]),
            at_most=at_most,
            measure=measure,
            level=level,
            population_size=population,
            model=model,
            design={name: value for name, value in settings.items() if value is not None},
            promise=promise,
            delta=delta,
            progress=progress,
        )
    if as_json:
        print_json(k.summary())
    else:
        answers().print(repr(k), markup=False, highlight=False, soft_wrap=True)
    if plot is not None:
        save(k.plot(), plot, name="calibration", description="The measure against the promise")
    if k.met and plan is not None:
        write_json(k.plan, plan)
    if not k.met:
        complain(k.notes[0])
        raise typer.Exit(1)
