"""The labels of each column of a plan, over all blocks and branches that hold it; their codes."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from pramble.data.labels import Label, Labels, label_keys
from pramble.errors import InvalidData, InvalidPlan
from pramble.mechanisms.base import Mechanism
from pramble.values import Integers, frozen

# What a blank could be mistaken for; in a text file null and an empty text are the same.
EMPTY = (None, "")


@frozen
class ColumnLabels:
    """What a column may hold before and after: categories, outputs, and whether it may be blank.

    Labels stand in the order of their first appearance; a blank is none of them.
    """

    labels: Labels
    outputs: Labels
    blank: bool = False

    @property
    def released(self) -> Labels:
        return Labels((*self.outputs.values, None)) if self.blank else self.outputs


def labels_by_column(
    branches: Sequence[Mapping[tuple[str, ...], Mechanism]],
) -> dict[str, ColumnLabels]:
    """Return the labels of every column from the blocks of each branch.

    Raises
    ------
    InvalidPlan
        If two branches disagree about a column's categories, or a column that some branch leaves
        blank has a category that looks like a blank.
    """
    found: dict[str, ColumnLabels] = {}
    for blocks in branches:
        for block, mechanism in blocks.items():
            for position, name in enumerate(block):
                own = labels_at(mechanism, position, columns=len(block))
                found[name] = common_labels(name, found[name], own) if name in found else own
    held = [{name for block in blocks for name in block} for blocks in branches]
    for name, one in found.items():
        if not all(name in names for names in held):
            for label in (*one.labels.values, *one.outputs.values):
                if label in EMPTY:
                    raise InvalidPlan(
                        f"Column {name!r} is left blank by a branch, so none of its labels may be "
                        "None or an empty text: nobody could tell them from a blank. Give missing "
                        'values a label of their own, such as "missing".'
                    )
            found[name] = ColumnLabels(one.labels, one.outputs, blank=True)
    return found


def labels_at(mechanism: Mechanism, position: int, *, columns: int) -> ColumnLabels:
    if columns == 1:
        return ColumnLabels(mechanism.labels, mechanism.output_labels)
    categories = distinct(label[position] for label in mechanism.labels.values)
    if mechanism.output_labels is mechanism.labels:
        return ColumnLabels(categories, categories)
    return ColumnLabels(
        categories, distinct(label[position] for label in mechanism.output_labels.values)
    )


def common_labels(name: str, one: ColumnLabels, two: ColumnLabels) -> ColumnLabels:
    if one.labels is not two.labels and one.labels != two.labels:
        differing = set(label_keys(one.labels.values)) ^ set(label_keys(two.labels.values))
        if differing:
            raise InvalidPlan(
                f"Column {name!r} must have the same categories wherever it stands; "
                f"{', '.join(sorted(repr(key[-1]) for key in differing)[:5])} "
                f"{'is' if len(differing) == 1 else 'are'} not in all of them."
            )
    if one.outputs is two.outputs or one.outputs == two.outputs:
        return one
    return ColumnLabels(one.labels, distinct([*one.outputs.values, *two.outputs.values]))


def distinct(labels: Iterable[Label]) -> Labels:
    listed = list(labels)
    # Reversed, so that the first of equal labels is what stays.
    first = dict(zip(reversed(label_keys(listed)), reversed(range(len(listed))), strict=True))
    return Labels(tuple(listed[place] for place in sorted(first.values())))


@frozen(eq=False)
class Coding:
    """The labels of the columns of a plan as codes: places among their categories, and outputs."""

    labels: Mapping[str, ColumnLabels]

    @cached_property
    def categories(self) -> Mapping[str, Labels]:
        return {name: own.labels for name, own in self.labels.items()}

    @cached_property
    def outputs(self) -> Mapping[str, Labels]:
        return {name: own.released for name, own in self.labels.items()}

    @cached_property
    def blank(self) -> tuple[str, ...]:
        return tuple(name for name, own in self.labels.items() if own.blank)

    def of_labels(
        self, columns: Sequence[str], labels: Labels, *, released: bool = False
    ) -> dict[str, Integers]:
        sides = self.outputs if released else self.categories
        if len(columns) == 1 and labels is sides[columns[0]]:
            return {columns[0]: np.arange(len(labels))}
        parts = zip(*labels.values, strict=True) if len(columns) > 1 else [labels.values]
        answer = {}
        for name, own in zip(columns, parts, strict=True):
            place = {key: code for code, key in enumerate(label_keys(sides[name].values))}
            codes = map(place.__getitem__, label_keys(own))
            answer[name] = np.fromiter(codes, dtype=np.int64, count=len(labels))
        return answer

    def keys(
        self, codes: Mapping[str, Integers], columns: Sequence[str], *, released: bool = False
    ) -> Integers:
        """Return one number for each combination of codes of some columns."""
        sides = self.outputs if released else self.categories
        answer = codes[columns[0]].astype(np.int64)
        for name in columns[1:]:  # several times as fast as np.ravel_multi_index
            answer *= len(sides[name])
            answer += codes[name]
        return answer


def places_if_among(known: Integers, wanted: Integers) -> Integers:
    """Return where each number stands among others, which hold it once; −1 where they do not."""
    order = np.argsort(known, kind="stable")
    found = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
    return np.where(known[order[found]] == wanted, order[found], -1)


def places_among(known: Integers, wanted: Integers) -> Integers:
    """Return where each number stands among others, which hold it once; refuse others."""
    places = places_if_among(known, wanted)
    if (places < 0).any():
        raise InvalidData("The data holds released values that the plan cannot release.")
    return places
