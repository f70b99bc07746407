"""Distances, the steepest ratio per unit of them in integers, and the geometric mechanism."""

import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble
from pramble import Distance
from pramble.mechanisms.geometric import peak_weights
from pramble.mechanisms.ratios import exp_bounds, keeps, ratio_within, steepest


@st.composite
def graphs(draw, most=6):
    size = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    pairs = [(int(rng.integers(0, i)), i) for i in range(1, size)]
    pairs += [tuple(rng.choice(size, 2, replace=False).tolist()) for _ in range(size // 2)]
    return Distance(size, pairs, rng.choice([0.25, 1.0, 1.5, 3.0], len(pairs)))


def brute_matrix(distance):
    """Floyd and Warshall, in plain loops."""
    D = np.full((distance.size, distance.size), np.inf)
    np.fill_diagonal(D, 0)
    for (i, j), length in zip(distance.pairs.tolist(), distance.lengths.tolist(), strict=True):
        D[i, j] = D[j, i] = min(D[i, j], length)
    for k in range(distance.size):
        D = np.minimum(D, D[:, [k]] + D[[k], :])
    return D


@given(graphs())
def test_the_matrix_is_the_shortest_way(distance):
    np.testing.assert_allclose(distance.matrix, brute_matrix(distance), rtol=1e-12)
    assert Distance.from_json(json.loads(json.dumps(distance.to_json()))) == distance
    assert pickle.loads(pickle.dumps(distance)) == distance


@given(graphs(), st.integers(0, 10**6), st.integers(2, 5))
def test_the_steepest_ratio_is_that_of_all_pairs(distance, seed, outputs):
    """Along edges and over all pairs it is the same, decided by brute force in rationals."""
    rng = np.random.default_rng(seed)
    m = pramble.Mechanism.from_matrix(
        rng.dirichlet(np.full(outputs, 2.0), distance.size), outputs=outputs
    )
    c = pramble.certify(m, distance=distance)
    D, w = distance.matrix, m.weights.tolist()
    over = [
        math.log(Fraction(w[x][z], w[y][z])) / D[x, y]
        for x in range(distance.size)
        for y in range(distance.size)
        for z in range(outputs)
        if x != y
    ]
    assert c.alpha == pytest.approx(max(over), rel=1e-9)
    assert c.satisfies(c.alpha)
    assert not c.satisfies(math.nextafter(c.alpha, 0))
    x, y, _ = c.witness
    assert float(c.length) >= D[x, y] * (1 - 1e-12)


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0, 3.0])
def test_one_unit_between_any_two_is_plain_alpha(alpha):
    m = pramble.randomized_response(5, alpha)
    plain, equal = pramble.certify(m), pramble.certify(m, distance=Distance.equal(5))
    assert plain.alpha == equal.alpha
    assert equal.satisfies(alpha)


@pytest.mark.parametrize("size", [2, 3, 10, 96])
@pytest.mark.parametrize("alpha", [1e-6, 0.05, 0.5, 2.0, 8.0])
def test_the_geometric_mechanism_is_private_and_has_its_law(size, alpha):
    m = pramble.geometric(size, alpha)
    c = pramble.certify(m, distance="path")
    assert c.satisfies(alpha)
    assert c.alpha == pytest.approx(alpha, rel=1e-3 if alpha < 1e-5 else 1e-9)
    r = math.exp(-alpha)
    inner = (1 - r) / (1 + r)
    x = size // 2
    law = [(1 / (1 + r) if z in (0, size - 1) else inner) * r ** abs(x - z) for z in range(size)]
    np.testing.assert_allclose(m.matrix[x], law, atol=1e-12)
    assert (m.weights > 0).all()


def test_rounding_is_refused_where_it_would_hide_another_promise():
    m = np.array([[0.9, 0.1], [0.1, 0.9]])
    with pytest.raises(pramble.PrivacyError, match="alpha"):
        pramble.Mechanism.from_matrix(m, alpha=1.0, distance="path")
    with pytest.raises(pramble.InvalidMechanism, match="needs the alpha"):
        pramble.Mechanism.from_matrix(m, distance="path")
    ok = pramble.Mechanism.from_matrix(m, alpha=1.0, distance=[[0, 2.2], [2.2, 0]])
    assert pramble.certify(ok, distance=[[0, 2.2], [2.2, 0]]).satisfies(1.0)


def test_a_zero_beside_a_positive_entry_has_no_finite_alpha():
    m = pramble.Mechanism.from_matrix([[1.0, 0.0], [0.5, 0.5]])
    c = pramble.certify(m, distance="path")
    assert math.isinf(c.alpha)
    assert not c.satisfies(1e6)
    unused = pramble.Mechanism.from_matrix([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]], outputs=3)
    assert pramble.certify(unused, distance="path").alpha == pytest.approx(math.log(1.5))


def test_integers_decide_next_to_the_limit():
    low = next(exp_bounds(Fraction(0.5) * Fraction(3)))[0]
    bottom = 10**12
    top = math.floor(bottom * low)
    assert ratio_within(top, bottom, Fraction(1.5))
    assert not ratio_within(top + 1, bottom, Fraction(1.5))
    weights = np.array([[top, 10**13 - top], [bottom, 10**13 - bottom]])
    apart = Distance(2, [(0, 1)], [3.0])
    assert keeps(weights, apart, 0.5)
    assert not keeps(weights + np.array([[1, -1], [0, 0]]), apart, 0.5)
    assert steepest(weights, apart).alpha <= 0.5


