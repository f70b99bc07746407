"""Plans as documents: what was stated, however it was said, and written as TOML."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from pramble.errors import InvalidPlan
from pramble.releasing.spec.parse import (
    PLAN,
    default_design,
    designs_with,
    read_document,
    spec_from,
)
from pramble.releasing.spec.readers import SEEN
from pramble.releasing.spec.rules import columns_of
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.values import names_of
from pramble.words import hint_at


def spec_of(
    plan: str | Path | ReleaseSpec | Mapping[str, Any] | None,
    columns: str | Sequence[str] | Mapping[str, Mapping[str, Any]] | None,
    *,
    alpha: float | None,
    settings: Mapping[str, Any],
) -> ReleaseSpec:
    """Return what a curator states: a plan, settings, or settings that change a plan."""
    changes = {**settings, **({} if alpha is None else {"alpha": alpha})}
    if plan is None:
        if columns is None:
            raise InvalidPlan("A release needs a plan, or a list of columns and alpha.")
        tables = (
            columns if isinstance(columns, Mapping) else {name: {} for name in names_of(columns)}
        )
        return spec_from({**changes, "columns": tables}, seen_allowed=True)
    if isinstance(columns, Mapping):
        raise InvalidPlan("Next to a plan, columns are names of some of its columns.")
    if not changes and columns is None and isinstance(plan, ReleaseSpec):
        return plan
    document = document_of(plan)
    if changes or columns is not None:
        document = overridden(document, changes, None if columns is None else names_of(columns))
    return spec_from(document, seen_allowed=isinstance(plan, ReleaseSpec))


def document_of(plan: str | Path | ReleaseSpec | Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan as nested settings, however it was given."""
    if isinstance(plan, ReleaseSpec):
        return tomllib.loads(spec_to_toml(plan))
    return read_document(plan) if isinstance(plan, str | Path) else dict(plan)


def overridden(
    document: Mapping[str, Any], changes: Mapping[str, Any], columns: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the settings of a plan with changes, and with some of its columns alone.

    Another promise takes the place of the plan's, with all that goes with the old one alone: only a
    design that the curator stated stays, and is refused where it does not go with the promise.
    Columns that are left out are **dropped**: a column that the plan protects is never released as
    it is because of a change. Tables and rules that name them go with them.

    >>> plan = {"alpha": 1.0, "columns": {"sex": {}, "age": {}}, "drop": ["id"]}
    >>> overridden(plan, {"central": 2.0}, ["sex"])
    {'columns': {'sex': {}}, 'drop': ['id', 'age'], 'central': 2.0}
    """
    found = dict(document)
    if "alpha" in changes:
        found = {name: own for name, own in found.items() if name not in ("central", "delta")}
    if "central" in changes:
        by_init = ("alpha", "tables") if isinstance(found.get("tables"), int) else ("alpha",)
        found = {name: own for name, own in found.items()
                 if "alpha" not in document or name not in by_init}  # fmt: skip
    if {"alpha", "central", "design"} & set(changes):
        found = without_others(found, {**found, **changes})
    if columns is not None:
        found |= of_columns(found, columns)
    return found | dict(changes)


def without_others(document: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without the settings that a design which is asked for does not have."""
    design = asked.get("design", default_design(asked))
    design = "columns" if design == "columns" else design
    return {
        name: own
        for name, own in document.items()
        if name == "design" or name not in PLAN or design in designs_with(PLAN[name], own)
    }


def of_columns(document: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return what changes where some columns of a plan are taken alone."""
    planned = document.get("columns", {})
    for name in columns:
        if name not in planned:
            raise InvalidPlan(
                f"The plan has no column {name!r}{hint_at(name, list(planned))}; next to a plan, "
                "columns are some of its own."
            )
    wanted = set(columns)
    found: dict[str, Any] = {
        "columns": {name: own for name, own in planned.items() if name in wanted},
        "drop": [*document.get("drop", ()), *(name for name in planned if name not in wanted)],
    }
    tables = document.get("tables")
    if isinstance(tables, list | tuple):
        found["tables"] = [table for table in tables if set(table) <= wanted] or 1
    if "possible" in document:
        rules = document["possible"]
        found["possible"] = [rule for rule in rules if columns_of(rule) <= wanted]
    return found


def toml_value(value: Any) -> str:
    """Return a value as TOML.

    >>> toml_value(["a", 1, True, 0.5])
    '["a", 1, true, 0.5]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        parts = [f"{toml_value(str(key))} = {toml_value(part)}" for key, part in value.items()]
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(part) for part in value) + "]"
    return repr(value)


def toml_table(settings: Mapping[str, Any]) -> list[str]:
    """Return one line per setting."""
    return [f"{key} = {toml_value(value)}" for key, value in settings.items()]


def changed(part: Any, *leave: str) -> dict[str, Any]:
    """Return the fields of a part of a plan that differ from their defaults, in order."""
    found = {}
    for field in fields(part):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        own = getattr(part, field.name)
        if field.name not in leave and own != default:
            found[field.name] = own
    return found


def spec_to_toml(spec: ReleaseSpec) -> str:
    """Return a plan as a TOML document, which `read_spec` reads back to the same plan.

    Examples
    --------
    >>> plan = spec_from({"alpha": 2, "columns": {"sex": {"categories": ["m", "f"]}}})
    >>> print(spec_to_toml(plan))
    alpha = 2.0
    <BLANKLINE>
    [columns."sex"]
    categories = ["m", "f"]
    """
    plan = changed(spec, "columns", "risk", "reading")
    if plan.get("design") == default_design(plan):
        del plan["design"]
    lines = toml_table(plan)
    reading = changed(spec.reading, "recode")
    if reading:
        lines += ["", "[file]", *toml_table(reading)]
    for column in spec.columns:
        seen = {} if column.declared is not None else {"categories": SEEN}
        settings = {**seen, **changed(column, "name", "noisy")}
        lines += ["", f"[columns.{toml_value(column.name)}]", *toml_table(settings)]
    if spec.risk:
        lines += ["", "[risk]", *toml_table(changed(spec.risk))]
    return "\n".join(lines)
