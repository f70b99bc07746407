"""Recoding: steps from the values of a file to the categories that are worked with.

Every step is a function of one value and of public settings, never of the other rows, so that it
changes nothing about the privacy of what follows. A step that makes categories knows them all.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pramble.data.labels import Label, label_key
from pramble.errors import InvalidData, InvalidInput
from pramble.values import value


class Recoding(ABC):
    """A step from Arrow array to Arrow array, value by value."""

    @abstractmethod
    def apply(self, values: Any, *, column: str) -> Any:
        """Return the recoded values; nulls stay null."""

    def categories(self) -> tuple[Label, ...] | None:
        """Return every category that can come out, in order; None where the step does not know."""
        return None


@value
class Trim(Recoding):
    """Take blanks off both ends of texts."""

    def apply(self, values: Any, *, column: str) -> Any:  # noqa: ARG002
        """Return trimmed texts."""
        import pyarrow.compute as pc

        return over_labels(values, pc.utf8_trim_whitespace) if is_text(values) else values


@value
class Missing(Recoding):
    """Take some labels for missing values."""

    labels: tuple[Label, ...]

    def apply(self, values: Any, *, column: str) -> Any:  # noqa: ARG002
        """Return the values with those labels null."""
        gone = {label_key(label) for label in self.labels}
        return relabelled(values, lambda label: None if label_key(label) in gone else label)


@value
class Merge(Recoding):
    """Merge labels into fewer: ``into`` maps each new label to the old ones; others stay."""

    into: Mapping[Label, tuple[Label, ...]]

    def __post_init__(self) -> None:
        listed = {new: one_or_more(old) for new, old in self.into.items()}
        object.__setattr__(self, "into", listed)

    def apply(self, values: Any, *, column: str) -> Any:  # noqa: ARG002
        """Return the new labels."""
        new_of = {label_key(old): new for new, olds in self.into.items() for old in olds}
        return relabelled(values, lambda label: new_of.get(label_key(label), label))


@value
class Order(Recoding):
    """Declare the categories and their order."""

    labels: tuple[Label, ...]

    def apply(self, values: Any, *, column: str) -> Any:  # noqa: ARG002
        """Return the values as they are."""
        return values

    def categories(self) -> tuple[Label, ...]:
        """Return the labels in their order."""
        return self.labels


@value
class Clip(Recoding):
    """Top- and bottom-coding: numbers below ``low`` become it, numbers above ``high`` that."""

    low: float | None = None
    high: float | None = None

    def apply(self, values: Any, *, column: str) -> Any:
        """Return numbers within the bounds, in their own type."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = numbers(values, column=column)
        for bound, pick in ((self.low, pc.max_element_wise), (self.high, pc.min_element_wise)):
            if bound is not None:
                mark = (
                    pa.scalar(bound, found.type) if float(bound).is_integer() else pa.scalar(bound)
                )
                found = pick(found, mark, skip_nulls=False)
        return found


