"""Writing plans as TOML: what `read_decisions` reads back to the same plan."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pramble.data.reading import Reading
from pramble.releasing.decisions.decisions import SEEN, ColumnDecision, Decisions, RiskDecision


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


def changed(
    plan: ColumnDecision | Decisions | RiskDecision | Reading, *leave: str
) -> dict[str, Any]:
    """Return the settings that differ from their defaults, in the order of the fields."""
    return {
        field.name: getattr(plan, field.name)
        for field in fields(plan)
        if field.name not in leave and getattr(plan, field.name) != field.default
    }


def decisions_to_toml(plan: Decisions) -> str:
    """Return a plan as a TOML document.

    Examples
    --------
    >>> from pramble.releasing.decisions.parsing import decisions_from
    >>> plan = decisions_from({"alpha": 2, "columns": {"sex": {"categories": ["m", "f"]}}})
    >>> print(decisions_to_toml(plan))
    alpha = 2.0
    <BLANKLINE>
    [columns."sex"]
    categories = ["m", "f"]
    """
    lines = toml_table(changed(plan, "columns", "risk", "reading"))
    reading = changed(plan.reading, "recode")
    if reading:
        lines += ["", "[file]", *toml_table(reading)]
    for column in plan.columns:
        seen = {} if column.declared is not None else {"categories": SEEN}
        settings = {**seen, **changed(column, "name", "recode", "noisy"), **column.recode}
        lines += ["", f"[columns.{toml_value(column.name)}]", *toml_table(settings)]
    if plan.risk:
        lines += ["", "[risk]", *toml_table(changed(plan.risk))]
    return "\n".join(lines)
