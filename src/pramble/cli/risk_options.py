"""What ``assess`` and ``calibrate`` read from the command line in the same way."""

from collections.abc import Sequence
from typing import Any

from pramble.errors import InvalidInput


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
