"""The JSON form of mechanisms: integers and labels only, versioned, strict on the way in."""

import inspect
import json
from collections.abc import Mapping
from typing import Any

from pramble.errors import InvalidMechanism
from pramble.limits import MOST_NESTED
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.general import General
from pramble.mechanisms.product import Product
from pramble.mechanisms.uniform import UniformRows

SCHEMA = "pramble/mechanism/1"

KINDS: dict[str, Any] = {
    "general": General,
    "uniform": UniformRows,
    "arcs": Arcs,
    "product": Product,
}
"""Every kind by its name in JSON: a class with ``to_body`` and ``from_body``."""

NAMES = {kind: name for name, kind in KINDS.items()}


def to_json(mechanism: Mechanism) -> dict[str, Any]:
    """Return the document of a mechanism."""
    return {"schema": SCHEMA, **body(mechanism)}


def body(mechanism: Mechanism) -> dict[str, Any]:
    """Return the kind and the fields of a mechanism."""
    if type(mechanism) not in NAMES:
        raise InvalidMechanism(f"{type(mechanism).__name__} has no JSON form.")
    return {"kind": NAMES[type(mechanism)], **mechanism.to_body()}


def from_json(document: Mapping[str, Any] | str) -> Mechanism:
    """Return the mechanism of a document; refuse anything it does not know."""
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except (ValueError, RecursionError) as error:
            raise InvalidMechanism(f"Not a JSON document: {error}.") from None
    if not isinstance(document, Mapping):
        raise InvalidMechanism(f"A mechanism is a JSON object; found {type(document).__name__}.")
    if document.get("schema") != SCHEMA:
        raise InvalidMechanism(
            f"The schema of a mechanism must be {SCHEMA!r}; found {document.get('schema')!r}."
        )
    refuse_deep(document)
    return from_body({key: value for key, value in document.items() if key != "schema"})


def refuse_deep(document: Any) -> None:
    """Refuse products of products of products without end."""
    level, depth = [document], 0
    while level:
        factors = [part.get("factors") for part in level if isinstance(part, Mapping)]
        level = [factor for part in factors if isinstance(part, list) for factor in part]
        depth += 1
        if depth > MOST_NESTED:
            raise InvalidMechanism(
                f"The products of a mechanism may be nested {MOST_NESTED} deep; found more."
            )


def from_body(document: Any) -> Mechanism:
    """Return the mechanism of a document without its schema tag."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidMechanism(f"A mechanism is one of {', '.join(KINDS)}; found {kind!r}.")
    build = KINDS[kind].from_body
    fields = inspect.signature(build).parameters.values()
    known = {field.name for field in fields}
    required = {field.name for field in fields if field.default is field.empty}
    found = set(document) - {"kind"}
    if not required <= found <= known:
        unknown, missing = sorted(map(str, found - known)), sorted(required - found)
        raise InvalidMechanism(
            f"A mechanism of kind {kind!r} has unknown fields {unknown} and lacks {missing}."
        )
    mechanism: Mechanism = build(**{key: document[key] for key in found})
    return mechanism
