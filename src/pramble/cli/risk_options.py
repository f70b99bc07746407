"""What ``assess`` and ``calibrate`` read from the command line in the same way."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pramble.errors import InvalidInput, InvalidPlan
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import SCHEMA, Plan


def names(given: Sequence[str]) -> list[str]:
    """Split comma-separated names.

    >>> names(["age,sex", "region"])
    ['age', 'sex', 'region']
    """
    return [name.strip() for part in given for name in part.split(",") if name.strip()]


def rules(given: Sequence[str]) -> list[dict[str, list[str]]]:
    """Read rules such as ``age=under 15,marital=married|widowed``.

    >>> rules(["age=under 15,marital=married|widowed"])
    [{'age': ['under 15'], 'marital': ['married', 'widowed']}]
    """
    read = []
    for text in given:
        rule = {}
        for part in text.split(","):
            name, sign, values = part.partition("=")
            if not sign:
                raise InvalidInput(
                    f"A rule must read like 'age=under 15,marital=married|widowed'; found {text!r}."
                )
            rule[name.strip()] = [value.strip() for value in values.split("|")]
        read.append(rule)
    return read


def margins(model: str, given: Sequence[str]) -> Any:
    """Return the model: by its name, or the margins that were named instead."""
    return [tuple(names([margin])) for margin in given] if given else model


def read_plan(path: Path) -> Plan:
    """Return the plan of a release folder, of its manifest, or of a JSON file."""
    file = path / "manifest.json" if path.is_dir() else path
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidPlan(f"A plan must be a JSON file; {str(file)!r} is not: {error}.") from None
    if isinstance(document, dict) and document.get("schema") == SCHEMA:
        return Plan.from_json(document)
    columns = document.get("columns") if isinstance(document, dict) else None
    if isinstance(columns, list):
        document = {c["name"]: c["mechanism"] for c in columns if c.get("mechanism")}
    if not document or not isinstance(document, dict):
        raise InvalidPlan(f"A plan must hold a mechanism by column; {str(file)!r} holds none.")
    return Plan({name: Mechanism.from_json(mechanism) for name, mechanism in document.items()})
