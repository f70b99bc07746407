"""The analyst's door: open a release folder and check it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from reprlib import repr as short
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.decode import natural_arrow_labels
from pramble.data.encode import Encoder
from pramble.data.labels import Labels
from pramble.data.order import typed_texts
from pramble.errors import InvalidData
from pramble.limits import LARGEST_TOTAL
from pramble.mechanisms.json_form import rational
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.views import Views
from pramble.privacy.central_privacy import CentralPrivacy
from pramble.privacy.certificate import Certificate, certify
from pramble.privacy.guarantee import (
    Guarantee,
    RecordPrivacy,
    float_above,
    float_below,
    stated_alpha,
)
from pramble.privacy.notions import guarantee_from_json
from pramble.privacy.shuffled.central import proven_epsilon
from pramble.releasing.folder.files import MANIFEST, check_files
from pramble.releasing.folder.manifest import files_of, plan_of, read_manifest, undamaged
from pramble.releasing.write.check import open_written
from pramble.report.outcome import ReleaseOutcome
from pramble.shown import Display, Facts
from pramble.words import several

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAME = 1e-6
"""How far ε may differ between machines whose elementary functions round differently."""


@dataclass(frozen=True, repr=False)
class Release(Display):
    """A release folder; `pramble.release` and `pramble.open_release` return one.

    Attributes
    ----------
    folder : Path or None
        Where it lies; None after a dry run.
    manifest : dict
        What the folder's ``manifest.json`` says.
    plan : Plan or Views
        What was done to a record: what `pramble.estimate` needs beside the data.
    data : pyarrow.Table, or dict from the name of a view to one
        The released records, read when first asked for.
    guarantee : Guarantee
        What was spent on each person, whatever happens to the file.
    central : CentralPrivacy or None
        What was spent towards those who only read the release, where that is proven.
    alpha : float
        The same as a number, rounded up.
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
    plan: Plan | Views
    outcome: ReleaseOutcome | None = field(default=None, repr=False)

    @property
    def alpha(self) -> float:
        """What was spent on each person, rounded up."""
        return float(self.manifest["promise"]["spent"]["alpha"])

    @property
    def guarantee(self) -> Guarantee:
        """What was spent on each person."""
        return guarantee_from_json(self.manifest["promise"]["spent"])

    @property
    def central(self) -> CentralPrivacy | None:
        """What was spent towards those who only read the release, where that is proven."""
        stated = self.manifest["promise"].get("central")
        return None if stated is None else CentralPrivacy.from_json(stated["spent"])

    @cached_property
    def data(self) -> Any:
        """The released records as pyarrow Tables; labels have the types of the plan."""
        if self.folder is None:
            raise InvalidData("A dry run writes no data.")
        if isinstance(self.plan, Plan):
            return read_data(self.folder, self.manifest, self.plan, view="")
        return {
            name: read_data(self.folder, self.manifest, plan, view=name)
            for name, plan in self.plan.items()
        }

    @property
    def synthetic(self) -> Any:
        """Complete records drawn from the release alone, as a pyarrow Table; None without."""
        stated = self.manifest.get("synthetic")
        if stated is None or self.folder is None:
            return None
        from pyarrow import parquet

        return parquet.read_table(self.folder / stated["file"])

    def shown(self) -> Facts:
        """Return where it lies, what it promises and what is in it."""
        views = f" in {several(len(self.plan), 'view')}" if isinstance(self.plan, Views) else ""
        others = [c["name"] for c in self.manifest["columns"] if c["name"] not in self.plan.columns]
        rows = [
            ("rows", f"{self.manifest['rows']:,}{views}"),
            ("randomised", ", ".join(self.plan.columns)),
            *([("as they were", ", ".join(others))] if others else []),
            ("α of a person", f"{self.alpha:g}"),
        ]
        if self.central is not None:
            rows.append(
                ("central ε", f"{self.central.shown:.4g} at δ = {self.central.shown_delta:.3g}")
            )
        if self.manifest.get("copies"):
            copied = dict.fromkeys(copy["format"] for copy in self.manifest["copies"])
            rows.append(("copies", ", ".join(copied)))
        if "synthetic" in self.manifest:
            rows.append(("synthetic", "complete records, drawn from the release"))
        rows += [
            ("worth", sentence) for sentence in self.manifest.get("worth", {}).get("sentences", ())
        ]
        promise = self.manifest["promise"]
        where = "nothing written: a dry run" if self.folder is None else str(self.folder)
        return Facts(
            f"Release: {where}", rows, notes=(promise.get("central", promise)["sentence"],)
        )

    def summary(self) -> str:
        """Return what the folder holds and promises, as text."""
        return repr(self)

    def plot(self) -> "Figure":
        """Return a figure of the plan: which columns each part shows."""
        return self.plan.plot()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "data"}


