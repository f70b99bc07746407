import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.solvers.brute import informations, random_prior

import pramble
from pramble_study import paper
from pramble_study.paper import scenario

SCENARIO_I, SCENARIO_II, SCENARIO_IV = map(scenario, ("I", "II", "IV"))

# global maxima of the paper's scenarios, from exhaustive comparison of all vertices
GOLDEN = {
    "I": (SCENARIO_I, [0.013283, 0.066189, 0.178089, 0.359138]),
    "II": (SCENARIO_II, [0.012899, 0.064034, 0.171565, 0.344413]),
    "IV": (SCENARIO_IV, [0.005502, 0.029992, 0.090935, 0.212914]),
}


@pytest.mark.parametrize("scenario", GOLDEN)
@pytest.mark.parametrize(("place", "alpha"), [(0, 0.5), (1, 1.0), (2, 1.5), (3, 2.0)])
def test_the_papers_scenarios(scenario, place, alpha):
    prior, values = GOLDEN[scenario]
    design = pramble.design(prior, alpha)
    assert round(design.value, 6) == values[place]
    assert design.gap <= 1e-6
    (level,) = design.levels
    assert level.name == "v_α"
    assert len(level) == len(prior)


ORACLE = 1e-17
"""The absolute error of the oracle, which sums in 64-bit mantissas."""


def both_sides(size):
    """α on both sides of log(S−2), and close to it."""
    if size <= 3:
        return [0.02, 0.5, 1.5, 5.0]
    threshold = math.log(size - 2)
    return [0.3 * threshold, threshold - 1e-3, threshold + 1e-3, 2 * threshold + 1]


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7])
def test_never_loses_to_all_vertices(size):
    rng = np.random.default_rng(size)
    winners = set()
    for alpha in both_sides(size):
        vertices = paper.privacy_vertices(size, alpha)
        for _ in range(90):
            prior = random_prior(rng, size)
            design = pramble.design(prior, alpha)
            best = informations(prior, vertices).max()
            assert design.value <= best * (1 + 1e-9) + ORACLE
            assert design.value >= best * (1 - 1e-6) - ORACLE
            assert design.bound >= best * (1 - 1e-12) - ORACLE
            assert design.gap <= 1e-6
            assert design.certificate.satisfies(alpha)
            winners.add(tuple(level.name for level in design.levels))
    assert len(winners) > 1 or size == 2


def below_threshold(size, alpha):
    """Every vertex up to α = log(S−2), from the paper's list."""
    v = paper.keep_levels(size, alpha)
    high = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    mixed = np.where(high, v.v_alpha, v.v_minus_alpha)
    one = np.eye(size, dtype=bool)
    return np.vstack(
        [mixed, np.where(one, v.v_max, v.v_minus_alpha), np.where(one, v.v_min, v.v_alpha)]
    )


def test_never_loses_to_the_papers_vertices_of_twelve_categories():
    rng = np.random.default_rng(12)
    for alpha in (0.2, 1.0, 2.0, 2.3):
        vertices = below_threshold(12, alpha)
        for _ in range(12):
            prior = random_prior(rng, 12)
            design = pramble.design(prior, alpha)
            best = informations(prior, vertices).max()
            assert design.value == pytest.approx(best, rel=1e-6, abs=ORACLE)
            assert design.bound >= best * (1 - 1e-12) - ORACLE


@pytest.mark.parametrize("size", [20, 60])
def test_no_greedy_search_passes_the_bound(size):
    """Flip one category at a time between the two levels, from random starts, to a standstill."""
    rng = np.random.default_rng(size)
    for alpha in (0.5, 2.0):
        levels = paper.keep_levels(size, alpha)
        for _ in range(3):
            prior = random_prior(rng, size)
            design = pramble.design(prior, alpha)
            for _ in range(3):
                high = rng.random(size) < rng.random()
                while True:
                    around = np.vstack([high, high ^ np.eye(size, dtype=bool)])
                    points = np.where(around, levels.v_alpha, levels.v_minus_alpha)
                    values = informations(prior, points)
                    assert values.max() <= design.bound * (1 + 1e-12) + ORACLE
                    if values.argmax() == 0:
                        break
                    high = around[values.argmax()]


