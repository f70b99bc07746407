"""What some columns of a record look like in the release, against the whole plan written out."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import pramble
from pramble.errors import InvalidData, InvalidPlan

LABELS = {"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1, 2, 3]}


def cells_of(names):
    return list(product(*(LABELS[name] for name in names)))


def rough(names, seed, cells=None):
    labels = cells or cells_of(names)
    M = np.exp(np.random.default_rng(seed).random((len(labels), len(labels))) + np.eye(len(labels)))
    return pramble.Mechanism.from_matrix(M / M.sum(axis=1, keepdims=True), labels)


SINGLE = {name: pramble.randomized_response(labels, 1.0) for name, labels in LABELS.items()}
SPLIT = pramble.Plan(branches=[
    pramble.Branch(Fraction(1, 2), {"a": SINGLE["a"], "b": SINGLE["b"]}),
    pramble.Branch(Fraction(1, 3), {("c", "a"): rough("ca", 1), "b": SINGLE["b"]}),
    pramble.Branch(Fraction(1, 6), {("b", "c"): pramble.randomized_response(cells_of("bc"), 2.0)}),
])  # fmt: skip


def test_views_are_the_branches_with_the_blocks_that_bear_on_the_columns():
    channel = SPLIT.channel(["c", "town", "a"])
    assert channel.columns == ("c", "a")
    assert channel.shape == (4, 2)
    assert [view.share for view in channel.views] == [
        Fraction(1, 2),
        Fraction(1, 3),
        Fraction(1, 6),
    ]
    assert [[(s.columns, s.asked) for s in view.seen] for view in channel.views] == [
        [(("a",), ("a",))],
        [(("c", "a"), ("c", "a"))],
        [(("b", "c"), ("c",))],
    ]
    assert SPLIT.channel(["c", "a"]) is channel
    assert SPLIT.channel().columns == SPLIT.columns


@pytest.mark.parametrize("asked", [["a"], ["c"], ["b", "a"], ["c", "a", "b"]], ids="".join)
def test_margins_are_those_of_the_whole_matrix(asked):
    for seen in SPLIT.channel(asked).blocks_seen:
        margin, M = seen.margin(seen.asked), seen.mechanism.matrix
        into = np.zeros((len(margin.into), len(margin.outputs)))
        into[np.arange(len(into)), margin.into] = 1
        summed = M @ into
        alike = all(np.ptp(summed[margin.onto == k], axis=0).max() < 1e-12 for k in margin.onto)
        assert (margin.matrix is not None) == alike
        if alike:
            np.testing.assert_allclose(margin.matrix[margin.onto], summed, atol=1e-14)
            inverse = np.linalg.inv(M) @ np.eye(margin.size)[margin.onto]  # the rest does not count
            np.testing.assert_allclose(inverse, into @ np.linalg.inv(margin.matrix), atol=1e-9)


def test_cells_find_their_category_whatever_the_order_of_labels():
    cells = [(y, x) for x in LABELS["a"] for y in reversed(LABELS["c"])][1:]
    channel = pramble.Plan({("c", "a"): rough("ca", 2, cells)}).channel(["a", "c"])
    (seen,) = channel.blocks_seen
    place = seen.place(channel.cells)
    labels = {name: own.values for name, own in channel.labels.items()}
    for cell, found in enumerate(place.tolist()):
        a, c = (labels[name][channel.cells[name][cell]] for name in ("a", "c"))
        assert (cells[found] == (c, a)) if found >= 0 else ((c, a) not in cells)
    ((block, possible),) = channel.structural_zeros(most=100).items()
    assert block == ("c", "a")
    assert possible.sum() == 7
    assert not seen.is_complete
    assert not pramble.Plan(SINGLE).channel().structural_zeros(most=100)


def test_records_say_their_branch_by_what_is_not_blank():
    channel = SPLIT.channel()
    assert set(channel.coding.blank) == {"a", "c"}
    filled = {"a": [True, True, False], "c": [False, True, True]}
    shown = np.array([filled[name] for name in channel.coding.blank]).T
    assert channel.branch_of(shown).tolist() == [0, 1, 2]
    with pytest.raises(InvalidData, match="show no column alone"):
        channel.branch_of(np.array([[False, False]]))
    halves = [pramble.Branch(Fraction(1, 2), {"a": SINGLE["a"]}) for _ in range(2)]
    with pytest.raises(InvalidPlan, match="two of them show a"):
        pramble.Plan(branches=halves).channel().branch_of(np.zeros((1, 0), dtype=bool))
