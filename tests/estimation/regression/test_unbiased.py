"""Over all releases of a tiny file the corrected score is that of the file, exactly."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import pramble
from pramble.estimation.regression.formula import read_formula
from pramble.estimation.regression.regression import material_of_records, pose

ROWS = {
    "x": ["a", "b", "a", "b"],
    "s": ["u", "v", "v", "v"],
    "age": [0.5, 1.0, 2.5, 1.0],
    "y": [0, 1, 1, 0],
}
X = pramble.keep_probabilities([0.7, 0.8], categories=["a", "b"])
S = pramble.keep_probabilities([0.6, 0.75], categories=["u", "v"])
Y = pramble.randomized_response([0, 1], 1.0)
WIDE = pramble.Mechanism.from_matrix(
    [[0.6, 0.3, 0.1], [0.1, 0.4, 0.5]], ["a", "b"], ["a", "b", "?"]
)
JOINT = pramble.Mechanism.from_matrix(
    [[0.6, 0.2, 0.1, 0.1], [0.1, 0.5, 0.2, 0.2], [0.2, 0.2, 0.5, 0.1], [0.1, 0.1, 0.3, 0.5]],
    list(product("ab", "uv")),
)
LUMPED = pramble.randomized_response(list(product("ab", "uv")), 1.5)
FAMILIES = ("logistic", "linear", "poisson", "multinomial", "ordinal")


@pytest.fixture(autouse=True)
def four_records_will_do(monkeypatch):
    monkeypatch.setattr("pramble.estimation.records.signed.MOST_ERROR", np.inf)
    monkeypatch.setattr("pramble.estimation.regression.design_matrix.COLLINEAR", -1.0)


def material(rows, plan, formula):
    asked = read_formula(formula, response=None, covariates=None)
    return asked, material_of_records(
        rows, plan, asked.columns, weights=None, survey=pramble.Survey(), reading=None
    )


def posed(rows, plan, formula, family):
    asked, found = material(rows, plan, formula)
    return pose(found, asked, family=family)[0]


def with_release(problem, rows, plan, formula, axes=None):
    """The problem with the weights of another release, whose untouched values are the same."""
    source = material(rows, plan, formula)[1].source
    if axes is not None:
        pairs = zip(source.axes, axes, strict=True)
        fixed = tuple(replace(own, G=other.G) for own, other in pairs)
        source = replace(source, axes=fixed)
    return replace(problem, source=source)


def releases(plan):
    """Every release of the file by a plan of one branch, with its chance."""
    (branch,) = plan.branches
    per_block = []
    for block, m in branch.blocks.items():
        labels = [ROWS[name] for name in block]
        cells = labels[0] if len(block) == 1 else list(zip(*labels, strict=True))
        rows = [m.matrix[list(m.categories).index(cell)] for cell in cells]
        per_block.append((block, m, rows))
    shapes = [m.shape[1] for _, m, _ in per_block for _ in range(4)]
    for outputs in product(*map(range, shapes)):
        chance, data = 1.0, dict(ROWS)
        for k, (block, m, rows) in enumerate(per_block):
            own = outputs[4 * k : 4 * k + 4]
            chance *= float(np.prod([row[z] for row, z in zip(rows, own, strict=True)]))
            found = [m.outputs[z] for z in own]
            for i, name in enumerate(block):
                data[name] = [one if len(block) == 1 else one[i] for one in found]
        if chance:
            yield data, chance


def total_of(problem, theta):
    """The score, and its variance over the randomisation as the release tells it."""
    variance = problem.source.moments(problem.scores(theta), len(theta)).randomisation
    return problem.at(theta).score, variance


CASES = {
    "one column": (pramble.Plan({"x": X}), "y ~ x + age"),
    "more outputs than categories": (pramble.Plan({"x": WIDE}), "y ~ x * age"),
    "two columns": (pramble.Plan({"x": X, "s": S}), "y ~ x * s + age"),
    "the response too": (pramble.Plan({"x": X, "y": Y}), "y ~ x + age"),
    "a joint block": (pramble.Plan({("x", "s"): JOINT}), "y ~ x + s:age"),
    "a margin of a block": (pramble.Plan({("x", "s"): LUMPED}), "y ~ s + age"),
}


@pytest.mark.parametrize(
    ("case", "family"),
    [*((case, "logistic") for case in CASES), *(("one column", family) for family in FAMILIES[1:])],
)
def test_the_score_and_its_variance_are_unbiased_over_all_releases(case, family):
    plan, formula = CASES[case]
    raw = posed(ROWS, {}, formula, family)
    theta = np.linspace(-0.4, 0.7, len(raw.parameters.names))
    expected = raw.at(theta).score
    mean, second, variance, mass = 0.0, 0.0, 0.0, 0.0
    problem = posed(ROWS, plan, formula, family)
    for data, chance in releases(plan):
        score, error = total_of(with_release(problem, data, plan, formula), theta)
        mass, mean = mass + chance, mean + chance * score
        second, variance = second + chance * np.outer(score, score), variance + chance * error
    assert mass == pytest.approx(1)
    np.testing.assert_allclose(mean, expected, atol=1e-10)
    np.testing.assert_allclose(variance, second - np.outer(mean, mean), atol=1e-9)
    assert np.abs(second - np.outer(mean, mean)).max() > 1e-3


def test_the_score_of_sampled_branches_is_unbiased_over_all_releases():
    """Given how many records each branch has, and the weights of the branches."""
    family = "logistic"
    half = Fraction(1, 2)
    plan = pramble.Plan(
        branches=[pramble.Branch(half, {("x", "s"): JOINT}), pramble.Branch(half, {"x": X})]
    )
    formula = "y ~ x + s + x:age"
    cells = list(zip(ROWS["x"], ROWS["s"], strict=True))
    raw = posed(ROWS, {}, formula, family)
    theta = np.linspace(-0.4, 0.7, len(raw.parameters.names))
    problem, mean, mass = None, 0.0, 0.0
    for whole in combinations(range(4), 2):
        rest = [i for i in range(4) if i not in whole]
        for one in product(range(4), repeat=2):
            for two in product(range(2), repeat=2):
                data = {"age": ROWS["age"], "y": ROWS["y"], "x": [None] * 4, "s": [None] * 4}
                chance = 1 / 6
                for i, z in zip(whole, one, strict=True):
                    data["x"][i], data["s"][i] = JOINT.outputs[z]
                    chance *= JOINT.matrix[JOINT.categories.index(cells[i]), z]
                for i, z in zip(rest, two, strict=True):
                    data["x"][i] = X.outputs[z]
                    chance *= X.matrix[X.categories.index(ROWS["x"][i]), z]
                if problem is None:
                    problem = posed(data, plan, formula, family)
                    axes = problem.source.axes
                problem = with_release(problem, data, plan, formula, axes)
                mass, mean = mass + chance, mean + chance * problem.at(theta).score
    assert mass == pytest.approx(1)
    np.testing.assert_allclose(mean, raw.at(theta).score, atol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_and_information_are_derivatives_of_the_log_likelihood(family):
    rng = np.random.default_rng(3)
    data = {
        "x": rng.choice(["a", "b"], 60),
        "age": rng.normal(size=60),
        "y": rng.integers(0, 2 if family == "logistic" else 4, 60),
    }
    problem = posed(data, {"x": X}, "y ~ x * age", family)
    theta = problem.start({"multinomial": 4, "ordinal": 4}.get(family, 0))
    theta = theta + 0.1 * rng.normal(size=len(theta))
    point = problem.at(theta)
    for j in range(len(theta)):
        step = np.zeros(len(theta))
        step[j] = 1e-5
        up, down = problem.at(theta + step), problem.at(theta - step)
        assert point.score[j] == pytest.approx((up.value - down.value) / 2e-5, abs=1e-4)
        slope = (down.score - up.score) / 2e-5
        np.testing.assert_allclose(point.information[j], slope, atol=1e-4)
