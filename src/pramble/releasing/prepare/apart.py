"""How far apart the categories of a column are, from the settings of a plan."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.labels import Label, Labels, label_key
from pramble.errors import InvalidInput, InvalidPlan
from pramble.geography.areas import Areas
from pramble.mechanisms.distance import Distance


def distance_of(
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
    return found if len(known) == len(labels) else with_one_apart(found, labels, extra)


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
    apart = np.where(same, 1.0, float(setting.get("across", 2)))
    np.fill_diagonal(apart, 0.0)
    return Distance.from_matrix(apart, unit="step")


def with_one_apart(distance: Distance, labels: Sequence[Label], extra: Label) -> Distance:
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
