"""``pramble design``: which matrix, plan or tables are best at this privacy, and how do we know."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

import pramble
from pramble.cli.console import attributes, messages, print_answer, shown_progress
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
from pramble.data.crosstab import crosstab
from pramble.data.labels import as_labels
from pramble.data.open import open_records
from pramble.data.records import Records
from pramble.errors import InvalidData, InvalidInput, InvalidPrior
from pramble.mechanisms.csv_form import write_csv
from pramble.releasing.spec.spec import DELTA
from pramble.solvers.problem import FamilyName, ObjectiveName
from pramble.solvers.record.problem import RecordDesign
from pramble.solvers.result import Design
from pramble.solvers.tables.design_tables import TableDesign
from pramble.values import Floats
from pramble.words import names_in

COUNTED = (
    "Warning: the prior was counted on {file!r}. If that file is confidential, publishing the "
    "{what} says something about it that alpha does not cover: use a public prior, a uniform one, "
    "or `pramble release`, which counts with noise paid from the budget."
)
OF_DESIGN = (
    "alpha", "family", "objective", "value", "bound", "gap", "stopped", "information", "share",
    "unchanged",
)  # fmt: skip


def design(
    alpha: Annotated[float | None, option("Privacy α (the ε of most of the literature).")] = None,
    prior: Annotated[Text, option("Probabilities of the categories: 0.5,0.3,0.2.")] = None,
    uniform: Annotated[int | None, option("So many categories, all equally likely.")] = None,
    source: Annotated[
        Path | None, option("Count the prior in this file (with --column).", "--from")
    ] = None,
    column: Annotated[Text, option("The column to count.")] = None,
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
        Text, option("Design a record of columns: a,b,c with --from, or sizes a=2,b=5.")
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

      pramble design --alpha 1 --from people.csv --column region --matrix region.csv

      pramble design --alpha 0.5 --uniform 10 --family general --distance path

      pramble design --alpha 4 --from people.csv --columns sex,age,region --tables 2 --out plan.json

      pramble design --alpha 0.5 --columns age=6,health=3 --distance age=path,health=path

      pramble design --central 1,1e-6 --columns sex=2,age=5,region=9 --tables 2 --out plan.json
    """
    if (alpha is None) == (central is None):
        raise typer.BadParameter(
            "give --alpha, or --central for protected tables", param_hint="--alpha"
        )
    of_matrix = {
        "--prior": prior, "--uniform": uniform, "--column": column, "--categories": categories,
        "--matrix": matrix,
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
            "it is of randomised records; protected tables (--central) take --columns, --tables "
            "and --from",
        )
        answer = table_design(columns, central, source=source, tables=tables)
    elif columns is not None:
        refuse_options(of_matrix, "it is of one column, without --columns")
        labels, shares = sizes_in(columns) if source is None else counted_pairs(source, columns)
        settings = keywords(
            pramble.design_record,
            given,
            prior=shares,
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
        probabilities, own = given_prior(prior, uniform, source, column, categories)
        settings = keywords(
            pramble.design, given, objective=objective, categories=own, distance=distance
        )
        answer = pramble.design(probabilities, alpha, family=family, **settings)
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


def given_prior(
    prior: str | None,
    uniform: int | None,
    source: Path | None,
    column: str | None,
    categories: str | None,
) -> tuple[list[float], list[Any] | None]:
    """Return the probabilities of the categories and their labels, however they were given."""
    if sum(given is not None for given in (prior, uniform, source)) != 1:
        raise typer.BadParameter("give one of --prior, --uniform and --from", param_hint="--prior")
    if (source is None) != (column is None):
        raise typer.BadParameter("--from and --column go together", param_hint="--column")
    labels = None if categories is None else [label.strip() for label in categories.split(",")]
    if source is not None and column is not None:
        found = counted_shares(source, column, labels)
        messages().print(COUNTED.format(file=source.name, what="matrix"), style="yellow")
        return found
    if uniform is not None:
        return [1 / uniform] * max(uniform, 0), labels
    try:
        return [float(part) for part in (prior or "").split(",")], labels
    except ValueError:
        raise InvalidPrior(
            f"A prior must be numbers separated by commas, as 0.5,0.3,0.2; found {prior!r}."
        ) from None


def counted_shares(
    source: Path, column: str, labels: list[str] | None
) -> tuple[list[float], list[Any] | None]:
    """Return the shares of the values of a column, and the labels; empty cells are left out."""
    known = {} if labels is None else {column: as_labels([*labels, None])}
    table = crosstab(open_records(source), [column], labels=known)
    counts = dict(zip(table.levels[0], table.array().tolist(), strict=True))
    # A prior is of values: what empty cells become is the plan's to say.
    counts.pop(None, None)
    total = sum(counts.values())
    if not total:
        raise InvalidData(f"Column {column!r} of {source.name!r} has no values.")
    return [count / total for count in counts.values()], list(counts)


def sizes_in(text: str) -> tuple[dict[str, int], None]:
    """Return columns with numbers of categories, as ``sex=2,age=5``."""
    found = {}
    for part in names_in(text):
        name, _, size = part.partition("=")
        if not size.isdigit():
            raise typer.BadParameter(
                "give --from a file, or numbers of categories as sex=2,age=5",
                param_hint="--columns",
            )
        if int(size) < 2:
            raise InvalidInput(f"Column {name!r} must have at least two categories; found {size}.")
        found[name] = int(size)
    return found, None


def values_in_file(records: Records, wanted: Sequence[str]) -> dict[str, list[Any]]:
    found = {name: list(crosstab(records, [name]).levels[0]) for name in wanted}
    for name, levels in found.items():
        if None in levels:
            raise InvalidData(f"Column {name!r} has empty cells; give them a label first.")
    return found


def counted_pairs(
    source: Path, text: str
) -> tuple[dict[str, list[Any]], dict[tuple[str, ...], Floats]]:
    """Return the values of each column of a file, and the shares of every pair of columns."""
    records, wanted = open_records(source), names_in(text)
    labels = values_in_file(records, wanted)
    messages().print(COUNTED.format(file=source.name, what="plan"), style="yellow")
    tables = {}
    for pair in combinations(wanted, min(2, len(wanted))):
        cells = crosstab(records, list(pair)).array()
        tables[pair] = cells / cells.sum()
    return labels, tables


def ordered_columns(text: str, labels: Mapping[str, Any]) -> dict[str, str]:
    """Return which columns are ordered, as ``age=path,health=path``."""
    found = dict(part.partition("=")[::2] for part in names_in(text))
    for name, given in found.items():
        if name not in labels or given != "path":
            raise typer.BadParameter(
                f"{name}={given!r} is no distance of a column, as age=path", param_hint="--distance"
            )
    return found


def table_design(
    columns: str | None, central: str, *, source: Path | None, tables: str
) -> TableDesign:
    if columns is None:
        raise typer.BadParameter(
            "--central goes with --columns, as sex=2,age=5", param_hint="--central"
        )
    labels: Mapping[str, Any] = (
        sizes_in(columns)[0]
        if source is None
        else values_in_file(open_records(source), names_in(columns))
    )
    with shown_progress() as progress:
        return pramble.design_tables(
            labels, *central_promise_in(central), tables=tables_in(tables), progress=progress
        )


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
