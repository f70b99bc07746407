"""What several commands take from the command line in the same way: options, and files to read."""

import json
import os
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from pramble.errors import InvalidInput, InvalidPlan, PrambleError
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.csv_form import read_csv
from pramble.mechanisms.json_form import document_in, read_bytes
from pramble.mechanisms.plan import SCHEMA, Plan
from pramble.mechanisms.table_plan import SCHEMAS as OF_TABLES
from pramble.mechanisms.table_plan import TablePlan
from pramble.plots.images import PICTURES
from pramble.releasing.folder.build import check_signature
from pramble.releasing.folder.layout import MANIFEST
from pramble.releasing.spec.document import PLAN
from pramble.risk.assess import list_models
from pramble.solvers.budget import SearchOptions
from pramble.words import hint_at, names_in

# Settings that `--set` reads as a,b,c.
LISTS = ("copies", "risk.keys", "central_budget")
Text = str | None


def option(sentence: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=sentence, **more)


def plan_option(name: str, written: str = "", *names: str) -> Any:
    """Return the option of a setting of a plan: its help is the first sentence of the plan's.

    ``written`` says how it is written on the command line.
    """
    help_text = PLAN[name].help.replace("``", "`").partition(". ")[0].rstrip(".")
    help_text = help_text.removeprefix("Whether ")
    return option(f"{help_text}: {written}." if written else f"{help_text}.", *names)


File = Annotated[
    Path, typer.Argument(help="A data file of any format, or a folder of them.", show_default=False)
]
Confidential = Annotated[Path, typer.Argument(help="The confidential file, of any known format.")]
PlanFile = Annotated[Path | None, option("A plan, as `pramble init` writes.")]
Settings = Annotated[
    list[str] | None,
    option("Any other setting, as NAME=VALUE; a list is a,b,c. Repeat it for more.", "--set"),
]
Keys = Annotated[list[str], option("The columns an intruder may know, separated by commas.")]
Population = Annotated[float | None, option("How many people the file was sampled from.")]
ModelName = Annotated[str, option(f"The model of the population. {list_models()}.")]
Impossible = Annotated[
    list[str] | None,
    option("A combination that cannot occur: 'age=under 15,job=yes'."),
]
Verify = Annotated[
    Path | None, option("Public key (PEM) of who made the release; refuse what it did not sign.")
]
AsJson = Annotated[bool, option("Print JSON.", "--json")]
AsCsv = Annotated[bool, option("Print CSV.", "--csv")]


def with_settings(options: Mapping[str, Any], given: Sequence[str] | None) -> dict[str, Any]:
    """Return options that were stated, and settings such as ``risk.population_size=20000``.

    A setting is written as in a plan, but a string needs no quotes, and a list may be a,b,c.

    >>> with_settings({"columns": ["age"], "alpha": None}, ["columns.age.family=general"])
    {'columns': {'age': {'family': 'general'}}}
    """
    stated = {name: own for name, own in options.items() if own is not None}
    for text in given or []:
        name, sign, words = text.partition("=")
        if not sign:
            raise InvalidInput(f"A setting must read like family=general; found {text!r}.")
        merge(stated, setting_in(name.strip(), words.strip()))
    return stated


def setting_in(name: str, words: str) -> dict[str, Any]:
    """Return one setting, nested as its name has dots."""
    # What is no TOML as it stands is a string, or a list of strings, without its quotes.
    texts = json.dumps(words.split(",") if name in LISTS else words)
    as_they_are = [f"{name} = {words}"] if not name.startswith("dataset.") else []
    for line in (*as_they_are, f"{name} = {texts}"):
        with suppress(tomllib.TOMLDecodeError):
            return tomllib.loads(line)
    raise InvalidInput(f"A setting must read like family=general; found {name!r}.")


def person_in(text: str | None) -> Any:
    """Return whose rows these are, as an option says it: columns, or a value as a plan has it.

    >>> person_in("hospital,number"), person_in("id"), person_in("false")
    (['hospital', 'number'], 'id', False)
    >>> person_in('{household="hid"}')
    {'household': 'hid'}
    """
    if text is None:
        return None
    if text == "false" or text[:1] in tuple('{["'):
        return setting_in("person", text)["person"]
    found = names_in(text)
    return found if len(found) > 1 else text


