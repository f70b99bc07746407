"""Designs for a central promise: they keep it, they cost what they say, and little more is lost."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pramble
from pramble.errors import InvalidInput
from pramble.information.distributions import as_distribution
from pramble.information.structural_zeros import as_possible
from pramble.solvers.record.central import false_share, largest_scale, response_costs, response_plan
from pramble.solvers.record.problem import RecordProblem, as_columns

SIZES = {"a": 2, "b": 3, "c": 4}


def test_the_false_share_has_the_noise_that_was_asked_for():
    for noise in (1e-9, 0.3, 3.0, 1e6):
        assert np.expm1(-2 * np.log1p(-false_share(noise))) == pytest.approx(noise, rel=1e-6)


def test_the_largest_scale_is_one_that_was_proven():
    tried = []

    def proven(scale):
        tried.append(scale)
        return scale**0.7

    found = largest_scale(proven, 3.0, start=1.0, high=1e9)
    assert found in tried
    assert 0.995 * 3.0 ** (1 / 0.7) < found <= 3.0 ** (1 / 0.7)
    assert largest_scale(lambda _: 5.0, 3.0, start=1.0, high=10.0) == 0.0
    assert largest_scale(lambda _: 1.0, 3.0, start=1.0, high=10.0) == 10.0


@pytest.mark.parametrize(("rows", "cells", "kept"), [(10**6, 1000, 0.96), (10**5, 1000, 0.76),
                                                     (10**5, 10_000, 0.42)])  # fmt: skip
def test_the_records_that_are_kept(rows, cells, kept):
    d = pramble.design_record({"x": cells}, central=(1.0, 1e-6), rows=rows, tables=1,
                              effort=0.5)  # fmt: skip
    assert d.central.epsilon <= 1.0
    assert float(d.plan["x"].operator.stay()[0]) == pytest.approx(kept, abs=0.01)


@settings(max_examples=6, deadline=None)
@given(
    sizes=st.lists(st.integers(2, 5), min_size=2, max_size=4),
    rows=st.integers(50, 10**7),
    epsilon=st.floats(0.05, 4.0),
    delta=st.sampled_from([1e-9, 1e-6, 1e-3]),
)
def test_what_is_designed_keeps_its_promise(sizes, rows, epsilon, delta):
    columns = {f"c{i}": size for i, size in enumerate(sizes)}
    d = pramble.design_record(columns, central=(epsilon, delta), rows=rows, effort=0.3)
    g = pramble.central_guarantee(d.plan, rows=rows, delta=delta)
    assert g.epsilon == d.central.epsilon <= epsilon
    assert g.lower <= g.epsilon
    assert d.certificate.satisfies(d.alpha)
    assert d.value >= d.bound - 1e-9


@pytest.mark.parametrize(("columns", "rows", "people", "epsilon"), [(SIZES, 10**5, 1, 1.5),
                         (SIZES, 1000, 20, 4.0), (SIZES, 10**6, 3, 0.1), ({"x": 2}, 10**4, 5, 1.0),
                         ({"x": 40, "y": 50}, 1000, 4, 1.0)])  # fmt: skip
def test_a_promise_is_used_up(columns, rows, people, epsilon):
    """The last design has several branches: no response on all cells is as good."""
    d = pramble.design_record(columns, central=(epsilon, 1e-6), rows=rows, rows_per_person=people,
                              tables=1, effort=0.2)  # fmt: skip
    assert 0.97 * epsilon < d.central.epsilon <= epsilon


@pytest.mark.parametrize("zero", [False, True])
def test_costs_are_those_of_the_estimates(zero):
    """n times the summed variance of each table, from the analyst's own covariance."""
    rng = np.random.default_rng(5)
    rows = 40_000
    law = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    possible = np.ones((2, 3, 4), dtype=bool)
    if zero:
        possible[0, 1:, 2:] = False
        law = np.where(possible, law, 0) / law[possible].sum()
    d = pramble.design_record(SIZES, central=(1.0, 1e-6), rows=rows, prior=law,
                              possible=possible)  # fmt: skip
    cells = rng.choice(24, size=rows, p=law.ravel())
    codes = np.unravel_index(cells, (2, 3, 4))
    file = pa.table(dict(zip(SIZES, codes, strict=True)))
    out = pramble.perturb(file, d.plan, key=bytes(range(32)))
    for table, cost in d.costs.items():
        e = pramble.estimate(out, d.plan, by=list(table), method="inverse")
        assert rows * np.trace(e.covariance) == pytest.approx(cost, rel=0.03)


def test_costs_are_those_of_the_matrix():
    labels = {"a": range(3), "b": range(2)}
    problem = RecordProblem(
        as_columns({"a": 3, "b": 2}),
        as_distribution(None, {"a": 3, "b": 2}),
        as_possible(None, labels),
        (("a",), ("b",), ("a", "b")),
    )
    plan = response_plan(problem, noise=0.5)
    costs = response_costs(plan, problem)
    exact = pramble.estimation_variance(np.full(6, 1 / 6), plan["a", "b"])
    assert costs["a", "b"] == pytest.approx(exact, rel=1e-9)


def test_what_a_promise_needs_is_asked_for():
    for wrong, message in [
        ({"central": (1, 1e-6)}, "rows="),
        ({"central": (1, 1e-6), "rows": 10, "alpha": 1.0}, "one promise"),
        ({}, "one promise"),
        ({"central": 1, "rows": 10}, "pair"),
        ({"central": (1, 0), "rows": 10}, "0 < delta"),
        ({"central": (1, 1e-6), "rows": 0}, "whole number"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            pramble.design_record(SIZES, **wrong)


def test_records_of_many_cells_are_not_formed():
    d = pramble.design_record({f"c{i}": 10 for i in range(12)}, central=(1.0, 1e-6), rows=10**5,
                              tables=1, effort=0.5)  # fmt: skip
    assert d.central.epsilon <= 1.0
    assert len(d.plan.columns) == 12
