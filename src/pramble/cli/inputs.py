"""What several commands take from the command line in the same way: options, and files to read."""

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import pramble
from pramble.errors import InvalidInput, InvalidPlan, PrambleError, with_values
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.csv_form import read_csv
from pramble.mechanisms.json_form import document_in, read_bytes
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.plan_json import SCHEMA
from pramble.mechanisms.table_plan import SCHEMAS as OF_TABLES
from pramble.mechanisms.table_plan import TablePlan
from pramble.plots.images import PICTURES
from pramble.releasing.folder.build import check_signature
from pramble.releasing.folder.layout import MANIFEST
from pramble.risk.assess import list_models
from pramble.risk.cells import Missing as MissingName
from pramble.solvers.problem import FamilyName
from pramble.words import names_in

File = Annotated[
    Path, typer.Argument(help="A data file of any format, or a folder of them.", show_default=False)
]
Keys = Annotated[
    list[str], typer.Option(help="The columns an intruder may know, separated by commas.")
]
Population = Annotated[
    float | None, typer.Option(help="How many people the file was sampled from.")
]
ModelName = Annotated[str, typer.Option(help=f"The model of the population. {list_models()}.")]
Margins = Annotated[
    list[str] | None,
    typer.Option("--margin", help="Fit this margin, as 'age,sex'; give it as often as needed."),
]
Weights = Annotated[str | None, typer.Option(help="The column of sampling weights.")]
Impossible = Annotated[
    list[str] | None,
    typer.Option(help="A combination that cannot occur: 'age=under 15,marital=married|widowed'."),
]
Missing = Annotated[
    MissingName, typer.Option(help="What an empty value is: a 'category', or a 'wildcard'.")
]
Verify = Annotated[
    Path | None,
    typer.Option(help="Public key (PEM) of who made the release; refuse what it did not sign."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Family = Annotated[FamilyName, typer.Option(help="uniform or general matrices.")]
Objective = Annotated[
    Literal["information", "estimation"] | None, typer.Option(help="information or estimation.")
]

Separator = Annotated[
    str | None, typer.Option(help='What parts the fields of a text file: ",", ";", tab or "|".')
]
Encoding = Annotated[str | None, typer.Option(help="Of a text file, such as utf-8 or cp1252.")]
Decimal = Annotated[str | None, typer.Option(help='The decimal sign of a text file: "." or ",".')]
MissingTexts = Annotated[
    str | None, typer.Option(help="Texts that mean a missing value in a text file: NA,-9.")
]
Sheet = Annotated[str | None, typer.Option(help="The sheet of an Excel file, by its name.")]


def names(given: Sequence[str]) -> list[str]:
    """Split comma-separated names.

    >>> names(["age,sex", "region"])
    ['age', 'sex', 'region']
    """
    return [name for part in given for name in names_in(part)]


def tables_in(text: str) -> int | str | list[tuple[str, ...]]:
    """Return the tables of so many columns, of all, those in a list, or "auto".

    >>> tables_in("2"), tables_in("auto"), tables_in("sex+age,region")
    (2, 'auto', [('sex', 'age'), ('region',)])
    """
    if text.isdigit() or text in ("all", "auto"):
        return int(text) if text.isdigit() else text
    found = [tuple(names(part.split("+"))) for part in names([text])]
    if not found:
        raise InvalidInput("--tables is a number, all, auto, or a list as sex+age,sex+region.")
    return found


def rules(given: Sequence[str]) -> list[dict[str, list[str]]]:
    """Read rules such as ``age=under 15,marital=married|widowed``.

    >>> rules(["age=under 15,marital=married|widowed"])
    [{'age': ['under 15'], 'marital': ['married', 'widowed']}]
    """
    read = []
    for text in given:
        rule = {}
        for part in text.split(","):
            name, sign, values = part.partition("=")
            if not sign:
                raise InvalidInput(
                    f"A rule must read like 'age=under 15,marital=married|widowed'; found {text!r}."
                )
            rule[name.strip()] = [value.strip() for value in values.split("|")]
        read.append(rule)
    return read


def margins(model: str, given: Sequence[str]) -> Any:
    """Return the model: by its name, or the margins that were named instead."""
    return [tuple(names([margin])) for margin in given] if given else model


def write_json(found: Mechanism | Plan | TablePlan, path: Path) -> None:
    """Write a mechanism or a plan to a file."""
    path.write_text(json.dumps(found.to_json(), indent=1), encoding="utf-8")


def new_file(path: Path | None) -> Path | None:
    """Refuse a file that cannot be written: no folder for it, or a folder in its place."""
    if path is None:
        return None
    if path.is_dir():
        raise typer.BadParameter(f"{str(path)!r} is a folder; name a file.")
    folder = path.parent
    if not folder.is_dir():
        raise typer.BadParameter(
            f"the folder {str(folder)!r} of {path.name!r} must exist; make it first."
        )
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise typer.BadParameter(f"{str(path)!r} may not be written; choose another place.")
    return path


def new_picture(path: Path | None) -> Path | None:
    """Refuse a picture that cannot be written, or is of no known kind."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise typer.BadParameter(f"a plot is a file {' or '.join(PICTURES)}; found {path.name!r}.")
    return new_file(path)


def new_folder(path: Path | None) -> Path | None:
    """Refuse a folder that cannot be made where it is to lie."""
    if path is None:
        return None
    if path.exists() and not path.is_dir():
        raise typer.BadParameter(f"{str(path)!r} exists and is no folder; choose another name.")
    there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise typer.BadParameter(f"nothing may be written in {str(there)!r}; choose another place.")
    return path


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
    if all(map(holds_number, rows[0])):
        found = [row_numbers(row, place, path.name, what) for place, row in enumerate(rows, 1)]
        return found, known
    released, true = rows[0][1:], [row[0] for row in rows[1:]]
    table = {
        label: dict(zip(released, row_numbers(row[1:], place, path.name, what), strict=True))
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


def holds_number(cell: str) -> bool:
    """Whether a cell holds a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def row_numbers(row: list[str], place: int, file: str, what: str) -> list[float]:
    """Return the numbers of a row; the file may be confidential data, given by mistake."""
    try:
        return [float(cell) for cell in row]
    except ValueError as error:
        wrong = InvalidInput(f"{file!r} must hold {what}: row {place} must hold numbers.")
        raise with_values(wrong, error) from None
