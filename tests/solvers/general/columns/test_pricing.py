"""Exact pricing against every set."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble
from pramble.information.measures import information_bound
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.generation import branch, price, price_equalised
from pramble.solvers.general.sets import Gain


def every_value(p, w, gain):
    sets = np.array(list(product([False, True], repeat=len(p))))
    return gain(sets @ p) - sets @ w


@st.composite
def pricing_problems(draw):
    size = draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = rng.dirichlet(np.full(size, draw(st.sampled_from([0.2, 1.0, 20.0]))))
    kind = draw(st.sampled_from(["plain", "tied", "zero"]))
    if kind == "tied":
        p = np.round(p * 6) + 1
    if kind == "zero":
        p[0] = 0
    p = p / p.sum()
    alpha = draw(st.sampled_from([0.01, 0.5, 1.0, 2.0, 6.0]))
    prices = information_bound(alpha) * p * rng.uniform(0.3, 1.7, size)
    if draw(st.booleans()):
        prices[rng.integers(size)] *= -1
    return p, prices, Gain(alpha)


@given(pricing_problems())
def test_the_best_set_is_the_best_of_all_sets(problem):
    p, prices, gain = problem
    w = gain.a1 * prices
    truth = every_value(p, w, gain).max()
    found = price(p, w, gain, slack=0.0, budget=SearchBudget(1e-9))
    scale = gain.slope + np.abs(w).sum()
    assert found.value == pytest.approx(truth, abs=1e-13 * scale)
    assert truth <= found.bound <= truth + 1e-12 * scale
    best = found.sets[-1]
    assert gain(p[best].sum()) - w[best].sum() == pytest.approx(truth, abs=1e-13 * scale)


@given(pricing_problems(), st.integers(1, 6))
def test_a_search_cut_short_still_proves_a_bound(problem, nodes):
    p, prices, gain = problem
    w = gain.a1 * prices
    found = price(p, w, gain, slack=0.0, budget=SearchBudget(1e-9), most_nodes=nodes)
    assert found.bound >= every_value(p, w, gain).max()


def test_the_gain_is_the_information_of_a_column():
    alpha, mass = 1.3, np.array([0.0, 0.2, 0.9, 1.0])
    a = np.exp(alpha)
    released = 1 + (a - 1) * mass
    direct = mass * a * np.log(a / released) + (1 - mass) * np.log(1 / released)
    assert Gain(alpha)(mass) == pytest.approx(direct, abs=1e-14)


def test_equal_masses_do_not_blow_up_the_tree():
    p = np.full(100, 0.01)
    gain = Gain(0.5)
    prices = information_bound(0.5) * p * np.linspace(0.99, 1.01, 100)
    assert price(p, gain.a1 * prices, gain, slack=0.0, budget=SearchBudget(1e-9)).nodes < 10_000


@given(pricing_problems(), st.sampled_from([1e-9, 1e-6, 1e-5]), st.integers(1, 40))
def test_nearly_equal_masses_still_prove_a_bound(problem, noise, nodes):
    p, prices, gain = problem
    rng = np.random.default_rng(nodes)
    p = (np.round(p * 4) + 1) * (1 + noise * rng.normal(size=len(p)))
    p /= p.sum()
    w = gain.a1 * prices
    truth = every_value(p, w, gain).max()
    first = branch(p, w, gain, slack=0.0, most_nodes=nodes, budget=SearchBudget(1e-9))
    found = price_equalised(
        p, w, gain, first, slack=0.0, most_nodes=nodes, budget=SearchBudget(1e-9)
    )
    assert found.value <= truth + 1e-13 * (gain.slope + np.abs(w).sum())
    assert found.bound >= truth


@pytest.mark.parametrize("noise", [1e-9, 1e-5])
def test_nearly_flat_priors_close_the_gap(noise):
    rng = np.random.default_rng(0)
    prior = 1 + noise * rng.normal(size=60)
    d = pramble.design(prior / prior.sum(), 1.0, family="general")
    assert d.gap <= 1e-6
    assert d.stopped == "tolerance"


def test_a_search_out_of_nodes_is_bounded_with_masses_made_equal():
    rng = np.random.default_rng(2)
    p = np.repeat([1, 1.7, 3.1, 5], 10) * (1 + 1e-9 * rng.normal(size=40))
    p /= p.sum()
    gain = Gain(1.0)
    w = gain.a1 * information_bound(1.0) * p * (1 + 1e-9 * rng.normal(size=40))
    found = price(p, w, gain, slack=0.0, budget=SearchBudget(1e-9), most_nodes=100_000)
    assert found.nodes > 100_000
    assert found.bound - found.value < 1e-9
