"""Plans for records by distance: what they promise, what they cost, and that joining pays."""

import numpy as np
import pytest

import pramble
from pramble.information.fisher import fisher
from pramble.solvers.general.outputs import float_variance
from pramble.solvers.metric.estimation import after_exchange

RNG = np.random.default_rng(20)
LAW = RNG.dirichlet(np.ones(20)).reshape(5, 4)
COLUMNS = {"age": 5, "educ": 4}
PATHS = {"age": "path", "educ": "path"}


def product_cost(law, alpha, distances):
    """The cost of the whole table under the best matrices of single columns, written out."""
    singles = [
        pramble.design(law.sum(axis=1 - k), alpha, family="general", objective="estimation",
                       distance=distances[k], effort=2).mechanism.matrix
        for k in (0, 1)
    ]  # fmt: skip
    return cost(np.kron(*singles), law)


def cost(matrix, law):
    p = law.ravel()
    return float(np.trace(np.linalg.inv(fisher(matrix, p))) - p @ p)


def test_one_matrix_for_two_columns_keeps_the_summed_distance_and_costs_less():
    d = pramble.design_record(COLUMNS, 0.3, prior=LAW, distance=PATHS, effort=6)
    assert d.certificate.satisfies(0.3)
    assert not d.certificate.satisfies(0.29)
    joint = d.plan["age", "educ"]
    for x, one in enumerate(joint.categories):
        for y, other in enumerate(joint.categories):
            apart = sum(abs(a - b) for a, b in zip(one, other, strict=True))
            ratios = joint.matrix[x] / joint.matrix[y]
            assert ratios.max() <= np.exp(0.3 * apart) * (1 + 1e-12)
    assert d.value == pytest.approx(cost(joint.matrix, LAW), rel=1e-9)
    assert d.bound <= d.value < 0.5 * product_cost(LAW, 0.3, ["path", "path"])
    assert "per unit of distance" in repr(d)


def test_columns_without_a_distance_are_one_unit_apart():
    d = pramble.design_record({"age": 4, "sex": ["f", "m"]}, 0.5, distance={"age": "path"},
                              effort=3)  # fmt: skip
    assert d.distance["sex"].diameter == 1
    assert d.distance["age"].diameter == 3
    assert d.certificate.satisfies(0.5)
    assert pramble.certify(d.plan).satisfies(0.5 * 4)


def test_three_columns_may_be_shown_two_at_a_time():
    law = np.random.default_rng(3).dirichlet(np.ones(24)).reshape(4, 2, 3)
    columns = {"age": 4, "sex": 2, "educ": 3}
    options = {"prior": law, "distance": {"age": "path", "educ": "path"}, "effort": 6}
    d = pramble.design_record(columns, 0.4, **options)
    whole = pramble.design_record(columns, 0.4, whole=True, **options)
    assert d.certificate.satisfies(0.4)
    assert whole.certificate.satisfies(0.4)
    assert len(whole.plan.branches) == 1
    assert set(d.costs) == {("age", "sex"), ("age", "educ"), ("sex", "educ")}
    assert sum(d.costs.values()) == pytest.approx(d.value)
    assert max(d.bound, whole.bound) <= min(d.value, whole.value)
    assert d.value < 1.3 * whole.value


def test_information_is_for_columns_one_by_one():
    with pytest.raises(pramble.InvalidInput, match="one by one"):
        pramble.design_record(COLUMNS, 0.7, distance=PATHS, objective="information")


def test_cells_that_cannot_occur_take_no_part():
    ages, states = ["0-14", "15-64", "65+"], ["married", "single"]
    rule = {"if": {"age": "0-14"}, "then": {"state": "single"}}
    d = pramble.design_record({"age": ages, "state": states}, 0.5, possible=[rule],
                              distance={"age": "path"}, effort=3)  # fmt: skip
    assert d.certificate.satisfies(0.5)
    joint = d.plan["age", "state"]
    assert ("0-14", "married") not in joint.categories
    named = {"age": pramble.Distance.path(3).named(ages)}
    assert pramble.certify(d.plan, distance=named).satisfies(0.5)
    backwards = {"age": pramble.Distance.path(3).named(["15-64", "0-14", "65+"])}
    assert not pramble.certify(d.plan, distance=backwards).satisfies(0.5)
    with pytest.raises(pramble.InvalidInput, match=r"name them, as in Distance.path"):
        pramble.certify(d.plan, distance={"age": "path"})


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"distance": {"agee": "path"}}, "agee"),
        ({"distance": {}}, "maps columns"),
    ],
)
def test_what_has_no_meaning_is_refused(wrong, match):
    with pytest.raises(pramble.InvalidInput, match=match):
        pramble.design_record(COLUMNS, 1.0, **wrong)
    with pytest.raises(pramble.InvalidInput, match="central has no meaning"):
        pramble.design_record(COLUMNS, central=(1.0, 1e-6), rows=1000, distance=PATHS)


def test_the_variance_after_an_exchange_is_what_it_is():
    rng = np.random.default_rng(8)
    size, law = 5, rng.dirichlet(np.ones(5))
    queries = rng.standard_normal((3, size))
    columns = np.exp(rng.standard_normal((size, size)) / 3) + 3 * np.eye(size)
    theta = np.linalg.solve(columns, np.ones(size))
    assert (theta > 0).all()
    candidates = np.exp(rng.standard_normal((size, 40)))
    inverse = np.linalg.inv(columns)
    rows = inverse @ queries.T
    found = after_exchange(
        theta, inverse @ candidates, rows @ rows.T, law @ columns, law @ candidates
    )
    constant = float(((queries @ law) ** 2).sum())
    before = float_variance(columns * theta, law, queries)
    assert found.before - constant == pytest.approx(before)
    tried = 0
    for c in np.flatnonzero(np.isfinite(found.variance)):
        after = columns.copy()
        after[:, found.leaving[c]] = candidates[:, c]
        weights = np.linalg.solve(after, np.ones(size))
        assert (weights >= 0).all()
        truth = float_variance(after * weights, law, queries)
        assert found.variance[c] - constant == pytest.approx(truth, rel=1e-6)
        tried += 1
    assert tried > 10
