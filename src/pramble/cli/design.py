"""``pramble design``: which matrix, plan or tables are best at this privacy, and how do we know."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import pramble
from pramble.cli.console import attributes, print_answer, shown_progress
from pramble.cli.inputs import (
    AsJson,
    Impossible,
    Text,
    keywords,
    new_file,
    option,
    structural_zeros,
    tables_in,
    write_json,
)
from pramble.errors import InvalidInput, InvalidPrior
from pramble.mechanisms.csv_form import write_csv
from pramble.releasing.spec.spec import DELTA
from pramble.solvers.problem import FamilyName, ObjectiveName
from pramble.solvers.record.problem import RecordDesign
from pramble.solvers.result import Design
from pramble.solvers.tables.design_tables import TableDesign
from pramble.words import names_in

OF_DESIGN = (
    "alpha", "family", "objective", "value", "bound", "gap", "stopped", "information", "share",
    "unchanged",
)  # fmt: skip


def design(
    alpha: Annotated[float | None, option("Privacy α (the ε of most of the literature).")] = None,
    prior: Annotated[Text, option("Probabilities of the categories: 0.5,0.3,0.2.")] = None,
    uniform: Annotated[int | None, option("So many categories, all equally likely.")] = None,
    categories: Annotated[Text, option("Labels in order: a,b,c.")] = None,
    family: Annotated[FamilyName, option("uniform or general matrices.")] = "uniform",
    objective: Annotated[
        ObjectiveName | None, option("information (default) or estimation.")
    ] = None,
    distance: Annotated[
        Text,
        option(
            "path: the categories are ordered, and α is per step between them (with --family "
            "general). With --columns: which of them are ordered, as age=path,health=path."
        ),
    ] = None,
    columns: Annotated[
        Text, option("Design a record of columns, with sizes or labels: age=5,sex=f|m.")
    ] = None,
    tables: Annotated[
        str, option("With --columns: wanted tables, as 2, all, a+b,a+c, or auto.")
    ] = "2",
    impossible: Impossible = None,
    central: Annotated[
        Text, option("With --columns, for --alpha: protected tables at this ε,δ, as 1,1e-6.")
    ] = None,
    given: Annotated[
        list[str] | None,
        option(
            "Another setting, as NAME=VALUE: keep_at_least=0.1, invariant=true, time_limit=60, or "
            "with --columns whole=true. Repeat it for more.",
            "--set",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option("Write the mechanism or plan: a JSON file.", "--out", "-o", callback=new_file),
    ] = None,
    matrix: Annotated[
        Path | None, option("Write the labelled matrix to this CSV file.", callback=new_file)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the best matrix at a given privacy, with a proof that none is better.

    With --columns: the best plan for a record of several columns, for the tables that analysts will
    want; its objective is estimation unless information is asked for. With --central: the least
    noise with which those tables can be published, in people a cell.

    Examples
    --------
      pramble design --alpha 1 --prior 0.5,0.3,0.2 --categories a,b,c

      pramble design --alpha 0.5 --uniform 10 --family general --distance path

      pramble design --alpha 4 --columns "sex=f|m,age=5,region=9" --tables 2 --out plan.json

      pramble design --alpha 0.5 --columns age=6,health=3 --distance age=path,health=path

      pramble design --central 1,1e-6 --columns sex=2,age=5,region=9 --tables 2 --out plan.json
    """
    if (alpha is None) == (central is None):
        raise typer.BadParameter(
            "give --alpha, or --central for protected tables", param_hint="--alpha"
        )
    of_matrix = {
        "--prior": prior, "--uniform": uniform, "--categories": categories, "--matrix": matrix,
    }  # fmt: skip
    of_records = {
        "--objective": objective, "--distance": distance, "--impossible": impossible,
        "--set": given,
    }  # fmt: skip
    answer: Any
    shown: list[Any] = []
    if central is not None:
        refuse_options(
            {**of_matrix, **of_records},
            "it is of randomised records; protected tables (--central) take --columns and --tables",
        )
        if columns is None:
            raise typer.BadParameter(
                "--central goes with --columns, as sex=2,age=5", param_hint="--central"
            )
        with shown_progress() as progress:
            answer = pramble.design_tables(
                labels_of_columns(columns), *central_promise_in(central), tables=tables_in(tables),
                progress=progress,
            )  # fmt: skip
    elif columns is not None:
        refuse_options(of_matrix, "it is of one column, without --columns")
        labels = labels_of_columns(columns)
        settings = keywords(
            pramble.design_record,
            given,
            taken=("columns", "alpha", "tables", "central", "rows"),
            objective=objective or "estimation",
            distance=None if distance is None else ordered_columns(distance, labels),
            possible=structural_zeros(impossible or []) or None,
        )
        with shown_progress() as progress:
            answer = pramble.design_record(
                labels, alpha, tables=tables_in(tables), progress=progress, **settings
            )
        shown.append(answer.plan)
    elif alpha is not None:
        own = None if categories is None else names_in(categories)
        settings = keywords(
            pramble.design,
            given,
            taken=("prior", "alpha", "family"),
            objective=objective,
            categories=own,
            distance=distance,
        )
        answer = pramble.design(given_prior(prior, uniform), alpha, family=family, **settings)
    print_answer(as_json, lambda: document_of_design(answer), answer, *shown)
    if out is not None:
        write_json(answer.mechanism if isinstance(answer, Design) else answer.plan, out)
    if matrix is not None:
        write_csv(answer.mechanism, matrix)


