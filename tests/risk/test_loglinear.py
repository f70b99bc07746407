"""The log-linear fits against statsmodels, closed forms, and the grid by brute force."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramble.data.crosstab import crosstab
from pramble.data.open import open_records
from pramble.errors import InvalidInput, NotConverged
from pramble.information.structural_zeros import zeros_of_file
from pramble.mechanisms.operators.dense import ArrayOperator
from pramble.mechanisms.operators.uniform import BesideDiagonal
from pramble.risk import loglinear
from pramble.risk.after import log_misses
from pramble.risk.loglinear import fit_independence, locate, maximal, positive_cells
from pramble.risk.models import Sample, fit_criteria

SHAPE = (3, 2, 4)
KEYS = ["a", "b", "c"]
GRID = np.array(list(product(*map(range, SHAPE))), dtype=np.int32)


def classify(data, keys):
    return crosstab(open_records(data), keys, keep_rows=True)


def fit_margins(table, margins, rules=()):
    return loglinear.fit_margins(Sample(table, 10.0 * table.n, rules), margins)


def two_way(dimension):
    return tuple(combinations(range(dimension), 2))


def sample(seed, n=200):
    rng = np.random.default_rng(seed)
    return {key: rng.integers(0, size, n).tolist() for key, size in zip(KEYS, SHAPE, strict=True)}


def poisson_regression(table, margins, keep=None):
    import statsmodels.api as sm

    cells = GRID if keep is None else GRID[keep]
    counts = np.zeros(len(cells))
    counts[locate(cells, table.cells, table.shape)] = table.counts
    columns = [
        (cells[:, list(margin)] == levels).all(axis=1)
        for margin in margins
        for levels in product(*(range(SHAPE[axis]) for axis in margin))
    ]
    design = np.column_stack([np.ones(len(cells)), *columns]).astype(float)
    left, values, _ = np.linalg.svd(design, full_matrices=False)
    design = left[:, values > 1e-9 * values[0]]
    fit = sm.GLM(counts, design, family=sm.families.Poisson()).fit(tol=1e-13)
    return cells, fit.fittedvalues


@pytest.mark.parametrize("margins", [((0, 1), (0, 2), (1, 2)), ((0, 1), (2,)), ((0,), (1,), (2,))])
def test_fits_agree_with_poisson_regression(margins):
    table = classify(sample(1), KEYS)
    cells, expected = poisson_regression(table, margins)
    np.testing.assert_allclose(fit_margins(table, margins).means(cells), expected, atol=1e-5)


def test_the_saturated_model_gives_back_the_counts():
    table = classify(sample(1), KEYS)
    fit = fit_margins(table, [(2, 1, 0)])
    np.testing.assert_allclose(fit.means(table.cells), table.counts, rtol=1e-12)


def test_structural_zeros_agree_with_poisson_regression_on_the_possible_cells():
    data = sample(2)
    rule = {"a": 0, "c": [1, 3]}
    keep = [not (a == 0 and c in (1, 3)) for a, c in zip(data["a"], data["c"], strict=True)]
    data = {
        key: [v for v, k in zip(values, keep, strict=True) if k] for key, values in data.items()
    }
    table = classify(data, KEYS)
    possible = ~((GRID[:, 0] == 0) & np.isin(GRID[:, 2], [1, 3]))
    for margins in (two_way(3), ((0,), (1,), (2,))):
        cells, expected = poisson_regression(table, margins, keep=possible)
        fit = fit_margins(table, margins, rules=zeros_of_file([rule], table))
        np.testing.assert_allclose(fit.means(cells), expected, atol=1e-5)
        assert fit.means(GRID[~possible]).tolist() == [0.0] * (~possible).sum()


@given(st.integers(0, 10**6), st.integers(5, 60))
def test_every_margin_is_reproduced(seed, n):
    table = classify(sample(seed, n), KEYS)
    fit = fit_margins(table, two_way(3))
    cells = np.array(list(product(*map(range, table.shape))), dtype=np.int32)
    means = fit.means(cells).reshape(table.shape)
    for margin in combinations(range(3), 2):
        other = ({0, 1, 2} - set(margin)).pop()
        off = np.abs(means.sum(axis=other) - table.array(axes=margin)).max()
        assert off <= max(3 * fit.deviation, 1e-8 * n)
    assert fit.deviation <= (1e-8 * n if fit.sweeps < loglinear.SWEEPS else loglinear.CLOSE)


@given(st.integers(0, 10**6))
def test_independence_in_closed_form_is_what_fitting_gives(seed):
    table = classify(sample(seed, 30), KEYS)
    cells = positive_cells(table, maximal([], dimension=3))
    fitted = loglinear.proportional_fit(table, cells, margins=((0,), (1,), (2,)))
    np.testing.assert_allclose(fit_independence(table).means(cells), fitted.values, rtol=1e-6)


def test_criteria_scan_all_cells_also_in_pieces(monkeypatch):
    table = classify(sample(4, 12), KEYS)
    cells = positive_cells(table, maximal([], dimension=3))
    fit = fit_independence(table)
    counts = np.zeros(len(cells))
    counts[locate(cells, table.cells, table.shape)] = table.counts
    whole = fit_criteria(counts, fit.means(cells), 0.1)
    for piece in (1, 5, 2**18):
        monkeypatch.setattr(loglinear, "PIECE", piece)
        scanned = fit.criteria(table, 0.1)
        for name in ("B1", "B2", "v1", "v2"):
            assert getattr(scanned, name) == pytest.approx(getattr(whole, name), rel=1e-9)
    monkeypatch.setattr(loglinear, "MOST_CELLS", 3)
    assert fit.criteria(table, 0.1) is None


def random_law(rng, size):
    if rng.random() < 0.5:
        matrix = rng.dirichlet(np.ones(size + 1), size)[:, :size]
        return ArrayOperator(matrix)
    off = rng.random(size) / size
    return BesideDiagonal(off, 1 - size * off)


@given(st.integers(0, 10**6), st.sets(st.integers(0, 2), min_size=1))
def test_released_means_agree_with_the_kronecker_product(seed, moving):
    rng = np.random.default_rng(seed)
    table = classify(sample(seed, 25), KEYS)
    laws = {axis: random_law(rng, table.shape[axis]) for axis in moving}
    M = np.ones((1, 1))
    for axis, size in enumerate(table.shape):
        M = np.kron(M, laws[axis].dense() if axis in laws else np.eye(size))
    cells = np.array(list(product(*map(range, table.shape))), dtype=np.int32)
    for fit in (fit_independence(table), fit_margins(table, two_way(3))):
        expected = fit.means(cells) @ M
        place = locate(cells, table.cells, table.shape)
        np.testing.assert_allclose(
            fit.released_means(table.cells, laws), expected[place], rtol=1e-9
        )


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_misses_by_brute_force(seed, size):
    rng = np.random.default_rng(seed)
    law = random_law(rng, size)
    counts = rng.integers(0, 4, (3, size)).astype(float)
    M = law.dense()
    expected = [
        [sum(row[k] * np.log1p(-M[k, j]) for k in range(size) if k != j) for j in range(size)]
        for row in counts
    ]
    np.testing.assert_allclose(log_misses(law, counts), expected, rtol=1e-9, atol=1e-12)


def test_a_certain_move_is_never_missed():
    law = ArrayOperator(np.array([[0.0, 1.0], [0.0, 1.0]]))
    assert log_misses(law, np.array([[1.0, 1.0]])).tolist() == [[0.0, -np.inf]]
    assert log_misses(law, np.array([[0.0, 1.0]])).tolist() == [[0.0, 0.0]]


def test_too_many_cells_says_how_many_and_what_to_do():
    table = classify(sample(5), KEYS)
    with pytest.raises(
        InvalidInput, match=r"more than the 20 cells .*of 24 combinations.*independence"
    ):
        positive_cells(table, [(0,), (1,), (2,)], limit=20)


def test_a_fit_that_does_not_converge_says_how_far_it_got(monkeypatch):
    monkeypatch.setattr(loglinear, "SWEEPS", 1)
    table = classify(sample(6), KEYS)
    with pytest.raises(NotConverged, match=r"after 1 sweeps it is off by \d"):
        fit_margins(table, two_way(3))


def test_the_support_is_what_positive_margins_allow():
    data = {"a": [0, 0, 1, 1], "b": [0, 1, 1, 1], "c": [0, 0, 0, 1]}
    table = classify(data, KEYS)
    cells = positive_cells(table, two_way(3))
    every = list(product((0, 1), repeat=3))
    allowed = [
        cell
        for cell in every
        if all(table.array(axes=m)[cell[m[0]], cell[m[1]]] > 0 for m in two_way(3))
    ]
    assert [tuple(cell) for cell in cells.tolist()] == allowed