@pytest.mark.parametrize("size", [5, 6])
def test_never_loses_with_a_floor(size):
    """Against qhull's vertices of the constraints with a floor under every keep probability."""
    from scipy.spatial import HalfspaceIntersection

    rng = np.random.default_rng(size)
    for alpha in (1.0, 2.0):
        C, b = paper.privacy_constraints(size, alpha)
        for share in (0.0, 0.5, 1.2):
            floor = share / size
            rows = np.vstack([np.c_[C, -b], np.c_[-np.eye(size), np.full(size, floor)]])
            middle = (max(floor, 1 / size) + paper.keep_levels(size, alpha).v_alpha) / 2
            centre = np.full(size, middle) + 1e-7 * rng.random(size)
            vertices = np.clip(HalfspaceIntersection(rows, centre).intersections, 0, 1)
            for _ in range(8):
                prior = random_prior(rng, size)
                design = pramble.design(prior, alpha, keep_at_least=floor)
                best = informations(prior, vertices).max()
                assert design.value == pytest.approx(best, rel=1e-6, abs=1e-13)
                assert design.bound >= best * (1 - 1e-7) - 1e-16
                assert design.keep.min() >= floor


@given(
    weights=st.lists(st.floats(0, 1), min_size=2, max_size=40).filter(lambda w: sum(w) > 1e-6),
    alpha=st.floats(1e-4, 30),
)
def test_laws(weights, alpha):
    prior = np.array(weights) / sum(weights)
    design = pramble.design(prior, alpha)
    assert design.certificate.satisfies(alpha)
    own = pramble.mutual_information(prior, design.mechanism)
    assert design.value == pytest.approx(own, rel=1e-12)
    assert design.value <= design.bound
    assert design.bound <= design.ceiling * (1 + 1e-9)
    assert design.stopped == "tolerance"
    assert design.bound <= design.details["unrounded"] * (1 + 6e-7)
    assert design.gap <= 1e-6 or (alpha > 20 and "coarse" in design.notes[0])
    response = pramble.randomized_response(len(prior), alpha)
    assert design.bound >= pramble.mutual_information(prior, response) * (1 - 1e-12)
    assert sorted(i for level in design.levels for i in level.positions) == list(range(len(prior)))


def test_the_order_of_categories_does_not_matter():
    prior = np.array([0.9, 0.05, 0.03, 0.01, 0.005, 0.005])
    order = [3, 0, 5, 1, 4, 2]
    one, two = pramble.design(prior, 1.0), pramble.design(prior[order], 1.0)
    assert one.value == pytest.approx(two.value, rel=1e-12)
    np.testing.assert_array_equal(one.mechanism.keep[order], two.mechanism.keep)


def test_more_privacy_never_carries_more_information():
    bounds = [pramble.design(SCENARIO_I, alpha) for alpha in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)]
    assert all(one.bound <= two.bound for one, two in pairwise(bounds))


def test_concentrated_priors_single_one_category_out():
    prior = [0.95] + [0.05 / 9] * 9
    design = pramble.design(prior, 2.0)
    top, rest = design.levels
    assert (top.name, rest.name) == ("v_max", "v_−α")
    assert top.positions.tolist() == [0]
    response = pramble.mutual_information(prior, pramble.randomized_response(10, 2.0))
    assert design.value > 1.4 * response


@pytest.mark.parametrize(
    "prior",
    [
        [1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.5, 0.5, 0.0, 0.0, 0.0],
        [1 - 3e-12, 1e-12, 1e-12, 1e-12],
        [1 - 1e-15, 1e-15],
        [0.25] * 4,
        [1e-300, 1 - 1e-300],
        [0.999999, 1e-6, 0.0],
    ],
)
@pytest.mark.parametrize("alpha", [1e-6, 0.3, 3.0, 25.0])
def test_zeros_ties_and_dominant_values(prior, alpha):
    design = pramble.design(prior, alpha)
    assert design.gap <= 1e-6
    assert design.certificate.satisfies(alpha)
    assert 0 <= design.value <= design.bound


@pytest.mark.parametrize("alpha", [0.5, 5.0, 12.0])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_many_categories(alpha, power):
    prior = (1.0 + np.arange(3000)) ** -power
    design = pramble.design(prior / prior.sum(), alpha)
    assert design.gap <= 1e-6
    assert design.certificate.satisfies(alpha)


def test_a_hundred_thousand_categories():
    prior = np.random.default_rng(0).dirichlet(np.ones(10**5))
    design = pramble.design(prior, 1.0)
    assert design.gap <= 3e-6
    assert design.details["unrounded"] * (1 + 5e-7) >= design.bound
    assert "weights" not in vars(design.mechanism), "the square matrix was built"


def test_tighter_tolerance_on_request():
    design = pramble.design(SCENARIO_II, 2.5, tolerance=1e-9)
    assert design.gap <= 1e-8


def test_huge_alpha_says_what_happens():
    design = pramble.design([0.4, 0.3, 0.2, 0.1], 1000.0)
    assert "next to no privacy" in design.notes[0]
    assert design.value == pytest.approx(pramble.entropy([0.4, 0.3, 0.2, 0.1]), rel=1e-12)
    assert design.certificate.satisfies(37.0)
    assert design.gap <= 1e-6


