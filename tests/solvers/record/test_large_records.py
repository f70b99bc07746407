"""Large records, and whole records of many columns."""

import math

import numpy as np
import pytest

import pramble
from pramble.solvers.record.costs import joint_bound
from pramble.solvers.record.matrices import workload_of

RNG = np.random.default_rng(11)


def test_information_of_a_million_cells():
    d = pramble.design_record({f"c{i}": 10 for i in range(6)}, 2.0, objective="information")
    assert d.certificate.satisfies(2.0)
    assert d.value > 0.99 * d.bound


def test_whole_records_of_a_hundred_thousand_cells_tell_what_is_possible():
    columns = {f"c{i}": 10 for i in range(5)}
    d = pramble.design_record(columns, 2.0, objective="information", whole=True)
    assert set(d.plan.columns) == set(columns)
    assert d.certificate.satisfies(2.0)
    assert d.value > 0.99 * d.bound


def test_whole_records_of_many_columns_are_not_refused():
    sizes = {f"c{i}": 3 for i in range(12)}
    d = pramble.design_record(sizes, 6.0, whole=True, effort=4)
    assert len(d.plan.branches) == 1
    assert set(d.plan.columns) == set(sizes)
    assert d.certificate.satisfies(6.0)
    x = (math.expm1(0.5) / (math.exp(0.5) + 2)) ** 2  # split, randomised response
    split = 66 * (4 / 9 / x**2 + 4 / 9 / x)
    assert d.value <= split


def test_one_matrix_on_a_large_record_is_valued_by_its_margins():
    sizes = {f"c{i}": 4 for i in range(5)}  # 1,024 cells
    d = pramble.design_record(sizes, 12.0, whole=True, tables=2, effort=3)
    lam = math.expm1(12.0) / (math.exp(12.0) + 1023)
    joint = 10 * (1 - 1 / 16) / lam**2
    assert d.value <= joint * (1 + 1e-9)


def test_one_joint_matrix_is_a_candidate_however_large():
    sizes = {f"c{i}": 10 for i in range(4)}  # 10,000 cells
    d = pramble.design_record(sizes, 12.0, effort=5)
    lam = math.expm1(12.0) / (math.exp(12.0) + 9999)
    assert d.value <= 6 * (1 - 1 / 100) / lam**2 * (1 + 1e-6)
    assert d.certificate.satisfies(12.0)


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_the_joint_bound_is_the_closed_form_on_all_cells(alpha):
    from pramble.information.distributions import as_distribution, as_tables
    from pramble.information.structural_zeros import as_possible
    from pramble.solvers.budget import SearchBudget
    from pramble.solvers.general.variance_bounds import closed_bound
    from pramble.solvers.record.problem import RecordProblem, as_columns

    labels = as_columns({"a": 2, "b": 3, "c": 4})
    prior = RNG.dirichlet(np.ones(24)).reshape(2, 3, 4)
    problem = RecordProblem(
        labels=labels,
        alpha=alpha,
        distribution=as_distribution(prior, {"a": 2, "b": 3, "c": 4}),
        possible=as_possible(None, {name: own.values for name, own in labels.items()}),
        tables=as_tables(2, tuple(labels)),
        objective="estimation",
        whole=False,
    )
    workload = workload_of(problem.block(problem.columns), problem.tables)
    truth = closed_bound(prior.ravel(), alpha, workload)
    assert joint_bound(problem, SearchBudget(1e-3, 5.0)) == pytest.approx(truth, rel=1e-4)
