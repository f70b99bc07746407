"""What was decided, however it was said: a plan, options, or a plan with options beside it."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pramble.errors import InvalidPlan
from pramble.releasing.decisions.decisions import TABLE_OBJECTIVES, Decisions, columns_of
from pramble.releasing.decisions.parsing import OF_RECORDS, decisions_from, read_document
from pramble.releasing.decisions.toml import decisions_to_toml
from pramble.values import names_of
from pramble.words import hint_at

OF_RECORDS_ALONE = (
    "prior",
    "prior_share",
    "whole",
    "shuffle",
    "synthetic",
    "rows_per_file",
    "output",
)
"""Settings that protected tables have no use for."""


def decisions_of(
    plan: str | Path | Decisions | Mapping[str, Any] | None,
    columns: str | Sequence[str] | Mapping[str, Mapping[str, Any]] | None,
    *,
    alpha: float | None,
    settings: Mapping[str, Any],
) -> Decisions:
    """Return what was decided, however it was said."""
    if plan is None:
        if columns is None:
            raise InvalidPlan("A release needs a plan, or a list of columns and alpha.")
        tables = (
            columns if isinstance(columns, Mapping) else {name: {} for name in names_of(columns)}
        )
        total = {} if alpha is None else {"alpha": alpha}
        return decisions_from({**settings, **total, "columns": tables}, seen_allowed=True)
    if isinstance(columns, Mapping):
        raise InvalidPlan("Beside a plan, columns are names of some of its columns.")
    changes = {**settings, **({} if alpha is None else {"alpha": alpha})}
    if not changes and columns is None and isinstance(plan, Decisions):
        return plan
    document = document_of(plan)
    if changes or columns is not None:
        document = overridden(document, changes, None if columns is None else names_of(columns))
    return decisions_from(document, seen_allowed=isinstance(plan, Decisions))


def document_of(plan: str | Path | Decisions | Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan as nested settings, however it was given."""
    if isinstance(plan, Decisions):
        return tomllib.loads(decisions_to_toml(plan))
    return read_document(plan) if isinstance(plan, str | Path) else dict(plan)


def overridden(
    document: Mapping[str, Any], changes: Mapping[str, Any], columns: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the settings of a plan with changes, and with some of its columns alone.

    Columns that are left out are **dropped**: a column that the plan protects is never released as
    it is because of a change. Tables and rules that name them go with them.

    >>> plan = {"alpha": 1.0, "columns": {"sex": {}, "age": {}}, "drop": ["id"]}
    >>> overridden(plan, {"central": 2.0}, ["sex"])
    {'columns': {'sex': {}}, 'drop': ['id', 'age'], 'central': 2.0}
    """
    left = left_behind(document, changes)
    if changes.get("design") == "paper":
        left |= set(OF_RECORDS)
    if "central" in changes and isinstance(document.get("tables"), int) and "alpha" in document:
        left.add("tables")
    found = {name: value for name, value in document.items() if name not in left}
    if columns is not None:
        found |= chosen(found, columns)
    return found | dict(changes)


def left_behind(document: Mapping[str, Any], changes: Mapping[str, Any]) -> set[str]:
    """Return the settings of a plan that go where its promise changes: those of the other alone."""
    left: set[str] = set()
    if "alpha" in changes:
        left |= {"central", "delta"}
        left |= {"design"} if document.get("design") == "tables" else set()
        left |= {"objective"} if document.get("objective") in TABLE_OBJECTIVES else set()
    if "central" in changes:
        is_of_tables = changes.get("design", document.get("design", "tables")) == "tables"
        left |= {"alpha", *(OF_RECORDS_ALONE if is_of_tables else ())}
    return left


def chosen(document: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return what changes where some columns of a plan are taken alone."""
    planned = document.get("columns", {})
    for name in columns:
        if name not in planned:
            raise InvalidPlan(
                f"The plan has no column {name!r}{hint_at(name, list(planned))}; a try takes "
                "columns of its plan alone."
            )
    kept = set(columns)
    found: dict[str, Any] = {
        "columns": {name: own for name, own in planned.items() if name in kept},
        "drop": [*document.get("drop", ()), *(name for name in planned if name not in kept)],
    }
    tables = document.get("tables")
    if isinstance(tables, list | tuple):
        found["tables"] = [table for table in tables if set(table) <= kept] or 1
    if "possible" in document:
        rules = document["possible"]
        found["possible"] = [rule for rule in rules if columns_of(rule) <= kept]
    return found