def test_time_limit_returns_what_is_proven():
    prior = np.random.default_rng(1).dirichlet(np.full(30, 0.3))
    design = pramble.design(prior, 4.0, time_limit=1e-9)
    assert design.stopped == "time limit"
    full = pramble.design(prior, 4.0)
    assert design.bound >= full.value
    assert design.certificate.satisfies(4.0)


def test_progress_is_told():
    seen = []
    prior = np.random.default_rng(1).dirichlet(np.full(30, 0.3))
    pramble.design(prior, 4.0, progress=seen.append)
    assert seen
    assert all(one.figures["value"] <= one.figures["bound"] for one in seen)
    assert all(0 < one.share <= 1 and one.what for one in seen)
    assert seen[-1].share >= 1 - 1e-6


def test_interruption_keeps_the_best_so_far():
    def interrupt(progress):
        raise KeyboardInterrupt

    prior = np.random.default_rng(1).dirichlet(np.full(30, 0.3))
    design = pramble.design(prior, 4.0, progress=interrupt)
    assert design.stopped == "interrupted"
    assert design.bound >= pramble.design(prior, 4.0).value


def test_symmetric_family():
    prior = [0.95] + [0.05 / 9] * 9
    free, symmetric = pramble.design(prior, 2.0), pramble.design(prior, 2.0, symmetric=True)
    assert len(set(symmetric.mechanism.keep.tolist())) == 1
    assert symmetric.value < free.value
    assert symmetric.gap <= 1e-6


def test_invariant_keeps_the_prior():
    prior = np.array([0.27, 0.25, 0.25, 0.23])
    for alpha in (0.5, 1.0, 3.0):
        design = pramble.design(prior, alpha, invariant=True)
        released = pramble.released_distribution(prior, design.mechanism)
        np.testing.assert_allclose(released, prior, atol=1e-14)
        low, high = design.details["segment"]
        for theta in np.linspace(low, high, 9)[1:-1]:
            inner = pramble.keep_probabilities(1 - theta / prior)
            assert pramble.certify(inner).satisfies(alpha)
            assert pramble.mutual_information(prior, inner) <= design.bound
        for theta in (low * (1 - 1e-6), high * (1 + 1e-6)):
            outer = pramble.keep_probabilities(np.clip(1 - theta / prior, 0, 1))
            assert not pramble.certify(outer).satisfies(alpha)


@pytest.mark.parametrize(
    ("prior", "alpha", "reason"),
    [
        ([0.8, 0.1, 0.1], 1.0, "e^alpha"),
        ([0.5, 0.5, 0.0], 1.0, "e^alpha"),
        ([0.3, 0.28, 0.22, 0.2], 0.5, "theta"),
        (SCENARIO_I, 1.0, "e^alpha"),
    ],
)
def test_where_uniform_rows_cannot_be_invariant_their_nearest_kin_is(prior, alpha, reason):
    d = pramble.design(prior, alpha, invariant=True)
    assert d.certificate.satisfies(alpha)
    released = pramble.released_distribution(prior, d.mechanism)
    np.testing.assert_allclose(released, prior, atol=1e-15)
    assert any(reason in note for note in d.notes)
    assert d.gap <= 1e-6
    assert d.details["invariance_cost"] >= 0
    p = np.array(prior)
    odds = (np.exp(alpha) - 1) * p[p > 0].min()
    t = odds / (1 + odds)
    if (p > 0).all():
        closed = t * np.eye(len(p)) + (1 - t) * p
        np.testing.assert_allclose(d.mechanism.matrix, closed, rtol=1e-9)


def test_invariance_states_its_cost():
    prior = [0.27, 0.25, 0.25, 0.23]
    d, free = pramble.design(prior, 1.0, invariant=True), pramble.design(prior, 1.0)
    assert d.details["invariance_cost"] == pytest.approx(free.bound - d.value)
    assert "Invariance costs" in d.notes[0]


def test_categories_that_never_occur_do_not_complicate_the_answer():
    design = pramble.design([0.6, 0.4] + [0.0] * 8, 0.3)
    (level,) = design.levels
    assert level.name == "v_α"


@pytest.mark.parametrize("alpha", [1e-6, 0.05, 0.5, 2.0, 8.0, 16.0, 30.0])
@pytest.mark.parametrize("p", [0.5, 0.6, 0.4, 0.9, 0.01])
def test_two_categories_never_read_inverted(p, alpha):
    """All v_−α ties with all v_α there; the one that keeps most values is returned."""
    d = pramble.design([p, 1 - p], alpha)
    assert (d.mechanism.keep > d.mechanism.off).all()
    assert d.mechanism == pramble.randomized_response(2, alpha)
