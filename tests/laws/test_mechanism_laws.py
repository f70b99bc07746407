"""Laws that hold for every mechanism of every kind."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.strategies import generals, mechanisms, priors, seeds, uniform_rows

import pramble


def exhaustive_ratio(mechanism):
    """The largest ratio by looking at every pair, as a Fraction, or infinity."""
    best = Fraction(1)
    for column in mechanism.weights.T:
        values = [int(value) for value in column]
        if max(values) == 0:
            continue
        if min(values) == 0:
            return math.inf
        best = max(best, Fraction(max(values), min(values)))
    return best


@given(mechanisms)
def test_rows_sum_to_exactly_one(mechanism):
    assert all(sum(map(int, row)) == 2**53 for row in mechanism.weights)
    assert mechanism.matrix.shape == mechanism.shape


@given(mechanisms)
def test_matrix_is_exactly_the_weights(mechanism):
    for weight, entry in zip(mechanism.weights.flat, mechanism.matrix.flat, strict=True):
        assert Fraction(float(entry)) == Fraction(int(weight), 2**53)


@given(mechanisms)
def test_row_agrees_with_weights(mechanism):
    for x in range(mechanism.shape[0]):
        assert mechanism.row(x).tolist() == mechanism.weights[x].tolist()


@given(mechanisms)
def test_arrays_cannot_be_written(mechanism):
    with pytest.raises(ValueError, match="read-only"):
        mechanism.weights[0, 0] = 0
    with pytest.raises(ValueError, match="read-only"):
        mechanism.matrix[0, 0] = 0


@given(mechanisms)
def test_pickle_gives_an_equal_read_only_value(mechanism):
    copy = pickle.loads(pickle.dumps(mechanism))
    assert copy == mechanism
    assert hash(copy) == hash(mechanism)
    with pytest.raises(ValueError, match="read-only"):
        copy.weights[0, 0] = 0


@given(mechanisms)
def test_json_round_trips_bit_for_bit(mechanism):
    import json

    copy = pramble.Mechanism.from_json(json.dumps(mechanism.to_json()))
    assert copy == mechanism
    assert type(copy) is type(mechanism)
    assert copy.to_json() == mechanism.to_json()


@given(mechanisms)
def test_certificate_agrees_with_every_pair(mechanism):
    certificate = pramble.certify(mechanism)
    best = exhaustive_ratio(mechanism)
    if best == math.inf:
        assert certificate.alpha == math.inf
        assert certificate.denominator == 0
    else:
        assert Fraction(certificate.numerator, certificate.denominator) == best


@given(mechanisms)
def test_the_witness_attains_the_ratio(mechanism):
    certificate = pramble.certify(mechanism)
    x, x_prime, z = certificate.witness
    row, other = mechanism.categories.index(x), mechanism.categories.index(x_prime)
    column = mechanism.outputs.index(z)
    high, low = int(mechanism.weights[row, column]), int(mechanism.weights[other, column])
    assert (high == 0) == (certificate.numerator == 0)
    assert high * certificate.denominator == certificate.numerator * low


@given(mechanisms)
def test_alpha_is_the_smallest_float_that_is_satisfied(mechanism):
    certificate = pramble.certify(mechanism)
    assert certificate.satisfies(certificate.alpha)
    if 0 < certificate.alpha < math.inf:
        assert not certificate.satisfies(math.nextafter(certificate.alpha, 0))


@given(generals(size=3, outputs=3), generals(size=3, outputs=3))
def test_equality_is_by_value(one, two):
    assert (one == two) == (one.weights.tolist() == two.weights.tolist())


@given(seeds, st.integers(2, 6), st.integers(2, 6), st.sampled_from([1e-9, 1e-3, 0.1, 1.0, 5.0]))
def test_rounding_a_float_matrix_never_costs_privacy(seed, size, outputs, alpha):
    rng = np.random.default_rng(seed)
    columns = rng.random(outputs) * np.exp(alpha * rng.random((size, outputs)))
    matrix = columns / columns.sum(axis=1, keepdims=True)
    exact = [[Fraction(v) / sum(map(Fraction, row)) for v in row] for row in matrix.tolist()]
    ratio = max(max(column) / min(column) for column in zip(*exact, strict=True))
    certificate = pramble.certify(pramble.Mechanism.from_matrix(matrix))
    assert Fraction(certificate.numerator, certificate.denominator) <= ratio


@given(seeds, st.integers(2, 9), st.floats(0, 1))
def test_keep_probabilities_never_cost_privacy(seed, size, spread):
    rng = np.random.default_rng(seed)
    q = np.clip(1 / size + spread * (rng.random(size) - 1 / size), 0, 1)
    exact = [[(1 - Fraction(v)) / (size - 1)] * size for v in q.tolist()]
    for x, value in enumerate(q.tolist()):
        exact[x][x] = Fraction(value)
    certificate = pramble.certify(pramble.keep_probabilities(q))
    for column in zip(*exact, strict=True):
        if max(column) > 0 and min(column) == 0:
            return
    ratio = max(max(column) / min(column) for column in zip(*exact, strict=True) if max(column))
    flattest = 1 + Fraction(size**2, 2**53)
    assert Fraction(certificate.numerator, certificate.denominator) <= max(ratio, flattest)


@given(mechanisms.flatmap(lambda m: st.tuples(st.just(m), priors(size=m.shape[0]))))
def test_information_laws(pair):
    mechanism, prior = pair
    information = pramble.mutual_information(prior, mechanism)
    released = pramble.released_distribution(prior, mechanism)
    given_x = pramble.conditional_entropy(prior, mechanism)
    before, after = pramble.entropy(prior), pramble.entropy(released)
    assert information >= 0
    assert information <= min(before, after) + 1e-12
    assert information == pytest.approx(after - given_x, abs=1e-12)
    assert released == pytest.approx(prior @ mechanism.matrix, abs=1e-15)


@given(mechanisms.flatmap(lambda m: st.tuples(st.just(m), priors(size=m.shape[0]))))
def test_three_entropies_identity(pair):
    mechanism, prior = pair
    joint = (prior[:, None] * mechanism.matrix).ravel()
    three = (
        pramble.entropy(prior)
        + pramble.entropy(pramble.released_distribution(prior, mechanism))
        - pramble.entropy(joint / joint.sum())
    )
    assert pramble.mutual_information(prior, mechanism) == pytest.approx(three, abs=1e-12)


@given(mechanisms.flatmap(lambda m: st.tuples(st.just(m), priors(size=m.shape[0]))))
def test_information_never_exceeds_what_alpha_allows(pair):
    mechanism, prior = pair
    alpha = pramble.certify(mechanism).alpha
    if 0 < alpha < math.inf:
        bound = pramble.information_bound(alpha)
        assert pramble.mutual_information(prior, mechanism) <= bound * (1 + 1e-9)


@given(generals(size=4, outputs=5), seeds, priors(size=4))
def test_processing_the_release_only_loses_information(mechanism, seed, prior):
    second = np.random.default_rng(seed).dirichlet(np.ones(3), size=5)
    after = pramble.Mechanism.from_matrix(mechanism.matrix @ second)
    assert pramble.mutual_information(prior, after) <= (
        pramble.mutual_information(prior, mechanism) + 1e-12
    )


@given(generals(size=3, outputs=4), generals(size=3, outputs=4), priors(size=3), st.floats(0, 1))
def test_information_is_convex_in_the_matrix(one, two, prior, share):
    mixture = pramble.Mechanism.from_matrix(share * one.matrix + (1 - share) * two.matrix)
    apart = share * pramble.mutual_information(prior, one) + (
        1 - share
    ) * pramble.mutual_information(prior, two)
    assert pramble.mutual_information(prior, mixture) <= apart + 1e-12


@given(uniform_rows(), seeds)
def test_uniform_rows_and_the_whole_matrix_give_the_same_measures(mechanism, seed):
    prior = np.random.default_rng(seed).dirichlet(np.ones(mechanism.shape[0]))
    dense = pramble.Mechanism.from_matrix(mechanism.matrix)
    assert pramble.mutual_information(prior, mechanism) == pytest.approx(
        pramble.mutual_information(prior, dense), rel=1e-9, abs=1e-13
    )
    assert pramble.conditional_entropy(prior, mechanism) == pytest.approx(
        pramble.conditional_entropy(prior, dense), rel=1e-12
    )
    closed, generic = (
        pramble.estimation_variance(prior, mechanism),
        pramble.estimation_variance(prior, dense),
    )
    if generic < 1e9:
        assert closed == pytest.approx(generic, rel=1e-5)
