"""The JSON form of mechanisms: integers and labels only, versioned, strict on the way in."""

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np

from pramble.data.labels import Labels, as_labels
from pramble.errors import InvalidInput, InvalidMechanism, InvalidPlan
from pramble.limits import MOST_DOCUMENT_BYTES, MOST_LABELS, MOST_LABELS_TOGETHER
from pramble.values import Integers

SCHEMA = "pramble/mechanism/1"


def parsed(document: Any, refusal: type[InvalidInput], *, name: str = "a document") -> Any:
    if not isinstance(document, str):
        return document
    try:
        found = json.loads(document, parse_constant=refuse_constant)
        if "\\ud" in document.lower():
            json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError) as error:
        raise refusal(f"Cannot read {name} as JSON: {error}.") from None
    return found


def refuse_constant(name: str) -> None:
    """Refuse NaN and infinity, which Python reads and JSON has not."""
    raise ValueError(f"{name} is no number")


def read_bytes(path: Path, refusal: type[InvalidInput]) -> bytes:
    size = path.stat().st_size
    if not path.is_file():
        raise refusal(f"{path.name!r} must be a file.")
    if size > MOST_DOCUMENT_BYTES:
        raise refusal(
            f"{path.name!r} has {size:,} bytes; a document of more than "
            f"{MOST_DOCUMENT_BYTES:,} is not read."
        )
    return path.read_bytes()


def document_in(content: bytes, refusal: type[InvalidInput], *, name: str) -> Any:
    try:
        return parsed(content.decode(), refusal, name=repr(name))
    except UnicodeDecodeError:
        raise refusal(f"Cannot read {name!r} as JSON: it is not UTF-8.") from None


def build(document: Any, kinds: Mapping[str, Any]) -> Any:
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidMechanism(f"A mechanism is one of {', '.join(kinds)}; found {short(kind)}.")
    make = kinds[kind].from_body
    # The fields of a kind are the keywords of its reader: they are written nowhere else.
    fields = inspect.signature(make).parameters.values()
    known = {field.name for field in fields}
    required = {field.name for field in fields if field.default is field.empty}
    found = set(document) - {"kind"}
    if not required <= found <= known:
        unknown, missing = sorted(map(str, found - known)), sorted(required - found)
        raise InvalidMechanism(
            f"A mechanism of kind {kind!r} has unknown fields {short(unknown)} and lacks {missing}."
        )
    return make(**{key: document[key] for key in found})


def refuse_large(bodies: Iterable[Any]) -> None:
    """Refuse very many categories, before anything is built."""
    parts = [part for part in bodies if isinstance(part, Mapping)]
    labels = sum(stated_size(part.get(key)) for part in parts for key in ("categories", "outputs"))
    if labels > MOST_LABELS_TOGETHER:
        raise InvalidMechanism(
            "The mechanisms of a document may have "
            f"{MOST_LABELS_TOGETHER:,} categories and outputs together; found {labels:,}."
        )


def stated_size(labels: Any) -> int:
    if isinstance(labels, Mapping):
        count = labels.get("range")
        return max(count, 0) if type(count) is int else 0
    return len(labels) if isinstance(labels, list) else 0


def rational(number: Any, refusal: type[InvalidInput]) -> Fraction:
    """Return a number of a document exactly: a float, an integer, or "1/3" in text."""
    plain = re.fullmatch(r"[0-9]+(/[0-9]+)?", number) if isinstance(number, str) else True
    try:
        return Fraction(number if plain else "none")
    except (ValueError, ArithmeticError, TypeError):
        raise refusal(f"{short(number)} is no number.") from None


def integers(value: Any) -> Integers:
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
    if type(value) is not int:
        raise InvalidMechanism(f"An integer is needed; found a {type(value).__name__}.")
    return value


def labels_to_json(labels: Labels) -> Any:
    """Return labels as a list, those of cells as lists in it; or a range as ``{"range": S}``."""
    if isinstance(labels.values, range):
        return {"range": len(labels)}
    return [list(one) if isinstance(one, tuple) else one for one in labels.values]


def labels_from_json(value: Any, *, what: str = "categories") -> Labels:
    if stated_size(value) > MOST_LABELS:
        raise InvalidMechanism(
            f"A mechanism may have {MOST_LABELS:,} {what}; found {stated_size(value):,}."
        )
    if isinstance(value, Mapping):
        count = value.get("range")
        if set(value) != {"range"} or type(count) is not int:
            raise InvalidMechanism(
                f"{what} are a list of labels or {{'range': S}}; found {short(value)}."
            )
        value = range(count)
    if not isinstance(value, list | range):
        raise InvalidMechanism(f"{what} are a list of labels; found {type(value).__name__}.")
    if isinstance(value, list):
        value = [tuple(one) if isinstance(one, list) else one for one in value]
    return as_labels(value, what=what)


def both_labels(mechanism: Any) -> dict[str, Any]:
    written = {"categories": labels_to_json(mechanism.labels)}
    if mechanism.output_labels != mechanism.labels:
        written["outputs"] = labels_to_json(mechanism.output_labels)
    return written


def labels_pair(categories: Any, outputs: Any) -> tuple[Labels, Labels]:
    labels = labels_from_json(categories)
    return labels, labels if outputs is None else labels_from_json(outputs, what="outputs")


def list_in(found: Any, what: str) -> list[Any]:
    """Return a list of a plan's document; refuse anything else."""
    if not isinstance(found, list):
        raise InvalidPlan(f"{what} are a list; found a {type(found).__name__}.")
    return found


def refuse_fields(document: Any, known: set[str], what: str) -> None:
    """Refuse what is no object with just these fields."""
    if not isinstance(document, Mapping) or set(document) != known:
        found = sorted(map(str, document)) if isinstance(document, Mapping) else type(document)
        raise InvalidPlan(f"{what} has the fields {sorted(known)}; found {short(found)}.")