@certify.register
def _(release: Release, *, distance: Any = None) -> Certificate:
    """Certify a whole release: mechanisms, what priors spent, and every row of a person."""
    if distance is not None:
        return certify(release.plan, distance=distance)
    with undamaged():
        besides = besides_of(release.manifest["design"])
        rows = RecordPrivacy.from_json(release.manifest["promise"]["spent"]).rows
    return replace(certify(release.plan), besides=besides, rows=rows)


def open_release(folder: str | Path, *, verify: str | Path | None = None) -> Release:
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
    manifest = read_manifest(folder, verify=verify)
    check_files(folder, manifest, [*files_of(manifest).values()], scripts=verify is not None)
    release = Release(folder, manifest, plan_of(manifest))
    check_promise(release)
    assert release.data is not None, "reading checks it"
    return release


def read_data(folder: Path, manifest: Mapping[str, Any], plan: Plan, *, view: str) -> Any:
    """Read a data file as an Arrow table, and check it against the manifest.

    Randomised columns hold labels of their mechanisms only, in the types of the plan.
    """
    records = open_written(folder / files_of(manifest)[view]["file"])
    names = [column["name"] for column in manifest["columns"]]
    if view:
        names = [name for name in names if name in plan.columns]
    if list(records.names) != names:
        raise InvalidData(
            f"The manifest lists the columns {short(names)}; found {short(list(records.names))}."
        )
    refuse_rows(records.rows, manifest["rows"])
    table = pa.Table.from_batches(list(records.batches()), schema=records.schema)
    refuse_rows(table.num_rows, manifest["rows"])
    labels = plan.column_labels()
    for place, name in enumerate(names):
        values = table[name]
        if name in labels:
            values = in_labels(values, labels[name].released, column=name, typed=records.typed)
        elif not records.typed:
            values = as_they_stand(values)
        table = table.set_column(place, pa.field(name, values.type), values)
    return table


def refuse_rows(found: int | None, stated: int) -> None:
    """Refuse another number of rows than is stated, where it is known."""
    if found not in (None, stated):
        raise InvalidData(f"The manifest states {short(stated)} rows; the data file has {found}.")


def as_they_stand(texts: Any) -> Any:
    """Return an untouched column of a text file in the type that its texts stand for."""
    labels = texts.unique()
    typed = pa.array(typed_texts(labels.to_pylist()))
    if typed.type == texts.type:
        return texts
    return pa.chunked_array([typed.take(pc.index_in(texts.combine_chunks(), labels))])


def in_labels(values: Any, released: Labels, *, column: str, typed: bool) -> Any:
    """Return released values in the type of their labels; refuse what cannot be released."""
    if pa.types.is_nested(values.type):
        raise InvalidData(f"Column {column!r} must hold labels; its type is {values.type}.")
    encoder = Encoder(released, column, from_text=not typed)
    try:
        codes = encoder.codes(values)
    except InvalidData:
        raise InvalidData(
            f"Column {column!r} holds values that its mechanism cannot release."
        ) from None
    labels = natural_arrow_labels(released.values)
    return pa.chunked_array([labels.take(pa.array(codes))])


def check_promise(release: Release) -> None:
    """Refuse mechanisms that spend more than the manifest states, decided in integers."""
    promise, spent, conditional = release.manifest["promise"], Fraction(0), False
    with undamaged():
        stated, limit = (guarantee_from_json(promise[part]) for part in ("spent", "limit"))
        design = release.manifest["design"]
        for part, protected, what in protected_parts(design, release.plan):
            spent += spent_on(part, protected, what=what)
            conditional |= part["prior"]["source"] == "confidential"
    if not isinstance(stated, RecordPrivacy) or stated.alpha != spent * stated.rows:
        raise InvalidData(
            f"{MANIFEST} is not that of the release: it states {stated}; its columns spend "
            f"{float(spent)!r} on a record."
        )
    reader = check_central(release, besides=besides_of(design))
    held = reader if isinstance(limit, CentralPrivacy) else stated
    if held is None or not limit.allows(held):
        raise InvalidData(f"{MANIFEST} is damaged: it states {held}, above its {limit}.")
    if conditional != promise["conditional_on_prior"]:
        raise InvalidData(
            f"{MANIFEST} is damaged: what it says of confidential priors contradicts its columns."
        )


