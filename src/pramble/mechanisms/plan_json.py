"""Plans in JSON: what a document must hold before it is a plan."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pramble.errors import InvalidMechanism, InvalidPlan
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.json_form import rational, refuse_large

SCHEMA = "pramble/plan/1"


def branches_in(document: Any) -> list[tuple[Fraction, dict[tuple[str, ...], Mechanism]]]:
    """Return the share of each branch of a document, and its blocks with their mechanisms."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise InvalidPlan(f"A plan is a JSON object of schema {SCHEMA!r}.")
    _refuse_fields(document, {"schema", "branches"}, "A plan")
    branches = _as_list(document["branches"], "The branches of a plan")
    for branch in branches:
        _refuse_fields(branch, {"share", "blocks"}, "A branch")
        for part in _as_list(branch["blocks"], "The blocks of a branch"):
            _refuse_fields(part, {"columns", "mechanism"}, "A block")
    try:
        refuse_large(part["mechanism"] for branch in branches for part in branch["blocks"])
    except InvalidMechanism as error:
        raise InvalidPlan(str(error)) from None
    found = []
    for branch in branches:
        if not isinstance(branch["share"], str):
            raise InvalidPlan('The share of a branch is an exact fraction in text, such as "1/3".')
        share = rational(branch["share"], InvalidPlan)
        found.append((share, _mechanisms_of(branch["blocks"])))
    return found


def as_block(key: Any) -> tuple[str, ...]:
    names = (key,) if isinstance(key, str) else key
    if not isinstance(names, tuple) or not names or not all(isinstance(n, str) for n in names):
        raise InvalidPlan(f"Columns of a plan are named by text; found {key!r}.")
    if len(set(names)) != len(names):
        raise InvalidPlan(f"The columns of a block must differ; found {key!r}.")
    return names


def _mechanisms_of(blocks: list[Any]) -> dict[tuple[str, ...], Mechanism]:
    found: dict[tuple[str, ...], Mechanism] = {}
    for part in blocks:
        block = as_block(tuple(_as_list(part["columns"], "The columns of a block")))
        if block in found:
            raise InvalidPlan(f"A branch must randomise a column once; {block!r} stands twice.")
        try:
            found[block] = Mechanism.from_body_of_kind(part["mechanism"])
        except InvalidMechanism as error:
            raise InvalidPlan(f"The mechanism of {', '.join(block)}: {error}") from None
    return found


def _as_list(found: Any, what: str) -> list[Any]:
    if not isinstance(found, list):
        raise InvalidPlan(f"{what} are a list; found a {type(found).__name__}.")
    return found


def _refuse_fields(document: Any, known: set[str], what: str) -> None:
    if not isinstance(document, Mapping) or set(document) != known:
        found = sorted(map(str, document)) if isinstance(document, Mapping) else type(document)
        raise InvalidPlan(f"{what} has the fields {sorted(known)}; found {found}.")
