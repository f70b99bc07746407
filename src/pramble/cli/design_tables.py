"""``pramble design --central``: the least noise of protected tables."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

import pramble
from pramble.cli.console import answers, print_json
from pramble.cli.design_records import given_columns, wanted_tables
from pramble.cli.options import names
from pramble.cli.progress import shown_progress
from pramble.data.crosstab import crosstab
from pramble.data.open import open_records
from pramble.errors import InvalidData, InvalidInput
from pramble.releasing.spec.spec import DELTA
from pramble.solvers.tables.result import TableDesign


def show_tables(
    columns: str | None,
    central: str,
    *,
    source: Path | None,
    tables: str,
    out: Path | None,
    as_json: bool,
    of_records: Mapping[str, Any],
) -> None:
    """Design protected tables, print how noisy each will be, and write the plan."""
    for name, given in of_records.items():
        if given:
            raise typer.BadParameter(
                "it is of randomised records; protected tables (--central) take --columns, "
                "--tables and --from",
                param_hint=name,
            )
    if columns is None:
        raise typer.BadParameter(
            "--central goes with --columns, as sex=2,age=5", param_hint="--central"
        )
    labels = given_columns(columns)[0] if source is None else labels_in(source, names([columns]))
    with shown_progress() as progress:
        answer = pramble.design_tables(
            labels, *promise_in(central), tables=wanted_tables(tables), progress=progress
        )
    if out is not None:
        out.write_text(json.dumps(answer.plan.to_json(), indent=1), encoding="utf-8")
    if as_json:
        print_json(document_of(answer))
    else:
        answers().print(repr(answer), soft_wrap=True)


def promise_in(text: str) -> tuple[float, float]:
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


def labels_in(source: Path, wanted: list[str]) -> dict[str, list[Any]]:
    """Return the values of some columns of a file."""
    records, found = open_records(source), {}
    for name in wanted:
        found[name] = list(crosstab(records, [name]).levels[0])
        if None in found[name]:
            raise InvalidData(f"Column {name!r} has empty cells; give them a label first.")
    return found


def document_of(answer: TableDesign) -> dict[str, Any]:
    """Return the answer for scripts."""
    return {
        "epsilon": answer.epsilon,
        "delta": answer.delta,
        "objective": answer.objective,
        "value": answer.value,
        "bound": answer.bound,
        "gap": answer.gap,
        "deviations": [
            {"table": list(table), "cells": answer.plan.cells(table), "deviation": own}
            for table, own in answer.deviations.items()
        ],
        "plan": answer.plan.to_json(),
    }
