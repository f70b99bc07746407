"""How far apart the categories of a column are, from the settings of a plan."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pramble.data.labels import Label, Labels, label_key
from pramble.errors import InvalidInput, InvalidPlan
from pramble.geography.areas import Areas
from pramble.mechanisms.distance import Distance
from pramble.privacy.certificate import distance_sentence
from pramble.privacy.gaussian import float_below
from pramble.releasing.spec.column import ColumnSpec
from pramble.values import frozen

SUMMED = (
    "Records that differ in several columns are hidden from each other as well as at the sum of "
    "these over the columns."
)
# By how much float sums of lengths may be off, as a share; they have fewer than 2^10 terms.
ROUNDING = Fraction(1, 2**40)


@frozen(eq=False)
class ColumnMetric:
    """How far apart the categories of a column are, and what is promised per unit of that."""

    distance: Distance
    alpha: float

    @property
    def in_alpha(self) -> Distance:
        """The distance in units of α, every length rounded down."""
        unit = Fraction(self.alpha)
        lengths = [float_below(unit * Fraction(one)) for one in self.distance.lengths.tolist()]
        own = self.distance
        return Distance(own.size, own.pairs, np.array(lengths), "α", labels=own.labels)


def alpha_per_unit(alpha: float, distance: Distance) -> float:
    """Return a float whose product with the diameter is at most α.

    The diameter is a float sum of lengths, which may be rounded down; the margin covers that.
    """
    return float_below(Fraction(alpha) / (Fraction(distance.diameter) * (1 + ROUNDING)))


def column_metrics(
    columns: Sequence[ColumnSpec], labels: Mapping[str, Sequence[Label]], alpha: float
) -> dict[str, ColumnMetric]:
    """Return how the columns of a record share α by distance; nothing where none states one.

    Each has an equal part of α between its two farthest categories. Any two categories of a column
    that states no distance are as far apart.
    """
    if all(column.distance is None for column in columns):
        return {}
    # Records that differ in every column are as far apart as the sum over columns: α in all.
    part = float_below(Fraction(alpha) / len(columns))
    found = {}
    for column in columns:
        own = labels[column.name]
        distance = Distance.equal(len(own))
        if column.distance is not None:
            distance = distance_of_column(column, own)
        found[column.name] = ColumnMetric(distance.named(own), alpha_per_unit(part, distance))
    return found


def sentences_of(metrics: Mapping[str, ColumnMetric]) -> list[str]:
    each = [
        f"{name}: {distance_sentence(one.distance, one.alpha)}" for name, one in metrics.items()
    ]
    return [*each, SUMMED] if len(each) > 1 else each


def promise_keywords(metrics: Mapping[str, ColumnMetric], alpha: float) -> dict[str, Any]:
    """Return α and the distances of a record, as keywords of `pramble.design_record`."""
    if not metrics:
        return {"alpha": alpha}
    return {"alpha": 1.0, "distance": {name: one.in_alpha for name, one in metrics.items()}}


def distance_of_column(column: ColumnSpec, labels: Sequence[Label]) -> Distance:
    """Return the distance that a column states; refuse a scale that was guessed."""
    stated = column.distance
    guessed = column.declared is None and not all(isinstance(one, int) for one in labels)
    if stated == "path" and guessed:
        raise InvalidPlan(
            f"Column {column.name!r} has a distance along its categories, whose order is not "
            'known; state them in order: categories = ["...", "..."].'
        )
    return stated_metric(stated, labels, column=column.name, missing=column.stated("missing"))


def stated_metric(
    setting: Any, labels: Sequence[Label], *, column: str, missing: Any = None
) -> Distance:
    """Return the distance that a plan states for the categories of a column.

    It is ``"path"``, or a table with a file of ``neighbours`` or of ``points``, or ``groups``, and
    perhaps with ``most``, the distance beyond which nothing is farther. The category of empty cells
    is as far from every other as the two that are farthest apart.
    """
    extra = None if missing is True else missing
    known = [one for one in labels if missing is None or label_key(one) != label_key(extra)]
    if len(known) < 2:
        raise InvalidPlan(f"Column {column!r} has too few categories for a distance.")
    try:
        found = between(setting, known)
        if isinstance(setting, Mapping) and "most" in setting:
            found = found.at_most(float(setting["most"]))
    except InvalidInput as error:
        raise InvalidPlan(f"The distance of column {column!r}: {error}") from None
    return found if len(known) == len(labels) else with_farthest_category(found, labels, extra)


def between(setting: Any, labels: Sequence[Label]) -> Distance:
    """Return the distance between categories that are all on the scale or the map."""
    if setting == "path":
        return Distance.path(len(labels))
    if "neighbours" in setting:
        areas = Areas.from_neighbours(setting["neighbours"]).of(labels)
        areas.hops()  # refuses a map in parts, and names them
        assert areas.neighbours is not None, "read from a file of them"
        pairs = np.array(areas.neighbours, dtype=np.int64)
        return Distance(len(labels), pairs, np.ones(len(pairs)), "hop")
    if "groups" in setting:
        return in_groups(setting, labels)
    areas = Areas.from_points(setting["points"]).of(labels)
    return Distance.from_matrix(areas.kilometres(), unit="km")


def in_groups(setting: Mapping[str, Any], labels: Sequence[Label]) -> Distance:
    """Return 1 within a group of labels and ``across`` between groups, as of counties in states."""
    group = {label_key(one): name for name, some in setting["groups"].items() for one in some}
    lost = [one for one in labels if label_key(one) not in group]
    if lost:
        raise InvalidInput(f"{lost[0]!r} is in no group.")
    names = [group[label_key(one)] for one in labels]
    same = np.array([[one == other for other in names] for one in names])
    lengths = np.where(same, 1.0, float(setting.get("across", 2)))
    np.fill_diagonal(lengths, 0.0)
    return Distance.from_matrix(lengths, unit="step")


def with_farthest_category(distance: Distance, labels: Sequence[Label], extra: Label) -> Distance:
    """Return the distance with one more category, as far from every other as the farthest two."""
    keys = [label_key(one) for one in Labels(tuple(labels))]
    place = keys.index(label_key(extra))
    others = np.delete(np.arange(len(labels)), place)
    ends = np.column_stack([others, np.full(len(others), place)])
    return Distance(
        len(labels),
        np.vstack([others[distance.pairs], ends]),
        np.concatenate([distance.lengths, np.full(len(others), distance.diameter)]),
        distance.unit,
    )
