"""``pramble assess``, ``try`` and ``calibrate``: the risk, and which promise keeps it small."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import pramble
from pramble.calibration.calibration import MEASURES
from pramble.cli.console import complain, print_answer, shown_progress
from pramble.cli.inputs import (
    AsJson,
    Confidential,
    File,
    Impossible,
    Keys,
    ModelName,
    PlanFile,
    Population,
    Text,
    Verify,
    keywords,
    listed_names,
    new_file,
    new_picture,
    option,
    read_plan,
    structural_zeros,
    tables_in,
    write_json,
)
from pramble.errors import InvalidInput, InvalidPlan
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.plots.images import save
from pramble.risk.after import RiskAfter
from pramble.shown import Grid, number

WHAT_MEASURES_ARE = "; ".join(f"{name}: {what}" for name, what in MEASURES.items())


def assess(
    file: File,
    keys: Keys,
    population: Population = None,
    model: ModelName = "two-way",
    weights: Annotated[Text, option("The column of sampling weights.")] = None,
    impossible: Impossible = None,
    plan: Annotated[
        list[Path] | None,
        option("A release folder or plan: show the risk that it leaves; give as many as you like."),
    ] = None,
    verify: Verify = None,
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
            listed_names(keys) or [],
            population_size=population,
            model=model,
            weights=weights,
            impossible=structural_zeros(impossible or []),
            progress=progress,
        )
        plans = {str(path): plan_of_records(path, verify) for path in plan or []}
        left = {name: a.after(own) for name, own in plans.items()}

    def document() -> dict[str, Any]:
        found = a.summary()
        if left:
            found["after"] = {name: own.summary() for name, own in left.items()}
        return found

    print_answer(as_json, document, a, risk_left(left) if left else None)


def risk_left(left: Mapping[str, RiskAfter]) -> Grid:
    rows = [
        [name, *(number(figure, 4) for figure in (own.tau1, own.tau2, own.worst))]
        for name, own in left.items()
    ]
    return Grid("Risk left", ["plan", "τ1", "τ2", "worst r2"], rows)


def plan_of_records(path: Path, verify: Path | None) -> Plan:
    """Return the plan of a release folder, of its manifest, or of a JSON file."""
    found = read_plan(path, verify=verify)
    if isinstance(found, TablePlan):
        raise InvalidPlan(
            f"{str(path)!r} is of protected tables, in which there are no records to match. The "
            "risk is compared for plans of randomised records; `pramble certify` says what "
            "tables promise."
        )
    if not isinstance(found, Plan):
        raise InvalidPlan(f"A plan says which column a mechanism is for; {str(path)!r} does not.")
    return found


def try_(
    source: Confidential,
    plan: PlanFile = None,
    columns: Annotated[Text, option("Columns to randomise, or some of the plan's: a,b,c.")] = None,
    alpha: Annotated[Text, option("Local promises to try: 1,2,4, or none.")] = None,
    central: Annotated[Text, option("Central ε against readers to try: 0.5,1, or none.")] = None,
    delta: Annotated[float, option("δ of the central promises.")] = 1e-6,
    tables: Annotated[Text, option("Tables that readers will want: 1, 2, all, or a+b,a+c.")] = None,
    drop: Annotated[Text, option("Columns to leave out: a,b,c.")] = None,
    keys: Annotated[Text, option("What an intruder may know: a,b,c (with --population).")] = None,
    population: Annotated[int | None, option("Size of the population.")] = None,
    plot: Annotated[
        Path | None, option("Draw it: .svg, .png or .pdf.", callback=new_picture)
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
    size = {} if population is None else {"population_size": population}
    settings = {
        "tables": tables_in(tables),
        "drop": listed_names(drop),
        "risk": None if keys is None else {"keys": listed_names(keys), **size},
    }
    with shown_progress() as progress:
        found = pramble.try_release(
            source,
            plan=plan,
            columns=listed_names(columns),
            alphas=promises_in(alpha),
            centrals=promises_in(central),
            delta=delta,
            progress=progress,
            **{name: own for name, own in settings.items() if own is not None},
        )
    if plot is not None:
        save(found.plot(), plot, name="promises", description="Promises side by side")
    print_answer(
        as_json, lambda: {"candidates": found.to_arrow().to_pylist(), "notes": found.notes}, found
    )


def promises_in(text: str | None) -> list[float] | None:
    """Return the numbers of a list; none for the word none."""
    if text is None:
        return None
    try:
        return [] if text.strip() == "none" else [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"Promises to try are numbers such as 1,2,4; found {text!r}.") from None


def calibrate(
    file: File,
    keys: Keys,
    at_most: Annotated[float, option("The target.")],
    column: Annotated[
        list[str] | None, option("The key to randomise; several share α equally.")
    ] = None,
    columns: Annotated[Text, option("Keys to randomise together, by one plan: a,b,c.")] = None,
    tables: Annotated[Text, option("With --columns: wanted tables, as 2, all, or a+b,a+c.")] = None,
    measure: Annotated[str, option(f"What the target is for. {WHAT_MEASURES_ARE}.")] = "tau2",
    level: Annotated[
        float | None, option("With share: the chance above which a record counts.")
    ] = None,
    population: Population = None,
    model: ModelName = "two-way",
    given: Annotated[
        list[str] | None,
        option(
            "A setting of the design, as NAME=VALUE: objective=estimation, or with --column "
            "family=general. Repeat it for more.",
            "--set",
        ),
    ] = None,
    plan: Annotated[
        Path | None, option("Write the mechanisms found to this JSON file.", callback=new_file)
    ] = None,
    plot: Annotated[
        Path | None, option("Draw the curve: .svg, .png or .pdf.", callback=new_picture)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the largest α that keeps risk below a target, or the smallest for an error.

    All of this is of randomised records. For protected tables see `pramble design --central`.

    Examples
    --------
      pramble calibrate people.csv --keys age,sex --population 19867248 --column age --at-most 25

      pramble calibrate people.csv --keys age,sex --column age --measure error --at-most 0.02

      pramble calibrate people.csv --keys age,sex,town --columns age,sex --at-most 25 --plan p.json
    """
    if (column is None) == (columns is None):
        raise typer.BadParameter("give --column, or --columns for one plan", param_hint="--column")
    verb = pramble.design if columns is None else pramble.design_record
    wanted = {} if tables is None else {"tables": tables_in(tables)}
    design = keywords(verb, given, taken=("alpha", "columns", "central", "rows"), **wanted)
    with shown_progress() as progress:
        k = pramble.calibrate(
            file,
            listed_names(keys) or [],
            column=listed_names(column),
            columns=listed_names(columns),
            at_most=at_most,
            measure=measure,
            level=level,
            population_size=population,
            model=model,
            design=design,
            progress=progress,
        )
    print_answer(as_json, k.summary, k)
    if plot is not None:
        save(k.plot(), plot, name="calibration", description="The measure against the promise")
    if k.met and plan is not None:
        write_json(k.plan, plan)
    if not k.met:
        complain(k.notes[0])
        raise typer.Exit(1)
