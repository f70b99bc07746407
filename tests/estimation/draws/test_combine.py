from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t

import pramble


def test_rubins_rules_by_hand():
    """Three copies, each line written out."""
    c = pramble.combine([10.0, 12.0, 11.0], [1.0, 1.2, 1.1], level=0.9)
    within, between = 1.1, 1.0
    total = within + 4 / 3 * between
    r = 4 / 3 * between / within
    degrees = 2 * (1 + 1 / r) ** 2
    assert c.estimate == pytest.approx([11.0])
    assert (c.within[0], c.between[0]) == (pytest.approx(within), pytest.approx(between))
    assert c.standard_errors == pytest.approx([np.sqrt(total)])
    assert c.degrees == pytest.approx([degrees])
    assert c.missing == pytest.approx([(r + 2 / (degrees + 3)) / (r + 1)])
    reach = t.ppf(0.95, degrees) * np.sqrt(total)
    assert [c.lower[0], c.upper[0]] == pytest.approx([11 - reach, 11 + reach])
    assert c.copies == 3
    assert c.covariance is None


def test_it_agrees_with_statsmodels():
    """Estimates and covariances as its own combination of imputations has them."""
    from statsmodels.imputation.mice import MICE

    rng = np.random.default_rng(0)
    q = rng.normal(size=(8, 3))
    root = rng.normal(size=(8, 3, 3))
    u = root @ root.transpose(0, 2, 1)

    def fit(params, covariance):
        one = SimpleNamespace(params=params, cov_params=lambda: covariance.copy())
        return SimpleNamespace(_results=one, scale=1.0)

    mice = MICE.__new__(MICE)
    mice.results_list = [fit(*pair) for pair in zip(q, u, strict=True)]
    mice.exog_names = mice.endog_names = mice.model_class = None
    theirs = mice.combine()
    c = pramble.combine(q, u)
    assert c.estimate == pytest.approx(np.asarray(theirs.params))
    assert c.covariance == pytest.approx(np.asarray(theirs.normalized_cov_params))
    assert c.standard_errors == pytest.approx(np.sqrt(np.diag(c.covariance)))
    # They leave out the 2 / (ν + 3) of a finite number of copies.
    share = 1.125 * c.between / c.standard_errors**2
    assert np.asarray(theirs.frac_miss_info) == pytest.approx(share)
    assert (c.missing > share).all()


def test_a_known_file_has_the_degrees_of_barnard_and_rubin():
    """Their table of degrees never exceeds what the file itself would give."""
    q, u = [[1.0, 2.0], [1.1, 2.0], [0.9, 2.0], [1.2, 2.0]], [[0.02, 0.5]] * 4
    c = pramble.combine(q, u, records=20)
    whole = pramble.combine(q, u)
    share = 1.25 * c.between[0] / (0.02 + 1.25 * c.between[0])
    old, seen = 3 / share**2, 21 / 23 * 20 * (1 - share)
    assert c.degrees == pytest.approx([old * seen / (old + seen), 21 / 23 * 20])
    assert np.isinf(whole.degrees[1])
    assert (c.upper - c.lower > whole.upper - whole.lower).all()


def test_copies_that_agree_leave_the_variance_within():
    c = pramble.combine([3.0, 3.0], [0.25, 0.25])
    assert c.standard_errors == pytest.approx([0.5])
    assert c.missing == pytest.approx([0.0])
    assert c.upper == pytest.approx([3 + 1.959963984540054 * 0.5])
    none = pramble.combine([3.0, 3.0], [0.0, 0.0])
    assert none.lower[0] == none.upper[0] == 3.0


def test_shapes_and_words():
    one = pramble.combine([1.0, 2.0], [0.1, 0.1])
    same = pramble.combine([[1.0], [2.0]], [[0.1], [0.1]])
    matrix = pramble.combine([[1.0], [2.0]], [[[0.1]], [[0.1]]])
    assert one.estimate.shape == same.estimate.shape == matrix.estimate.shape == (1,)
    assert matrix.covariance == pytest.approx(one.standard_errors[:, None] ** 2)
    several = pramble.combine([[1, 2], [2, 2]], [[0.1, 0.1]] * 2, names=["age", "sex"])
    assert repr(several).splitlines()[4].split()[:3] == ["age", "1.5", "0.922"]
    assert several.table.column_names[:4] == ["name", "estimate", "standard_error", "lower"]
    assert several.table["name"].to_pylist() == ["age", "sex"]
    assert not several.estimate.flags.writeable


@pytest.mark.parametrize(
    ("estimates", "variances", "keywords", "message"),
    [
        ([1.0], [0.1], {}, "two or more copies"),
        (1.0, 0.1, {}, "two or more copies"),
        ([1.0, 2.0], [0.1], {}, "one for each estimate"),
        ([[1.0, 2.0], [1.0, 2.0]], [0.1, 0.1], {}, "one for each estimate"),
        ([1.0, 2.0], [0.1, -0.1], {}, "estimate 0 in copy 1 is -0.1"),
        ([[1.0], [2.0]], [[[0.1]], [[-1.0]]], {}, "must not be negative"),
        ([1.0, np.nan], [0.1, 0.1], {}, "finite numbers; copy 1"),
        ([1.0, "x"], [0.1, 0.1], {}, "must be numbers"),
        ([[1.0], [2.0, 3.0]], [0.1, 0.1], {}, "as many from every copy"),
        ([1.0, 2.0], [0.1, 0.1], {"level": 1.0}, "level"),
        ([1.0, 2.0], [0.1, 0.1], {"records": 0}, "records must be above zero"),
        ([1.0, 2.0], [0.1, 0.1], {"names": ["a", "b"]}, "name all 1 estimates"),
    ],
)
def test_what_cannot_be_combined_is_refused(estimates, variances, keywords, message):
    with pytest.raises(pramble.InvalidInput, match=message):
        pramble.combine(estimates, variances, **keywords)
