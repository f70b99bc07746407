"""``pramble design --columns``: the best plan for several columns, or the least noise of tables."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import typer

import pramble
from pramble.cli.console import answers, messages, print_json, shown_progress, table_of
from pramble.cli.inputs import names, read_distance, rules, tables_in, write_json
from pramble.data.crosstab import crosstab
from pramble.data.open import open_records
from pramble.data.records import Records
from pramble.errors import InvalidData, InvalidInput
from pramble.releasing.spec.spec import DELTA
from pramble.solvers.problem import ObjectiveName
from pramble.solvers.record.problem import RecordDesign
from pramble.solvers.tables.result import TableDesign
from pramble.values import Floats


def answer_record(
    columns: str,
    alpha: float,
    *,
    source: Path | None,
    tables: str,
    objective: ObjectiveName,
    whole: bool,
    distance: str | None,
    impossible: Sequence[str],
    time_limit: float | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Design a record, print what it costs, and write the plan."""
    labels, prior = sizes_in(columns) if source is None else counted_columns(source, columns)
    with shown_progress() as progress:
        answer = pramble.design_record(
            labels,
            alpha,
            prior=prior,
            tables=tables_in(tables),
            objective=objective,
            whole=whole,
            distance=given_distances(distance, labels),
            possible=rules(impossible) or None,
            time_limit=time_limit,
            progress=progress,
        )
    if out is not None:
        write_json(answer.plan, out)
    if as_json:
        print_json(record_document(answer))
    else:
        print_record_design(answer)


def sizes_in(text: str) -> tuple[dict[str, int], None]:
    """Return columns with numbers of categories, as ``sex=2,age=5``."""
    found = {}
    for part in names([text]):
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


def given_distances(text: str | None, labels: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the distances of some columns, as ``age=path,region=miles.csv``."""
    if text is None:
        return None
    found = {}
    for part in names([text]):
        name, _, given = part.partition("=")
        if name not in labels or not given:
            raise typer.BadParameter(
                f"{part!r} is no distance of a column, as age=path", param_hint="--distance"
            )
        own = labels[name]
        found[name] = read_distance(given, range(own) if isinstance(own, int) else own)[0]
    return found


def values_in_file(records: Records, wanted: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values of some columns of a file."""
    found = {name: list(crosstab(records, [name]).levels[0]) for name in wanted}
    for name, levels in found.items():
        if None in levels:
            raise InvalidData(f"Column {name!r} has empty cells; give them a label first.")
    return found


def counted_columns(
    source: Path, text: str
) -> tuple[dict[str, list[Any]], dict[tuple[str, ...], Floats]]:
    """Return the values of each column of a file, and the shares of every pair of columns."""
    records, wanted = open_records(source), names([text])
    labels = values_in_file(records, wanted)
    messages().print(
        f"Warning: the prior was counted on {source.name!r}. If that file is confidential, the "
        "plan says something about it that alpha does not cover.",
        style="yellow",
    )
    tables = {}
    for pair in combinations(wanted, min(2, len(wanted))):
        cells = crosstab(records, list(pair)).array()
        tables[pair] = cells / cells.sum()
    return labels, tables


def print_record_design(answer: RecordDesign) -> None:
    """Print what each table costs, and which columns travel together."""
    console = answers()
    console.print(repr(answer), soft_wrap=True)
    table = table_of("Branches", "share", "columns", left={"columns"})
    for branch in sorted(answer.plan.branches, key=lambda one: -one.share):
        blocks = "; ".join(" with ".join(block) for block in branch.blocks)
        table.add_row(f"{float(branch.share):.2%}", blocks)
    console.print(table)


def record_document(answer: RecordDesign) -> dict[str, Any]:
    """Return the answer for scripts."""
    costs = [{"table": list(table), "cost": cost} for table, cost in answer.costs.items()]
    return {
        "alpha": answer.alpha,
        **proven_value(answer),
        "costs": costs,
        "plan": answer.plan.to_json(),
        "notes": list(answer.notes),
    }


def proven_value(answer: RecordDesign | TableDesign) -> dict[str, Any]:
    """Return what a design is worth, and what is proven of it."""
    return {name: getattr(answer, name) for name in ("objective", "value", "bound", "gap")}


def refuse_of_records(given: Mapping[str, Any]) -> None:
    """Refuse options of randomised records where protected tables are designed."""
    for name, own in given.items():
        if own:
            raise typer.BadParameter(
                "it is of randomised records; protected tables (--central) take --columns, "
                "--tables and --from",
                param_hint=name,
            )


def answer_tables(
    columns: str | None,
    central: str,
    *,
    source: Path | None,
    tables: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Design protected tables, print how noisy each will be, and write the plan."""
    if columns is None:
        raise typer.BadParameter(
            "--central goes with --columns, as sex=2,age=5", param_hint="--central"
        )
    labels: Mapping[str, Any] = (
        sizes_in(columns)[0]
        if source is None
        else values_in_file(open_records(source), names([columns]))
    )
    with shown_progress() as progress:
        answer = pramble.design_tables(
            labels, *central_promise_in(central), tables=tables_in(tables), progress=progress
        )
    if out is not None:
        write_json(answer.plan, out)
    if as_json:
        print_json(table_design_document(answer))
    else:
        answers().print(repr(answer), soft_wrap=True)


def central_promise_in(text: str) -> tuple[float, float]:
    """Return the ε and δ of ``1,1e-6``; δ may be left out.

    >>> promise_in("1,1e-8"), promise_in("0.5")
    ((1.0, 1e-08), (0.5, 1e-06))
    """
    parts = text.split(",")
    try:
        epsilon, delta = (float(part) for part in (parts if len(parts) > 1 else (text, DELTA)))
    except ValueError:
        raise InvalidInput(f"A central promise is ε and δ, as 1,1e-6; found {text!r}.") from None
    return epsilon, delta


def table_design_document(answer: TableDesign) -> dict[str, Any]:
    """Return the answer for scripts."""
    return {
        "epsilon": answer.epsilon,
        "delta": answer.delta,
        **proven_value(answer),
        "deviations": [
            {"table": list(table), "cells": answer.plan.cells(table), "deviation": own}
            for table, own in answer.deviations.items()
        ],
        "plan": answer.plan.to_json(),
    }
