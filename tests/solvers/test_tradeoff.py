"""Trade-off curves: their order, their data, their figure."""

import pickle

import numpy as np
import pytest

import pramble

PRIOR = [0.4, 0.3, 0.15, 0.1, 0.05]


def test_families_are_nested_and_below_the_ceiling():
    c = pramble.compare_designs(PRIOR, [0.5, 1.0, 2.0])
    assert (c.response <= c.uniform * (1 + 1e-9)).all()
    assert (c.uniform <= c.general * (1 + 1e-6)).all()
    assert (c.general <= c.ceiling).all()
    assert set(c.to_json()) == {"alpha", "response", "uniform", "general", "ceiling"}


def test_the_pareto_curve_falls():
    curve = pramble.pareto_curve(PRIOR, 1.0)
    assert (np.diff(curve.information) < 0).all()
    assert (np.diff(curve.variance) < 0).all()
    plain = pramble.estimation_variance(PRIOR, pramble.randomized_response(5, 1.0))
    assert curve.variance[-1] <= plain * (1 + 1e-9)


def test_curves_are_values():
    c = pramble.compare_designs(PRIOR, [1.0])
    again = pickle.loads(pickle.dumps(c))
    assert again.general.tolist() == c.general.tolist()
    with pytest.raises(ValueError, match="read-only"):
        again.general[0] = 1.0
    with pytest.raises(pramble.InvalidInput, match="at least one alpha"):
        pramble.compare_designs(PRIOR, [])


def test_the_figure_has_both_panels():
    comparison = pramble.compare_designs(PRIOR, [0.5, 1.0])
    figure = pramble.plot_tradeoff(comparison, pramble.pareto_curve(PRIOR, 1.0, shares=[0.9]))
    labels = [axes.get_xlabel() for axes in figure.axes]
    assert labels == ["α", "information, nats"]
