"""Risk after plans of branches and blocks, against the definition carried out on small files."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import pramble
from pramble.mechanisms.plan import as_plan
from pramble.risk.readings import information_of_keys

SHAPE = {"a": 2, "b": 3, "c": 2}
CELLS = np.array(list(product(*map(range, SHAPE.values()))), dtype=np.int32)
FILE = {"a": [0, 0, 1, 0], "b": [0, 0, 1, 2], "c": [1, 1, 0, 0]}
FRACTION = 0.3


def response(names, alpha):
    labels = list(product(*(range(SHAPE[name]) for name in names)))
    return pramble.randomized_response(labels if len(names) > 1 else [x for (x,) in labels], alpha)


def kron(names, mechanisms):
    labels = list(product(*(range(SHAPE[name]) for name in names)))
    matrix = np.ones((1, 1))
    for name in names:
        matrix = np.kron(matrix, mechanisms[name].matrix)
    return pramble.Mechanism.from_matrix(matrix, labels)


SINGLE = {"a": response("a", 1.0), "b": response("b", 1.5)}
JOINT = pramble.Plan({("b", "a"): response("ba", 2.0)})
BRANCHES = pramble.Plan(
    branches=[
        pramble.Branch(Fraction(1, 4), {("a", "b"): response("ab", 2.0)}),
        pramble.Branch(Fraction(1, 4), {"a": response("a", 2.0), "c": response("c", 0.5)}),
        pramble.Branch(Fraction(1, 2), {"b": response("b", 1.0)}),
    ]
)


QUICK = pramble.Membership(
    profiles=2, chains=2, burn_in=5, draws=10, thin=1, memberships=20, rounds=1
)


def assessed(model="independence"):
    rng = np.random.default_rng(1)
    keys = list(SHAPE)
    return pramble.assess(FILE, keys, population_size=4 / FRACTION, model=model, rng=rng)


RATES = assessed().fit.means(CELLS) / FRACTION


def risk(plan, model="independence"):
    return assessed(model).after(plan)


def by_definition(plan, rates):
    """Enumerate what may become of every record; sum what unique right readings are worth."""
    people = list(zip(*FILE.values(), strict=True))
    names = list(SHAPE)
    everywhere = [name for name in names if name not in plan.columns]
    outcomes = []
    for person in people:
        own = []
        for number, branch in enumerate(plan.branches):
            parts = [[(1.0, {name: person[names.index(name)] for name in everywhere})]]
            for block, m in branch.blocks.items():
                cell = tuple(person[names.index(name)] for name in block)
                row = m.matrix[m.categories.index(cell if len(block) > 1 else cell[0])]
                labels = [z if len(block) > 1 else (z,) for z in m.outputs]
                parts.append([
                    (chance, dict(zip(block, label, strict=True)))
                    for chance, label in zip(row, labels, strict=True)
                ])  # fmt: skip
            for some in product(*parts):
                chance = float(branch.share) * np.prod([one for one, _ in some])
                shown = {name: label for _, part in some for name, label in part.items()}
                own.append((chance, (number, tuple(sorted(shown.items())))))
        outcomes.append(own)
    tau1 = tau2 = 0.0
    for release in product(*outcomes):
        chance = np.prod([one for one, _ in release])
        readings = [reading for _, reading in release]
        for person, reading in zip(people, readings, strict=True):
            shown = dict(reading[1])
            right = all(person[names.index(name)] == label for name, label in shown.items())
            if right and readings.count(reading) == 1:
                same = [names.index(name) for name in shown]
                size = sum(all(p[i] == person[i] for i in same) for p in people)
                there = (CELLS[:, same] == [person[i] for i in same]).all(axis=1)
                rest = (1 - FRACTION) * rates[there].sum()
                worth = np.exp(-rest) if size == 1 else 0.0
                tau1 += chance * worth
                tau2 += chance * inverse_mean(size, rest)
    return tau1, tau2


def inverse_mean(size, rest):
    """E 1/(f + Poisson(rest))."""
    k = np.arange(80)
    logs = k * np.log(rest) - rest - np.cumsum(np.r_[0.0, np.log(np.arange(1, 80))])
    return float((np.exp(logs) / (size + k)).sum())


@pytest.mark.parametrize("plan", [JOINT, BRANCHES], ids=["joint", "branches"])
@pytest.mark.parametrize("model", ["independence", "two-way", QUICK], ids=str)
def test_the_risk_is_that_of_the_attack_by_definition(plan, model, monkeypatch):
    monkeypatch.setattr("pramble.risk.spread.NEEDED", np.inf)
    left = risk(plan, model)
    tau1, tau2 = by_definition(plan, assessed(model).fit.means(CELLS) / FRACTION)
    assert left.tau1 == pytest.approx(tau1, rel=1e-9)
    assert left.tau2 == pytest.approx(tau2, rel=1e-9)


@pytest.mark.parametrize(
    "written",
    [
        pramble.Plan(branches=[pramble.Branch(Fraction(1), SINGLE)]),
        pramble.Plan({("b", "a"): kron("ba", SINGLE)}),
    ],
    ids=["one branch", "joint"],
)
def test_one_plan_written_in_many_ways_leaves_the_same(written):
    plain, other = risk(SINGLE), risk(written)
    assert other.tau1 == pytest.approx(plain.tau1)
    assert other.tau2 == pytest.approx(plain.tau2)
    for name in ("r1", "r2", "posterior"):
        np.testing.assert_allclose(other.records[name], plain.records[name])


def test_figures_of_a_record_are_those_of_its_branches():
    left = risk(BRANCHES)
    expected = np.zeros(4)
    for branch in BRANCHES.branches:
        shown = [name for name in SHAPE if name in branch.columns]
        axes = [list(SHAPE).index(name) for name in shown]
        M = np.ones((1, 1))
        for block, m in branch.blocks.items():
            assert list(block) == sorted(block)
            M = np.kron(M, m.matrix)
        sizes = [SHAPE[name] for name in shown]
        means = np.zeros(np.prod(sizes))
        np.add.at(means, np.ravel_multi_index(CELLS[:, axes].T, sizes), RATES)
        share = float(branch.share)
        for row in range(4):
            j = np.ravel_multi_index([FILE[name][row] for name in shown], sizes)
            v = means[j] * (1 - FRACTION * share * M[j, j])
            posterior = means[j] * M[j, j] / (means @ M[:, j])
            expected[row] += share * posterior * (1 - np.exp(-v)) / v
    np.testing.assert_allclose(left.records["r2"], expected, rtol=1e-9)


def test_columns_that_are_no_keys_do_not_count_against_a_plan():
    """A randomised response on (b, other) does to b what one with more noise does."""
    cells = list(product(range(3), range(4)))
    joint = pramble.randomized_response(cells, 2.0)
    M = np.array(
        [[joint.matrix[4 * x, 4 * z : 4 * z + 4].sum() for z in range(3)] for x in range(3)]
    )
    alone = pramble.Mechanism.from_matrix(M, range(3))
    with_other = risk(pramble.Plan({("b", "other"): joint}))
    without = risk({"b": alone})
    assert with_other.tau2 == pytest.approx(without.tau2)
    np.testing.assert_allclose(with_other.records["r2"], without.records["r2"])


def test_a_blank_key_is_safer_than_a_shown_one():
    a = pramble.assess(FILE, list(SHAPE), population_size=50, model="independence")
    half = pramble.Plan(branches=[
        pramble.Branch(Fraction(1, 2), {"a": SINGLE["a"]}),
        pramble.Branch(Fraction(1, 2), {"b": SINGLE["b"]}),
    ])  # fmt: skip
    assert a.after(half).tau2 < a.after(SINGLE).tau2 < a.tau2
    known = [information_of_keys(as_plan(one), a.table) for one in (half, SINGLE, JOINT)]
    assert known[0][0] < known[1][0]
    assert 0 < known[2][0] < known[2][1]


def test_a_combination_that_the_block_does_not_know_is_refused():
    cells = [(0, 0), (1, 1), (1, 2)]
    plan = pramble.Plan({("a", "b"): pramble.randomized_response(cells, 1.0)})
    with pytest.raises(pramble.InvalidPlan, match="every combination that occurs"):
        risk(plan)
