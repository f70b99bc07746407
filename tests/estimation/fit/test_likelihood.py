"""The maximum likelihood estimate against brute force, SciPy, EM, and its own certificate."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble
from pramble.estimation.records.interior_point import (
    cholesky,
    conjugate_gradients,
    gram,
    woodbury,
)
from pramble.estimation.records.likelihood import log_likelihood, maximise, optimality_gap
from pramble.mechanisms.operators.base import apply_axes, category_shape, output_shape


def random_matrix(rng, S, T, *, spread=1.5):
    A = np.exp(rng.uniform(0, spread, (S, T)))
    return pramble.Mechanism.from_matrix(A / A.sum(axis=1, keepdims=True))


def mechanism_of(kind, rng, S):
    if kind == "response":
        return pramble.randomized_response(S, float(rng.uniform(0.3, 4)))
    if kind == "reversed":
        return pramble.keep_probabilities(np.full(S, float(rng.uniform(0, 0.9 / S))))
    if kind == "uniform":
        return pramble.keep_probabilities(rng.uniform(0.05, 0.95, S))
    if kind == "square":
        return random_matrix(rng, S, S)
    if kind == "wide":
        return random_matrix(rng, S, 2 * S + 1)
    if kind == "tall":
        return random_matrix(rng, S, max(S - 1, 1))
    return [pramble.randomized_response(S, 1.5), random_matrix(rng, 3, 4)]


KINDS = ["response", "reversed", "uniform", "square", "wide", "tall", "product"]


def axes_of(m):
    """The operators of a mechanism, or of several that act side by side."""
    return tuple(one.operator for one in (m if isinstance(m, list) else [m]))


def drawn_counts(m, rng, n):
    axes = axes_of(m)
    shape = category_shape(axes)
    p = rng.dirichlet(np.full(np.prod(shape), 0.4)).reshape(shape)
    law = apply_axes(axes, p).ravel()
    return axes, rng.multinomial(n, law / law.sum()).astype(float).reshape(output_shape(axes))


@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6), S=st.integers(2, 12))
def test_the_gap_is_proven_small_for_every_kind(kind, seed, S):
    rng = np.random.default_rng(seed)
    axes, counts = drawn_counts(mechanism_of(kind, rng, S), rng, int(rng.integers(1, 5000)))
    best = maximise(axes, counts)
    assert best.gap <= 1e-9 * counts.sum()
    assert best.p.min() >= 0
    assert best.p.sum() == pytest.approx(1, abs=1e-12)


@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6), S=st.integers(2, 6))
def test_no_point_of_the_simplex_is_likelier(kind, seed, S):
    rng = np.random.default_rng(seed)
    axes, counts = drawn_counts(mechanism_of(kind, rng, S), rng, int(rng.integers(1, 3000)))
    best = maximise(axes, counts)
    cells = best.p.size
    others = np.concatenate(
        [
            rng.dirichlet(np.full(cells, 0.2), 200),
            np.eye(cells),
            0.999 * best.p.ravel() + 0.001 * np.eye(cells),
        ]
    )
    for q in others:
        p = q.reshape(best.p.shape)
        assert log_likelihood(axes, p, counts=counts) <= best.log_likelihood + best.gap + 1e-9


@given(seed=st.integers(0, 10**6), S=st.integers(2, 6), kind=st.sampled_from(KINDS))
def test_the_gap_bounds_the_loss_of_any_point(seed, S, kind):
    rng = np.random.default_rng(seed)
    axes, counts = drawn_counts(mechanism_of(kind, rng, S), rng, 500)
    best = maximise(axes, counts)
    p = rng.dirichlet(np.ones(best.p.size)).reshape(best.p.shape)
    loss = best.log_likelihood - log_likelihood(axes, p, counts=counts)
    assert loss <= optimality_gap(axes, p, counts=counts) + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_scipy_never_finds_a_higher_likelihood(kind, seed):
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    axes, counts = drawn_counts(mechanism_of(kind, rng, 5), rng, 400)
    best = maximise(axes, counts)
    shape, n = best.p.shape, counts.sum()

    def loss(q):
        law = apply_axes(axes, np.maximum(q, 0).reshape(shape))
        return -float((counts * np.log(np.maximum(law, 1e-300))).sum()) / n

    answer = minimize(
        loss,
        np.full(best.p.size, 1 / best.p.size),
        method="SLSQP",
        bounds=[(0, 1)] * best.p.size,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    q = np.maximum(answer.x, 0)
    q = (q / q.sum()).reshape(shape)
    reached = log_likelihood(axes, q, counts=counts)
    assert reached <= best.log_likelihood + best.gap + 1e-9 * n
    assert reached >= best.log_likelihood - 1e-3 * n


@pytest.mark.parametrize("kind", ["response", "uniform", "square", "wide", "product"])
def test_em_climbs_to_the_same_maximum(kind):
    rng = np.random.default_rng(3)
    axes, counts = drawn_counts(mechanism_of(kind, rng, 4), rng, 2000)
    best = maximise(axes, counts)
    M = reduce(np.kron, [axis.dense() for axis in axes])
    c = counts.ravel() / counts.sum()
    p = np.full(M.shape[0], 1 / M.shape[0])
    for _ in range(20_000):
        p = p * (M @ (c / (p @ M)))
    assert np.abs(p - best.p.ravel()).max() < 2e-4
    assert best.log_likelihood >= counts.ravel() @ np.log(p @ M) - best.gap - 1e-9


@pytest.mark.parametrize("off_kind", ["keep", "avoid"])
def test_the_finite_algorithm_equals_the_best_support(off_kind):
    """Every support is tried; on each the stationary point is solved for."""
    from itertools import combinations

    rng = np.random.default_rng(8)
    m = (
        pramble.randomized_response(6, 1.0)
        if off_kind == "keep"
        else pramble.keep_probabilities(np.full(6, 0.05))
    )
    axes = axes_of(m)
    for _ in range(20):
        counts = rng.multinomial(60, rng.dirichlet(np.full(6, 0.5))).astype(float) + 1
        best = maximise(axes, counts)
        off, d = m.matrix[0, 1], m.matrix[0, 0] - m.matrix[0, 1]
        values = []
        for k in range(1, 7):
            for support in map(list, combinations(range(6), k)):
                p = np.zeros(6)
                room = 1 - (6 - k) * off
                p[support] = (counts[support] / counts[support].sum() * room - off) / d
                if (p >= 0).all():
                    values.append(log_likelihood(axes, p, counts=counts))
        assert best.log_likelihood == pytest.approx(max(values), abs=1e-10)


@given(seed=st.integers(0, 10**6), S=st.integers(2, 20))
def test_woodbury_solves_what_the_dense_matrix_says(seed, S):
    rng = np.random.default_rng(seed)
    axis = axes_of(pramble.keep_probabilities(rng.uniform(0.3, 0.9, S)))[0]
    w, r = rng.uniform(0.1, 5, S), rng.normal(size=S)
    ridge = np.where(rng.random(S) < 0.3, np.inf, rng.uniform(0.01, 10, S))
    free = np.isfinite(ridge)
    H = (axis.dense() * w) @ axis.dense().T + np.diag(np.where(free, ridge, 0))
    x = woodbury(axis, w, ridge=ridge)(r)
    assert np.allclose((H @ x)[free], r[free], atol=1e-8)
    assert (x[~free] == 0).all()


def test_three_ways_to_solve_agree():
    rng = np.random.default_rng(4)
    axes = axes_of([random_matrix(rng, 3, 5), pramble.randomized_response(4, 1.0)])
    M = np.kron(axes[0].dense(), axes[1].dense())
    w, r = rng.uniform(0.1, 2, (5, 4)), rng.normal(size=(3, 4))
    ridge = rng.uniform(0.05, 1, (3, 4))
    ridge[1, 2] = np.inf
    assert np.allclose(gram(axes, w), (M * w.ravel()) @ M.T)
    dense = cholesky(axes, w, ridge=ridge)(r)
    assert np.allclose(conjugate_gradients(axes, w, ridge=ridge)(r), dense, atol=1e-8)
    assert dense[1, 2] == 0


def test_large_tables_end_with_a_proven_gap():
    rng = np.random.default_rng(6)
    factors = [pramble.randomized_response(S, 3.0) for S in (12, 15, 16)]
    axes, counts = drawn_counts(factors, rng, 20_000)
    best = maximise(axes, counts)
    assert best.gap <= 1e-9 * counts.sum()
    assert (best.p == 0).any()


def test_a_value_the_mechanism_never_releases_is_refused():
    m = pramble.Mechanism.from_matrix(
        [[0.5, 0.5, 0], [0.2, 0.8, 0]], outputs=["a", "b", "c"], categories=["x", "y"]
    )
    with pytest.raises(pramble.InvalidData, match="never releases 'c'"):
        pramble.estimate([1, 2, 3], m, counts=True)


def test_conjugate_gradients_and_the_dense_factor_reach_the_same_maximum(monkeypatch):
    import pramble.estimation.records.interior_point as normal

    rng = np.random.default_rng(10)
    axes = axes_of([pramble.randomized_response(5, 1.5), pramble.randomized_response(6, 1.5)])
    counts = rng.multinomial(300, rng.dirichlet(np.full(30, 0.3))).astype(float)
    counts = counts.reshape(category_shape(axes))
    dense = maximise(axes, counts)
    monkeypatch.setattr(normal, "LARGEST_DENSE", 1)
    free = maximise(axes, counts)
    assert free.log_likelihood == pytest.approx(dense.log_likelihood, abs=1e-6)
    assert np.allclose(free.p, dense.p, atol=1e-6)
