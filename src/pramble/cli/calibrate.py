"""``pramble calibrate``: which α meets a target."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

import pramble
from pramble.calibration.calibration import Calibration
from pramble.calibration.target import list_measures
from pramble.cli.console import answers, complain, facts_table, messages, print_json
from pramble.cli.options import (
    AsJson,
    Family,
    File,
    Impossible,
    Keys,
    Margins,
    Missing,
    ModelName,
    Objective,
    Population,
    Weights,
    margins,
    names,
    rules,
)
from pramble.cli.progress import shown_progress


def calibrate(
    file: File,
    keys: Keys,
    column: Annotated[
        list[str], typer.Option(help="The key to randomise; several share α equally.")
    ],
    at_most: Annotated[float, typer.Option(help="The target.")],
    measure: Annotated[
        str, typer.Option(help=f"What the target is for. {list_measures()}.")
    ] = "tau2",
    level: Annotated[
        float | None, typer.Option(help="With share: the chance above which a record counts.")
    ] = None,
    population: Population = None,
    model: ModelName = "two-way",
    margin: Margins = None,
    weights: Weights = None,
    impossible: Impossible = None,
    missing: Missing = "category",
    family: Family = "uniform",
    objective: Objective = "information",
    plan: Annotated[
        Path | None, typer.Option(help="Write the mechanisms found to this JSON file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the curve into this file (.svg, .png or .pdf).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the α up to which risk, or from which on error, is at most a target.

    Examples
    --------
      pramble calibrate people.csv --keys age,sex --population 19867248 --column age --at-most 25

      pramble calibrate people.csv --keys age,sex --column age --measure error --at-most 0.02
    """
    with shown_progress() as progress:
        k = pramble.calibrate(
            file,
            names(keys),
            column=names(column),
            at_most=at_most,
            measure=measure,
            level=level,
            population_size=population,
            model=margins(model, margin or []),
            weights=weights,
            impossible=rules(impossible or []),
            missing=missing,  # type: ignore[arg-type]  # calibrate refuses other words
            family=family,
            objective=objective,
            progress=progress,
        )
    if as_json:
        print_json(k.summary())
    else:
        answers().print(choice_table(k))
    if plot is not None:
        k.plot().savefig(plot)
    if k.met and plan is not None:
        document = {name: mechanism.to_json() for name, mechanism in k.plan.items()}
        plan.write_text(json.dumps(document, indent=1), encoding="utf-8")
    for note in k.notes[0 if k.met else 1 :]:
        messages().print(f"Note: {note}")
    if not k.met:
        complain(k.notes[0])
        raise typer.Exit(1)


def choice_table(k: Calibration) -> Table:
    """Return what was found, before and after."""
    table = facts_table(f"{k.target.measure} at most {k.target.at_most:g}")
    table.add_row("α" if k.met else "α that comes nearest", f"{k.alpha:.6g}")
    table.add_row(k.target.measure, f"{k.value:.6g}")
    if k.after is not None:
        table.add_row("τ1 before, after", f"{k.before.tau1:.4g}, {k.after.tau1:.4g}")
        table.add_row("τ2 before, after", f"{k.before.tau2:.4g}, {k.after.tau2:.4g}")
        table.add_row("largest r2 after", f"{k.after.worst:.4f}")
    for name, design in k.designs.items():
        kept = f"{design.kept:.1%} of values kept, {design.information:.4f} nats"
        table.add_row(f"{name}, α = {design.alpha:.6g}", kept.replace("%", " %", 1))
    return table