def refuse_options(given: Mapping[str, Any], why: str) -> None:
    """Refuse options that do not go with the kind of design."""
    for name, own in given.items():
        if own:
            raise typer.BadParameter(why, param_hint=name)


def given_prior(prior: str | None, uniform: int | None) -> list[float]:
    """Return the probabilities of the categories."""
    if (prior is None) == (uniform is None):
        raise typer.BadParameter("give one of --prior and --uniform", param_hint="--prior")
    if uniform is not None:
        # A negative number is refused by the verb, as no categories are.
        return [1 / uniform] * max(uniform, 0)
    try:
        return [float(part) for part in (prior or "").split(",")]
    except ValueError:
        raise InvalidPrior(
            f"A prior must be numbers separated by commas, as 0.5,0.3,0.2; found {prior!r}."
        ) from None


def labels_of_columns(text: str) -> dict[str, Any]:
    """Return columns with their numbers of categories, or with their labels.

    >>> labels_of_columns("age=5,sex=f|m")
    {'age': 5, 'sex': ['f', 'm']}
    """
    found: dict[str, Any] = {}
    for part in names_in(text):
        name, _, given = part.partition("=")
        labels = given.split("|")
        if len(labels) < 2 and not given.isdigit():
            raise typer.BadParameter(
                "give columns with sizes or labels, as age=5,sex=f|m", param_hint="--columns"
            )
        found[name] = labels if len(labels) > 1 else int(given)
        if found[name] in (0, 1):
            raise InvalidInput(f"Column {name!r} must have at least two categories; found {given}.")
    return found


def ordered_columns(text: str, labels: Mapping[str, Any]) -> dict[str, str]:
    """Return which columns are ordered, as ``age=path,health=path``."""
    found = dict(part.partition("=")[::2] for part in names_in(text))
    for name, given in found.items():
        if name not in labels or given != "path":
            raise typer.BadParameter(
                f"{name}={given!r} is no distance of a column, as age=path", param_hint="--distance"
            )
    return found


def central_promise_in(text: str) -> tuple[float, float]:
    """Return the ε and δ of ``1,1e-6``; δ may be left out.

    >>> central_promise_in("1,1e-8"), central_promise_in("0.5")
    ((1.0, 1e-08), (0.5, 1e-06))
    """
    parts = text.split(",")
    try:
        epsilon, delta = (float(part) for part in (parts if len(parts) > 1 else (text, DELTA)))
    except ValueError:
        raise InvalidInput(f"A central promise is ε and δ, as 1,1e-6; found {text!r}.") from None
    return epsilon, delta


def document_of_design(answer: Design | RecordDesign | TableDesign) -> dict[str, Any]:
    if isinstance(answer, Design):
        return matrix_document(answer)
    proven = attributes(answer, ("objective", "value", "bound", "gap"))
    plan = {"plan": answer.plan.to_json()}
    if isinstance(answer, RecordDesign):
        costs = [{"table": list(table), "cost": cost} for table, cost in answer.costs.items()]
        return {"alpha": answer.alpha, **proven, "costs": costs, **plan, "notes": answer.notes}
    deviations = [
        {"table": list(table), "cells": answer.plan.cells(table), "deviation": own}
        for table, own in answer.deviations.items()
    ]
    promise = {"epsilon": answer.epsilon, "delta": answer.delta}
    return {**promise, **proven, "deviations": deviations, **plan}


def matrix_document(answer: Design) -> dict[str, Any]:
    labels = answer.mechanism.labels.values
    return {
        **attributes(answer, OF_DESIGN),
        "certified_alpha": answer.certificate.alpha,
        "keep": {str(label): q for label, q in zip(labels, answer.keep.tolist(), strict=True)},
        "levels": [
            {
                "name": level.name,
                "probability": level.probability,
                "categories": [labels[i] for i in level.positions.tolist()],
            }
            for level in answer.levels
        ],
        "notes": list(answer.notes),
        "figures": {n: v for n, v in answer.details.items() if isinstance(v, int | float)},
        "mechanism": answer.mechanism.to_json(),
    }
