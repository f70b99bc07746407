"""Information less a multiple of the loss: against every set, and the curve between."""

import numpy as np
import pytest

import pramble
from pramble.information.measures import information_bound
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.linear_programme import LinearProgramme
from pramble.solvers.general.sets import Gain, all_sets, patterns_of
from pramble.solvers.tradeoff import information_less_loss, least_named, under_names, undominated

PRIOR = np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
STEPS = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
NONE = np.zeros((0, 6), dtype=bool)


def over_every_set(prior, loss, alpha, weight):
    gain, sets = Gain(alpha), all_sets(len(prior))
    patterns = patterns_of(sets, gain.a1)
    worth = gain(sets @ prior) - weight * (patterns @ (prior[:, None] * loss)).min(axis=1)
    programme = LinearProgramme(np.ones(len(prior)))
    programme.add(patterns, worth)
    theta, _ = programme.solve(SearchBudget(1e-9))
    return float(theta @ worth)


@pytest.mark.parametrize("alpha", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("weight", [0.01, 0.1, 1.0, 10.0])
def test_the_bound_is_the_programme_over_every_set(alpha, weight):
    rng = np.random.default_rng(int(10 * alpha))
    for loss in (STEPS, rng.normal(size=(6, 6))):
        exact = over_every_set(PRIOR, loss, alpha, weight)
        told = information_less_loss(
            PRIOR, loss, alpha, weight=weight, start=NONE, budget=SearchBudget(1e-7)
        )
        assert told.bound == pytest.approx(exact, abs=2e-7 * information_bound(alpha) + 1e-9)
        assert told.value <= told.bound + 1e-9
        mechanism = pramble.Mechanism.from_matrix(told.matrix, alpha=alpha)
        lost = float((PRIOR[:, None] * told.matrix * loss).sum())
        value = pramble.mutual_information(PRIOR, mechanism) - weight * lost
        assert value == pytest.approx(told.value, abs=1e-9)


def test_a_heavy_loss_gives_the_design_of_least_loss_and_none_the_most_information():
    near = pramble.design(PRIOR, 2.0, family="general", objective="loss", loss=STEPS)
    told = information_less_loss(
        PRIOR, STEPS, 2.0, weight=1e3, start=NONE, budget=SearchBudget(1e-8)
    )
    assert (PRIOR[:, None] * told.matrix * STEPS).sum() == pytest.approx(near.value, abs=1e-6)
    best = pramble.design(PRIOR, 2.0, family="general")
    told = information_less_loss(
        PRIOR, STEPS, 2.0, weight=1e-9, start=NONE, budget=SearchBudget(1e-8)
    )
    assert told.value == pytest.approx(best.value, rel=1e-6)


def test_the_curve_runs_from_the_least_loss_to_the_most_information():
    curve = pramble.pareto_curve(PRIOR, 2.0, shares=[1.0, 0.9], loss=STEPS)
    near = pramble.design(PRIOR, 2.0, family="general", objective="loss", loss=STEPS)
    best = pramble.design(PRIOR, 2.0, family="general")
    assert curve.loss.min() == pytest.approx(near.value, rel=2e-6)
    assert curve.information.max() == pytest.approx(best.value, rel=2e-6)
    assert (np.diff(curve.information) <= 0).all()
    figures = np.column_stack([-curve.information, curve.variance, curve.loss])
    for one in figures:
        others = figures[(figures != one).any(axis=1)]
        assert not (others <= one).all(axis=1).any()
    plain = pramble.pareto_curve(PRIOR, 2.0, shares=[1.0, 0.9])
    assert plain.loss is None
    assert curve.variance.min() == pytest.approx(plain.variance.min())
    assert sorted(curve.to_json()) == ["information", "loss", "share", "variance"]
    assert "loss" in repr(curve)
    figure = pramble.plot_tradeoff(curve)
    assert len(figure.axes[0].get_lines()[0].get_xdata()) == np.isfinite(curve.variance).sum()


def test_two_releases_told_apart_lie_on_the_chord_and_added_up_below_it():
    near = pramble.design(PRIOR, 2.0, family="general", objective="loss", loss=STEPS)
    other = pramble.randomized_response(6, 2.0)
    one, two, t = near.mechanism.matrix, other.matrix, 0.3
    chord = t * pramble.mutual_information(PRIOR, near.mechanism)
    chord += (1 - t) * pramble.mutual_information(PRIOR, other)
    apart = pramble.Mechanism.from_matrix(np.hstack([t * one, (1 - t) * two]), outputs=12)
    added = pramble.Mechanism.from_matrix(t * one + (1 - t) * two)
    assert pramble.mutual_information(PRIOR, apart) == pytest.approx(chord, rel=1e-12)
    assert pramble.mutual_information(PRIOR, added) < chord


def test_columns_of_one_best_name_are_added_up_or_kept_apart():
    matrix = np.array([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.3, 0.3, 0.4]])
    added, apart = under_names(
        matrix, np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    )
    assert added[:, 0].tolist() == pytest.approx([0.9, 0.9, 0.6])
    assert sorted(apart[0].tolist()) == pytest.approx([0.1, 0.4, 0.5])


def test_a_light_loss_keeps_the_information():
    """Merging columns of one name would lose a third of it here."""
    prior = np.array([0.3, 0.1, 0.2, 0.08, 0.02, 0.04, 0.06, 0.1, 0.01, 0.09])
    steps = np.abs(np.subtract.outer(np.arange(10.0), np.arange(10.0)))
    start = np.zeros((0, 10), dtype=bool)
    told = information_less_loss(
        prior, steps, 2.0, weight=0.005, start=start, budget=SearchBudget(1e-6)
    )
    assert told.value > 0.99 * told.bound


def test_names_of_least_loss():
    turned = np.eye(6)[::-1]
    assert least_named(PRIOR, turned, STEPS) == 0


def test_what_is_beaten_goes():
    inf = np.inf
    figures = np.array([[-2, inf, 3], [-2, 5, 3], [-1, 5, 3], [-1, 4, 3], [-1, 4, 3]], dtype=float)
    assert undominated(figures, 0.0) == [1, 3]
    assert undominated(figures[:1], 1e-6) == [0]
    close = np.array([[-1.0, 1.0], [-1 + 1e-8, 1 - 1e-8], [-0.5, 0.5]])
    assert undominated(close, 1e-6) == [0, 2]
    assert undominated(close, 0.0) == [0, 1, 2]
