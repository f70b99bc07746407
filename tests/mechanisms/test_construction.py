"""How mechanisms are made, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

import pramble

TOTAL = 2**53


def test_contract_of_randomized_response():
    m = pramble.randomized_response(["a", "b", "c"], 1.0)
    assert m.categories == m.outputs == ("a", "b", "c")
    assert m.weights.dtype == np.int64
    assert m.matrix.dtype == np.float64
    assert (m.weights.sum(axis=1) == 2**53).all()
    assert (m.matrix == m.weights / 2**53).all()
    keep = math.e / (2 + math.e)
    assert m.matrix[0, 0] == pytest.approx(keep, rel=1e-14)


@pytest.mark.parametrize("size", [2, 3, 4, 10, 97, 1000])
@pytest.mark.parametrize("alpha", [0.001, 0.5, 1.0, math.log(3), 2.0, 10.0, 30.0])
def test_the_best_response_is_at_the_very_boundary(size, alpha):
    m = pramble.randomized_response(size, alpha)
    assert pramble.certify(m).satisfies(alpha)
    if m.off[0] > 1:
        looser = pramble.Mechanism.from_json({**m.to_json(), "off": int(m.off[0]) - 1})
        assert not pramble.certify(looser).satisfies(alpha)


@pytest.mark.parametrize("low", [1, 10**6, 1340699822473353, 2**53 // 7])
@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_one_unit_decides_the_certificate(low, alpha):
    """⌊e^α·low⌋ against low is within α and one unit more is not, with e^α from its series."""
    terms = [Fraction(1)]
    for k in range(1, 80):
        terms.append(terms[-1] * Fraction(alpha) / k)
    high = math.floor(sum(terms) * low)
    assert pramble.Certificate(high, low, (0, 1, 0)).satisfies(alpha)
    assert not pramble.Certificate(high + 1, low, (0, 1, 0)).satisfies(alpha)


def test_a_million_categories_cost_little():
    m = pramble.randomized_response(10**6, 1.0)
    assert pramble.certify(m).satisfies(1.0)
    prior = np.full(10**6, 1e-6)
    assert pramble.mutual_information(prior, m) == pytest.approx(1e-6, rel=1e-4)
    assert "weights" not in vars(m)
    assert "matrix" not in vars(m)
    assert len(pickle_size(m)) < 9_000_000


def pickle_size(m):
    import pickle

    return pickle.dumps(m)


def test_integers_count_categories():
    assert pramble.randomized_response(3, 1.0).categories == (0, 1, 2)


def test_labels_are_told_apart_by_type():
    m = pramble.randomized_response(["1", 1, True, None], 1.0)
    assert m.categories == ("1", 1, True, None)
    assert m != pramble.randomized_response(["1", 1, 1 + 1, None], 1.0)
    assert pramble.randomized_response([0, 1], 1.0) != pramble.randomized_response([False, True], 1)
    assert pramble.randomized_response([0, 1], 1.0) == pramble.randomized_response(2, 1.0)


def test_numpy_labels_become_plain_values():
    m = pramble.randomized_response(np.array(["x", "y"]), 1.0)
    assert [type(label) for label in m.categories] == [str, str]
    m = pramble.randomized_response(np.array([3, 5]), 1.0)
    assert [type(label) for label in m.categories] == [int, int]


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (["a"], "at least two categories; found 1"),
        ([], "at least two categories; found 0"),
        (1, "at least two categories; found 1"),
        (-3, "at least two categories; found 0"),
        (["a", "b", "a"], "'a' stands at positions 0 and 2"),
        ([1.5, 2.5], "found 1.5 of type float at position 0"),
        ("ab", "a count or a sequence of labels; found 'ab'"),
        (True, "a count or a sequence of labels; found True"),
    ],
)
def test_bad_labels_are_refused(categories, message):
    with pytest.raises(pramble.InvalidMechanism, match=message):
        pramble.randomized_response(categories, 1.0)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.5], [1.5, -0.5]], "row 1, column 1 holds -0.5"),
        ([[0.5, 0.5], [math.nan, 1]], "row 1, column 0 holds nan"),
        ([[0.5, 0.5], [math.inf, 1]], "row 1, column 0 holds inf"),
        ([[0.5, 0.5], [0.5, 0.5 + 1e-8]], "row 1 sums to 1.00000001"),
        ([[0.5, 0.5]], "at least two categories"),
        ([0.5, 0.5], "found shape"),
        ([[0.5, 0.5], [1.0]], "rows of equal length"),
        ([["a", "b"], ["c", "d"]], "matrix of numbers"),
    ],
)
def test_bad_matrices_are_refused(matrix, message):
    with pytest.raises(pramble.InvalidMechanism, match=message):
        pramble.Mechanism.from_matrix(matrix)


def test_labels_must_fit_the_shape():
    with pytest.raises(pramble.InvalidMechanism, match="2 x 2 matrix needs 2 categories"):
        pramble.Mechanism.from_matrix(np.eye(2), categories=["a", "b", "c"])
    with pytest.raises(pramble.InvalidMechanism, match="2 outputs"):
        pramble.Mechanism.from_matrix(np.eye(2), outputs=["a"])


def test_rows_within_tolerance_are_scaled():
    m = pramble.Mechanism.from_matrix([[0.5, 0.5 + 1e-10], [0.25, 0.75]])
    assert (m.weights.sum(axis=1) == TOTAL).all()


def test_a_matrix_of_exact_weights_comes_back_unchanged():
    m = pramble.randomized_response(7, 1.3)
    again = pramble.Mechanism.from_matrix(m.matrix)
    assert again == m


def test_zeros_stay_zero_and_identity_is_exact():
    m = pramble.Mechanism.from_matrix(np.eye(3))
    assert (m.weights == np.eye(3, dtype=np.int64) * TOTAL).all()
    assert pramble.certify(m).alpha == math.inf
    assert not pramble.certify(m).satisfies(1000.0)
    unused = pramble.Mechanism.from_matrix([[0.3, 0.7, 0.0], [0.6, 0.4, 0.0]])
    assert (unused.weights[:, 2] == 0).all()
    assert pramble.certify(unused).alpha == pytest.approx(math.log(2))


def test_from_matrix_rounds_to_the_alpha_asked_for():
    a = math.e
    matrix = np.where(np.eye(5) == 1, a, 1.0) / (4 + a)
    m = pramble.Mechanism.from_matrix(matrix, alpha=1.0)
    assert pramble.certify(m).satisfies(1.0)
    assert m.matrix == pytest.approx(matrix, rel=1e-12)
    with pytest.raises(pramble.PrivacyError, match=r"above the 0\.9 asked for"):
        pramble.Mechanism.from_matrix(matrix, alpha=0.9)
    with pytest.raises(pramble.PrivacyError, match="alpha infinite"):
        pramble.Mechanism.from_matrix(np.eye(3), alpha=5.0)


def test_tiny_entries_do_not_become_zero_where_that_would_cost_privacy():
    matrix = [[1e-18, 1 - 1e-18], [2e-18, 1 - 2e-18]]
    certificate = pramble.certify(pramble.Mechanism.from_matrix(matrix))
    assert certificate.satisfies(math.log(2))


def test_equal_rows_round_to_alpha_zero():
    m = pramble.Mechanism.from_matrix([[0.1, 0.2, 0.7]] * 4)
    assert pramble.certify(m).alpha == 0.0
    assert pramble.certify(m).satisfies(0.0)


def test_alpha_below_the_resolution_is_refused():
    with pytest.raises(pramble.PrivacyError, match="too small"):
        pramble.randomized_response(3, 1e-17)
    assert pramble.certify(pramble.randomized_response(4, 1e-17)).alpha == 0.0


def test_keep_probabilities_refuse_bad_input():
    with pytest.raises(pramble.InvalidMechanism, match=r"position 1 holds 1\.5"):
        pramble.keep_probabilities([0.5, 1.5])
    with pytest.raises(pramble.InvalidMechanism, match="position 0 holds nan"):
        pramble.keep_probabilities([math.nan, 0.5])
    with pytest.raises(pramble.InvalidMechanism, match="3 categories do not fit 2"):
        pramble.keep_probabilities([0.5, 0.5], categories=["a", "b", "c"])
    with pytest.raises(pramble.InvalidMechanism, match="two or more"):
        pramble.keep_probabilities([0.5])


def test_keep_probabilities_at_the_ends():
    m = pramble.keep_probabilities([0.0, 1.0])
    assert m.matrix.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert pramble.certify(m).alpha == 0.0
    assert pramble.certify(pramble.keep_probabilities([1.0, 1.0, 1.0])).alpha == math.inf


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[TOTAL, 0], [TOTAL - 1, 0]], "row 1 sums to"),
        ([[TOTAL + 1, -1], [TOTAL, 0]], "row 0, column 0 holds"),
        ([[TOTAL, 0]], "shape"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(pramble.InvalidMechanism, match=message):
        pramble.Mechanism.from_json({
            "schema": "pramble/mechanism/1", "kind": "general", "categories": [0, 1],
            "weights": weights,
        })  # fmt: skip


def test_mechanisms_are_frozen():
    m = pramble.randomized_response(3, 1.0)
    with pytest.raises(AttributeError):
        m.off = np.zeros(3)


def test_repr_is_short():
    lines = repr(pramble.randomized_response(10**6, 1.0)).splitlines()
    assert lines[0] == "Mechanism: 1,000,000 categories, α = 0.999994"
    assert lines[1].split() == ["categories", "0,", "1,", "2,", "…"]
    assert len(lines) == 3


def test_the_product_never_builds_the_table_to_certify():
    m = pramble.randomized_response(1000, 0.5)
    plan = {f"column {i}": m for i in range(20)}
    certificate = pramble.certify(plan)
    assert certificate.alpha == pytest.approx(10.0, rel=1e-9)
    assert len(certificate.witness[0]) == 20


def test_an_abstract_mechanism_cannot_be_made():
    with pytest.raises(TypeError):
        pramble.Mechanism()


def test_a_ratio_beyond_floats_is_no_trouble():
    m = pramble.Mechanism.from_matrix([[1e-308, 1.0], [1.0, 1e-308]])
    assert pramble.certify(m).alpha < 37
    subnormal = pramble.Mechanism.from_matrix([[5e-324, 1.0], [1.0, 5e-324]])
    assert pramble.certify(subnormal).alpha < 37
