"""Designs for ordered categories, against every extreme ray and a general convex solver."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import pramble
from pramble.solvers.general.variance import Variance
from pramble.solvers.metric.information import column_gain, path_rays

RNG = np.random.default_rng(20261116)
CASES = [
    (
        int(RNG.integers(2, 10)),
        float(RNG.choice([0.05, 0.25, 0.5, 1.0, 1.5])),
        float(RNG.choice([0.3, 1.0, 5.0])),
        seed,
    )
    for seed in range(200)
]


def enumerated_information(p, steps):
    """The linear programme over all 2^(S-1) rays, each scaled to mean 1."""
    rays = path_rays(steps)
    size = rays.mean(axis=1)
    found = linprog(
        -column_gain(p, rays) / size,
        A_eq=(rays / size[:, None]).T,
        b_eq=np.ones(len(p)),
        method="highs",
    )
    return -found.fun


def test_the_geometric_mechanism_is_the_enumerated_optimum_of_200_priors():
    for size, alpha, spread, seed in CASES:
        p = np.random.default_rng(seed).dirichlet(np.full(size, spread))
        d = pramble.design(p, alpha, family="general", distance="path")
        assert d.value == pytest.approx(
            enumerated_information(p, np.full(size - 1, alpha)), rel=1e-6
        )
        assert d.gap <= 1e-6
        assert d.certificate.satisfies(alpha)
        assert not d.certificate.satisfies(alpha * 0.99)


@pytest.mark.parametrize("lengths", [[1, 2, 1, 3], [0.5, 0.25, 2, 1]])
def test_unequal_steps(lengths):
    p = np.array([0.1, 0.4, 0.2, 0.05, 0.25])
    distance = pramble.Distance.path(5, lengths)
    d = pramble.design(p, 0.7, family="general", distance=distance)
    best = enumerated_information(p, 0.7 * np.array(lengths, dtype=float))
    assert d.value == pytest.approx(best, rel=1e-6)
    assert d.gap <= 1e-6
    assert d.mechanism == pramble.geometric(5, 0.7, lengths=lengths)


def convex_optimum(p, alpha):
    """The least variance over mixtures of all rays, by a general solver (SLSQP)."""
    rays = path_rays(np.full(len(p) - 1, alpha))
    variance = Variance(p, None)
    scores = variance.scores(rays)

    def f(theta):
        K = (scores * theta[:, None]).T @ scores
        inverse = np.linalg.inv(K + 1e-12 * np.eye(len(K)))
        return np.trace(inverse), -np.einsum("ij,jk,ik->i", scores, inverse @ inverse, scores)

    start = np.full(len(rays), 1 / rays.mean() / len(rays))
    found = minimize(
        f,
        start,
        jac=True,
        bounds=[(0, None)] * len(rays),
        constraints={"type": "eq", "fun": lambda t: t @ rays - 1, "jac": lambda _: rays.T},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    return found.fun


@pytest.mark.parametrize("size", [3, 4, 5, 6])
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_estimation_equals_a_general_convex_solver(size, alpha):
    p = np.random.default_rng(size).dirichlet(np.full(size, 3.0))
    d = pramble.design(
        p, alpha, family="general", objective="estimation", distance="path", outputs="free"
    )
    assert d.value == pytest.approx(convex_optimum(p, alpha), rel=1e-5)
    assert d.bound <= d.value * (1 + 1e-12)
    assert d.gap <= 2e-6


@pytest.mark.parametrize(
    ("alpha", "geometric", "best"), [(0.25, 861, 239), (0.5, 77.3, 51.7), (1.0, 8.07, 7.88)]
)
def test_ten_categories_for_estimation(alpha, geometric, best):
    p = np.full(10, 0.1)
    plain = pramble.estimation_variance(p, pramble.geometric(10, alpha))
    d = pramble.design(
        p, alpha, family="general", objective="estimation", distance="path", outputs="free"
    )
    assert plain == pytest.approx(geometric, rel=2e-3)
    assert d.value == pytest.approx(best, rel=2e-3)
    assert d.gap <= 1e-5


def test_as_many_outputs_as_categories_lie_between_geometric_and_free():
    p = np.full(6, 1 / 6)
    asked = {"family": "general", "objective": "estimation", "distance": "path"}
    free = pramble.design(p, 0.5, outputs="free", **asked)
    same = pramble.design(p, 0.5, **asked)
    assert same.mechanism.outputs == same.mechanism.categories
    plain = pramble.estimation_variance(p, pramble.geometric(6, 0.5))
    assert free.value < same.value < 0.8 * plain
    assert same.bound <= free.value * (1 + 1e-9)
    assert same.certificate.satisfies(0.5)


def test_a_workload_of_one_query_beats_the_design_for_all():
    p = np.full(6, 1 / 6)
    mean = np.arange(6.0)[None]
    asked = {"family": "general", "objective": "estimation", "distance": "path", "outputs": "free"}
    whole = pramble.design(p, 0.5, **asked)
    one = pramble.design(p, 0.5, workload=mean, **asked)
    from pramble.solvers.general.variance import query_variance

    assert one.value <= query_variance(p, whole.mechanism, mean) * (1 + 1e-6)
    assert one.bound <= one.value


def test_estimation_is_proven_best_for_200_priors():
    """Every ray is tried, so the gap is a proof."""
    for size, alpha, spread, seed in CASES:
        p = np.random.default_rng(seed).dirichlet(np.full(size, max(spread, 1.0)))
        d = pramble.design(
            p, alpha, family="general", objective="estimation", distance="path", outputs="free"
        )
        assert d.gap <= 1e-5, (size, alpha, seed)