def besides_of(design: Mapping[str, Any]) -> Fraction:
    """Return what priors spent on a record."""
    return sum((stated_alpha(part["prior"]) for part in parts_of(design)), Fraction(0))


def check_central(release: Release, *, besides: Fraction) -> CentralPrivacy | None:
    """Return the central promise that a manifest states; refuse one that is not proven."""
    with undamaged():
        stated = release.central
    if stated is None:
        return None
    if any(not column["randomised"] for column in release.manifest["columns"]):
        raise InvalidData(
            f"{MANIFEST} is damaged: it states a central promise, and has an untouched column."
        )
    people = RecordPrivacy.from_json(release.manifest["promise"]["spent"]).rows
    if stated.rows != people:
        raise InvalidData(
            f"{MANIFEST} is damaged: a person has {stated.rows} rows in its central promise, and "
            f"{people} in the local one."
        )
    proven = proven_epsilon(
        release.plan,
        rows=max(release.manifest["rows"], 1),
        delta=float_below(stated.delta),
        besides=float_above(besides),
        rows_per_person=stated.rows,
    )
    if proven > stated.epsilon * (1 + SAME):
        raise InvalidData(
            f"{MANIFEST} is damaged: it states ε = {stated.shown:.6g} towards readers; what is "
            f"proven of its plan is {proven:.6g}."
        )
    return stated


def parts_of(design: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of a design that spend α: a column each, or the record as a whole."""
    parts = design.get("parts") if design["kind"] == "columns" else [design]
    for part in parts if isinstance(parts, list) else [{}]:
        if "alpha" not in part or "prior" not in part:
            raise InvalidData("a part of its design lacks its alpha or prior.")
    return list(parts or [])


def protected_parts(
    design: Mapping[str, Any], plan: Plan | Views
) -> Iterator[tuple[Mapping[str, Any], Plan | Views, str]]:
    """Yield every part of a design with what it protects, each column once."""
    parts = parts_of(design)
    if design["kind"] == "records":
        check_tables(design["prior"], plan)
        yield parts[0], plan, "the record"
        return
    if isinstance(plan, Views):
        raise InvalidData("views are designed for records.")
    mechanisms = plan.single_columns(what="A design by columns")
    if sorted(part["column"] for part in parts) != sorted(mechanisms):
        raise InvalidData("its design has other columns than its plan.")
    for part in parts:
        name = part["column"]
        check_shares(part["prior"].get("probabilities"), mechanisms[name].shape[0], what=name)
        yield part, Plan({name: mechanisms[name]}), f"column {name!r}"


def check_tables(prior: Mapping[str, Any], plan: Plan | Views) -> None:
    """Refuse tables of a prior that are no laws of the plan's columns."""
    labels = plan.column_labels()
    for table in prior.get("tables", []):
        if not table["columns"] or not set(table["columns"]) <= set(labels):
            raise InvalidData("a table of its prior has columns that the plan does not randomise.")
        cells = math.prod(len(labels[name].labels) for name in table["columns"])
        check_shares(table["probabilities"], cells, what=", ".join(table["columns"]))


def check_shares(shares: Any, size: int, *, what: str) -> None:
    """Refuse numbers that are no law of so many categories."""
    if shares is None:
        return
    whole = max(shares, default=2) <= 1 and math.isclose(math.fsum(shares), 1, abs_tol=1e-6)
    if len(shares) != size or not whole:
        raise InvalidData(f"the prior of {short(what)} is no law of its categories.")


def spent_on(part: Mapping[str, Any], protected: Plan | Views, *, what: str) -> Fraction:
    """Return the α of a part and its prior; refuse what the plan does not satisfy."""
    alpha, prior = rational(part["alpha"], InvalidData), part["prior"]
    if alpha > LARGEST_TOTAL or not certify(protected).satisfies(float(alpha)):
        raise InvalidData(
            f"it states α = {short(part['alpha'])} for {what}, which its mechanism does not "
            "satisfy."
        )
    on_prior = stated_alpha(prior)
    if on_prior and prior["source"] != "private":
        raise InvalidData(f"the prior of {what} is not private and spends α.")
    return alpha + on_prior
