"""Designs for any distance: never above the bound, never below what is easily had."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble
from pramble import Distance
from pramble.solvers.general.variance import Variance
from pramble.solvers.metric.information import (
    column_gain,
    information_ceiling,
    pair_bound,
    peaks,
    pushed,
    tree_bound,
)


@st.composite
def distances(draw, most=7):
    """A connected graph with lengths: a random tree, and some more edges."""
    size = draw(st.integers(3, most))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    tree = [(int(rng.integers(0, i)), i) for i in range(1, size)]
    more = [tuple(sorted(rng.choice(size, 2, replace=False).tolist())) for _ in range(size)]
    pairs = list(dict.fromkeys(tree + (more if draw(st.booleans()) else [])))
    return Distance(size, pairs, rng.choice([0.5, 1.0, 2.0], len(pairs)))


def lipschitz(distance, alpha, rng, count=300):
    """Random columns that keep a distance: the smallest majorant of random heights."""
    heights = rng.standard_normal((count, distance.size)) * 2 * alpha * distance.diameter
    spread = alpha * distance.matrix
    return np.exp((heights[:, :, None] + spread).min(axis=1))


@given(distances(), st.sampled_from([0.1, 0.5, 1.5]), st.integers(0, 10**6))
def test_the_prices_of_a_tree_are_above_every_column(distance, alpha, seed):
    rng = np.random.default_rng(seed)
    if len(distance.pairs) > distance.size - 1:
        return
    p = rng.dirichlet(np.ones(distance.size))
    kernel = np.exp(-alpha * distance.matrix)
    prices = np.linalg.solve(kernel, column_gain(p, kernel))
    columns = lipschitz(distance, alpha, rng)
    assert (column_gain(p, columns) <= (columns @ prices) * (1 + 1e-9) + 1e-12).all()
    assert prices.sum() == pytest.approx(tree_bound(p, alpha, distance))


@given(distances(), st.sampled_from([0.25, 1.0]), st.integers(0, 10**6))
def test_designs_are_private_and_within_their_bound(distance, alpha, seed):
    p = np.random.default_rng(seed).dirichlet(np.ones(distance.size))
    d = pramble.design(p, alpha, family="general", distance=distance)
    assert pramble.certify(d.mechanism, distance=distance).satisfies(alpha)
    assert d.value <= information_ceiling(p, alpha, distance) * (1 + 1e-9)
    closest = pramble.randomized_response(distance.size, alpha * distance.lengths.min())
    assert d.value >= pramble.mutual_information(p, closest) * (1 - 1e-6)


@given(distances(5), st.sampled_from([0.25, 1.0]), st.integers(0, 10**6))
def test_no_mechanism_beats_the_bound_on_the_variance(distance, alpha, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(distance.size, 3.0))
    bound = pair_bound(p, alpha, distance, Variance(p, None))
    columns = lipschitz(distance, alpha, rng, 10)
    pairs = [np.column_stack([v, complement(v, distance, alpha)]) for v in columns]
    some = np.column_stack(pairs)
    M = pramble.Mechanism.from_matrix(
        some / some.sum(axis=1, keepdims=True),
        outputs=some.shape[1],
        alpha=alpha,
        distance=distance,
    )
    assert pramble.estimation_variance(p, M) >= bound


def complement(v, distance, alpha):
    """The column c − v with the least c that keeps the distance."""
    grow = np.exp(alpha * distance.lengths)
    x, y = distance.pairs.T
    c = max(((grow * v[a] - v[b]) / (grow - 1)).max() for a, b in ((x, y), (y, x)))
    return c - v


def test_a_grid_has_the_product_of_geometrics_at_a_uniform_prior():
    grid = Distance.together([Distance.path(3)] * 2)
    p = np.full(9, 1 / 9)
    d = pramble.design(p, 1.0, family="general", distance=grid)
    one = pramble.geometric(3, 1.0).matrix
    product = pramble.Mechanism.from_matrix(np.kron(one, one), alpha=1.0, distance=grid)
    assert d.value == pytest.approx(pramble.mutual_information(p, product), rel=1e-6)
    assert pramble.certify(product, distance=grid).satisfies(1.0)


def test_pushing_keeps_the_distance():
    rng = np.random.default_rng(5)
    graph = Distance(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], np.ones(6))
    rays = peaks(graph, 0.5)
    new = pushed(rays, graph, 0.5, lambda v: rng.standard_normal(v.shape))
    first, second = graph.pairs.T
    assert (np.abs(np.log(new[:, first] / new[:, second])) <= 0.5 + 1e-12).all()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"family": "uniform", "distance": "path"}, 'family="general"'),
        ({"family": "general", "distance": "ring"}, '"path", a square matrix'),
        ({"family": "general", "distance": np.zeros((2, 2))}, "apart"),
        ({"family": "general", "distance": np.ones((3, 3)) - np.eye(3)}, "does not fit 4"),
        ({"family": "general", "distance": "path", "invariant": True}, "invariant has no meaning"),
    ],
)
def test_what_is_refused(asked, words):
    with pytest.raises(pramble.InvalidInput, match=words):
        pramble.design([0.1, 0.2, 0.3, 0.4], 1.0, **asked)


@pytest.mark.parametrize("sizes", [(2, 3), (3, 4), (2, 2, 3)])
def test_independent_columns_have_the_product_of_geometrics_and_it_is_proven(sizes):
    rng = np.random.default_rng(len(sizes))
    margins = [rng.dirichlet(np.ones(size)) for size in sizes]
    p = margins[0]
    for margin in margins[1:]:
        p = np.multiply.outer(p, margin).ravel()
    distance = Distance.together([Distance.path(size) for size in sizes])
    d = pramble.design(p, 0.7, family="general", distance=distance)
    product = pramble.Mechanism.from_matrix(
        reduce(np.kron, [pramble.geometric(size, 0.7).matrix for size in sizes])
    )
    assert d.value == pytest.approx(pramble.mutual_information(p, product), rel=1e-9)
    assert d.gap <= 1e-6
    skewed = p * rng.uniform(0.5, 1.5, len(p))
    d = pramble.design(skewed / skewed.sum(), 0.7, family="general", distance=distance)
    assert d.gap > 1e-3


def test_a_block_of_two_columns_is_designed_by_the_sum_of_their_distances():
    ages, sizes = ["young", "middle", "old"], [1, 2, 3]
    cells = [(age, size) for age in ages for size in sizes]
    distance = Distance.together([Distance.path(3), Distance.path(3)])
    p = np.array([4, 2, 1, 1, 3, 3, 2, 3, 1.0]) / 20
    d = pramble.design(p, 0.5, family="general", distance=distance, categories=cells)
    plan = pramble.Plan({("age", "size"): d.mechanism})
    c = pramble.certify(plan, distance={"age": "path", "size": "path"})
    assert c.satisfies(0.5)
    frame = {"age": ["young", "old"] * 50, "size": [1, 3] * 50}
    import pandas as pd

    out = pramble.perturb(pd.DataFrame(frame), plan, key=bytes(32))
    assert set(out["age"]) <= set(ages)
