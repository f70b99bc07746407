"""One variable: the inverse, covariances, inputs of every kind, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble


def full_rank(rng, S, T=None):
    T = S if T is None else T
    A = 0.2 * rng.random((S, T)) + np.eye(S, T)
    return pramble.Mechanism.from_matrix(A / A.sum(axis=1, keepdims=True))


def some_mechanism(rng, S):
    return [
        pramble.randomized_response(S, 1.5),
        pramble.keep_probabilities(rng.uniform(0.3, 0.9, S)),
        full_rank(rng, S),
    ][rng.integers(3)]


@given(seed=st.integers(0, 10**6), S=st.integers(2, 9))
def test_the_inverse_and_its_covariance_are_those_of_the_dense_matrix(seed, S):
    rng = np.random.default_rng(seed)
    m = some_mechanism(rng, S)
    counts = rng.integers(1, 500, S)
    n = counts.sum()
    e = pramble.estimate(counts, m, counts=True, method="inverse")
    inverse = np.linalg.inv(m.matrix)
    law = counts / n
    covariance = inverse.T @ (np.diag(law) - np.outer(law, law)) @ inverse / n
    assert np.allclose(e.probabilities, law @ inverse)
    assert np.allclose(e.covariance, covariance)
    assert np.allclose(e.standard_errors**2, np.diag(covariance))
    assert e.n == n


@given(seed=st.integers(0, 10**6), S=st.integers(2, 9))
def test_randomisation_alone_leaves_the_multinomial_part_out(seed, S):
    rng = np.random.default_rng(seed)
    m = some_mechanism(rng, S)
    counts = rng.integers(1, 500, S)
    both = pramble.estimate(counts, m, counts=True)
    file = pramble.estimate(counts, m, counts=True, covers="randomisation")
    p = both.probabilities
    sampling = (np.diag(p) - np.outer(p, p)) / both.n
    assert np.allclose(both.covariance - sampling, file.covariance)
    half = pramble.estimate(counts, m, counts=True, survey={"population_size": 2 * both.n - 1})
    assert np.allclose(half.covariance, file.covariance + sampling / 2)
    census = pramble.estimate(counts, m, counts=True, survey={"population_size": both.n})
    assert np.allclose(census.upper, file.upper)
    assert (file.upper - file.lower <= both.upper - both.lower + 1e-12).all()


@given(seed=st.integers(0, 10**6), S=st.integers(2, 9))
def test_the_likelihood_agrees_with_the_inverse_inside_the_simplex(seed, S):
    rng = np.random.default_rng(seed)
    m = some_mechanism(rng, S)
    p = rng.dirichlet(np.full(S, 5.0))
    counts = 1e9 * (p @ m.matrix)
    e = pramble.estimate(counts, m, counts=True)
    i = pramble.estimate(counts, m, counts=True, method="inverse")
    assert np.allclose(e.probabilities, p, atol=1e-9)
    assert np.allclose(i.probabilities, p, atol=1e-9)
    assert (e.lower <= p).all()
    assert (p <= e.upper).all()


def test_wide_matrices_are_inverted_without_bias_and_centred_on_the_likelihood():
    rng = np.random.default_rng(2)
    m = full_rank(rng, 4, 9)
    p = np.array([0.4, 0.3, 0.2, 0.1])
    exact = pramble.estimate(1e6 * (p @ m.matrix), m, counts=True, method="inverse")
    assert np.allclose(exact.probabilities, p)
    counts = rng.multinomial(100_000, p @ m.matrix)
    e = pramble.estimate(counts, m, counts=True)
    J = pramble.fisher_information(e.probabilities, m)
    inverse = np.linalg.inv(J)
    one = np.ones(4)
    tangent = inverse - np.outer(inverse @ one, inverse @ one) / (one @ inverse @ one)
    assert np.allclose(e.covariance, tangent / e.n, rtol=1e-4, atol=1e-10)
    assert np.allclose((e.lower + e.upper) / 2, e.probabilities, atol=2e-4)


def test_every_kind_of_column_gives_the_same_answer_in_its_own_kind_of_frame():
    rng = np.random.default_rng(0)
    m = pramble.randomized_response(["a", "b", "c"], 1.0)
    z = rng.choice(["a", "b", "c"], 500)
    expected = pramble.estimate([int((z == label).sum()) for label in "abc"], m, counts=True)
    kinds = {
        "list": (z.tolist(), pa.Table),
        "numpy": (z, pa.Table),
        "object": (z.astype(object), pa.Table),
        "pandas": (pd.Series(z), pd.DataFrame),
        "categorical": (pd.Series(z, dtype="category"), pd.DataFrame),
        "polars": (pl.Series(z), pl.DataFrame),
        "polars categorical": (pl.Series(z, dtype=pl.Categorical), pl.DataFrame),
        "arrow": (pa.array(z.tolist()), pa.Table),
        "chunked": (pa.chunked_array([z[:100].tolist(), z[100:].tolist()]), pa.Table),
        "dictionary": (pa.array(z.tolist()).dictionary_encode(), pa.Table),
    }
    for name, (values, frame) in kinds.items():
        e = pramble.estimate(values, m)
        assert np.array_equal(e.probabilities, expected.probabilities), name
        assert isinstance(e.table, frame), name


def test_values_are_matched_by_type_as_well():
    m = pramble.randomized_response([1, "1", True, None], 2.0)
    e = pramble.estimate([1, "1", True, None, None], m, method="inverse")
    c = pramble.estimate([1, 1, 1, 2], m, counts=True, method="inverse")
    assert np.allclose(e.probabilities, c.probabilities)
    with pytest.raises(pramble.InvalidData, match=r"1 row does not \(row 1\)"):
        pramble.estimate([1, 2], m)
    flags = pramble.randomized_response([False, True], 1.0)
    with pytest.raises(pramble.InvalidData, match="row 0"):
        pramble.estimate([0, 1], flags)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([1, 2], "one number for each of the 3 outputs"),
        ([1, -2, 3], "position 1 holds -2"),
        ([1, float("nan"), 3], "position 1"),
        ([0, 0, 0], "not all be zero"),
        ([[1, 2, 3]], "found shape"),
        (["x", "y", "z"], "vector of numbers"),
    ],
)
def test_counts_that_are_none_are_refused_in_a_sentence(counts, words):
    m = pramble.randomized_response(3, 1.0)
    with pytest.raises(pramble.InvalidData, match=words):
        pramble.estimate(counts, m, counts=True)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"method": "best"}, "method must be"),
        ({"level": 1.0}, "level must"),
        ({"level": "high"}, "level must"),
        ({"covers": "nothing"}, "covers must"),
        ({"survey": {"population_size": 3}}, "at least the number of records"),
        ({"by": ["a"]}, "by= goes with a frame"),
        ({"weights": [1, 2]}, "weights= goes with records"),
        ({"query": [1, 2]}, "one finite weight for each of the 3 cells"),
        ({"query": {9: 1}}, "9 is none"),
        ({"query": [1, 0, 0], "mean": "y"}, "one of query="),
        ({"mean": "y"}, "go with a frame"),
    ],
)
def test_settings_that_make_no_sense_are_refused(keywords, words):
    m = pramble.randomized_response(3, 1.0)
    with pytest.raises(pramble.InvalidInput, match=words):
        pramble.estimate([5, 3, 2], m, counts=True, **keywords)


def test_an_estimate_is_read_only_and_survives_pickling():
    m = pramble.randomized_response(3, 1.0)
    e = pramble.estimate([50, 30, 20], m, counts=True)
    again = pickle.loads(pickle.dumps(e))
    for one in (e, again):
        for name in ("probabilities", "lower", "upper", "standard_errors", "covariance"):
            assert not getattr(one, name).flags.writeable
        with pytest.raises(TypeError):
            one.cells["category"] = ()
        with pytest.raises(AttributeError):
            one.n = 5
    assert np.array_equal(again.covariance, e.covariance)
    assert again.table.equals(e.table)


@given(seed=st.integers(0, 10**6), S=st.integers(2, 7))
def test_a_query_has_the_variance_that_the_covariance_says(seed, S):
    rng = np.random.default_rng(seed)
    m = some_mechanism(rng, S)
    counts = rng.integers(1, 500, S)
    w = rng.normal(size=(2, S))
    for covers in ("both", "randomisation"):
        for method in ("mle", "inverse"):
            e = pramble.estimate(counts, m, counts=True, covers=covers, method=method)
            q = pramble.estimate(
                counts, m, counts=True, covers=covers, method=method, query=list(w)
            )
            assert np.allclose(q.values, w @ e.probabilities)
            if covers == "both":
                assert np.allclose(q.covariance, w @ e.covariance @ w.T)
            assert (w.min(axis=1) - 1e-12 <= q.lower).all()
            assert (q.lower <= q.upper).all()


def test_a_query_for_one_cell_has_the_interval_of_that_cell():
    m = pramble.keep_probabilities([0.5, 0.6, 0.4, 0.7])
    counts = [300, 200, 150, 350]
    e = pramble.estimate(counts, m, counts=True)
    q = pramble.estimate(counts, m, counts=True, query={i: {i: 1.0} for i in range(4)})
    assert np.allclose(q.lower, e.lower)
    assert np.allclose(q.upper, e.upper)
    assert q.cells["query"] == ("0", "1", "2", "3")


def test_a_constant_query_is_known_exactly():
    m = pramble.randomized_response(3, 1.0)
    q = pramble.estimate([5, 3, 2], m, counts=True, query=[2.0, 2.0, 2.0])
    assert q.values == pytest.approx(2)
    assert q.lower == q.upper == pytest.approx(2)
    assert q.standard_errors == pytest.approx(0, abs=1e-8)


MERGED = pramble.Mechanism.from_matrix(
    [[0.7, 0.3], [0.7, 0.3], [0.2, 0.8]], categories=["a", "b", "c"]
)


def test_lost_directions_are_named_and_refused():
    with pytest.raises(pramble.NotIdentifiable, match="cannot be told apart: 'a', 'b'") as caught:
        pramble.estimate([60, 40], MERGED, counts=True)
    lost = caught.value.directions
    assert lost.shape == (1, 3)
    assert np.allclose(lost @ MERGED.matrix, 0)
    assert np.allclose(np.abs(lost[0]), [2**-0.5, 2**-0.5, 0])
    with pytest.raises(pramble.NotIdentifiable, match="Query 0 needs"):
        pramble.estimate([60, 40], MERGED, counts=True, query={"a": 1})


@pytest.mark.parametrize("method", ["mle", "inverse"])
def test_identifiable_queries_are_answered_where_p_is_not(method):
    """Merging a and b into one category gives a square problem with the same answer."""
    two = pramble.Mechanism.from_matrix([[0.7, 0.3], [0.2, 0.8]])
    direct = pramble.estimate([60, 40], two, counts=True, method=method)
    q = pramble.estimate(
        [60, 40], MERGED, counts=True, method=method, query=[{"a": 1, "b": 1}, {"c": 1}]
    )
    assert np.allclose(q.values, direct.probabilities)
    assert np.allclose(q.covariance, direct.covariance)
    assert np.allclose(q.lower, direct.lower, atol=1e-6)
    assert np.allclose(q.upper, direct.upper, atol=1e-6)


def test_rank_lost_without_equal_rows_is_described_by_a_direction():
    m = pramble.Mechanism.from_matrix([[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]])
    with pytest.raises(pramble.NotIdentifiable, match="nothing is known of"):
        pramble.estimate([60, 40], m, counts=True)
    constant = pramble.keep_probabilities([0.25, 0.25, 0.25, 0.25])
    with pytest.raises(pramble.NotIdentifiable, match="its rank is 1"):
        pramble.estimate([5, 6, 7, 8], constant, counts=True)


def test_one_stuck_category_is_still_identifiable():
    m = pramble.keep_probabilities([0.8, 0.7, 1 / 3])
    p = np.array([0.5, 0.2, 0.3])
    e = pramble.estimate(1e8 * (p @ m.matrix), m, counts=True)
    assert np.allclose(e.probabilities, p, atol=1e-6)


def test_randomized_response_of_ten_thousand_categories_never_builds_a_matrix():
    m = pramble.randomized_response(10_000, 3.0)
    counts = np.random.default_rng(0).integers(0, 200, 10_000)
    e = pramble.estimate(counts, m, counts=True)
    assert e.gap <= 1e-9 * e.n
    assert "weights" not in m.__dict__


def test_an_untouched_column_is_a_binomial_share_with_a_score_interval():
    frame = {"town": ["x"] * 30 + ["y"] * 70}
    e = pramble.estimate(frame, {}, by="town")
    z, n, share = 1.959963984540054, 100, 0.3
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    assert e.lower[0] == pytest.approx(centre - half, abs=1e-9)
    assert e.upper[0] == pytest.approx(centre + half, abs=1e-9)


def test_data_that_was_not_released_with_the_plan_shows():
    rng = np.random.default_rng(5)
    p, m = np.array([0.7, 0.25, 0.05]), pramble.randomized_response(3, 1.0)
    released = pramble.estimate(rng.multinomial(2000, p @ m.matrix), m, counts=True)
    raw = pramble.estimate(rng.multinomial(2000, p), m, counts=True)
    assert released.misfit > 1e-3
    assert raw.misfit < 1e-12


def test_errors_beside_maximum_likelihood_are_those_of_what_stands_there():
    """Small cells: the unbiased estimates spread more than the estimates within the simplex."""
    p = np.array([0.5, 0.3, 0.1, 0.06, 0.02, 0.01, 0.005, 0.005])
    m = pramble.randomized_response(8, 1.0)
    rng = np.random.default_rng(5)
    counts = rng.multinomial(1000, p @ m.matrix, size=200)
    found = {
        method: [pramble.estimate(own, m, counts=True, method=method) for own in counts]
        for method in ("mle", "inverse")
    }
    ratio = {}
    for method, runs in found.items():
        spread = np.std([e.values for e in runs], axis=0, ddof=1)
        ratio[method] = np.median([e.standard_errors for e in runs], axis=0) / spread
        assert ratio[method].min() > 0.8
        assert ratio[method].max() < 1.25
    blind = np.median([e.standard_errors for e in found["inverse"]], axis=0)
    spread = np.std([e.values for e in found["mle"]], axis=0)
    assert (blind / spread)[4:].min() > 1.3, "the unbiased errors would be too wide"