def merge(settings: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Take more settings into nested ones; columns that are listed become tables of settings."""
    for name, own in more.items():
        known = settings.get(name)
        if isinstance(known, list) and isinstance(own, Mapping):
            known = settings[name] = {column: {} for column in known}
        if isinstance(known, dict) and isinstance(own, Mapping):
            merge(known, own)
        else:
            settings[name] = own


def keywords(
    verb: Callable[..., Any],
    given: Sequence[str] | None,
    *,
    taken: Collection[str] = (),
    **options: Any,
) -> Any:
    """Return what ``--set`` and other options give to a verb; refuse what it does not take.

    Settings that are ``taken`` have options of their own.
    """
    found = with_settings(options, given)
    parameters = signature(verb).parameters
    known = [name for name, one in parameters.items() if one.kind is not one.VAR_KEYWORD]
    if len(known) < len(parameters):
        known += SearchOptions.__annotations__  # the verb takes them by **search
    known = [name for name in known if name not in (*taken, "progress")]
    for name in found:
        if name not in known:
            hint = hint_at(name, known)
            raise InvalidInput(f"pramble.{verb.__name__} has no setting {name!r}{hint}.")
    return found


def listed_names(given: Sequence[str] | str | None) -> list[str] | None:
    """Split names at their commas, where any are given.

    >>> listed_names(["age,sex", "region"]), listed_names(None)
    (['age', 'sex', 'region'], None)
    """
    if given is None:
        return None
    return [
        name for part in ([given] if isinstance(given, str) else given) for name in names_in(part)
    ]


def tables_in(text: str | None) -> Any:
    """Return the tables of so many columns, of all, those in a list, or "auto".

    >>> tables_in("2"), tables_in("auto"), tables_in("sex+age,region")
    (2, 'auto', [('sex', 'age'), ('region',)])
    """
    if text is None or text in ("all", "auto"):
        return text
    if text.isdigit():
        return int(text)
    found = [tuple(names_in(part.replace("+", ","))) for part in names_in(text)]
    if not found:
        raise InvalidInput("--tables is a number, all, auto, or a list as sex+age,sex+region.")
    return found


def structural_zeros(given: Sequence[str]) -> list[dict[str, list[str]]]:
    """Read rules such as ``age=under 15,marital=married|widowed``.

    >>> structural_zeros(["age=under 15,marital=married|widowed"])
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


def write_json(found: Mechanism | Plan | TablePlan, path: Path) -> None:
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
    # Asked before the work begins, which may take hours.
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


def read_plan(path: Path, *, verify: Path | None = None) -> Plan | TablePlan | Mechanism:
    """Return what a file or a release folder holds: a plan, or one mechanism."""
    # A manifest holds the plan: neither data nor tables need be read for it.
    file = path / MANIFEST if path.is_dir() else path
    if file.suffix.lower() == ".toml":
        raise InvalidPlan(
            f"{path.name!r} says what is to be done, and has no matrices yet: `pramble release` "
            "designs them (then give its folder here), and `pramble try FILE --plan "
            f"{path.name}` compares what they would be worth and the risk they would leave."
        )
    try:
        if verify is None and file.suffix.lower() == ".csv":
            return read_csv(file)
        content = read_bytes(file, InvalidPlan)
    except PrambleError:
        raise
    except (OSError, ValueError) as error:
        raise InvalidPlan(f"Cannot read a mechanism or plan from {str(file)!r}: {error}.") from None
    if verify is not None:
        check_signature(file.parent, content, key=verify)
    return plan_in_document(document_in(content, InvalidPlan, name=file.name), str(path))


def plan_in_document(document: Any, name: str) -> Plan | TablePlan | Mechanism:
    """Return the mechanism or plan of a document: a manifest's, its own, or by column."""
    if not isinstance(document, Mapping) or not document:
        raise InvalidPlan(f"A plan must hold a mechanism by column; {name!r} holds none.")
    if "plan" in document:
        return plan_in_document(document["plan"], name)
    if document.get("schema") in OF_TABLES:
        return TablePlan.from_json(document)
    if document.get("schema") == SCHEMA:
        return Plan.from_json(document)
    if "kind" in document:
        return Mechanism.from_json(document)
    if not all(isinstance(part, Mapping) for part in document.values()):
        raise InvalidPlan(f"A plan must hold a mechanism by column; {name!r} holds other things.")
    return Plan({column: Mechanism.from_json(part) for column, part in document.items()})
