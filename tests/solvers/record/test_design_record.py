"""Designs of records: within α, never worse than the plans everybody knows, above their bounds."""

import math
from itertools import combinations, product

import numpy as np
import pytest

import pramble
from pramble.errors import InvalidInput, InvalidPrior
from pramble.information.distributions import (
    ArrayDistribution,
    as_distribution,
    as_tables,
    margin_of,
)
from pramble.solvers.budget import SearchBudget
from pramble.solvers.record.matrices import best_cardinality, best_shares, exact_shares

RNG = np.random.default_rng(8)
COLUMNS = {"a": ["x", "y"], "b": [1, 2, 3], "c": ["u", "v", "w"]}
SHAPE = (2, 3, 3)
PRIOR = RNG.dirichlet(np.full(18, 2.0)).reshape(SHAPE)


def brute_force_alpha(plan, columns):
    """The largest log ratio over all records, branch by branch: the branch is seen."""
    records = list(product(*columns.values()))
    worst = 0.0
    for branch in plan.branches:
        joint = np.ones((len(records), 1))
        for block, mechanism in branch.blocks.items():
            places = {label: i for i, label in enumerate(mechanism.categories)}
            keys = [
                tuple(record[list(columns).index(name)] for name in block) for record in records
            ]
            rows = [places[key if len(block) > 1 else key[0]] for key in keys]
            joint = (joint[:, :, None] * mechanism.matrix[rows][:, None, :]).reshape(len(rows), -1)
        used = joint[:, joint.max(axis=0) > 0]
        worst = max(worst, float(np.log(used.max(axis=0) / used.min(axis=0)).max()))
    return worst


def value_by_hand(plan, prior, tables):
    """tr W(J⁻¹ − pp')W' with J from all records and all outputs, straight from the definition."""
    names = list(COLUMNS)
    cells = list(product(*COLUMNS.values()))
    p = prior.ravel()
    J = np.zeros((len(p), len(p)))
    for branch in plan.branches:
        joint = np.ones((len(cells), 1))
        for block, mechanism in branch.blocks.items():
            places = {label: i for i, label in enumerate(mechanism.categories)}
            keys = [tuple(cell[names.index(name)] for name in block) for cell in cells]
            rows = [places[key if len(block) > 1 else key[0]] for key in keys]
            joint = (joint[:, :, None] * mechanism.matrix[rows][:, None, :]).reshape(len(rows), -1)
        joint = joint[:, joint.max(axis=0) > 0]
        J += float(branch.share) * (joint / (p @ joint)) @ joint.T
    inverse, total = np.linalg.pinv(J, rcond=1e-11, hermitian=True), 0.0
    for table in tables:
        keys = [tuple(cell[names.index(name)] for name in table) for cell in cells]
        W = np.array([[key == own for key in keys] for own in sorted(set(keys), key=str)], float)
        total += np.trace(W @ inverse @ W.T) - float(((W @ p) ** 2).sum())
    return total


