"""Reading the manifest of a release folder: its form, its evidence, its plan."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from reprlib import repr as short
from typing import Any

from pramble.errors import InvalidData, InvalidPlan
from pramble.mechanisms.json_form import document_in, read_bytes
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.folder.files import MANIFEST, refuse_link
from pramble.releasing.folder.manifest import SCHEMA
from pramble.releasing.folder.schema import manifest_schema, mistakes_in
from pramble.releasing.folder.signing import check_signature
from pramble.releasing.prepare.data_file import STEM


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
