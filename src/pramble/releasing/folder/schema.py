"""The JSON Schema of manifests, and what in a document breaks it."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from reprlib import repr as short
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


@cache
def manifest_schema() -> dict[str, Any]:
    """Return the JSON Schema of manifests.

    >>> manifest_schema()["$id"]
    'pramble/release/6'
    """
    text = (files("pramble") / "resources" / "manifest.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def is_a(value: Any, kind: str) -> bool:
    """Whether a value is of a type of JSON Schema; true and false are no numbers."""
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def mistakes_in(value: Any, schema: Mapping[str, Any], *, where: str = "manifest") -> Iterator[str]:
    """Yield a sentence for each way in which a document breaks a schema.

    It knows the part of JSON Schema that the manifest's uses: type, enum, pattern, minimum,
    required, properties, additionalProperties and items.
    """
    if "type" in schema and not is_a(value, schema["type"]):
        yield f"{where} must be of type {schema['type']}; found {type(value).__name__}."
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} must be one of {schema['enum']}; found {short(value)}."
    if "pattern" in schema and not re.search(schema["pattern"], str(value)):
        yield f"{where} must match {schema['pattern']}; found {short(value)}."
    if "minimum" in schema and not value >= schema["minimum"]:
        yield f"{where} must be at least {schema['minimum']}; found {short(value)}."
    if isinstance(value, dict):
        known = schema.get("properties", {})
        yield from (
            f"{where} must have {key!r}." for key in schema.get("required", ()) if key not in value
        )
        for key, part in value.items():
            if key in known:
                yield from mistakes_in(part, known[key], where=f"{where}.{key}")
            elif schema.get("additionalProperties") is False:
                yield f"{where} has an unknown field {short(key)}."
    if isinstance(value, list) and "items" in schema:
        for i, part in enumerate(value):
            yield from mistakes_in(part, schema["items"], where=f"{where}[{i}]")