@pytest.mark.parametrize("alpha", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("tables", [1, 2, 3])
def test_a_design_keeps_its_promise_and_its_value(alpha, tables):
    d = pramble.design_record(COLUMNS, alpha, prior=PRIOR, tables=tables, effort=4)
    assert d.certificate.satisfies(alpha)
    assert brute_force_alpha(d.plan, COLUMNS) <= alpha * (1 + 1e-12)
    assert sum(branch.share for branch in d.plan.branches) == 1
    assert d.value == pytest.approx(sum(d.costs.values()))
    assert d.value == pytest.approx(value_by_hand(d.plan, PRIOR, list(d.costs)), rel=1e-6)
    assert d.bound <= d.value
    shown = [frozenset(branch.columns) for branch in d.plan.branches]
    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize("alpha", [0.5, 3.0])
def test_no_plan_that_everybody_knows_is_better(alpha):
    wanted = as_tables(2, tuple(COLUMNS))
    d = pramble.design_record(COLUMNS, alpha, prior=PRIOR, tables=2, effort=6)
    cells = list(product(*COLUMNS.values()))
    split = pramble.Plan({
        name: pramble.randomized_response(labels, alpha / 3) for name, labels in COLUMNS.items()
    })  # fmt: skip
    joint = pramble.Plan({tuple(COLUMNS): pramble.randomized_response(cells, alpha)})
    pairs = [
        pramble.randomized_response(list(product(*(COLUMNS[n] for n in t))), alpha) for t in wanted
    ]
    from fractions import Fraction

    sampled = pramble.Plan(
        branches=[
            pramble.Branch(Fraction(1, 3), {t: m}) for t, m in zip(wanted, pairs, strict=True)
        ]
    )
    for plan in (split, joint, sampled):
        assert d.value <= value_by_hand(plan, PRIOR, wanted) * (1 + 1e-6)


def test_whole_records_have_one_branch():
    d = pramble.design_record(COLUMNS, 3.0, prior=PRIOR, tables=2, whole=True, effort=5)
    assert len(d.plan.branches) == 1
    assert set(d.plan.columns) == set(COLUMNS)
    assert d.certificate.satisfies(3.0)


def test_structural_zeros_are_never_released():
    possible = np.ones(SHAPE, dtype=bool)
    possible[0, 2, :] = False
    prior = np.where(possible, PRIOR, 0)
    prior = prior / prior.sum()
    d = pramble.design_record(COLUMNS, 2.0, prior=prior, possible=possible, tables=2, effort=4)
    for branch in d.plan.branches:
        for block, mechanism in branch.blocks.items():
            if {"a", "b"} <= set(block):
                at = [block.index("a"), block.index("b")]
                pairs = {tuple(label[i] for i in at) for label in mechanism.outputs}
                assert ("x", 3) not in pairs
    with pytest.raises(InvalidPrior, match="impossible"):
        pramble.design_record(COLUMNS, 2.0, prior=PRIOR, possible=possible)


def test_the_most_informative_record():
    d = pramble.design_record(COLUMNS, 2.0, prior=PRIOR, objective="information")
    assert d.certificate.satisfies(2.0)
    assert d.value <= d.bound <= pramble.information_bound(2.0)
    one = pramble.design(PRIOR.ravel(), 2.0, family="general")
    assert d.value == pytest.approx(one.value, rel=1e-4)


def test_many_columns_are_designed_without_all_cells():
    sizes = {f"c{i}": 3 for i in range(8)}  # 6,561 cells
    d = pramble.design_record(sizes, 2.0, tables=2, effort=6)
    assert d.certificate.satisfies(2.0)
    assert set(d.costs) == set(combinations(sizes, 2))
    a = math.exp(2.0)
    q = a / (a + 8)  # randomised response on a pair, all pairs alike often
    lam = (a - 1) / (a + 8)
    one = 8 * (1 / 9) / lam**2 + 1 / 9 - 9 * (1 / 81)
    assert d.value < 28 * 28 * one
    assert q < 1


def test_priors_may_be_tables():
    tables = {pair: margin_of(PRIOR, tuple(COLUMNS), pair) for pair in combinations(COLUMNS, 2)}
    law = as_distribution(tables, {name: len(labels) for name, labels in COLUMNS.items()})
    for pair in combinations(COLUMNS, 2):
        assert law.margin(pair) == pytest.approx(tables[pair])
    whole = law.margin(tuple(COLUMNS))
    for pair in combinations(COLUMNS, 2):
        assert margin_of(whole, tuple(COLUMNS), pair) == pytest.approx(tables[pair], abs=1e-6)
    array = ArrayDistribution({"a": 2, "b": 3, "c": 3}, PRIOR)
    assert array.margin(("c", "a")) == pytest.approx(PRIOR.sum(axis=1).T)


def test_shares_are_the_best_of_a_convex_programme():
    informations = [np.diag([1.0, 0.01]), np.diag([0.01, 4.0])]
    w = best_shares(informations, np.eye(2), SearchBudget(1e-6))

    def cost(t):
        return np.trace(np.linalg.inv(t * informations[0] + (1 - t) * informations[1]))

    grid = np.linspace(0.01, 0.99, 981)
    assert cost(w[0]) <= min(map(cost, grid)) * (1 + 1e-4)
    assert sum(exact_shares(np.array([0.2, 0.3, 0.5 - 1e-6, 1e-6]))) == 1


def test_the_best_number_of_likelier_outputs():
    for size, alpha in product((4, 9, 30), (0.1, 1.0, 3.0)):
        a = math.exp(alpha)
        best = max(range(1, size), key=lambda k: k * (size - k) / (k * a + size - k) ** 2)
        assert best_cardinality(size, alpha) == best


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tables": 4}, "need as many"),
        ({"tables": [("a", "z")]}, "'z' is no column"),
        ({"tables": []}, "one or more"),
        ({"tables": "some"}, "tables is"),
        ({"objective": "speed"}, "objective"),
        ({"possible": np.ones((2, 2), dtype=bool)}, "shape"),
    ],
)
def test_mistakes_are_named(changes, message):
    with pytest.raises(InvalidInput, match=message):
        pramble.design_record(COLUMNS, 1.0, **changes)
    with pytest.raises(InvalidPrior, match="shape"):
        pramble.design_record(COLUMNS, 1.0, prior=np.ones(18) / 18)