def test_at_most_and_together():
    path = Distance.path(5)
    assert path.at_most(2).matrix[0].tolist() == [0, 1, 2, 2, 2]
    both = Distance.together([Distance.path(2), Distance.path(3)])
    cells = [(i, j) for i in range(2) for j in range(3)]
    wanted = [[abs(a - c) + abs(b - d) for c, d in cells] for a, b in cells]
    assert both.matrix.tolist() == wanted


def test_a_plan_is_certified_by_the_sum_over_its_columns():
    m, plain = pramble.geometric(4, 0.5), pramble.randomized_response(2, 0.75)
    plan = {"age": m, "sex": plain}
    assert pramble.certify(plan, distance={"age": "path"}).alpha == pytest.approx(0.75)
    stronger = {"age": pramble.geometric(4, 1.0), "sex": plain}
    assert pramble.certify(stronger, distance={"age": "path"}).alpha == pytest.approx(1.0)
    cells = [(age, size) for age in range(4) for size in range(3)]
    kron = np.kron(m.matrix, pramble.geometric(3, 0.5).matrix)
    joint = pramble.Mechanism.from_matrix(kron, cells)
    block = {("age", "size"): joint}
    found = pramble.certify(block, distance={"age": "path", "size": "path"})
    assert found.alpha == pytest.approx(0.5)
    some = pramble.Mechanism.from_matrix(
        joint.matrix[:5], categories=joint.categories[:5], outputs=joint.outputs
    )
    named = {"age": pramble.Distance.path(2).named([0, 1]),
             "size": pramble.Distance.path(3).named([0, 1, 2])}  # fmt: skip
    fewer = pramble.certify({("age", "size"): some}, distance=named)
    assert fewer.alpha <= 0.5 + 1e-9
    turned = {**named, "size": pramble.Distance.path(3).named([0, 2, 1])}
    assert pramble.certify({("age", "size"): some}, distance=turned).alpha == pytest.approx(1.0)
    with pytest.raises(pramble.InvalidInput, match="in no block"):
        pramble.certify(plan, distance={"town": "path"})


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 3, 0, 1), (3, 0, 2, 1)])
def test_the_steepest_ratio_is_found_in_whichever_chunk_it_is(monkeypatch, order):
    monkeypatch.setattr("pramble.mechanisms.ratios.MOST_AT_ONCE", 2)
    distance = Distance(5, [[i, i + 1] for i in order], [1.0, 2.0, 1.0, 0.5])
    m = pramble.Mechanism.from_matrix(
        [[0.5, 0.5], [0.55, 0.45], [0.6, 0.4], [0.9, 0.1], [0.91, 0.09]]
    )
    found = steepest(m.weights, distance)
    slopes = [
        max(abs(math.log(m.matrix[i, z] / m.matrix[i + 1, z])) for z in (0, 1)) / length
        for i, length in zip(order, distance.lengths, strict=True)
    ]
    assert found.alpha == pytest.approx(max(slopes), rel=1e-12)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([[0, 1], [2, 0]], "symmetric"),
        ([[0, np.nan], [np.nan, 0]], "square matrix"),
        ([[1, 1], [1, 1]], "zero from a category to itself"),
        ([[0, np.inf], [np.inf, 0]], "not joined"),
        ([[0, -1], [-1, 0]], "apart"),
        ("line", '"path"'),
    ],
)
def test_what_is_no_distance(given, words):
    with pytest.raises(pramble.InvalidInput, match=words):
        pramble.certify(pramble.randomized_response(2, 1.0), distance=given)


def test_damaged_documents_are_refused():
    for document in (
        {"path": 1, "unit": "step"},
        {"path": 3},
        {"size": 3, "unit": "x", "pairs": [[0, 1]], "lengths": [1.0]},
        {"size": 2, "unit": "x", "pairs": [[0, 5]], "lengths": [1.0]},
        {"size": 2, "unit": "x", "pairs": [[0, "a"]], "lengths": [1.0]},
        {"size": 2, "unit": "x", "pairs": [[0, 1]], "lengths": [0.0]},
        {"size": 2, "unit": "x", "pairs": [[0, 1]], "lengths": []},
        [],
    ):
        with pytest.raises(pramble.InvalidInput):
            Distance.from_json(document)


def test_a_matrix_too_large_to_hold_is_refused():
    many = pramble.randomized_response(10**6, 1.0)
    with pytest.raises(pramble.InvalidInput, match="at most"):
        pramble.certify(many, distance="path")


@given(graphs(), st.sampled_from([1e-6, 0.3, 2.0]))
def test_peaks_of_a_tree_sum_to_one(distance, alpha):
    pairs = distance.pairs[: distance.size - 1]
    tree = Distance(distance.size, pairs, distance.lengths[: distance.size - 1])
    theta = peak_weights(tree.size, tree.pairs, alpha * tree.lengths)
    np.testing.assert_allclose(np.exp(-alpha * tree.matrix) @ theta, 1.0, rtol=1e-12)
