"""Files that commands read: mechanisms, plans, releases; losses and distances as CSV."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pramble
from pramble.errors import InvalidInput, InvalidPlan, PrambleError, with_values
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.csv_form import read_csv
from pramble.mechanisms.json_form import document_in, read_bytes
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.plan_json import SCHEMA
from pramble.mechanisms.table_plan import SCHEMAS as OF_TABLES
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.folder.build import check_signature
from pramble.releasing.folder.layout import MANIFEST


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
    if document.get("schema") in OF_TABLES:
        return TablePlan.from_json(document)
    if document.get("schema") == SCHEMA:
        return Plan.from_json(document)
    if "kind" in document:
        return Mechanism.from_json(document)
    if not all(isinstance(part, Mapping) for part in document.values()):
        raise InvalidPlan(f"A plan must hold a mechanism by column; {name!r} holds other things.")
    return Plan({column: Mechanism.from_json(part) for column, part in document.items()})


def read_matrix(
    path: Path, labels: Iterable[Any] | None, *, what: str
) -> tuple[list[list[float]], list[Any] | None]:
    """Return the matrix in the order of the labels, and the labels; the file's unless given.

    A table has the released values in its first row and the true values in its first column. A file
    whose first row is all numbers is plain, in the order of the categories.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        wrong = InvalidInput(f"{path.name!r} must be a readable CSV file of {what}.")
        raise with_values(wrong, error) from None
    known = None if labels is None else list(labels)
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise InvalidInput(
            f"{path.name!r} must hold a matrix of {what}, with rows of equal length."
        )
    if all(map(is_number, rows[0])):
        found = [numbers_in(row, place, path.name, what) for place, row in enumerate(rows, 1)]
        return found, known
    released, true = rows[0][1:], [row[0] for row in rows[1:]]
    table = {
        label: dict(zip(released, numbers_in(row[1:], place, path.name, what), strict=True))
        for place, (label, row) in enumerate(zip(true, rows[1:], strict=True), 2)
    }
    wanted = true if known is None else [str(label) for label in known]
    if sorted(true) != sorted(wanted) or sorted(released) != sorted(wanted):
        raise InvalidInput(
            f"{path.name!r} must have a row and a column for each of the {len(wanted)} categories, "
            f"named alike; found {len(true)} rows and {len(released)} columns, or other names."
        )
    return [[table[x][z] for z in wanted] for x in wanted], true if known is None else known


def read_distance(given: str | None, labels: Iterable[Any] | None) -> tuple[Any, list[Any] | None]:
    """Return a distance from "path" or the name of a CSV file, and the labels."""
    known = None if labels is None else list(labels)
    if given is None or given == "path":
        return given, known
    return read_matrix(Path(given), known, what="distances")


def is_number(cell: str) -> bool:
    """Whether a cell holds a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def numbers_in(row: list[str], place: int, file: str, what: str) -> list[float]:
    """Return the numbers of a row; the file may be confidential data, given by mistake."""
    try:
        return [float(cell) for cell in row]
    except ValueError as error:
        wrong = InvalidInput(f"{file!r} must hold {what}: row {place} must hold numbers.")
        raise with_values(wrong, error) from None
