"""What several commands take from the command line in the same way, and what they will write."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pramble.errors import InvalidInput
from pramble.plots.images import PICTURES
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
    """Return the tables of so many columns, of all, or those in a list.

    >>> tables_in("2"), tables_in("all"), tables_in("sex+age,region")
    (2, 'all', [('sex', 'age'), ('region',)])
    """
    if text.isdigit() or text == "all":
        return int(text) if text.isdigit() else text
    return [tuple(names(part.split("+"))) for part in names([text])]


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
