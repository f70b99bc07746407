import numpy as np
import pytest
from scipy.optimize import minimize
from tests.information.oracle import without_three_way_terms

from pramble.information import proportional
from pramble.information.consistent import consistent
from pramble.information.proportional import Margin, by_axes, fit_array, margin_over

PAIRS = [(0, 1), (0, 2), (1, 2)]


def pair_margins(cells):
    return [Margin(axes, margin_over(cells, axes)) for axes in PAIRS]


def test_the_law_is_the_log_linear_fit_without_three_way_terms():
    counts = np.random.default_rng(1).integers(1, 60, (3, 4, 2)).astype(float)
    cells = np.full(counts.shape, counts.mean())
    fit_array(cells, pair_margins(counts), close=1e-9, sweeps=1000)
    assert np.allclose(cells, without_three_way_terms(counts), rtol=1e-6)


def test_bundles_change_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    truth = rng.dirichlet(np.full(2 * 3 * 4 * 2 * 3, 0.3)).reshape(2, 3, 4, 2, 3)
    margins = [
        Margin((a, b), margin_over(truth, (a, b))) for a in range(5) for b in range(5) if a != b
    ]
    one, many = np.full(truth.shape, 1 / truth.size), np.full(truth.shape, 1 / truth.size)
    fit_array(one, margins, close=1e-12, sweeps=2000)
    monkeypatch.setattr(proportional, "BUNDLE", 24)
    assert len(by_axes(margins, truth.shape)) > 2
    fit_array(many, margins, close=1e-12, sweeps=2000)
    assert np.allclose(one, many, atol=1e-9)
    assert np.allclose(margin_over(many, (3, 1)), truth.sum(axis=(0, 2, 4)).T, atol=1e-10)


@pytest.mark.parametrize("bundle", [2**16, 4])
def test_slack_minimises_entropy_and_misfit(monkeypatch, bundle):
    """Three pairs of columns cannot all be opposite: no law has these margins."""
    monkeypatch.setattr(proportional, "BUNDLE", bundle)
    opposite, slack = np.array([[0.05, 0.45], [0.45, 0.05]]), np.full((2, 2), 0.05)
    slack[0, 0] = 0.2
    margins = [Margin(axes, opposite, slack) for axes in PAIRS]
    cells = np.full((2, 2, 2), 1 / 8)
    fit_array(cells, margins, close=1e-13, sweeps=10_000)

    def objective(logs):
        law = np.exp(logs).reshape(2, 2, 2)
        found = [law.sum(axis=3 - a - b) for a, b in PAIRS]
        misfit = sum(((m - opposite) ** 2 / (2 * slack)).sum() for m in found)
        return float((law * logs.reshape(2, 2, 2) - law).sum() + misfit)

    start = np.full(8, np.log(1 / 8))
    best = minimize(objective, start, tol=1e-14, method="BFGS")
    uniform = np.log(8)  # the fit starts from the uniform law, so its entropy is relative to it
    shifted = minimize(lambda x: objective(x) + uniform * np.exp(x).sum(), start, tol=1e-14)
    assert best.fun < objective(start)
    assert np.allclose(cells.ravel(), np.exp(shifted.x), atol=2e-5)


def test_an_exact_table_outweighs_noisy_ones_and_empty_cells_stay_empty():
    exact, noisy = np.array([0.3, 0.7]), np.array([[0.3, 0.2], [0.0, 0.5]])
    possible = {("a", "b"): np.array([[True, True], [False, True]])}
    found = consistent(
        {("a",): exact, ("a", "b"): noisy},
        variances={("a",): 0.0, ("a", "b"): 1e-3},
        possible=possible,
    )
    assert np.allclose(found["a",], exact, atol=1e-6)
    assert np.allclose(found["a", "b"].sum(axis=1), exact, atol=1e-6)
    assert found["a", "b"][1, 0] == 0
