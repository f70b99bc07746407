"""The least expected loss: against the whole linear programme, and its laws."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linprog

import pramble
from pramble.solvers.budget import SearchBudget
from pramble.solvers.design import as_loss
from pramble.solvers.general.loss import NearestRows, proven_loss
from pramble.solvers.general.loss_search import least_loss

RNG = np.random.default_rng


def best(prior, alpha, loss, **more):
    return pramble.design(prior, alpha, family="general", objective="loss", loss=loss, **more)


def whole_programme(prior, alpha, loss):
    """The least loss over all entries M and column minima m, m <= M <= a m, by HiGHS."""
    S = len(prior)
    every = scipy.sparse.identity(S * S)
    minima = scipy.sparse.kron(np.ones((S, 1)), scipy.sparse.identity(S))
    ratios = scipy.sparse.vstack(
        [
            scipy.sparse.hstack([-every, minima]),
            scipy.sparse.hstack([every, -math.exp(alpha) * minima]),
        ]
    )
    rows = scipy.sparse.kron(scipy.sparse.identity(S), np.ones((1, S)))
    found = linprog(
        np.append((np.asarray(prior)[:, None] * loss).ravel(), np.zeros(S)),
        A_ub=ratios.tocsr(),
        b_ub=np.zeros(2 * S * S),
        A_eq=scipy.sparse.hstack([rows, scipy.sparse.csr_matrix((S, S))]).tocsr(),
        b_eq=np.ones(S),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0
    return found.fun


def random_case(seed):
    rng = RNG(seed)
    S = int(rng.integers(2, 31 if seed % 10 == 0 else 16))
    prior = rng.exponential(size=S) ** rng.choice([0.3, 1, 3])
    if seed % 3 == 0:
        prior[rng.random(S) < 0.3] = 0.0
        prior[0] += 0.1
    places = rng.random((S, 2))
    near = np.linalg.norm(places[:, None] - places, axis=2)
    steps = np.abs(np.subtract.outer(np.arange(S), np.arange(S))) / S
    loss = [rng.normal(size=(S, S)), near, steps, 1 - np.eye(S)][seed % 4]
    return prior / prior.sum(), float(rng.choice([1e-3, 0.1, 0.5, 1, 2, 4, 7, 12])), loss


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_better_by_the_whole_programme(seed):
    prior, alpha, loss = random_case(seed)
    d = best(prior, alpha, loss, tolerance=1e-8)
    exact = whole_programme(prior, alpha, loss)
    assert d.value == pytest.approx(exact, abs=1e-7)
    assert d.bound <= exact + 1e-9
    assert d.bound <= d.value
    assert d.gap <= 1e-7
    assert d.certificate.satisfies(alpha)
    assert d.value == pytest.approx((prior[:, None] * d.mechanism.matrix * loss).sum(), abs=1e-12)
    assert d.mechanism.outputs == d.mechanism.categories


@pytest.mark.parametrize("seed", range(12))
def test_any_thresholds_prove_a_bound(seed):
    prior, alpha, loss = random_case(seed)
    prior = (prior + 0.01) / (prior + 0.01).sum()
    exact = whole_programme(prior, alpha, loss)
    scaled = loss - loss.min(axis=1, keepdims=True)
    found = least_loss(prior, scaled / scaled.max(), alpha, SearchBudget(1e-9))
    sharp = found.thresholds * scaled.max() + loss.min(axis=1)
    assert proven_loss(prior, loss, sharp, alpha) == pytest.approx(exact, abs=1e-7)
    for size in (0.0, 1e-3, 0.1, 1.0, 100.0):
        wrong = sharp + size * RNG(seed).normal(size=len(prior))
        assert proven_loss(prior, loss, wrong, alpha) <= exact + 1e-9
    assert proven_loss(prior, loss, np.zeros(len(prior)), alpha) <= exact + 1e-9


def test_near_uniform_and_all_losses_alike_it_is_randomised_response():
    for alpha in (0.5, 2.0, 4.0):
        d = best([0.2] * 5, alpha, 1 - np.eye(5))
        expected = pramble.randomized_response(5, alpha).matrix
        assert np.abs(d.mechanism.matrix - expected).max() < 1e-9
        assert d.value == pytest.approx(4 / (4 + math.exp(alpha)), rel=1e-9)
    uneven = np.array([0.202, 0.201, 0.2, 0.199, 0.198])
    d = best(uneven, 2.0, 1 - np.eye(5))
    expected = pramble.randomized_response(5, 2.0).matrix
    assert np.abs(d.mechanism.matrix - expected).max() < 1e-6


def test_one_heavy_value_is_all_that_is_released():
    """While a p_2 <= p_1, guessing the first is best: M keeps nothing of the second."""
    d = best([0.8, 0.2], 1.0, [[0, 1], [1, 0]])
    assert d.mechanism.matrix.tolist() == [[1, 0], [1, 0]]
    assert d.value == pytest.approx(0.2, abs=1e-15)
    assert d.gap <= 1e-6


def test_two_values_known_answer():
    d = best([0.6, 0.4], 1.0, [[0, 1], [1, 0]])
    assert d.value == pytest.approx(1 / (1 + math.e), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_a_number_added_to_a_row_moves_the_loss_and_nothing_else(alpha):
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    loss = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    added = np.array([5.0, -3.0, 0.25, -8.0])
    plain, moved = best(prior, alpha, loss), best(prior, alpha, loss + added[:, None])
    assert moved.value == pytest.approx(plain.value + prior @ added, rel=1e-9)
    assert np.abs(moved.mechanism.matrix - plain.mechanism.matrix).max() < 1e-7
    assert moved.gap <= 1e-6


def test_the_scale_of_the_loss_moves_the_loss_and_nothing_else():
    prior, alpha, loss = random_case(1)
    plain, larger = best(prior, alpha, loss), best(prior, alpha, 1e9 * loss)
    assert larger.value == pytest.approx(1e9 * plain.value, rel=1e-6)
    assert larger.gap <= 1e-6


def test_the_order_of_categories_does_not_matter():
    places = np.arange(9)
    prior = np.array([1, 2, 3, 4, 5, 4, 3, 2, 1]) / 25
    loss = np.abs(np.subtract.outer(places, places))
    d = best(prior, 3.0, loss, tolerance=1e-8)
    turned = d.mechanism.matrix[::-1, ::-1]
    assert np.abs(turned - d.mechanism.matrix).max() < 1e-6


def test_more_privacy_costs_more_and_both_ends_are_known():
    prior, _, loss = random_case(2)
    values = [best(prior, alpha, loss).value for alpha in (0.01, 0.5, 1, 2, 4, 8, 16)]
    assert all(one >= other - 1e-9 for one, other in pairwise(values))
    assert values[0] <= (prior @ loss).min() + 1e-12
    assert values[-1] < 1e-4


def test_a_loss_that_one_value_avoids_costs_nothing():
    loss = np.ones((3, 3))
    loss[:, 1] = -2.0
    d = best([0.5, 0.3, 0.2], 1.0, loss)
    assert d.value == d.bound == pytest.approx(-2.0)
    assert d.gap == 0
    flat = best([0.5, 0.3, 0.2], 1.0, np.full((3, 3), 7.0))
    assert flat.value == flat.bound == pytest.approx(7.0)


def test_impossible_values_are_released_near_themselves():
    loss = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    d = best([0.3, 0.0, 0.3, 0.0, 0.2, 0.2], 3.0, loss)
    matrix = d.mechanism.matrix
    assert matrix[1, :3].sum() > 0.8
    assert d.certificate.satisfies(3.0)


def test_rows_spend_what_is_left_on_the_nearest():
    loss = np.array([[0.0, 1.0, 1.0, 2.0]])
    rows = NearestRows(loss).best(np.array([0.1, 0.05, 0.15, 0.1]), math.log(3.0))
    assert rows[0].tolist() == pytest.approx([0.3, 0.15, 0.45, 0.1])
    rows = NearestRows(loss).best(np.array([0.2, 0.05, 0.15, 0.1]), math.log(3.0))
    assert rows[0].tolist() == pytest.approx([0.6, 0.05 + 0.025, 0.15 + 0.075, 0.1])


@pytest.mark.parametrize("alpha", [1e-9, 1.0, 10.0])
def test_probabilities_of_all_orders_of_magnitude(alpha):
    prior = 10.0 ** -np.arange(0, 15, 0.5)
    steps = np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    d = best(prior / prior.sum(), alpha, steps)
    assert d.gap <= 1e-6
    assert d.details["rounds"] < 60


def test_three_hundred_places():
    rng = RNG(5)
    places = rng.random((300, 2))
    prior = rng.exponential(size=300)
    loss = np.linalg.norm(places[:, None] - places, axis=2)
    d = best(prior / prior.sum(), 3.0, loss)
    assert d.gap <= 1e-6
    assert d.stopped == "tolerance"
    assert d.value < 0.9 * min(d.details["response"], d.details["constant"])


def test_a_time_limit_and_a_large_alpha_leave_a_proven_bound():
    prior, _, loss = random_case(20)
    short = best(prior, 2.0, loss, time_limit=1e-9)
    assert short.stopped == "time limit"
    assert short.bound <= short.value
    large = best(prior, 30.0, loss)
    assert large.stopped == "size limit"
    assert large.details["unprotected"] <= large.bound <= large.value
    assert large.value == pytest.approx(prior @ loss.min(axis=1), abs=1e-9)
    assert large.certificate.satisfies(30.0)


def test_ctrl_c_returns_what_was_found():
    told = []

    def stop(progress):
        told.append(progress)
        raise KeyboardInterrupt

    prior, _, loss = random_case(20)
    d = best(prior, 2.0, loss, progress=stop)
    assert told
    assert d.stopped == "interrupted"
    assert d.bound <= d.value


def test_progress_is_a_share_also_of_negative_losses():
    told = []
    prior, _, loss = random_case(40)
    d = best(prior, 2.0, loss - 0.5, progress=told.append)
    assert told
    assert min(one.figures["bound"] for one in told) < 0
    assert all(0 <= one.share <= 1 for one in told)
    assert told[-1].figures["value"] == pytest.approx(d.value, abs=1e-6)


def test_beyond_the_size_only_the_likeliest_are_released(monkeypatch):
    prior, _, loss = random_case(10)
    prior = np.sort((prior + 0.01) / (prior + 0.01).sum())
    monkeypatch.setattr("pramble.solvers.general.loss.MOST_ENTRIES", 5 * len(prior))
    d = best(prior, 2.0, loss)
    assert d.stopped == "size limit"
    assert not d.mechanism.matrix[:, :-5].any()
    assert d.bound <= whole_programme(prior, 2.0, loss) <= d.value
    monkeypatch.setattr("pramble.solvers.general.loss.MOST_LOSS_CATEGORIES", 10)
    with pytest.raises(pramble.InvalidInput, match="at most 10 categories"):
        best(prior, 2.0, loss)


def test_it_says_what_it_is(tmp_path):
    loss = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    d = best([0.4, 0.3, 0.2, 0.1], 1.0, loss, categories=list("abcd"))
    assert "expected loss        0.668941421\n" in repr(d)
    assert "loss without design" in repr(d)
    assert "objective=&quot;estimation&quot;" in d._repr_html_()
    assert d.details["constant"] == pytest.approx(0.8)
    assert d.plot() is not None
    assert json.dumps(d.mechanism.to_json())


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, "needs a loss"),
        ({"loss": [[0, 1], [1, 0]]}, "3 true values"),
        ({"loss": [0, 1, 2]}, "found shape"),
        ({"loss": np.full((3, 3), np.inf)}, "row 0, column 0 holds inf"),
        ({"loss": [["a"] * 3] * 3}, "matrix of numbers"),
        ({"loss": np.eye(3), "objective": "information"}, "loss has no meaning"),
        ({"loss": np.eye(3), "outputs": "free"}, "outputs has no meaning"),
        ({"loss": np.eye(3), "family": "uniform"}, "must be"),
    ],
)
def test_what_is_refused(more, says):
    asked = {"family": "general", "objective": "loss", **more}
    with pytest.raises(pramble.InvalidInput, match=says):
        pramble.design([0.5, 0.3, 0.2], 1.0, **asked)


def test_a_loss_is_read_only():
    matrix = as_loss([[0, 1], [2, 0]], 2)
    with pytest.raises(ValueError, match="read-only"):
        matrix[0, 0] = 1.0
