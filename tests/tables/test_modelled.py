"""Tables of columns that were not measured together: modelled, with errors, and marked as such."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

import pramble

SHAPE = (2, 3, 4)
NAMES = ("a", "b", "c")
PAIRS = (("a", "b"), ("a", "c"), ("b", "c"))
N = 20_000


def model(shape=SHAPE, *, order=2, scale=0.7, seed=1):
    """Shares of cells with random effects of at most so many columns, and no others."""
    rng = np.random.default_rng(seed)
    log = np.zeros(shape)
    for size in range(1, order + 1):
        for part in combinations(range(len(shape)), size):
            log = log + scale * rng.normal(
                size=[n if j in part else 1 for j, n in enumerate(shape)]
            )
    return np.exp(log) / np.exp(log).sum()


def columns_of(counts):
    """The rows of a file with some counts."""
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    return dict(zip(NAMES, np.unravel_index(cells, counts.shape), strict=True))


def design(shape=SHAPE, *, tables=2, epsilon=1.0, rows=1):
    sizes = dict(zip(NAMES, shape, strict=True))
    return pramble.design_tables(sizes, epsilon, 1e-6, tables=tables, rows_per_person=rows)


def measured(counts, own, key=0, **more):
    return pramble.measure(columns_of(counts), own, key=key.to_bytes(32, "big"), **more)


def file_of(p, n=N):
    return np.rint(n * p).astype(int)


@pytest.fixture(scope="module")
def one():
    """Pairs of a file, measured once."""
    return measured(file_of(model()), design())


def shares_of(m, by):
    found = pramble.estimate(m, by=by)
    return found.probabilities.reshape([len(set(found.cells[name])) for name in by])


def largest_entropy(margins, shape):
    """The distribution of largest entropy with some margins, from its dual."""
    cells = np.indices(shape).reshape(len(shape), -1)
    rows, goal = [], []
    for axes, table in margins.items():
        place = np.ravel_multi_index(cells[list(axes)], table.shape)
        rows.append(np.eye(table.size)[place].T)
        goal.append(table.ravel())
    X, t = np.concatenate(rows), np.concatenate(goal)

    def dual(theta):
        log = theta @ X
        p = np.exp(log - logsumexp(log))
        return logsumexp(log) - theta @ t, X @ p - t

    theta = minimize(dual, np.zeros(len(t)), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    return np.exp(theta @ X - logsumexp(theta @ X)).reshape(shape)


def test_estimates_have_the_largest_entropy_of_all_with_the_measured_tables(one):
    margins = {
        tuple(NAMES.index(name) for name in pair): shares_of(one, list(pair)) for pair in PAIRS
    }
    expected = largest_entropy(margins, SHAPE)
    assert expected.min() > 0
    assert np.allclose(shares_of(one, list(NAMES)), expected, atol=1e-6)


@pytest.mark.parametrize("by", [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]])
def test_measured_tables_within_a_modelled_one_are_kept(one, by):
    whole = shares_of(one, by)
    assert whole.sum() == pytest.approx(1)
    for pair in combinations(by, 2):
        gone = tuple(axis for axis, name in enumerate(by) if name not in pair)
        assert np.allclose(whole.sum(axis=gone), shares_of(one, list(pair)), atol=2e-6)


def test_the_order_of_columns_changes_the_order_of_cells_alone(one):
    first, second = (pramble.estimate(one, by=by) for by in (list("abc"), list("cba")))
    turned = np.arange(24).reshape(SHAPE).transpose(2, 1, 0).ravel()
    for name in ("probabilities", "standard_errors", "lower", "upper"):
        assert np.allclose(getattr(first, name)[turned], getattr(second, name), atol=1e-6)
    assert np.allclose(
        first.covariance[np.ix_(turned, turned)], second.covariance, rtol=1e-3, atol=1e-12
    )


def variance_of_a_cell(own, column, n):
    """The variance of the noise in the shares of one column."""
    return own.plan.cell_variance((column,)) / n**2


def test_single_columns_are_taken_for_independent():
    n, own = 100_000, design(tables=1)
    m = measured(file_of(model(order=1), n), own)
    a, b, c = (shares_of(m, [name]) for name in NAMES)
    e = pramble.estimate(m, by=list(NAMES))
    assert np.allclose(e.probabilities, np.einsum("i,j,k->ijk", a, b, c).ravel())
    noise = [variance_of_a_cell(own, name, n) for name in NAMES]
    ones = [np.ones_like(one) for one in (a, b, c)]
    for covers, sampled in (("randomisation", 0), ("both", 1)):
        own_variances = [
            v + sampled * p * (1 - p) / n for v, p in zip(noise, (a, b, c), strict=True)
        ]
        expected = sum(
            np.einsum("i,j,k->ijk", *(
                v * ones[i] if i == j else p**2 for i, (v, p) in enumerate(
                    zip(own_variances, (a, b, c), strict=True))
            ))
            for j in range(3)
        )  # fmt: skip
        found = pramble.estimate(m, by=list(NAMES), covers=covers)
        assert np.allclose(found.standard_errors**2, expected.ravel(), rtol=0.02)
        assert np.allclose(np.diag(found.covariance), expected.ravel(), rtol=0.02)


def test_columns_without_a_measured_table_are_independent_given_the_others():
    m = measured(file_of(model()), design(tables=[("a", "b"), ("b", "c")]))
    ab, bc, b = (shares_of(m, list(by)) for by in ("ab", "bc", "b"))
    expected = ab[:, :, None] * bc[None, :, :] / b[None, :, None]
    e = pramble.estimate(m, by=["a", "b", "c"])
    assert np.allclose(e.probabilities, expected.ravel(), atol=1e-6)
    assert e.rests_on == (("a", "b"), ("b", "c"))
    assert np.allclose(
        pramble.estimate(m, by=["a", "c"]).probabilities,
        np.outer(shares_of(m, ["a"]), shares_of(m, ["c"])).ravel(),
        atol=1e-6,
    )


def fits(estimates, errors):
    """Whether estimates spread as errors say: the mean of their squared ratios is near one."""
    away = (estimates - estimates.mean(axis=0)) / errors
    return 0.9 < (away**2).sum() / (len(away) - 1) / away.shape[1] < 1.1


FOLLOW = {
    "cells": lambda m, more: pramble.estimate(m, by=list(NAMES), **more),
    "query": lambda m, more: pramble.estimate(
        m, by=list(NAMES), query=["a=0,b=1|2", "a=1,c=3"], **more
    ),
    "given": lambda m, more: pramble.estimate(m, by="c", given=["a", "b"], **more),
    "contrast": lambda m, more: pramble.estimate(m, by=list(NAMES), **more).contrast("a", 0, 1),
    "collapse": lambda m, more: pramble.estimate(m, by=list(NAMES), **more).collapse(
        "c", {0: "low", 1: "low", 2: "high", 3: "high"}
    ),
    "function": lambda m, more: pramble.estimate(m, by=list(NAMES), **more).function(
        lambda p: np.log(p[0] * p[-1] / (p[3] * p[-4]))
    ),
    "counts": lambda m, more: pramble.estimate(m, by=list(NAMES), **more).counts(),
}


@pytest.fixture(scope="module")
def noisy():
    """One file, measured again and again."""
    return [measured(file_of(model()), design(), key) for key in range(1, 151)]


@pytest.mark.parametrize("what", FOLLOW)
def test_errors_are_those_of_measuring_again(noisy, what):
    found = [FOLLOW[what](m, {"covers": "randomisation"}) for m in noisy]
    estimates = np.array([e.values for e in found])
    errors = np.array([e.standard_errors for e in found])
    assert fits(estimates, errors)
    assert not fits(estimates, 1.3 * errors)
    assert not fits(estimates, errors / 1.3)


def test_covariances_are_those_of_measuring_again(noisy):
    found = [FOLLOW["cells"](m, {"covers": "randomisation"}) for m in noisy]
    drawn = np.cov(np.array([e.values for e in found]).T)
    stated = np.mean([e.covariance for e in found], axis=0)
    scale = np.sqrt(np.outer(np.diag(drawn), np.diag(drawn)))
    assert np.abs((drawn - stated) / scale).max() < 0.35  # four standard errors of a correlation
    assert np.abs((drawn - 1.69 * stated) / scale).max() > 0.5


def moved(m, change, part=None):
    """Protected tables with a change of one part, in people, or of the total."""
    parts = dict(m.parts)
    if part is None:
        return replace(m, total=m.total + change)
    parts[part] = parts[part] + m.plan.cells(part) ** 2 * change
    return replace(m, parts=parts)


def of_persons(counts, own):
    """Protected tables of persons, whose number of rows is noisier than it would be."""
    people = columns_of(counts) | {"id": np.arange(counts.sum())}
    m = pramble.measure(people, own, key=bytes(32), person="id")
    noisy = dict(m.plan.precision) | {(): 1e-5}
    return replace(m, plan=replace(m.plan, precision=noisy))


def differences(shape):
    """A basis of the arrays that sum to zero along every axis, in whole numbers."""
    found = [np.ones(())]
    for size in shape:
        steps = [np.eye(size, dtype=int)[i] - np.eye(size, dtype=int)[0] for i in range(1, size)]
        found = [np.multiply.outer(one, step).astype(int) for one in found for step in steps]
    return found


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("rows", [1, 2])
def test_covariances_are_those_of_the_derivative(rows, counted):
    """By finite differences in every measured number, the total among them if it is measured."""
    shape, own = (2, 3, 2), design((2, 3, 2), rows=rows)
    counts = file_of(model(shape), 200_000)
    m = measured(counts, own) if rows == 1 else of_persons(counts, own)

    def answers(m):
        e = pramble.estimate(m, by=list(NAMES), covers="randomisation")
        return e.counts() if counted else e

    def derivative(change, part=None):
        up, down = (answers(moved(m, sign * 50 * change, part)).values for sign in (1, -1))
        return (up - down) / 100

    expected = np.zeros((12, 12))
    for part in m.plan.parts:
        basis = differences(m.plan.shape(part))
        flat = np.array([one.ravel() for one in basis])
        J = np.array([derivative(one, part) for one in basis]).T
        expected += J @ np.linalg.solve(flat @ flat.T, J.T) / m.plan.precision[part]
    if rows > 1:
        J = derivative(1)
        by_total = np.outer(J, J) * (1 / m.plan.precision[()] + 1 / 12)
        assert np.diag(by_total).sum() > 0.2 * np.diag(expected).sum()
        expected += by_total
    found, scale = answers(m), np.sqrt(np.diag(expected))
    assert np.allclose(
        found.covariance / np.outer(scale, scale), expected / np.outer(scale, scale), atol=0.01
    )
    assert np.allclose(found.standard_errors, scale, rtol=0.01)


@pytest.mark.parametrize(("covers", "n"), [("randomisation", N), ("both", N), ("both", 2000)])
def test_intervals_hold_the_truth_where_the_model_is_right(covers, n):
    p, own, rng = model(), design(), np.random.default_rng(3)
    held = []
    for key in range(1, 151):
        counts = file_of(p, n)
        if covers == "both":
            counts = rng.multinomial(n, p.ravel()).reshape(SHAPE)
        truth = p if covers == "both" else counts / counts.sum()
        e = pramble.estimate(measured(counts, own, key), by=list(NAMES), covers=covers)
        held.append((e.lower <= truth.ravel()) & (truth.ravel() <= e.upper))
    assert 0.93 < np.mean(held) < 0.97


def test_intervals_do_not_measure_the_error_of_the_model():
    p = model(order=1)
    p = p * (1 + 0.5 * np.einsum("i,j,k->ijk", [1, -1], [1, 0, -1], [1, 1, -1, -1]))
    counts = file_of(p / p.sum())
    e = pramble.estimate(measured(counts, design()), by=list(NAMES), covers="randomisation")
    truth = (counts / counts.sum()).ravel()
    assert np.mean((e.lower <= truth) & (truth <= e.upper)) < 0.5


def test_empty_measured_cells_stay_empty_and_their_intervals_have_a_length():
    counts = file_of(model())
    counts[1, 2] = 0
    m = measured(counts, design(), key=5)
    e = pramble.estimate(m, by=list(NAMES), covers="randomisation")
    cells = e.probabilities.reshape(SHAPE)[1, 2]
    empty = np.flatnonzero(shares_of(m, ["a", "b"])[1, 2] == 0)
    assert empty.size
    assert (cells == 0).all()
    assert (e.standard_errors.reshape(SHAPE)[1, 2] > 0).all()
    assert (e.upper.reshape(SHAPE)[1, 2] > 0).all()
    assert (e.upper.reshape(SHAPE)[1, 2] < 0.01).all()


@pytest.mark.parametrize("key", range(6))
def test_noise_that_drowns_the_tables_leaves_a_distribution(key):
    m = measured(file_of(model((2, 2, 2)), 40), design((2, 2, 2), epsilon=0.1), key)
    e = pramble.estimate(m, by=list(NAMES))
    assert (e.probabilities >= 0).all()
    assert e.probabilities.sum() == pytest.approx(1)
    assert np.isfinite(e.standard_errors).all()
    assert (e.lower <= e.probabilities).all()
    assert (e.probabilities <= e.upper).all()
    assert (e.upper - e.lower).mean() > 0.2


def test_modelled_estimates_and_what_follows_from_them_are_marked(one):
    e = pramble.estimate(one, by=list(NAMES))
    assert e.is_modelled
    assert e.rests_on == PAIRS
    others = [
        e.counts(),
        e.contrast("a", 0, 1),
        e.collapse("c", {0: 1}),
        e.mean("c"),
        e.cumulative("c"),
        e.function(np.sum),
        e.loglinear(["a", "b", "c"]).fitted,
        pramble.estimate(one, by="a", given=["b", "c"]),
        pramble.estimate(one, by=list(NAMES), query="a=0,b=1,c=2"),
    ]
    for found in (e, *others):
        assert found.is_modelled
        assert sum("not measured together" in note for note in found.notes) == 1
        assert str(found).startswith("Modelled estimate of")
        assert "a × b, a × c, b × c" in " ".join(str(found).split())
        assert "Modelled estimate of" in found._repr_html_()
        assert "hold if the model does" in found.covers_what
    plain = pramble.estimate(one, by=["a", "b"])
    assert not plain.is_modelled
    assert plain.rests_on == plain.notes == ()
    assert "odelled" not in str(plain) + plain._repr_html_() + plain.covers_what


def test_quantiles_of_a_modelled_table_are_those_of_its_shares(one):
    e = pramble.estimate(one, by=list(NAMES))
    found = e.quantiles("c", [0.5]).to_pydict()
    up_to = np.cumsum(e.probabilities.reshape(SHAPE), axis=2)
    expected = (up_to / up_to[:, :, -1:] >= 0.5).argmax(axis=2).ravel()
    assert found["quantile"] == expected.tolist()


def test_an_unbiased_estimate_is_refused_with_what_can_be_had(one):
    with pytest.raises(pramble.InvalidInput, match="a × b, a × c, b × c") as refused:
        pramble.estimate(one, by=list(NAMES), method="inverse")
    assert "method='mle' models it" in str(refused.value)
    assert "tables=[('a', 'b', 'c'), …]" in str(refused.value)
    with pytest.raises(pramble.InvalidInput, match="method must be one of"):
        pramble.estimate(one, by=list(NAMES), method="best")


def test_what_needs_a_measured_table_says_so(one):
    with pytest.raises(pramble.InvalidInput, match="measured table of all its columns"):
        pramble.estimate_regression(one, formula="a ~ b + c", family="logistic")
    m = measured(file_of(model()), design(tables=1))
    with pytest.raises(pramble.InvalidInput, match="models it without interactions"):
        pramble.independence_test(m, columns=["a", "b"])


def test_a_model_that_is_too_large_is_refused():
    own = pramble.design_tables({"a": 80, "b": 80, "c": 80}, 1.0, 1e-6, tables=2)
    rows = {name: np.arange(1000) % 80 for name in NAMES}
    m = pramble.measure(rows, own, key=bytes(32))
    with pytest.raises(pramble.InvalidInput, match=r"its model is too large: 512,000 cells.*synth"):
        pramble.estimate(m, by=list(NAMES))
