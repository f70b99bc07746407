"""Writing plans as TOML: what `read_plan` reads back to the same plan."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pramble.releasing.plan import SEEN, ColumnPlan, ReleasePlan, RiskPlan

if TYPE_CHECKING:
    from collections.abc import Mapping


def toml_value(value: Any) -> str:
    """Return a value as TOML.

    >>> toml_value(["a", 1, True, 0.5])
    '["a", 1, true, 0.5]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(part) for part in value) + "]"
    return repr(value)


def toml_table(settings: Mapping[str, Any]) -> list[str]:
    """Return one line per setting."""
    return [f"{key} = {toml_value(value)}" for key, value in settings.items()]


def changed(plan: ColumnPlan | ReleasePlan | RiskPlan, *leave: str) -> dict[str, Any]:
    """Return the settings that differ from their defaults, in the order of the fields."""
    return {
        field.name: getattr(plan, field.name)
        for field in fields(plan)
        if field.name not in leave and getattr(plan, field.name) != field.default
    }


def plan_to_toml(plan: ReleasePlan) -> str:
    """Return a plan as a TOML document.

    Examples
    --------
    >>> from pramble.releasing.parsing import plan_from
    >>> plan = plan_from({"alpha": 2, "columns": {"sex": {"categories": ["m", "f"]}}})
    >>> print(plan_to_toml(plan))
    alpha = 2.0
    <BLANKLINE>
    [columns."sex"]
    categories = ["m", "f"]
    """
    lines = toml_table(changed(plan, "columns", "risk"))
    for column in plan.columns:
        settings = {"categories": SEEN, **changed(column, "name")}
        lines += ["", f"[columns.{toml_value(column.name)}]", *toml_table(settings)]
    if plan.risk:
        lines += ["", "[risk]", *toml_table(changed(plan.risk))]
    return "\n".join(lines)
