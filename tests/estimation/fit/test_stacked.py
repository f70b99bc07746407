"""The matrix of all branches against dense ones, and curves of quantiles place by place."""

import numpy as np
import pytest
from tests.estimation.record_plans import PLANS, SINGLE, can_give, people

import pramble
from pramble.errors import NotShown
from pramble.estimation.records.tabulate import tabulate
from pramble.mechanisms.channel import Channel


@pytest.mark.parametrize("method", ["inverse", "mle"])
@pytest.mark.parametrize("by", [["a", "b"], ["town", "b"], ["c", "town", "a"]], ids="".join)
@pytest.mark.parametrize("covers", ["both", "randomisation"])
@pytest.mark.parametrize("weights", [None, "weight"])
def test_a_simple_plan_gives_the_same_as_one_of_branches(method, by, covers, weights, monkeypatch):
    z = pramble.perturb(people(3000, np.random.default_rng(1)), SINGLE)
    cells = len(pramble.estimate(z, SINGLE, by=by).values)
    query = {"first": "a=x" if by[-1] == "a" else "b=p|r", "odd": np.arange(float(cells))}
    asked = [{}, {"query": query}, {"mean": "income"}, {"total": "income"}]

    def answers():
        given = {"by": by, "weights": weights, "level": 0.9, "covers": covers, "method": method}
        survey = {"population_size": 10**6}
        return [pramble.estimate(z, SINGLE, **given, survey=survey, **one) for one in asked]

    plain = answers()
    monkeypatch.setattr(Channel, "axes", None)  # no block makes a table by itself
    stacked = answers()
    for one, two in zip(plain, stacked, strict=True):
        assert one.cells == two.cells
        for name in ("probabilities", "standard_errors", "lower", "upper", "covariance"):
            np.testing.assert_allclose(getattr(two, name), getattr(one, name), rtol=1e-6, atol=1e-8)
    if method == "mle":
        assert stacked[0].gap < 1e-5


@pytest.mark.parametrize("plan", PLANS.values(), ids=list(PLANS))
@pytest.mark.parametrize("by", [["a"], ["b", "a"], ["c", "a"], ["town", "b", "a"]], ids="".join)
def test_every_stacked_matrix_has_its_right_inverse(plan, by):
    z = pramble.perturb(people(5000, np.random.default_rng(2)), plan)
    if not can_give(plan, by):
        with pytest.raises(NotShown):
            tabulate(z, plan, by=by)
        return
    tabulated = tabulate(z, plan, by=by, weights="weight")
    (operator,) = tabulated.axes
    inverse = operator.right_inverse()
    R, K = len(tabulated.layout.groups), operator.shape[0]
    for group in range(R):
        one = operator.of_group(group)
        np.testing.assert_allclose(one.dense() @ one.right_inverse().G, np.eye(K), atol=1e-9)
        np.testing.assert_allclose(one.dense().sum(axis=1), 1)
    rng = np.random.default_rng(0)
    p, v = rng.random((R, K)), rng.random((R, operator.shape[1]))
    dense = [operator.of_group(group) for group in range(R)]
    np.testing.assert_allclose(
        operator.apply(p), [o.apply(q) for o, q in zip(dense, p, strict=True)]
    )
    np.testing.assert_allclose(
        operator.adjoint(v), [o.adjoint(q) for o, q in zip(dense, v, strict=True)]
    )
    for name in ("apply", "squares"):
        expected = [getattr(o.right_inverse(), name)(q) for o, q in zip(dense, v, strict=True)]
        np.testing.assert_allclose(getattr(inverse, name)(v), expected, atol=1e-9)
    np.testing.assert_allclose(inverse.own(), [o.right_inverse().own() for o in dense])
    shares = tabulated.counts / tabulated.counts.sum()
    groups = inverse.apply(shares).sum(axis=1)
    np.testing.assert_allclose(groups, shares.sum(axis=1), err_msg="a group has its own share")
