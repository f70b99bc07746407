r"""The record of a plan: the branches' matrices side by side, and what a reader can look at.

The coin that picks a branch is public, so the output of a record is (branch, values), its matrix
:math:`[w_1 M_1, w_2 M_2, …]`, and the blanket's weight :math:`\sum_b w_b \gamma_b`. A reader of the
file tells branches by their columns: two branches of the same columns look alike to him, which the
bounds from above may ignore and an attack may not.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product as cartesian
from typing import Any

import numpy as np

from pramble.data.labels import label_key
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.plan import Branch, Plan
from pramble.mechanisms.uniform import UniformRows
from pramble.privacy.shuffled.attacks import attacks_together
from pramble.privacy.shuffled.blanket import (
    ALIKE,
    MOST_COLUMNS,
    MOST_ROWS,
    Crowd,
    crowd_of,
    kronecker,
    merge_proportional,
    single,
)
from pramble.privacy.shuffled.corners import Corners, corners_of
from pramble.values import Floats

MORE_ROWS = 6


def plan_corners(plan: Plan) -> tuple[Corners, ...] | None:
    """Return the corners of every branch; None if a ratio is infinite."""
    found = [corners_of(list(b.blocks.values()), b.share) for b in plan.branches]
    known = tuple(corners for corners in found if corners is not None)
    return known if len(known) == len(found) else None


def plan_crowd(plan: Plan) -> Crowd | None:
    """Return the crowd of a record; None where it is too large."""
    if len(plan.branches) == 1:
        return crowd_of(list(plan.branches[0].blocks.values()))
    sizes = [len(column.labels) for column in plan.column_labels().values()]
    outputs = sum(math.prod(m.shape[1] for m in branch.blocks.values()) for branch in plan.branches)
    if math.prod(sizes) > MOST_ROWS or outputs > MOST_COLUMNS:
        return None
    masses = np.array(list(record_rows(plan)))
    return Crowd(masses, masses.min(axis=0))


def record_rows(plan: Plan) -> Iterator[Floats]:
    """Yield the row of every record that all blocks know, the branches side by side."""
    columns = plan.column_labels()
    places = [
        {block: cell_places(mechanism, len(block)) for block, mechanism in branch.blocks.items()}
        for branch in plan.branches
    ]
    for labels in cartesian(*(column.labels.values for column in columns.values())):
        keys = dict(zip(columns, map(label_key, labels), strict=True))
        parts = [branch_row(b, p, keys) for b, p in zip(plan.branches, places, strict=True)]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            yield np.concatenate(known)


def cell_places(mechanism: Mechanism, columns: int) -> dict[tuple[Any, ...], int]:
    """Return the row of every cell, by the keys of its labels."""
    return {
        tuple(map(label_key, (label,) if columns == 1 else label)): place
        for place, label in enumerate(mechanism.labels.values)
    }


def branch_row(
    branch: Branch, places: dict[Any, dict[tuple[Any, ...], int]], keys: dict[str, Any]
) -> Floats | None:
    """Return a record's row in one branch, times its share; None if a block lacks its cell."""
    rows = []
    for block, mechanism in branch.blocks.items():
        place = places[block].get(tuple(keys[name] for name in block))
        if place is None:
            return None
        rows.append(np.asarray(mechanism.row(place) / 2**mechanism.bits, dtype=np.float64))
    return np.asarray(float(branch.share) * kronecker(rows)[0])


def looks(plan: Plan, crowd: Crowd | None) -> list[Floats]:
    """Return rows of probabilities of what a reader may look at: all, or one branch at a time."""
    sets = Counter(frozenset(branch.columns) for branch in plan.branches)
    if crowd is not None and len(sets) == len(plan.branches):
        return [crowd.masses]
    found = []
    for branch in plan.branches:
        if sets[frozenset(branch.columns)] == 1 and branch.blocks:
            parts = [few_rows(factor) for factor in single(list(branch.blocks.values()))]
            one = attacks_together(parts)[0]
            rows = np.stack([one.x, one.other, one.crowd])
            found += [beside(rows, branch.share)]
    return found


def rows_of_records(plan: Plan, records: Sequence[Mapping[str, Any]]) -> Floats | None:
    """Return what a reader sees of some records, given by the labels of their columns.

    Branches that look alike are one output. None if a block lacks one of the cells.
    """
    sets = Counter(frozenset(branch.columns) for branch in plan.branches)
    parts, alike = [], Fraction(0)
    for branch in plan.branches:
        if sets[frozenset(branch.columns)] > 1:
            alike += branch.share
            continue
        places = {block: cell_places(m, len(block)) for block, m in branch.blocks.items()}
        keys = [{name: label_key(label) for name, label in record.items()} for record in records]
        rows = [branch_row(branch, places, own) for own in keys]
        known = [row for row in rows if row is not None]
        if len(known) < len(rows):
            return None
        parts.append(np.stack(known))
    if alike:
        parts.append(np.full((len(records), 1), float(alike)))
    return np.concatenate(parts, axis=1)


def beside(masses: Floats, share: Fraction) -> Floats:
    """Return rows of a branch with one more output: another branch."""
    rest = np.full((len(masses), 1), float(1 - share))
    return np.concatenate([float(share) * masses, rest], axis=1) if share < 1 else masses


def few_rows(mechanism: Mechanism) -> Floats:
    """Return some rows of a mechanism that are far apart, columns merged that tell the same."""
    crowd = crowd_of([mechanism])
    if crowd is not None:
        return crowd.masses
    if isinstance(mechanism, UniformRows):
        chosen = np.argsort(mechanism.off, kind="stable")[:ALIKE]
        off = mechanism.off[chosen]
        masses = np.repeat(off[:, None], len(chosen) + 1, axis=1)
        np.fill_diagonal(masses, mechanism.keep[chosen])
        masses[:, -1] = off * (len(mechanism.off) - len(chosen))
        return np.asarray(masses / TOTAL)
    ratio, S = mechanism.largest_ratio(), mechanism.shape[0]
    more = np.linspace(0, S - 1, MORE_ROWS).astype(int).tolist()
    rows = np.stack([mechanism.row(x) for x in dict.fromkeys([ratio.x, ratio.x_prime, *more])])
    return np.asarray(merge_proportional(rows) / TOTAL)
