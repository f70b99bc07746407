"""The JSON form of mechanisms: integers and labels only, versioned, strict on the way in."""

import inspect
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from pramble.data.labels import Labels, as_labels
from pramble.errors import InvalidInput, InvalidMechanism
from pramble.limits import MOST_LABELS, MOST_NESTED
from pramble.values import Integers

SCHEMA = "pramble/mechanism/1"


def body_of(document: Mapping[str, Any] | str) -> dict[str, Any]:
    """Return the kind and the fields of a document; refuse another schema."""
    document = parsed(document, InvalidMechanism)
    if not isinstance(document, Mapping):
        raise InvalidMechanism(f"A mechanism is a JSON object; found {type(document).__name__}.")
    if document.get("schema") != SCHEMA:
        raise InvalidMechanism(
            f"The schema of a mechanism must be {SCHEMA!r}; found {document.get('schema')!r}."
        )
    return {key: value for key, value in document.items() if key != "schema"}


def parsed(document: Any, refusal: type[InvalidInput]) -> Any:
    """Return a document, from its text where it is one."""
    try:
        return json.loads(document) if isinstance(document, str) else document
    except (ValueError, RecursionError) as error:
        raise refusal(f"Not a JSON document: {error}.") from None


def build(document: Any, kinds: Mapping[str, Any]) -> Any:
    """Return the mechanism of a document without its schema tag, among known kinds."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidMechanism(f"A mechanism is one of {', '.join(kinds)}; found {kind!r}.")
    make = kinds[kind].from_body
    fields = inspect.signature(make).parameters.values()
    known = {field.name for field in fields}
    required = {field.name for field in fields if field.default is field.empty}
    found = set(document) - {"kind"}
    if not required <= found <= known:
        unknown, missing = sorted(map(str, found - known)), sorted(required - found)
        raise InvalidMechanism(
            f"A mechanism of kind {kind!r} has unknown fields {unknown} and lacks {missing}."
        )
    return make(**{key: document[key] for key in found})


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


def integers(value: Any) -> Integers:
    """Return an integer array from nested lists; refuse floats, booleans and ragged lists."""
    flat = [value]
    while flat and isinstance(flat[0], list):
        flat = [item for part in flat for item in (part if isinstance(part, list) else [None])]
    if not all(type(item) is int for item in flat):
        raise InvalidMechanism("Weights are integers, in rows of equal length.")
    try:
        return np.array(value, dtype=np.int64)
    except (OverflowError, ValueError):
        raise InvalidMechanism(
            "Weights are integers below 2**63, in rows of equal length."
        ) from None


def one_integer(value: Any) -> int:
    """Return an integer; refuse floats, booleans and lists."""
    if type(value) is not int:
        raise InvalidMechanism(f"An integer is needed; found a {type(value).__name__}.")
    return value


def labels_to_json(labels: Labels) -> Any:
    """Return labels as a list, or a range as ``{"range": S}``."""
    if isinstance(labels.values, range):
        return {"range": len(labels)}
    return list(labels.values)


def labels_from_json(value: Any, *, what: str = "categories") -> Labels:
    """Return labels from their JSON form."""
    if isinstance(value, Mapping):
        count = value.get("range")
        if set(value) != {"range"} or type(count) is not int or count > MOST_LABELS:
            raise InvalidMechanism(
                f"{what} are a list of labels or {{'range': S}} with S up to {MOST_LABELS:,}; "
                f"found {value!r}."
            )
        return as_labels(count, what=what)
    if not isinstance(value, list):
        raise InvalidMechanism(f"{what} are a list of labels; found {type(value).__name__}.")
    return as_labels(value, what=what)


def both_labels(mechanism: Any) -> dict[str, Any]:
    """Return the labels of rows and columns; the latter where they differ."""
    written = {"categories": labels_to_json(mechanism.labels)}
    if mechanism.output_labels != mechanism.labels:
        written["outputs"] = labels_to_json(mechanism.output_labels)
    return written


def labels_pair(categories: Any, outputs: Any) -> tuple[Labels, Labels]:
    """Return the labels of rows and columns from their JSON forms."""
    labels = labels_from_json(categories)
    return labels, labels if outputs is None else labels_from_json(outputs, what="outputs")
