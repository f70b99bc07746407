"""The analyst's door: open a release folder and check it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from reprlib import repr as short
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.decode import natural_arrow_labels
from pramble.data.encode import Encoder
from pramble.data.order import typed_texts
from pramble.errors import InvalidData
from pramble.limits import LARGEST_TOTAL
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.json_form import rational
from pramble.mechanisms.plan import Plan
from pramble.privacy.certificate import Certificate, certify
from pramble.privacy.guarantee import (
    Guarantee,
    RecordPrivacy,
    guarantee_from_json,
    stated_alpha,
)
from pramble.releasing.folder.manifest import (
    MANIFEST,
    check_data,
    plan_of,
    read_manifest,
    undamaged,
)
from pramble.releasing.write.check import open_written
from pramble.report.outcome import ReleaseOutcome


@dataclass(frozen=True)
class Release:
    """A release folder; `pramble.release` and `pramble.open_release` return one.

    Attributes
    ----------
    folder : Path or None
        Where it lies; None after a dry run.
    manifest : dict
        What the folder's ``manifest.json`` says.
    plan : Plan
        What was done to a record: what `pramble.estimate` needs beside the data.
    data : pyarrow.Table
        The released records, read when first asked for.
    guarantee : Guarantee
        What was spent on each person.
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
    plan: Plan
    outcome: ReleaseOutcome | None = field(default=None, repr=False)

    @property
    def alpha(self) -> float:
        """What was spent on each person, rounded up."""
        return float(self.manifest["promise"]["spent"]["alpha"])

    @property
    def guarantee(self) -> Guarantee:
        """What was spent on each person."""
        return guarantee_from_json(self.manifest["promise"]["spent"])

    @cached_property
    def data(self) -> Any:
        """The released records as a pyarrow Table; labels have the types of the plan."""
        if self.folder is None:
            raise InvalidData("A dry run writes no data.")
        return read_data(self.folder, self.manifest, self.plan)

    def __repr__(self) -> str:
        where = "dry run" if self.folder is None else str(self.folder)
        columns = ", ".join(self.plan.columns)
        return f"<Release: {where}, {self.manifest['rows']} rows, α = {self.alpha:g} on {columns}>"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "data"}


@certify.register
def _(release: Release) -> Certificate:
    """Certify a whole release: mechanisms, what priors spent, and every row of a person."""
    columns = [column for column in release.manifest["columns"] if column["randomised"]]
    with undamaged():
        besides = sum((stated_alpha(column["prior"]) for column in columns), Fraction(0))
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
        did not sign.

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
    check_data(folder / manifest["data"]["file"], manifest["data"])
    release = Release(folder, manifest, plan_of(manifest))
    check_promise(release)
    assert release.data is not None, "reading checks it"
    return release


def read_data(folder: Path, manifest: Mapping[str, Any], plan: Plan) -> Any:
    """Read the data file as an Arrow table, and check it against the manifest.

    Randomised columns hold labels of their mechanisms only, in the types of the plan.
    """
    records = open_written(folder / manifest["data"]["file"])
    names = [column["name"] for column in manifest["columns"]]
    if list(records.names) != names:
        raise InvalidData(
            f"The manifest lists the columns {short(names)}; found {short(list(records.names))}."
        )
    refuse_rows(records.rows, manifest["rows"])
    table = pa.Table.from_batches(list(records.batches()), schema=records.schema)
    refuse_rows(table.num_rows, manifest["rows"])
    mechanisms = plan.single_columns(what="open_release")
    for place, name in enumerate(names):
        values = table[name]
        if name in mechanisms:
            values = in_labels(values, mechanisms[name], column=name, typed=records.typed)
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


def in_labels(values: Any, mechanism: Mechanism, *, column: str, typed: bool) -> Any:
    """Return released values in the type of their labels; refuse what cannot be released."""
    if pa.types.is_nested(values.type):
        raise InvalidData(f"Column {column!r} must hold labels; its type is {values.type}.")
    encoder = Encoder(mechanism.output_labels, column, from_text=not typed)
    try:
        codes = encoder.codes(values)
    except InvalidData:
        raise InvalidData(
            f"Column {column!r} holds values that its mechanism cannot release."
        ) from None
    labels = natural_arrow_labels(mechanism.output_labels.values)
    return pa.chunked_array([labels.take(pa.array(codes))])


def check_promise(release: Release) -> None:
    """Refuse mechanisms that spend more than the manifest states, decided in integers."""
    promise, spent, conditional = release.manifest["promise"], Fraction(0), False
    with undamaged():
        stated, limit = (guarantee_from_json(promise[part]) for part in ("spent", "limit"))
        for column in release.manifest["columns"]:
            if column["randomised"]:
                spent += spent_on(column, release.plan[column["name"]])
                conditional |= column["prior"]["source"] == "confidential"
    if not isinstance(stated, RecordPrivacy) or stated.alpha != spent * stated.rows:
        raise InvalidData(
            f"{MANIFEST} is not that of the release: it states {stated}; its columns spend "
            f"{float(spent)!r} on a record."
        )
    if not limit.allows(stated):
        raise InvalidData(f"{MANIFEST} is damaged: it states {stated}, above its {limit}.")
    if conditional != promise["conditional_on_prior"]:
        raise InvalidData(
            f"{MANIFEST} is damaged: what it says of confidential priors contradicts its columns."
        )


def spent_on(column: Mapping[str, Any], mechanism: Mechanism) -> Fraction:
    """Return the α of a column and its prior; refuse what the mechanism does not satisfy."""
    name = column["name"]
    if "alpha" not in column or "prior" not in column:
        raise InvalidData(f"column {name!r} lacks its alpha or prior.")
    alpha, prior = rational(column["alpha"], InvalidData), column["prior"]
    if alpha > LARGEST_TOTAL or not certify(mechanism).satisfies(float(alpha)):
        raise InvalidData(
            f"it states α = {short(column['alpha'])} for column {name!r}, which its mechanism "
            "does not satisfy."
        )
    on_prior = stated_alpha(prior)
    if on_prior and prior["source"] != "private":
        raise InvalidData(f"the prior of column {name!r} is not private and spends α.")
    shares = prior.get("probabilities")
    if shares is not None:
        whole = max(shares, default=2) <= 1 and math.isclose(math.fsum(shares), 1, abs_tol=1e-6)
        if len(shares) != mechanism.shape[0] or not whole:
            raise InvalidData(f"the prior of column {name!r} is no law of its categories.")
    return alpha + on_prior