@value
class Bands(Recoding):
    """Numbers into bands: from each edge to below the next, the last one open above.

    Attributes
    ----------
    edges : increasing numbers
    labels : one per band, optional
        "0-15", "16-24", …, "65+" for whole edges, else "0 to 1.5".
    """

    edges: tuple[float, ...]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        edges = tuple(self.edges)
        if not edges or not all(isinstance(e, int | float) and math.isfinite(e) for e in edges):
            raise InvalidInput(f"Bands need numbers for edges; found {self.edges!r}.")
        if any(high <= low for low, high in pairwise(edges)):
            raise InvalidInput(f"The edges of bands must increase; found {list(edges)}.")
        labels = tuple(self.labels) or band_labels(edges)
        if len(labels) != len(edges):
            raise InvalidInput(f"{len(edges)} bands need {len(edges)} labels; found {len(labels)}.")
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "labels", labels)

    def apply(self, values: Any, *, column: str) -> Any:
        """Return the label of each number's band."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        found = numbers(values, column=column).cast(pa.float64())
        below = pc.min(found).as_py()
        if below is not None and below < self.edges[0]:
            raise InvalidData(
                f"Column {column!r} must hold numbers from {self.edges[0]:g} on for its bands; "
                "some are below. Add an edge, or bottom-code the column first."
            )
        filled = found.fill_null(self.edges[0]).to_numpy(zero_copy_only=False)
        code = np.searchsorted(np.array(self.edges), filled, side="right") - 1
        missing = found.is_null().to_numpy(zero_copy_only=False)
        return pa.array(self.labels).take(pa.array(code, mask=missing))

    def categories(self) -> tuple[Label, ...]:
        """Return the labels of the bands."""
        return self.labels


def band_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Return readable labels of bands.

    >>> band_labels([0, 16, 25, 65]), band_labels([0, 1.5])
    (('0-15', '16-24', '25-64', '65+'), ('0 to 1.5', '1.5+'))
    """
    whole = all(float(edge).is_integer() for edge in edges)

    def label(low: float, high: float) -> str:
        if not whole:
            return f"{low:g} to {high:g}"
        return f"{low:.0f}" if high - low == 1 else f"{low:.0f}-{high - 1:.0f}"

    last = f"{edges[-1]:.0f}+" if whole else f"{edges[-1]:g}+"
    return (*(label(low, high) for low, high in pairwise(edges)), last)


STEPS: dict[str, Callable[[Any], Recoding]] = {
    "trim": lambda _: Trim(),
    "missing": lambda labels: Missing(one_or_more(labels)),
    "low": lambda bound: Clip(low=bound),
    "high": lambda bound: Clip(high=bound),
    "bands": lambda edges: edges if isinstance(edges, Bands) else Bands(tuple(edges)),
    "merge": lambda into: Merge(dict(into)),
    "order": lambda labels: Order(tuple(labels)),
}
"""The settings of a plan file that recode a column, in the order in which they are applied."""


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
    if steps is not None and all(isinstance(step, int | float) for step in steps):
        return (Bands(steps),)
    raise InvalidInput(f"A recoding is a step, edges of bands or settings; found {given!r}.")


def apply_all(steps: Sequence[Recoding], values: Any, *, column: str) -> Any:
    """Return the values after every step."""
    for step in steps:
        values = step.apply(values, column=column)
    return values


def categories_after(steps: Sequence[Recoding]) -> tuple[Label, ...] | None:
    """Return the categories that the last step which knows them declares."""
    known = [step.categories() for step in steps]
    return next((labels for labels in reversed(known) if labels is not None), None)


def one_or_more(labels: Any) -> tuple[Label, ...]:
    """Return a tuple of labels from one or several."""
    several = isinstance(labels, Sequence) and not isinstance(labels, str)
    return tuple(labels) if several else (labels,)


def is_text(values: Any) -> bool:
    """Whether an Arrow array holds texts, as they are or in a dictionary."""
    import pyarrow as pa

    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def over_labels(values: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function of arrays; to the dictionary alone where there is one."""
    import pyarrow as pa

    if not pa.types.is_dictionary(values.type):
        return function(values)
    return function(values.dictionary).take(values.indices)


def relabelled(values: Any, new: Callable[[Label], Label]) -> Any:
    """Return an array with each distinct value replaced."""
    import pyarrow as pa

    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    labels = [new(label) for label in coded.dictionary.to_pylist()]
    kinds = {type(label) for label in labels if label is not None}
    if kinds == {str} or not kinds:
        target = (
            pa.large_string() if pa.types.is_large_string(coded.type.value_type) else pa.string()
        )
    elif kinds == {int} and pa.types.is_integer(coded.type.value_type):
        target = coded.type.value_type
    else:
        target = None
    return pa.array(labels, type=target).take(coded.indices)


def numbers(values: Any, *, column: str) -> Any:
    """Return an Arrow array of numbers from numbers, or from texts that are numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return values
    if is_text(values):
        texts = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
        for kind in (pa.int64(), pa.float64()):
            try:
                return texts.cast(kind)
            except pa.ArrowInvalid:
                continue
    elif pa.types.is_decimal(values.type):
        return values.cast(pa.float64())
    raise InvalidData(
        f"Column {column!r} must hold numbers; found {values.type} that holds others."
    )
