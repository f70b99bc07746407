"""The labels of each column of a plan, over all blocks and branches that hold it."""

from collections.abc import Iterable, Mapping, Sequence

from pramble.data.labels import Label, Labels, label_keys
from pramble.errors import InvalidPlan
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.product import Product
from pramble.values import value

EMPTY = (None, "")
"""What a blank could be mistaken for; in a text file null and an empty text are the same."""


@value
class ColumnLabels:
    """What a column may hold before and after: categories, outputs, and whether it may be blank.

    Labels stand in the order of their first appearance; a blank is none of them.
    """

    labels: Labels
    outputs: Labels
    blank: bool = False

    @property
    def released(self) -> Labels:
        """What may stand in the release: the outputs, and None last where it may be blank."""
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
                found[name] = merged(name, found[name], own) if name in found else own
    held = [{name for block in blocks for name in block} for blocks in branches]
    for name, one in found.items():
        if not all(name in names for names in held):
            refuse_empty(name, one)
            found[name] = ColumnLabels(one.labels, one.outputs, blank=True)
    return found


def labels_at(mechanism: Mechanism, position: int, *, columns: int) -> ColumnLabels:
    """Return the labels that a mechanism for some columns has for one of them."""
    if columns == 1:
        return ColumnLabels(mechanism.labels, mechanism.output_labels)
    if isinstance(mechanism, Product):
        factor = mechanism.factors[position]
        return ColumnLabels(factor.labels, factor.output_labels)
    categories = distinct(label[position] for label in mechanism.labels.values)
    if mechanism.output_labels is mechanism.labels:
        return ColumnLabels(categories, categories)
    return ColumnLabels(
        categories, distinct(label[position] for label in mechanism.output_labels.values)
    )


def merged(name: str, one: ColumnLabels, two: ColumnLabels) -> ColumnLabels:
    """Return the labels of a column that two blocks hold; refuse categories that differ."""
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


def refuse_empty(name: str, one: ColumnLabels) -> None:
    """Raise if a blank could be mistaken for a category or an output."""
    for labels in (one.labels.values, one.outputs.values):
        if not isinstance(labels, range) and any(label in EMPTY for label in labels):
            raise InvalidPlan(
                f"Column {name!r} is left blank by a branch, so none of its labels may be None or "
                "an empty text: nobody could tell them from a blank. Give missing values a label "
                'of their own, such as "missing".'
            )


def distinct(labels: Iterable[Label]) -> Labels:
    """Return the labels that differ, in the order of their first appearance."""
    listed = list(labels)
    first = dict(zip(reversed(label_keys(listed)), reversed(range(len(listed))), strict=True))
    return Labels(tuple(listed[place] for place in sorted(first.values())))
