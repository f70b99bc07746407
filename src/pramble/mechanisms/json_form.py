"""The JSON form of mechanisms: integers and labels only, versioned, strict on the way in."""

import json
from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.labels import Labels, as_labels
from pramble.errors import InvalidMechanism
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.general import General
from pramble.mechanisms.product import Product
from pramble.mechanisms.uniform import UniformRows

SCHEMA = "pramble/mechanism/1"
MOST_LABELS = 10**8
"""A document of a few bytes may not ask for more memory than this many labels take."""

MOST_NESTED = 20


def to_json(mechanism: Mechanism) -> dict[str, Any]:
    """Return the document of a mechanism."""
    return {"schema": SCHEMA, **body(mechanism)}


@singledispatch
def body(mechanism: Mechanism) -> dict[str, Any]:
    """Return the kind and the fields of a mechanism; every kind registers its own."""
    raise InvalidMechanism(f"{type(mechanism).__name__} has no JSON form.")


@body.register
def _(mechanism: General) -> dict[str, Any]:
    document = {"kind": "general", "categories": labels_to_json(mechanism.labels)}
    if mechanism.output_labels != mechanism.labels:
        document["outputs"] = labels_to_json(mechanism.output_labels)
    return {**document, "weights": mechanism.weights.tolist()}


@body.register
def _(mechanism: UniformRows) -> dict[str, Any]:
    constant = bool((mechanism.off == mechanism.off[0]).all())
    return {
        "kind": "uniform",
        "categories": labels_to_json(mechanism.labels),
        "off": int(mechanism.off[0]) if constant else mechanism.off.tolist(),
    }


@body.register
def _(mechanism: Product) -> dict[str, Any]:
    return {"kind": "product", "factors": [body(factor) for factor in mechanism.factors]}


@body.register
def _(mechanism: Arcs) -> dict[str, Any]:
    document = {"kind": "arcs", "categories": labels_to_json(mechanism.labels)}
    if mechanism.output_labels != mechanism.labels:
        document["outputs"] = labels_to_json(mechanism.output_labels)
    return {
        **document,
        "positions": mechanism.positions.tolist(),
        "slots": mechanism.slots.tolist(),
        "width": mechanism.width,
        "low": mechanism.low,
    }


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
    if not isinstance(kind, str) or kind not in READERS:
        raise InvalidMechanism(f"A mechanism is one of {', '.join(READERS)}; found {kind!r}.")
    required, optional, build = READERS[kind]
    found = set(document) - {"kind"}
    if not required <= found <= required | optional:
        unknown, missing = sorted(found - required - optional), sorted(required - found)
        raise InvalidMechanism(
            f"A mechanism of kind {kind!r} has unknown fields {unknown} and lacks {missing}."
        )
    return build(**{key: value for key, value in document.items() if key != "kind"})


def build_general(categories: Any, weights: Any, outputs: Any = None) -> Mechanism:
    """Build a general mechanism from its fields."""
    labels = labels_from_json(categories)
    return General(
        labels,
        labels if outputs is None else labels_from_json(outputs, what="outputs"),
        integers(weights),
    )


def build_uniform(categories: Any, off: Any) -> Mechanism:
    """Build uniform rows from their fields."""
    labels = labels_from_json(categories)
    values = integers(off)
    return UniformRows(labels, np.full(len(labels), values) if values.ndim == 0 else values)


def build_product(factors: Any) -> Mechanism:
    """Build a product from its fields."""
    if not isinstance(factors, list):
        raise InvalidMechanism("The factors of a product are a list.")
    return Product(tuple(from_body(factor) for factor in factors))


def build_arcs(
    categories: Any, positions: Any, slots: Any, width: Any, low: Any, outputs: Any = None
) -> Mechanism:
    """Build arcs from their fields."""
    labels = labels_from_json(categories)
    return Arcs(
        labels,
        labels if outputs is None else labels_from_json(outputs, what="outputs"),
        integers(positions),
        integers(slots),
        int(integers([width])[0]),
        int(integers([low])[0]),
    )


READERS: dict[str, tuple[set[str], set[str], Callable[..., Mechanism]]] = {
    "general": ({"categories", "weights"}, {"outputs"}, build_general),
    "uniform": ({"categories", "off"}, set(), build_uniform),
    "arcs": ({"categories", "positions", "slots", "width", "low"}, {"outputs"}, build_arcs),
    "product": ({"factors"}, set(), build_product),
}


def integers(value: Any) -> NDArray[np.int64]:
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
