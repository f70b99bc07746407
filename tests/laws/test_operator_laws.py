"""Every operator and every kind of mechanism against the dense matrix."""

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st
from tests.laws.strategies import KINDS, mechanisms, uniform_rows

import pramble
from pramble.data.labels import as_labels
from pramble.errors import NotIdentifiable
from pramble.mechanisms import base
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.general import General
from pramble.mechanisms.operators.dense import DenseOperator
from pramble.mechanisms.ratios import largest_ratio

CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def shares(size, seed, *leading):
    return np.random.default_rng(seed).dirichlet(np.ones(size), size=leading or None)


@given(mechanisms, st.integers(0, 2**32 - 1))
def test_apply_and_adjoint_are_the_matrix(m, seed):
    S, T = m.shape
    M = np.asarray(m.matrix)
    p = shares(S, seed, 2, 3)
    v = np.random.default_rng(seed).normal(size=(2, T))
    np.testing.assert_allclose(m.operator.apply(p), p @ M, **CLOSE)
    np.testing.assert_allclose(m.operator.adjoint(v), v @ M.T, **CLOSE)
    np.testing.assert_allclose(m.operator.dense(), M, **CLOSE)
    assert m.operator.shape == m.shape


@given(mechanisms, st.integers(0, 2**32 - 1))
def test_measures_are_those_of_the_matrix(m, seed):
    dense = DenseOperator(m)
    p = shares(m.shape[0], seed)
    assert m.operator.information(p) == pytest.approx(dense.information(p), rel=1e-7, abs=1e-13)
    np.testing.assert_allclose(m.operator.row_entropies(), dense.row_entropies(), **CLOSE)
    np.testing.assert_allclose(m.operator.stay(), dense.stay(), **CLOSE)
    if m.shape[0] == m.shape[1]:
        np.testing.assert_allclose(m.operator.diagonal, np.diagonal(m.matrix), **CLOSE)


@given(mechanisms, st.integers(0, 2**32 - 1))
def test_right_inverses_invert(m, seed):
    S, T = m.shape
    M = np.asarray(m.matrix)
    if np.linalg.matrix_rank(M) < S:
        return
    singular = np.linalg.svd(M, compute_uv=False)
    if singular.min() < 1e-4:
        return
    inverse = m.operator.right_inverse()
    G = inverse.adjoint(np.eye(S)).T
    assert G.shape == (T, S)
    np.testing.assert_allclose(M @ G, np.eye(S), atol=1e-7)
    c = shares(T, seed, 3)
    np.testing.assert_allclose(inverse.apply(c), c @ G, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(inverse.squares(c), c @ G**2, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(inverse.own(), np.einsum("xz,zx->x", M, G**2), rtol=1e-6, atol=1e-7)
    p = shares(S, seed)
    law = p @ M
    if (law > 0).all() and m.shape[0] == m.shape[1]:
        exact = np.trace(G.T @ (np.diag(law) - np.outer(law, law)) @ G)
        assert m.operator.estimation_variance(p) == pytest.approx(exact, rel=1e-5)


@given(mechanisms, st.integers(0, 2**32 - 1))
def test_entrywise_and_parts_are_those_of_the_matrix(m, seed):
    S, T = m.shape
    M = np.array(m.matrix)
    rng = np.random.default_rng(seed)
    np.testing.assert_allclose(m.operator.entrywise(np.square).dense(), M**2, **CLOSE)
    rows = rng.permutation(S)[: max(1, S // 2)]
    columns = rng.integers(-1, T, size=3)
    part = m.operator.between(rows, columns)
    expected = np.where(columns >= 0, M[rows][:, columns], 0.0)
    np.testing.assert_allclose(part.dense(), expected, **CLOSE)
    np.testing.assert_allclose(part.apply(np.ones(len(rows))), expected.sum(axis=0), **CLOSE)
    square = m.operator.between(rows, np.where(rows < T, rows, 0))
    full = M[rows][:, np.where(rows < T, rows, 0)]
    np.testing.assert_allclose(square.dense(), full, **CLOSE)
    np.testing.assert_allclose(square.diagonal, np.diagonal(full), **CLOSE)
    np.testing.assert_allclose(square.adjoint(np.ones(len(rows))), full.sum(axis=1), **CLOSE)
    np.testing.assert_allclose(square.entrywise(np.square).dense(), full**2, **CLOSE)


def test_large_arcs_answer_at_once():
    """At 6,000 categories the dense path took minutes and gigabytes to refuse."""
    S = 6000
    rng = np.random.default_rng(1)
    low = 2**53 // (3 * S)
    two_alike = Arcs(as_labels(S), as_labels(S), rng.integers(0, S, S), np.arange(S), S // 2, low)
    with pytest.raises(NotIdentifiable, match="same law"):
        two_alike.operator.right_inverse()
    with pytest.raises(NotIdentifiable):
        pramble.estimate(np.ones(S), two_alike, counts=True, method="inverse")
    apart = Arcs(as_labels(S), as_labels(S), rng.permutation(S), np.arange(S), 2999, low)
    p = rng.dirichlet(np.ones(S))
    law = apart.operator.apply(p)
    np.testing.assert_allclose(apart.operator.right_inverse().apply(law), p, atol=1e-9)


@given(mechanisms, st.integers(0, 2**32 - 1))
def test_largest_moves_are_those_beside_the_diagonal(m, seed):
    S, T = m.shape
    rng = np.random.default_rng(seed)
    rows = rng.permutation(min(S, T))[: rng.integers(1, min(S, T) + 1)]
    for operator in (m.operator, m.operator.between(rows, rows)):
        beside = np.array(operator.dense())
        np.fill_diagonal(beside, 0.0)
        np.testing.assert_allclose(operator.largest_moves(), beside.max(axis=1), **CLOSE)


@given(mechanisms)
def test_closed_form_and_generic_path_agree(mechanism):
    certificate, generic = pramble.certify(mechanism), largest_ratio(mechanism.weights)
    assert (
        certificate.numerator * generic.denominator == generic.numerator * certificate.denominator
    )


@given(uniform_rows())
def test_equality_does_not_depend_on_the_kind(mechanism):
    dense = General(mechanism.labels, mechanism.output_labels, mechanism.weights)
    assert dense == mechanism
    assert mechanism == dense
    assert hash(dense) == hash(mechanism)


def test_every_kind_is_under_the_laws():
    drawn = {find(kind, lambda _: True).to_json()["kind"] for kind in KINDS.values()}
    assert drawn == set(base.KINDS)
