"""The analyst's door: open a release folder and check it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from reprlib import repr as short
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pramble.data.decode import natural_arrow_labels
from pramble.data.encode import Encoder
from pramble.data.labels import Labels
from pramble.data.open import open_records
from pramble.data.places import arrow_input, path_or_place
from pramble.data.records import Records, scan
from pramble.data.remote import on_spark
from pramble.errors import InvalidData
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.numbers import alpha_text, tiny
from pramble.outcome import ReleaseOutcome
from pramble.privacy.certificate import Certificate, certify
from pramble.privacy.promise import CentralPromise, Promise, promise_from_json
from pramble.privacy.unit import Unit
from pramble.releasing.folder.layout import check_files
from pramble.releasing.folder.reading import (
    central_promise,
    checked_plan,
    local_promise,
    prior_spending,
    read_manifest,
    stated_data,
    undamaged,
)
from pramble.shown import Display, Facts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Release(Display):
    """A release folder; `pramble.release` and `pramble.open_release` return one.

    Attributes
    ----------
    folder : Path or None
        Where it lies; None after a dry run.
    manifest : dict
        What the folder's ``manifest.json`` says.
    plan : Plan or TablePlan
        What was done to a record, or measured of the file.
    outcome : ReleaseOutcome or None
        The curator's figures, raw ones included; only `pramble.release` knows them.
    spark : SparkSession or None
        The session it was opened with.

    Examples
    --------
    >>> import pramble
    >>> pramble.Release.__name__
    'Release'
    """

    folder: Path | None
    manifest: Mapping[str, Any]
    plan: Plan | TablePlan
    outcome: ReleaseOutcome | None = field(default=None, repr=False)
    spark: Any = field(default=None, repr=False)

    @property
    def alpha(self) -> float:
        """What randomising spent on each person, rounded up; infinite for protected tables."""
        is_tables = isinstance(self.plan, TablePlan)
        return math.inf if is_tables else local_promise(self.manifest).shown

    @property
    def guarantee(self) -> Promise:
        """What is promised to each person: ε and δ of a central release, α of a local one."""
        return promise_from_json(self.manifest["promise"]["spent"])

    @property
    def unit(self) -> Unit:
        """Who is protected, and by how many rows."""
        return Unit.from_json(self.manifest["promise"]["unit"])

    @property
    def titles(self) -> dict[str, str]:
        """What the source calls its columns in words, where it does."""
        return {one["name"]: one["label"] for one in self.manifest["columns"] if "label" in one}

    @property
    def central(self) -> CentralPromise | None:
        """What was spent towards those who only read the release, where that is proven."""
        return central_promise(self.manifest)

    @cached_property
    def data(self) -> Any:
        """The randomised records as a pyarrow Table, or as a Spark frame if opened with Spark."""
        if isinstance(self.plan, TablePlan):
            return None
        if self.folder is None:
            raise InvalidData("A dry run writes no data.")
        read = read_data if self.spark is None else partial(frame_of_data, self.spark)
        return read(self.folder, self.manifest, self.plan)

    @cached_property
    def tables(self) -> Measured | None:
        """The protected tables, of which estimates come; None where records were randomised."""
        if not isinstance(self.plan, TablePlan):
            return None
        if self.folder is None:
            raise InvalidData("A dry run measures nothing.")
        from pyarrow import parquet

        path = self.folder / stated_data(self.manifest)["file"]
        table = parquet.read_table(arrow_input(path))
        stated = self.manifest
        return Measured.from_table(table, self.plan, stated["rows"], stated.get("weights"))

    @property
    def evidence(self) -> Any:
        """What estimates come from: the protected tables, or the randomised records."""
        return self.data if self.tables is None else self.tables

    @property
    def synthetic(self) -> Any:
        """Complete records drawn from the release alone, to open and count; None without."""
        stated = self.manifest.get("synthetic")
        if stated is None or self.folder is None:
            return None
        from pyarrow import parquet

        return parquet.read_table(arrow_input(self.folder / stated["file"]))

    def shown(self) -> Facts:
        """Return where it lies, what it promises and what is in it."""
        stated, central = self.manifest, self.central
        others = [c["name"] for c in stated["columns"] if c["name"] not in self.plan.columns]
        titles = self.titles
        names = [f"{name}: {titles[name]}" for name in self.plan.columns if name in titles]
        plain = ", ".join(name for name in self.plan.columns if name not in titles)
        copies = ", ".join(dict.fromkeys(copy["format"] for copy in stated.get("copies", ())))
        is_central = isinstance(self.guarantee, CentralPromise)
        tables = len(self.plan.tables) if isinstance(self.plan, TablePlan) else 0
        complete = "complete records, drawn from the release" if "synthetic" in stated else ""
        reads = central and f"{alpha_text(central.shown)} at δ = {tiny(central.shown_delta)}"
        rows = [
            ("rows", f"{stated['rows']:,}"),
            *(("columns", name) for name in (*names, plain)),
            ("as they were", ", ".join(others)),
            ("tables", f"{tables:,}, protected" if tables else ""),
            ("α of a person", "" if is_central else alpha_text(self.alpha)),
            ("central ε", reads if is_central else None),
            ("copies", copies),
            ("synthetic", complete),
            *(("worth", sentence) for sentence in stated.get("worth", {}).get("sentences", ())),
        ]
        where = "nothing written: a dry run" if self.folder is None else str(self.folder)
        return Facts(
            f"Release: {where}",
            [(what, said) for what, said in rows if said],
            # Worked out again: what a manifest says in words nobody has checked.
            notes=(self.unit.sentence(), self.guarantee.sentence()),
        )

    def summary(self) -> str:
        """Return what the folder holds and promises, as text."""
        return repr(self)

    def plot(self) -> "Figure":
        """Return a figure of the plan: which columns each part shows."""
        return self.plan.plot()

    def __getstate__(self) -> dict[str, Any]:
        read = ("data", "tables")
        state = {name: value for name, value in self.__dict__.items() if name not in read}
        return {**state, "spark": None}


@certify.register
def certify_release(release: Release, *, distance: Any = None) -> Certificate:
    """Certify a whole release: mechanisms, what priors spent, and every row of a person."""
    if distance is not None or isinstance(release.plan, TablePlan):
        return certify(release.plan, distance=distance)
    with undamaged():
        additional = prior_spending(release.manifest["design"])
        rows = local_promise(release.manifest).rows
    return replace(certify(release.plan), additional=additional, rows=rows)


def open_release(
    folder: str | Path, *, verify: str | Path | None = None, spark: Any = None
) -> Release:
    """Open a release folder for analysis, and check it.

    The manifest must follow its schema, every mechanism must satisfy the α that is stated for it
    and these must add up to the stated total, the data file must have the SHA-256, the columns and
    the number of rows that the manifest states, and randomised columns must hold labels of their
    mechanisms only.

    Parameters
    ----------
    folder : str or Path
        What `pramble.release` wrote.
    verify : str or Path, optional
        The public key of who made the release, a PEM file: refuse a folder that its private key
        did not sign, or whose scripts were changed.
    spark : SparkSession, optional
        Check and read the data, which lies in pieces of Parquet, in tasks of this session: ``data``
        is then a frame of it. The folder is one that driver and workers share.

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
    pramble.errors.InvalidData: 'no such folder' does not exist.
    """
    folder = path_or_place(folder)
    manifest = read_manifest(folder, verify=verify)
    data = stated_data(manifest)
    if spark is not None and "pieces" not in data:
        raise InvalidData(
            "With spark= the data of a release lies in pieces; this is a single file. Open it "
            "without spark=, or release with rows_per_file."
        )
    check_files(folder, manifest, data, scripts=verify is not None, spark=spark)
    release = Release(folder, manifest, checked_plan(manifest), spark=spark)
    assert release.evidence is not None, "reading checks it"
    return release


def read_data(folder: Path, manifest: Mapping[str, Any], plan: Plan) -> Any:
    """Read the data file as an Arrow table, and check it against the manifest.

    Randomised columns hold labels of their mechanisms only, in the types of the plan.
    """
    records = open_records(folder / stated_data(manifest)["file"])
    check_columns(records, manifest)
    table = pa.Table.from_batches(list(records.batches()), schema=records.schema)
    refuse_rows(table.num_rows, manifest["rows"])
    labels = plan.column_labels()
    for place, name in enumerate(records.names):
        values = table[name]
        if name in labels:
            values = in_labels(values, labels[name].released, column=name)
        table = table.set_column(place, pa.field(name, values.type), values)
    return table


def check_columns(records: Records, manifest: Mapping[str, Any]) -> None:
    names, found = [column["name"] for column in manifest["columns"]], list(records.names)
    if found != names:
        raise InvalidData(f"The manifest lists the columns {short(names)}; found {short(found)}.")
    refuse_rows(records.rows, manifest["rows"])


def frame_of_data(spark: Any, folder: Path, manifest: Mapping[str, Any], plan: Plan) -> Any:
    """Return the pieces of the data file as a Spark frame, once tasks have checked every value."""
    path = (folder / stated_data(manifest)["file"]).absolute()
    records = open_records(path)
    check_columns(records, manifest)
    labels = {name: own.released for name, own in plan.column_labels().items()}
    found = on_spark("SparkFileRecords").of(records, spark)
    refuse_rows(scan(found, [ReleasedLabels(labels)]), manifest["rows"])
    return on_spark("read_frame")(spark, path, records)


class ReleasedLabels:
    """Refuses values that the mechanism of a column cannot release: a job for a scan."""

    def __init__(self, labels: Mapping[str, Labels]) -> None:
        self.columns, self.labels = list(labels), labels

    def add(self, batch: Any) -> None:
        for name, released in self.labels.items():
            in_labels(batch[name], released, column=name)

    def merge(self, later: "ReleasedLabels") -> None:
        """Take nothing: what is not refused is fine."""


def refuse_rows(found: int | None, stated: int) -> None:
    if found not in (None, stated):
        raise InvalidData(f"The manifest states {short(stated)} rows; the data file has {found}.")


def in_labels(values: Any, released: Labels, *, column: str) -> Any:
    """Return released values in the type of their labels; refuse what cannot be released."""
    if pa.types.is_nested(values.type):
        raise InvalidData(f"Column {column!r} must hold labels; its type is {values.type}.")
    try:
        codes = Encoder(released, column).codes(values)
    except InvalidData:
        raise InvalidData(
            f"Column {column!r} holds values that its mechanism cannot release."
        ) from None
    labels = natural_arrow_labels(released.values)
    return pa.chunked_array([labels.take(pa.array(codes))])
