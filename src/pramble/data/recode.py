"""How data is to be read, and recoding: steps from the values of a file to categories.

Every step is a function of one value and of public settings, never of the other rows, so that it
changes nothing about the privacy of what follows; nor do the other rows change the type of what
comes out. A step that makes categories knows them all. Texts stay texts: in a column of them a
setting such as 9 is met by "9", and stands for it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import (
    can_be_beyond,
    in_one_type,
    is_text,
    numbers,
    over_labels,
    plain_texts,
    relabelled,
    trimmed_texts,
)
from pramble.data.bands import (
    MONTHS_IN,
    MOST_BANDS,
    band_labels,
    even_edges,
    is_finite_number,
    months_of,
    period_labels,
    text_of_number,
)
from pramble.data.labels import LABEL_TYPES, Label, object_key
from pramble.errors import InvalidData, InvalidInput
from pramble.values import frozen
from pramble.words import names_in


class Recoding(ABC):
    """A step from Arrow array to Arrow array, value by value."""

    @abstractmethod
    def apply(self, values: Any, *, column: str) -> Any:
        """Return the recoded values; nulls stay null."""

    def categories(self, before: tuple[Label, ...] | None = None) -> tuple[Label, ...] | None:
        """Return every category that can come out, in order, from those that can go in.

        None where they are not known.
        """
        return before


@frozen
class Trim(Recoding):
    """Take blanks off both ends of texts."""

    def apply(self, values: Any, *, column: str) -> Any:  # noqa: ARG002
        return over_labels(values, trimmed_texts) if is_text(values) else values


@frozen
class Missing(Recoding):
    """Take some labels for missing values."""

    labels: tuple[Label, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", checked_labels(one_or_more(self.labels), "missing"))

    def apply(self, values: Any, *, column: str) -> Any:  # noqa: ARG002
        return relabelled(values, dict.fromkeys(self.labels))

    def categories(self, before: tuple[Label, ...] | None = None) -> tuple[Label, ...] | None:
        gone = {object_key(label) for label in self.labels}
        left = (label for label in before or () if object_key(label) not in gone)
        return None if before is None else tuple(left)


@frozen
class Merge(Recoding):
    """Merge labels into fewer: ``into`` maps each new label to the old ones; others stay.

    Where the new labels are of another type than the column, all of it becomes text.
    """

    into: Mapping[Label, tuple[Label, ...]]

    def __post_init__(self) -> None:
        if not isinstance(self.into, Mapping) or not self.into:
            raise InvalidInput("merge maps each new label to old ones; found none.")
        listed = {new: one_or_more(old) for new, old in self.into.items()}
        checked_labels(listed, "merge")
        checked_labels([old for olds in listed.values() for old in olds], "merge")
        object.__setattr__(self, "into", listed)

    def apply(self, values: Any, *, column: str) -> Any:  # noqa: ARG002
        return relabelled(values, {old: new for new, olds in self.into.items() for old in olds})

    def categories(self, before: tuple[Label, ...] | None = None) -> tuple[Label, ...] | None:
        new_of = {object_key(old): new for new, olds in self.into.items() for old in olds}
        left = [new_of.get(object_key(label), label) for label in before or ()]
        return None if before is None else tuple({object_key(one): one for one in left}.values())


@frozen
class Order(Recoding):
    """Declare the categories and their order."""

    labels: tuple[Label, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", checked_labels(one_or_more(self.labels), "order"))

    def apply(self, values: Any, *, column: str) -> Any:  # noqa: ARG002
        return values

    def categories(self, before: tuple[Label, ...] | None = None) -> tuple[Label, ...]:  # noqa: ARG002
        return self.labels


@frozen
class Clip(Recoding):
    """Top- and bottom-coding: numbers below ``low`` become it, numbers above ``high`` that."""

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if bound is not None and not is_finite_number(bound):
                raise InvalidInput(f"{name} must be a number; found {bound!r}.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise InvalidInput(f"low must not exceed high; found {self.low} and {self.high}.")

    def apply(self, values: Any, *, column: str) -> Any:
        found = numbers(values, column=column)
        out = plain_texts(values) if is_text(values) else found
        for bound, beyond in ((self.low, pc.less), (self.high, pc.greater)):
            if bound is not None and can_be_beyond(bound, found.type, low=beyond is pc.less):
                mark, found = in_one_type(bound, found)
                over = beyond(found, mark)
                found = pc.if_else(over, mark, found)
                out = pc.if_else(over, text_of_number(bound), out) if is_text(values) else found
        return out

    def categories(self, before: tuple[Label, ...] | None = None) -> None:  # noqa: ARG002
        return


@frozen
class Bands(Recoding):
    """Numbers into bands: from each edge to below the next, the last one open above."""

    edges: tuple[float, ...]
    labels: tuple[str, ...] = ()  # "0-15", "16-24", …, "65+" for whole edges, else "0 to 1.5"

    def __post_init__(self) -> None:
        edges = one_or_more(self.edges)
        if not edges or not all(map(is_finite_number, edges)):
            raise InvalidInput(f"Bands need numbers for edges; found {self.edges!r}.")
        if any(high <= low for low, high in pairwise(edges)):
            raise InvalidInput(f"The edges of bands must increase; found {list(edges)}.")
        labels = checked_labels(one_or_more(self.labels) or band_labels(edges), "bands")
        if len(labels) != len(edges):
            raise InvalidInput(f"{len(edges)} bands need {len(edges)} labels; found {len(labels)}.")
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "labels", labels)

    def apply(self, values: Any, *, column: str) -> Any:
        found = numbers(values, column=column).cast(pa.float64(), safe=False)
        below = pc.min(found).as_py()
        if below is not None and below < self.edges[0]:
            raise InvalidData(
                f"Column {column!r} must hold numbers from {self.edges[0]:g} on for its bands; "
                f"some are below. Add an edge, or say low = {self.edges[0]:g}, which counts them "
                "with the first band."
            )
        filled = found.fill_null(self.edges[0]).to_numpy(zero_copy_only=False)
        code = np.searchsorted(np.array(self.edges), filled, side="right") - 1
        missing = found.is_null().to_numpy(zero_copy_only=False)
        return pa.array(self.labels).take(pa.array(code, mask=missing))

    def categories(self, before: tuple[Label, ...] | None = None) -> tuple[Label, ...]:  # noqa: ARG002
        return self.labels


@frozen
class Periods(Recoding):
    """Dates into years or months, from the first to the last; others are refused."""

    by: str
    first: str  # such as "2020" or "2020-01": a public range, never that of the file
    last: str

    def __post_init__(self) -> None:
        if len(period_labels(self.by, self.first, self.last)[1]) > MOST_BANDS:
            raise InvalidInput(f"bands must be at most {MOST_BANDS:,}; take longer periods.")

    def apply(self, values: Any, *, column: str) -> Any:
        start, labels = period_labels(self.by, self.first, self.last)
        months = months_of(values, column=column)
        found = months.fill_null(start).to_numpy(zero_copy_only=False)
        code = (found - start) // MONTHS_IN[self.by]
        if len(code) and not (code.min() >= 0 and code.max() < len(labels)):
            raise InvalidData(
                f"Column {column!r} must hold dates from {labels[0]} to {labels[-1]} for its "
                "bands; some are outside. Let from and to span every date that can occur."
            )
        missing = months.is_null().to_numpy(zero_copy_only=False)
        return pa.array(labels).take(pa.array(code, mask=missing))

    def categories(self, before: tuple[Label, ...] | None = None) -> tuple[Label, ...]:  # noqa: ARG002
        return period_labels(self.by, self.first, self.last)[1]


def as_bands(given: Any) -> Recoding:
    """Return bands from edges, from a range with a step, or from a range of dates.

    >>> as_bands({"from": 0, "to": 3, "step": 1}).categories()
    ('0', '1', '2+')
    >>> as_bands({"by": "year", "from": 2020, "to": 2021}).categories()
    ('2020', '2021')
    """
    if isinstance(given, Recoding):
        return given
    if isinstance(given, Mapping) and "by" in given and set(given) <= {"by", "from", "to"}:
        return Periods(given["by"], str(given.get("from", "")), str(given.get("to", "")))
    return Bands(even_edges(given) if isinstance(given, Mapping) else given)


# The settings of a plan file that recode a column, in the order in which they are applied.
STEPS: dict[str, Callable[[Any], Recoding]] = {
    "trim": lambda _: Trim(),
    "missing": Missing,
    "low": lambda bound: Clip(low=bound),
    "high": lambda bound: Clip(high=bound),
    "bands": as_bands,
    "merge": Merge,
    "order": Order,
}


def as_recodings(given: Any) -> tuple[Recoding, ...]:
    """Return recodings from steps, from edges of bands, or from a mapping of settings.

    >>> as_recodings([0, 16, 65])
    (Bands(edges=(0, 16, 65), labels=('0-15', '16-64', '65+')),)
    >>> as_recodings({"high": 90, "trim": True})
    (Trim(), Clip(low=None, high=90))
    """
    if isinstance(given, Recoding):
        return (given,)
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in STEPS]
        if unknown:
            raise InvalidInput(f"A recoding is one of {', '.join(STEPS)}; found {unknown[0]!r}.")
        wanted = {name: given[name] for name in STEPS if name in given}
        return tuple(
            STEPS[name](setting) for name, setting in wanted.items() if setting is not False
        )
    steps = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else None
    if steps is not None and all(isinstance(step, Recoding) for step in steps):
        return steps
    if steps is not None and all(map(is_finite_number, steps)):
        return (Bands(steps),)
    raise InvalidInput(f"A recoding is a step, edges of bands or settings; found {given!r}.")


def apply_all(steps: Sequence[Recoding], values: Any, *, column: str) -> Any:
    for step in steps:
        values = step.apply(values, column=column)
    return values


def categories_after(steps: Sequence[Recoding]) -> tuple[Label, ...] | None:
    """Return the categories that can come out of all steps, where they are known.

    >>> categories_after(as_recodings({"bands": [0, 16, 65], "merge": {"16+": ["16-64", "65+"]}}))
    ('0-15', '16+')
    """
    known: tuple[Label, ...] | None = None
    for step in steps:
        known = step.categories(known)
    return known


def one_or_more(labels: Any) -> tuple[Label, ...]:
    several = isinstance(labels, Iterable) and not isinstance(labels, str | bytes | Mapping)
    return tuple(labels) if several else (labels,)


def checked_labels(labels: Iterable[Label], what: str) -> tuple[Label, ...]:
    seen: set[tuple[Any, ...]] = set()
    for label in labels:
        if type(label) not in LABEL_TYPES:
            raise InvalidInput(f"{what} takes labels: texts, integers, booleans; found {label!r}.")
        if object_key(label) in seen:
            raise InvalidInput(f"{what} must name each label once; {label!r} stands twice.")
        seen.add(object_key(label))
    return tuple(labels)


@frozen
class Reading:
    """How to read a file; whatever is None is found out from the file itself.

    Attributes
    ----------
    format : str, optional
        The format, such as "csv"; by default the file's ending tells it.
    separator, quote, encoding, decimal : str, optional
        Of a text file. Found out: "," ";" tab or "|"; double or single quotes; UTF-8, UTF-16 by its
        mark, else Windows-1252; "." or ",".
    missing : sequence of str, optional
        Texts that mean a missing value. An empty cell always does. Found out: markers such as NA
        that stand in a column of numbers, where they can mean nothing else.
    quoted_missing : bool, optional
        Whether they mean so in quotes too. Found out: where the file quotes every text.
    trim : bool, optional
        Whether blanks around a value are taken off. Found out: where blanks follow separators.
    sheet : str or int, optional
        Of an Excel file; the first by default.
    recode : mapping from column to recodings
        Steps applied to a column before anything else sees it: see `pramble.data.recode`.
    repairs : sequence of mappings
        Rules of what is possible; records that break one are repaired after recoding.

    Examples
    --------
    >>> import pramble
    >>> pramble.Reading(separator=";", missing=["NA", "-9"]).missing
    ('NA', '-9')
    """

    format: str | None = None
    separator: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] | None = None
    quoted_missing: bool | None = None
    trim: bool | None = None
    sheet: str | int | None = None
    recode: Mapping[str, tuple[Recoding, ...]] = field(default_factory=dict)
    repairs: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        for name in ("separator", "quote", "decimal"):
            check_mark(name, getattr(self, name))
        if self.separator is not None and self.separator == self.quote:
            raise InvalidInput(f"separator and quote must differ; both are {self.quote!r}.")
        if self.decimal not in (None, ".", ","):
            raise InvalidInput(f'decimal must be "." or ","; found {self.decimal!r}.')
        if self.encoding is not None:
            try:
                b" ".decode(self.encoding, errors="ignore")
            except (LookupError, TypeError):
                raise InvalidInput(
                    f"encoding must be one such as 'utf-8'; found {self.encoding!r}."
                ) from None
        for name in ("quoted_missing", "trim"):
            if getattr(self, name) not in (None, True, False):
                raise InvalidInput(f"{name} must be true or false; found {getattr(self, name)!r}.")
        missing: Any = self.missing
        if missing is not None:
            if isinstance(missing, str) or not isinstance(missing, Iterable):
                raise InvalidInput(f"missing must be a list of texts; found {missing!r}.")
            object.__setattr__(self, "missing", tuple(map(str, missing)))
        if not isinstance(self.recode, Mapping):
            raise InvalidInput("recode must map columns to recodings.")
        recode = {name: as_recodings(steps) for name, steps in self.recode.items()}
        object.__setattr__(self, "recode", recode)


def check_mark(name: str, mark: Any) -> None:
    if mark is None:
        return
    if not isinstance(mark, str) or len(mark) != 1:
        raise InvalidInput(f"{name} must be one character; found {mark!r}.")
    if not mark.isascii() or mark in "\r\n\0":
        raise InvalidInput(f"{name} must be an ASCII character and no line break; found {mark!r}.")


def as_reading(given: Reading | Mapping[str, Any] | None) -> Reading:
    """Return a `Reading` from one, from a mapping with its fields, or from nothing."""
    if given is None:
        return Reading()
    if isinstance(given, Reading):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInput(f"reading must be a Reading or a mapping; found {type(given).__name__}.")
    known = [name for name in Reading.__dataclass_fields__ if name != "repairs"]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InvalidInput(f"reading has no {unknown[0]!r}; it has {', '.join(known)}.")
    return Reading(**given)


def reading_of(
    separator: str | None,
    encoding: str | None,
    decimal: str | None,
    missing: str | None,
    sheet: str | None,
) -> Reading:
    """Return how to read a file, as far as it was said.

    >>> reading_of("tab", None, None, "NA,-9", None).missing
    ('NA', '-9')
    """
    mark = "\t" if separator in ("tab", "\\t") else separator
    texts = None if missing is None else tuple(names_in(missing))
    return Reading(separator=mark, encoding=encoding, decimal=decimal, missing=texts, sheet=sheet)
