"""Reading the manifest of a release folder: its signature, its form, its evidence, its plan."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from reprlib import repr as short
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from pramble.data.bands import Points
from pramble.data.recode import Bands
from pramble.errors import InvalidData, InvalidInput, InvalidPlan
from pramble.mechanisms.json_form import document_in, read_bytes
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.folder.layout import MANIFEST, STEM, refuse_link

SCHEMA = "pramble/release/6"

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


SIGNATURE = "manifest.sig"
MOST_KEY_BYTES = 10_000


class LockedKey(InvalidInput):
    """A private key that needs a passphrase."""


def private_key(path: str | Path, passphrase: bytes | None = None) -> Ed25519PrivateKey:
    """Return the key of a PEM file, as ``openssl genpkey -algorithm ed25519`` writes it."""
    name = f"The signing key {str(path)!r}"
    content = read_key(Path(path), name)
    try:
        key = load_pem_private_key(content, passphrase)
    except TypeError:
        raise LockedKey(f"{name} needs its passphrase; the command line asks for it.") from None
    except (ValueError, UnsupportedAlgorithm):
        wrong = "is no private key in PEM" if passphrase is None else "has another passphrase"
        raise InvalidInput(f"{name} {wrong}.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput(f"{name} must be an Ed25519 key: openssl genpkey -algorithm ed25519.")
    return key


def public_key(path: str | Path) -> Ed25519PublicKey:
    """Return the key of a PEM file, as ``openssl pkey -pubout`` writes it."""
    name = f"The public key {str(path)!r}"
    content = read_key(Path(path), name)
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidInput(f"{name} is no public key in PEM.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidInput(f"{name} must be an Ed25519 key.")
    return key


def read_key(path: Path, name: str) -> bytes:
    """Return the content of a key file, which is short."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_KEY_BYTES)
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror}.") from None


def key_warnings(sign: Any) -> list[str]:
    """Say so if others than its owner can read the file of a private key."""
    if not isinstance(sign, str | Path) or not Path(sign).stat().st_mode & 0o077:
        return []
    return [f"Others than its owner can read the signing key {str(sign)!r}: chmod 600 it."]


def write_signature(folder: Path, manifest: str, *, key: Ed25519PrivateKey) -> None:
    """Write the signature of the exact bytes of a manifest beside it."""
    (folder / SIGNATURE).write_bytes(key.sign(manifest.encode()))


def check_signature(folder: Path, manifest: bytes, *, key: str | Path) -> None:
    """Refuse a manifest that the holder of a key did not sign."""
    public, path = public_key(key), folder / SIGNATURE
    if path.is_symlink() or not path.is_file():
        raise InvalidData(f"The release is not signed: it has no {SIGNATURE}.")
    try:
        with path.open("rb") as file:
            public.verify(file.read(MOST_KEY_BYTES), manifest)
    except InvalidSignature:
        raise InvalidData(
            f"The release was not signed with the private part of {str(key)!r}, or was changed "
            "since. Do not use it."
        ) from None


WRITTEN_AS = {
    "midpoint": "the middle of the band that was drawn for the record.",
    "point": "a number drawn evenly within the band that was drawn for the record.",
}


def written_note(name: str, points: Points) -> str:
    """Say how a column is written."""
    return f"{name} is written as {WRITTEN_AS[points.kind]}"


def points_entry(points: Points) -> dict[str, Any]:
    """Return how bands are written as numbers."""
    return {"kind": points.kind, "bands": list(points.labels), "edges": list(points.edges)}


def points_in(manifest: Mapping[str, Any]) -> dict[str, Points]:
    """Return the columns whose bands are written as numbers."""
    found = {}
    for column in manifest["columns"]:
        stated = column.get("released_as")
        if stated is not None:
            try:
                own = Points(stated["kind"], stated["bands"], stated["edges"])
                Bands(own.edges[:-1], own.labels)  # refuses edges that do not increase
            except InvalidInput as error:
                raise InvalidData(f"{MANIFEST} is damaged: {error}") from None
            found[column["name"]] = own
    return found


def read_manifest(folder: Path, *, verify: str | Path | None = None) -> dict[str, Any]:
    """Read and check the manifest of a release folder, signed by a key where one is given."""
    path = folder / MANIFEST
    refuse_link(path)
    try:
        with undamaged():
            content = read_bytes(path, InvalidData)
    except (FileNotFoundError, NotADirectoryError):
        if not folder.exists():
            raise InvalidData(f"{str(folder)!r} does not exist.") from None
        raise InvalidData(f"{str(folder)!r} is no release: it has no {MANIFEST}.") from None
    if verify is not None:
        check_signature(folder, content, key=verify)
    with undamaged():
        document = document_in(content, InvalidData, name=MANIFEST)
    if isinstance(document, dict) and document.get("schema", SCHEMA) != SCHEMA:
        raise InvalidData(
            f"This software reads releases of schema {SCHEMA!r}; found {short(document['schema'])}."
        )
    for mistake in mistakes_in(document, manifest_schema()):
        raise InvalidData(f"{MANIFEST} is damaged: {mistake}")
    checked: dict[str, Any] = document
    return checked


@contextmanager
def undamaged() -> Iterator[None]:
    """Tell what is wrong with a part of the manifest as a damage of it."""
    try:
        yield
    except (InvalidData, InvalidPlan) as error:
        raise InvalidData(f"{MANIFEST} is damaged: {error}") from None


def data_of(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is stated of the evidence: the data file, or the file of protected tables."""
    if ("data" in manifest) == ("tables" in manifest):
        raise InvalidData(f"{MANIFEST} is damaged: it must state data or tables, one of the two.")
    if "tables" in manifest:
        tables: Mapping[str, Any] = manifest["tables"]
        return tables
    found: Mapping[str, Any] = manifest["data"]
    if ("pieces" in found) != (found["file"] == STEM):
        raise InvalidData(f"{MANIFEST} is damaged: the folder {STEM!r} is of a file in pieces.")
    return found


def plan_of(manifest: Mapping[str, Any]) -> Plan | TablePlan:
    """Return the plan of a release, which protects the columns that it says."""
    with undamaged():
        stated = manifest["plan"]
        plan = TablePlan.from_json(stated) if "tables" in manifest else Plan.from_json(stated)
    names = [column["name"] for column in manifest["columns"] if column["randomised"]]
    if sorted(names) != sorted(plan.columns):
        raise InvalidData(
            f"{MANIFEST} is damaged: it states {short(names)} as randomised, and its plan "
            f"randomises {short(list(plan.columns))}."
        )
    return plan
