"""The log-linear fits against statsmodels, closed forms, and the grid by brute force."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble
from pramble import InvalidInput, NotConverged

SHAPE = (3, 2, 4)
KEYS = ["a", "b", "c"]
GRID = np.array(list(product(*map(range, SHAPE))), dtype=np.int32)
PAIRS = list(combinations(KEYS, 2))


def sample(seed, n=200):
    rng = np.random.default_rng(seed)
    return {key: rng.integers(0, size, n).tolist() for key, size in zip(KEYS, SHAPE, strict=True)}


def fitted(data, model, **more):
    size = 10.0 * len(data["a"])
    return pramble.assess(data, KEYS, population_size=size, model=model, **more)


def counts_of(table, cells):
    found = {tuple(cell): n for cell, n in zip(table.cells.tolist(), table.counts, strict=True)}
    return np.array([float(found.get(tuple(cell), 0)) for cell in cells.tolist()])


def poisson_regression(table, margins, keep=None):
    import statsmodels.api as sm

    cells = GRID if keep is None else GRID[keep]
    axes = [[KEYS.index(key) for key in margin] for margin in margins]
    columns = [
        (cells[:, axis] == levels).all(axis=1)
        for axis in axes
        for levels in product(*(range(SHAPE[i]) for i in axis))
    ]
    design = np.column_stack([np.ones(len(cells)), *columns]).astype(float)
    left, values, _ = np.linalg.svd(design, full_matrices=False)
    design = left[:, values > 1e-9 * values[0]]
    family = sm.families.Poisson()
    return cells, sm.GLM(counts_of(table, cells), design, family=family).fit(tol=1e-13).fittedvalues


MODELS = [("two-way", PAIRS), ("independence", [("a",), ("b",), ("c",)])]


@pytest.mark.parametrize(("model", "margins"), MODELS)
def test_fits_agree_with_poisson_regression(model, margins):
    a = fitted(sample(1), model)
    cells, expected = poisson_regression(a.table, margins)
    np.testing.assert_allclose(a.fit.means(cells), expected, atol=1e-5)


def test_two_keys_give_back_the_counts():
    data = sample(1)
    a = pramble.assess(data, ["a", "b"], population_size=2000)
    np.testing.assert_allclose(a.fit.means(a.table.cells), a.table.counts, rtol=1e-12)


def test_structural_zeros_agree_with_poisson_regression_on_the_possible_cells():
    data = sample(2)
    rule = {"a": 0, "c": [1, 3]}
    keep = [not (a == 0 and c in (1, 3)) for a, c in zip(data["a"], data["c"], strict=True)]
    data = {
        key: [v for v, k in zip(values, keep, strict=True) if k] for key, values in data.items()
    }
    possible = ~((GRID[:, 0] == 0) & np.isin(GRID[:, 2], [1, 3]))
    for model, margins in MODELS:
        a = fitted(data, model, impossible=[rule])
        cells, expected = poisson_regression(a.table, margins, keep=possible)
        np.testing.assert_allclose(a.fit.means(cells), expected, atol=1e-5)
        assert a.fit.means(GRID[~possible]).tolist() == [0.0] * (~possible).sum()


@given(st.integers(0, 10**6), st.integers(5, 60))
def test_every_margin_is_reproduced(seed, n):
    a = fitted(sample(seed, n), "two-way")
    cells = np.array(list(product(*map(range, a.table.shape))), dtype=np.int32)
    means = a.fit.means(cells).reshape(a.table.shape)
    for margin in combinations(range(3), 2):
        other = ({0, 1, 2} - set(margin)).pop()
        assert np.abs(means.sum(axis=other) - a.table.array(axes=margin)).max() <= 0.03


@given(st.integers(0, 10**6))
def test_independence_in_closed_form_is_what_fitting_gives(seed):
    data = sample(seed, 30)
    a = fitted(data, "independence")
    never = {"a": 0, "b": lambda _: False}  # a rule that bars nothing, so that cells are listed
    listed = fitted(data, "independence", impossible=[never])
    cells = listed.fit.cells
    assert len(cells) == a.cells
    np.testing.assert_allclose(a.fit.means(cells), listed.fit.values, rtol=1e-6)


def test_too_many_cells_says_how_many_and_what_to_do(monkeypatch):
    monkeypatch.setattr("pramble.risk.loglinear.MOST_MODEL_BYTES", 20 * 48)
    with pytest.raises(
        InvalidInput, match=r"more than the 20 cells .*of 24 combinations.*independence"
    ):
        fitted(sample(5), "two-way")


def test_a_fit_that_does_not_converge_says_how_far_it_got(monkeypatch):
    monkeypatch.setattr("pramble.risk.loglinear.SWEEPS", 1)
    with pytest.raises(NotConverged, match=r"after 1 sweeps it is off by \d"):
        fitted(sample(6), "two-way")


def test_the_support_is_what_positive_margins_allow():
    data = {"a": [0, 0, 1, 1], "b": [0, 1, 1, 1], "c": [0, 0, 0, 1]}
    a = fitted(data, "two-way")
    pairs = list(combinations(range(3), 2))
    allowed = [
        cell
        for cell in product((0, 1), repeat=3)
        if all(a.table.array(axes=m)[cell[m[0]], cell[m[1]]] > 0 for m in pairs)
    ]
    assert [tuple(cell) for cell in a.fit.cells.tolist()] == allowed
