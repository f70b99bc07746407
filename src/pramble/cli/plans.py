"""Mechanisms and plans as files: what commands read."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pramble
from pramble.errors import InvalidInput, InvalidPlan, PrambleError
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.csv_form import read_csv
from pramble.mechanisms.json_form import document_in, read_bytes
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.plan_json import SCHEMA
from pramble.mechanisms.table_plan import SCHEMA as OF_TABLES
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.folder.files import MANIFEST
from pramble.releasing.folder.signing import check_signature


def read_plan(path: Path, *, verify: Path | None = None) -> Plan:
    """Return the plan of a release folder, of its manifest, or of a JSON file."""
    found = plan_of(read_document(path, verify=verify), str(path))
    if isinstance(found, TablePlan):
        raise InvalidPlan(
            f"{str(path)!r} is of protected tables, in which there are no records to match. The "
            "risk is compared for plans of randomised records; `pramble certify` says what "
            "tables promise."
        )
    if not isinstance(found, Plan):
        raise InvalidPlan(f"A plan says which column a mechanism is for; {str(path)!r} does not.")
    return found


def released_data(release: Path, plan: Path | None, *, verify: Path | None) -> tuple[Any, Any]:
    """Return an opened release folder; or data, and the plan that it was released with."""
    if plan is not None:
        found = plan_of(read_document(plan, verify=verify), str(plan))
        if isinstance(found, TablePlan):
            raise InvalidPlan(
                f"{str(plan)!r} is of protected tables: give their release folder, and no --plan."
            )
        return release, found
    if release.is_dir() and (release / MANIFEST).exists():
        return pramble.open_release(release, verify=verify), None
    raise InvalidInput(
        f"{str(release)!r} is no release folder; say with --plan how the data was released."
    )


def read_mechanism_or_plan(
    path: Path, *, verify: Path | None = None
) -> Plan | TablePlan | Mechanism:
    """Return what a file or a release folder holds: one mechanism, or a plan."""
    if verify is None and path.suffix.lower() == ".csv":
        with readable(path):
            return read_csv(path)
    return plan_of(read_document(path, verify=verify), str(path))


def read_document(path: Path, *, verify: Path | None = None) -> Any:
    """Return the JSON document of a file, or of the manifest in a folder."""
    file = path / MANIFEST if path.is_dir() else path
    if file.suffix.lower() == ".toml":
        raise InvalidPlan(
            f"{path.name!r} says what is to be done, and has no matrices yet: `pramble release` "
            "designs them (then give its folder here), and `pramble try FILE --plan "
            f"{path.name}` compares what they would be worth and the risk they would leave."
        )
    with readable(file):
        content = read_bytes(file, InvalidPlan)
    if verify is not None:
        check_signature(file.parent, content, key=verify)
    return document_in(content, InvalidPlan, name=file.name)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Refuse a file that cannot be read."""
    try:
        yield
    except PrambleError:
        raise
    except (OSError, ValueError) as error:
        raise InvalidPlan(f"Cannot read a mechanism or plan from {str(path)!r}: {error}.") from None


def plan_of(document: Any, name: str) -> Plan | TablePlan | Mechanism:
    """Return the mechanism or plan of a document: a manifest's, its own, or by column."""
    if not isinstance(document, Mapping) or not document:
        raise InvalidPlan(f"A plan must hold a mechanism by column; {name!r} holds none.")
    if "plan" in document:
        return plan_of(document["plan"], name)
    if document.get("schema") == OF_TABLES:
        return TablePlan.from_json(document)
    if document.get("schema") == SCHEMA:
        return Plan.from_json(document)
    if "kind" in document:
        return Mechanism.from_json(document)
    if not all(isinstance(part, Mapping) for part in document.values()):
        raise InvalidPlan(f"A plan must hold a mechanism by column; {name!r} holds other things.")
    return Plan({column: Mechanism.from_json(part) for column, part in document.items()})
