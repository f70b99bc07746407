"""Tables from plans of several branches and blocks: right, efficient, with intervals that hold."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

import pramble
from pramble.errors import InvalidData, InvalidInput, InvalidPlan

RNG = np.random.default_rng(21)
COLUMNS = {"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1, 2]}
LAW = RNG.dirichlet(np.full(18, 2.0)).reshape(2, 3, 3)
CELLS = list(product(*COLUMNS.values()))


def response(names, alpha):
    labels = list(product(*(COLUMNS[name] for name in names)))
    return pramble.randomized_response(labels if len(names) > 1 else [x for (x,) in labels], alpha)


def people(n, rng):
    picked = rng.choice(18, n, p=LAW.ravel())
    return pa.table({
        name: pa.array([CELLS[i][j] for i in picked.tolist()]) for j, name in enumerate(COLUMNS)
    })  # fmt: skip


def margin(by):
    return np.einsum("abc->" + "".join(by), LAW).ravel()


SAMPLED = pramble.Plan(
    branches=[
        pramble.Branch(Fraction(1, 3), {pair: response(pair, 2.0)})
        for pair in combinations(COLUMNS, 2)
    ]
)
JOINT = pramble.Plan({("a", "b", "c"): response(("a", "b", "c"), 3.0)})
MIXED = pramble.Plan(
    branches=[
        pramble.Branch(Fraction(1, 4), {("a", "c"): response(("a", "c"), 2.0)}),
        pramble.Branch(Fraction(1, 2), {"a": response("a", 1.0), ("b", "c"): response("bc", 1.0)}),
        pramble.Branch(Fraction(1, 4), {"b": response("b", 2.0)}),
    ]
)


@pytest.mark.parametrize("plan", [SAMPLED, JOINT, MIXED], ids=["sampled", "joint", "mixed"])
@pytest.mark.parametrize("by", [["b", "a"], ["c", "a"], ["c"]], ids="".join)
def test_estimates_are_unbiased_and_their_covariance_is_right(plan, by):
    rng, errors, scores = np.random.default_rng(5), [], []
    for _ in range(30):
        z = pramble.perturb(people(4000, rng), plan, key=rng.bytes(32))
        e = pramble.estimate(z, plan, by=by, method="inverse")
        assert list(zip(*(e.cells[name] for name in by), strict=True)) == list(
            product(*(COLUMNS[name] for name in by))
        )
        errors.append(e.probabilities - margin(by))
        scores.append(errors[-1] / e.standard_errors)
    z = np.array(scores)
    assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(30)
    assert 0.75 < np.sqrt((z**2).mean()) < 1.3


def test_intervals_hold():
    rng, held, total = np.random.default_rng(6), 0, 0
    for turn in range(40):
        z = pramble.perturb(people(20_000, rng), SAMPLED, key=bytes([turn]) * 32)
        for by in combinations(COLUMNS, 2):
            e = pramble.estimate(z, SAMPLED, by=list(by))
            true = margin(by)
            held += int(((e.lower <= true) & (true <= e.upper)).sum())
            total += len(true)
            assert e.probabilities.sum() == pytest.approx(1)
            assert (e.probabilities >= 0).all()
    assert 0.93 < held / total < 0.975


def test_every_branch_that_bears_on_a_table_is_used():
    """A column shown by other branches too is known better than from one alone."""
    z = pramble.perturb(people(30_000, np.random.default_rng(7)), SAMPLED)
    whole = pramble.estimate(z, SAMPLED, by=["a"]).standard_errors
    only = z.filter(pa.compute.is_null(z["c"]))
    alone = pramble.estimate(only, SAMPLED, by=["a"]).standard_errors
    assert (whole < 0.8 * alone).all()


def test_a_promise_of_a_design_is_what_the_estimate_costs():
    d = pramble.design_record(COLUMNS, 3.0, prior=LAW, tables=2, time_limit=4)
    n = 200_000
    z = pramble.perturb(people(n, np.random.default_rng(8)), d.plan)
    for table, cost in d.costs.items():
        e = pramble.estimate(z, d.plan, by=list(table))
        assert n * float((e.standard_errors**2).sum()) == pytest.approx(cost, rel=0.1)


def test_groups_of_untouched_columns():
    rng = np.random.default_rng(9)
    table = people(60_000, rng)
    town = rng.choice(["s", "t"], 60_000, p=[0.3, 0.7])
    z = pramble.perturb(table.append_column("town", pa.array(town)), SAMPLED)
    e = pramble.estimate(z, SAMPLED, by=["a", "town", "b"])
    true = np.einsum("ab,t->atb", LAW.sum(axis=2), [0.3, 0.7]).ravel()
    assert e.cells["town"][:6] == ("s",) * 3 + ("t",) * 3
    assert np.abs(e.probabilities - true).max() < 6 * e.standard_errors.max()
    assert np.abs((e.probabilities - true) / e.standard_errors).max() < 5


def test_a_table_that_no_branch_shows_is_refused_with_what_there_is():
    plan = pramble.Plan(branches=[
        pramble.Branch(Fraction(1, 2), {name: response(name, 1.0)}) for name in "ab"
    ])  # fmt: skip
    z = pramble.perturb(people(500, RNG), plan)
    with pytest.raises(InvalidInput, match="cannot give the table of a, b"):
        pramble.estimate(z, plan, by=["a", "b"])
    assert len(pramble.estimate(z, plan, by=["a"]).probabilities) == 2


def test_what_is_no_release_by_the_plan_is_refused():
    with pytest.raises(InvalidData, match="which no branch does"):
        pramble.estimate(people(50, RNG), SAMPLED, by=["a"])
    twice = pramble.Plan(branches=[
        pramble.Branch(Fraction(1, 2), {"a": response("a", alpha)}) for alpha in (1.0, 2.0)
    ])  # fmt: skip
    z = pramble.perturb(people(50, RNG), twice)
    with pytest.raises(InvalidPlan, match="two of them show a"):
        pramble.estimate(z, twice, by=["a"])
