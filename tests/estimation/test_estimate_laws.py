"""Laws of estimation over every kind of mechanism."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.strategies import mechanisms, seeds

import pramble
from pramble.estimation.records.likelihood import maximise
from pramble.estimation.records.moments import right_inverses
from pramble.mechanisms.operators.base import apply_axes, category_shape, output_shape


def counts_from(m, seed, n):
    """Counts that the mechanism could have led to."""
    rng = np.random.default_rng(seed)
    axes = (m.operator,)
    p = rng.dirichlet(np.full(m.shape[0], 0.5)).reshape(category_shape(axes))
    law = np.maximum(apply_axes(axes, p), 0).ravel()
    return axes, rng.multinomial(n, law / law.sum()).astype(float).reshape(output_shape(axes))


@settings(max_examples=300)
@given(m=mechanisms, seed=seeds, n=st.integers(1, 100_000))
def test_every_maximum_is_proven(m, seed, n):
    axes, counts = counts_from(m, seed, n)
    best = maximise(axes, counts)
    assert best.gap <= 1e-9 * n
    assert best.p.min() >= 0
    assert best.p.sum() == pytest.approx(1, abs=1e-9)


@settings(max_examples=150)
@given(m=mechanisms, seed=seeds)
def test_structured_algebra_equals_the_dense_matrix(m, seed):
    rng = np.random.default_rng(seed)
    axes = (m.operator,)
    M = m.matrix
    p = rng.random(m.shape[0])
    assert np.allclose(apply_axes(axes, p.reshape(category_shape(axes))).ravel(), p @ M, atol=1e-12)
    try:
        inverses = right_inverses(axes)
    except pramble.NotIdentifiable as error:
        lost = error.directions
        assert any(
            np.allclose(lost @ axis.dense(), 0, atol=1e-9)
            for axis in axes
            if axis.dense().shape[0] == lost.shape[1]
        )
        return
    G = np.ones((1, 1))
    for axis, inverse in zip(axes, inverses, strict=True):
        S, T = axis.dense().shape
        one = inverse.adjoint(np.eye(S)).T
        scale = np.abs(one).max()
        assert np.allclose(axis.dense() @ one, np.eye(S), atol=1e-9 * scale)
        assert np.allclose(inverse.apply(np.eye(T)), one, atol=1e-9 * scale)
        assert np.allclose(inverse.squares(np.eye(T)), one**2, atol=1e-9 * scale**2)
        assert np.allclose(
            inverse.own(), np.einsum("xz,zx->x", axis.dense(), one**2), atol=1e-9 * scale**2
        )
        G = np.kron(G, one)
    assert np.allclose(M @ G, np.eye(len(M)), atol=1e-8 * np.abs(G).max())


def test_a_wide_matrix_with_two_equal_rows_is_told_from_an_invertible_one():
    """The Gram matrix is singular, yet solving with it may end in moderate numbers."""
    rare = 165 / 2**53
    rows = np.full((3, 4), rare)
    rows[[0, 1, 2], [0, 3, 3]] = 1 - 3 * rare
    m = pramble.Mechanism.from_matrix(rows)
    with pytest.raises(pramble.NotIdentifiable):
        right_inverses((m.operator,))


@settings(max_examples=100)
@given(m=mechanisms, seed=seeds, n=st.integers(1, 10_000))
def test_intervals_respect_the_simplex_and_are_never_empty(m, seed, n):
    axes, counts = counts_from(m, seed, n)
    del axes
    for covers in ("both", "randomisation"):
        for method in ("mle", "inverse"):
            try:
                e = pramble.estimate(counts.ravel(), m, counts=True, covers=covers, method=method)
            except pramble.NotIdentifiable:
                return
            assert (e.lower >= 0).all()
            assert (e.upper <= 1).all()
            assert (e.lower <= e.upper).all()
            assert np.isfinite(e.standard_errors).all()
