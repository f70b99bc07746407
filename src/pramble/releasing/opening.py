"""The analyst's door: open a release folder and check it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramble.data.labels import label_key
from pramble.errors import InvalidData
from pramble.privacy.certificate import certify
from pramble.releasing.manifest import MANIFEST, file_sha256, plan_of, read_manifest
from pramble.releasing.source import label_type, open_dataset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pramble.mechanisms.base import Mechanism
    from pramble.releasing.outcome import ReleaseOutcome


@dataclass(frozen=True)
class Release:
    """A release folder; `pramble.release` and `pramble.open_release` return one.

    Attributes
    ----------
    folder : Path or None
        Where it lies; None after a dry run.
    manifest : dict
        What the folder's ``manifest.json`` says.
    plan : dict
        The mechanism of each randomised column: what `pramble.estimate` needs beside the data.
    data : pyarrow.Table
        The released records, read when first asked for.
    alpha : float
        What was spent on each record, rounded up.
    outcome : ReleaseOutcome or None
        The curator's figures, raw ones included; only `pramble.release` knows them.

    Examples
    --------
    >>> import pramble
    >>> pramble.Release.__name__
    'Release'
    """

    folder: Path | None
    manifest: Mapping[str, Any]
    plan: Mapping[str, Mechanism]
    outcome: ReleaseOutcome | None = field(default=None, repr=False)

    @property
    def alpha(self) -> float:
        """What was spent on each record, rounded up."""
        return float(self.manifest["alpha"]["total"])

    @cached_property
    def data(self) -> Any:
        """The released records as a pyarrow Table; labels have the types of the plan."""
        if self.folder is None:
            raise InvalidData("A dry run writes no data.")
        return read_data(self.folder, self.manifest, self.plan)

    def __repr__(self) -> str:
        where = "dry run" if self.folder is None else str(self.folder)
        columns = ", ".join(self.plan)
        return f"<Release: {where}, {self.manifest['rows']} rows, α = {self.alpha:g} on {columns}>"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "data"}


def open_release(folder: str | Path) -> Release:
    """Open a release folder for analysis, and check it.

    The manifest must follow its schema, every mechanism must satisfy the α that is stated for it
    and these must add up to the stated total, the data file must have the SHA-256, the columns and
    the number of rows that the manifest states, and randomised columns must hold labels of their
    mechanisms only.

    Parameters
    ----------
    folder : str or Path
        What `pramble.release` wrote.

    Returns
    -------
    Release
        With ``data``, ``plan`` and ``manifest``.

    Examples
    --------
    >>> import pramble
    >>> pramble.open_release("no such folder")
    Traceback (most recent call last):
    ...
    pramble.errors.InvalidData: 'no such folder' is no release: it has no manifest.json.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    path = folder / manifest["data"]["file"]
    if not path.is_file():
        raise InvalidData(f"The release lacks its data file {path.name!r}.")
    if file_sha256(path) != manifest["data"]["sha256"]:
        raise InvalidData(
            f"{path.name} is not the file that was released: its SHA-256 differs from the "
            "manifest's. Get the folder again."
        )
    release = Release(folder, manifest, plan_of(manifest))
    check_alpha(release)
    check_labels(release)
    return release


def read_data(folder: Path, manifest: Mapping[str, Any], plan: Mapping[str, Mechanism]) -> Any:
    """Read the data file as an Arrow table, and check its shape against the manifest."""
    import pyarrow as pa

    path = folder / manifest["data"]["file"]
    table = open_dataset(path, manifest["data"]["format"]).to_table()
    names = [column["name"] for column in manifest["columns"]]
    if table.column_names != names:
        raise InvalidData(f"The manifest lists the columns {names}; found {table.column_names}.")
    if table.num_rows != manifest["rows"]:
        raise InvalidData(
            f"The manifest states {manifest['rows']} rows; the data file has {table.num_rows}."
        )
    if manifest["data"]["format"] == "csv":
        for name, mechanism in plan.items():
            typed = typed_text(table[name], mechanism.outputs)
            field = pa.field(name, typed.type)
            table = table.set_column(table.schema.get_field_index(name), field, typed)
    return table


def typed_text(column: Any, outputs: tuple[Any, ...]) -> Any:
    """Return a column of a CSV file in the type of its labels; empty cells are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if None in outputs or "" not in outputs:
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    kind = label_type(outputs)
    try:
        return column if kind is None else column.cast(kind)
    except pa.ArrowInvalid as error:
        raise InvalidData(f"A released column has values that are no labels: {error}.") from None


def check_alpha(release: Release) -> None:
    """Refuse mechanisms that spend more than the manifest states, decided in integers."""
    spent = Fraction(0)
    for column in release.manifest["columns"]:
        if not column["randomised"]:
            continue
        name = column["name"]
        if "alpha" not in column or "prior" not in column:
            raise InvalidData(f"{MANIFEST} is damaged: column {name!r} lacks its alpha or prior.")
        if not certify(release.plan[name]).satisfies(column["alpha"]):
            raise InvalidData(
                f"{MANIFEST} is not that of the release: it states α = {column['alpha']!r} for "
                f"column {name!r}, which its mechanism does not satisfy."
            )
        spent += rational(column["alpha"]) + rational(column["prior"]["alpha_exact"])
    stated = release.manifest["alpha"]
    if spent != rational(stated["total_exact"]) or rational(stated["total"]) < spent:
        raise InvalidData(
            f"{MANIFEST} is not that of the release: it states α = {stated['total']!r} in total; "
            f"its columns spend {float(spent)!r}."
        )


def rational(value: str | float) -> Fraction:
    """Return a number of a manifest exactly."""
    try:
        return Fraction(value)
    except (ValueError, ArithmeticError):
        shown = str(value)[:20]
        raise InvalidData(f"{MANIFEST} is damaged: {shown!r} is no number.") from None


def check_labels(release: Release) -> None:
    """Refuse data whose randomised columns hold what their mechanisms cannot release."""
    import pyarrow as pa

    for name, mechanism in release.plan.items():
        column = release.data[name]
        if pa.types.is_nested(column.type):
            raise InvalidData(f"Column {name!r} must hold labels; its type is {column.type}.")
        outputs = {label_key(label) for label in mechanism.outputs}
        strange = [
            value for value in column.unique().to_pylist() if label_key(value) not in outputs
        ]
        if strange:
            raise InvalidData(
                f"Column {name!r} holds {strange[0]!r}, which its mechanism cannot release."
            )
