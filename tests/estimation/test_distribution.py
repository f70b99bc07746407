"""Numbers behind bands: against formulas of their own, linearisations, and refusals."""

from types import SimpleNamespace

import numpy as np
import pytest

import pramble

EDGES = [0, 15, 30, 60, 90]
LABELS = ["0-14", "15-29", "30-59", "60+"]
MIDDLES = np.array([7.5, 22.5, 45, 75])
KEY = b"n" * 32


def part(d, statistic):
    """The rows of one statistic, of all quantiles if it is "quantile"."""
    rows = [i for i, own in enumerate(d.cells["statistic"]) if own.endswith(statistic)]
    numbers = {
        name: getattr(d, name)[rows] for name in ("values", "standard_errors", "lower", "upper")
    }
    return SimpleNamespace(**numbers, covariance=d.covariance[np.ix_(rows, rows)])


@pytest.fixture(scope="module")
def ages():
    m = pramble.geometric(LABELS, 1.5)
    return pramble.estimate([3000, 2500, 3000, 1500], m, counts=True)


@pytest.fixture(scope="module")
def by_sex():
    rng = np.random.default_rng(5)
    n = 20_000
    sex = rng.choice(["f", "m"], n)
    codes = np.minimum(rng.poisson(np.where(sex == "f", 6, 4)), 19)
    plan = {"x": pramble.geometric(20, 1.0)}
    out = pramble.perturb({"sex": sex, "x": codes}, plan, key=KEY)
    return pramble.estimate(out, plan, by=["sex", "x"])


def test_mean_and_spread_are_those_of_numbers_spread_evenly_in_bands(ages):
    d = ages.distribution(high=90)
    p, rng = ages.values, np.random.default_rng(1)
    low, high = np.array(EDGES[:-1]), np.array(EDGES[1:])
    band = rng.choice(4, 1_000_000, p=p / p.sum())
    drawn = rng.uniform(low[band], high[band])
    assert part(d, "mean").values[0] == pytest.approx(drawn.mean(), abs=0.1)
    assert part(d, "standard deviation").values[0] == pytest.approx(drawn.std(), abs=0.1)
    assert part(d, "variance").values[0] == pytest.approx(
        part(d, "standard deviation").values[0] ** 2
    )
    assert part(d, "quantile").values == pytest.approx(
        np.quantile(drawn, [0.25, 0.5, 0.75]), abs=0.15
    )


def test_errors_are_those_of_the_linearised_functions(ages):
    d = ages.distribution(high=90)
    widths = np.diff(EDGES)

    def spread(p):
        share = p / p.sum()
        mean = share @ MIDDLES
        return share @ ((MIDDLES - mean) ** 2 + widths**2 / 12)

    whole = ages.function(lambda p: [p @ MIDDLES / p.sum(), spread(p), spread(p) ** 0.5])
    for i, found in enumerate(
        (part(d, "mean"), part(d, "variance"), part(d, "standard deviation"))
    ):
        assert found.values[0] == pytest.approx(whole.values[i])
        assert found.standard_errors[0] == pytest.approx(whole.standard_errors[i], rel=1e-4)
        assert found.lower[0] == pytest.approx(whole.lower[i], rel=0.01)
        assert found.upper[0] == pytest.approx(whole.upper[i], rel=0.01)
        assert found.covariance[0, 0] == pytest.approx(found.standard_errors[0] ** 2)


def test_a_quantile_has_the_error_of_its_share_over_the_density(ages):
    """Where one band holds the whole interval, Woodruff's error is the linearised one."""
    d = ages.distribution(high=90, shares=[0.75])
    share = ages.function(lambda p: p[0] + p[1] + p[2] * (part(d, "quantile").values[0] - 30) / 30)
    assert share.values[0] == pytest.approx(0.75)
    density = ages.values[2] / 30
    expected = share.standard_errors[0] / density
    assert part(d, "quantile").standard_errors[0] == pytest.approx(expected, rel=0.05)


def test_intervals_of_high_quantiles_cover_in_small_files():
    labels, shares = ["0-9", "10-19", "20-29", "30-39"], np.array([0.85, 0.1, 0.04, 0.01])
    m, rng = pramble.geometric(labels, 2.0), np.random.default_rng(1)
    truth = np.interp(0.98, np.cumsum([0, *shares]), [0, 10, 20, 30, 40])
    covered = []
    for _ in range(150):
        counts = rng.multinomial(40, shares @ m.matrix).tolist()
        d = part(pramble.estimate(counts, m, counts=True).distribution(shares=[0.98]), "quantile")
        covered.append(d.lower[0] <= truth <= d.upper[0])
    assert np.mean(covered) > 0.89


def test_groups_have_their_own_numbers_and_can_be_compared(by_sex):
    d = by_sex.distribution("x", shares=[0.5])
    law = by_sex.values.reshape(2, 20)
    law = law / law.sum(axis=1, keepdims=True)
    assert d.cells["sex"] == ("f", "m") * 4
    assert part(d, "mean").values == pytest.approx(law @ (np.arange(20) + 0.5))
    cumulative = np.cumsum(law, axis=1)
    medians = [np.interp(0.5, [0, *row], np.arange(21)) for row in cumulative]
    assert part(d, "quantile").values == pytest.approx(medians, abs=0.01)
    assert (d.lower < d.values).all()
    assert (d.values < d.upper).all()
    gaps = d.contrast("sex", "f", "m")
    assert gaps.cells["statistic"] == ("mean", "variance", "standard deviation", "0.5 quantile")
    assert gaps.values == pytest.approx(d.values.reshape(4, 2) @ [1, -1])
    errors = d.standard_errors.reshape(4, 2)
    assert gaps.standard_errors == pytest.approx(np.hypot(*errors.T), rel=0.05)


def test_an_open_band_has_quantiles_below_it_and_no_mean(ages):
    d = ages.distribution(shares=[0.5, 0.99])
    closed = ages.distribution(high=90, shares=[0.5, 0.99])
    assert part(d, "quantile").values[0] == part(closed, "quantile").values[0]
    assert np.isnan(part(d, "quantile").values[1])
    assert part(d, "quantile").lower[1] == 60
    assert part(d, "quantile").upper[1] == np.inf
    assert d.cells["statistic"] == ("0.5 quantile", "0.99 quantile")
    assert "'60+' is open, so 'category' has no mean, and 1 of 2 quantiles lie in it" in repr(d)


def test_whatever_is_above_can_count_as_the_bound(ages):
    d = ages.distribution(high=60)
    assert part(d, "mean").values[0] == pytest.approx(ages.values @ [7.5, 22.5, 45, 60])
    assert ages.distribution(high=60, shares=[0.99]).values[-1] == 60


def test_labels_that_are_no_bands_are_left_out():
    m = pramble.randomized_response(["0-9", "10-19", "unknown", None], 3.0)
    e = pramble.estimate([400, 300, 200, 100], m, counts=True)
    d = e.distribution(leave_out=["unknown"])
    share = e.values[:2] / e.values[:2].sum()
    assert part(d, "mean").values[0] == pytest.approx(share @ [5, 15])
    single = e.distribution(leave_out=["unknown", "10-19"])
    assert part(single, "quantile").values == pytest.approx([2.5, 5, 7.5])
    with pytest.raises(pramble.InvalidInput, match="'unknown' is no band"):
        e.distribution()


def test_a_group_without_records_has_no_numbers():
    plan = {
        "sex": pramble.randomized_response(["f", "m"], 1.0),
        "x": pramble.geometric(4, 2.0),
    }
    whole = pramble.estimate(
        {"sex": ["f"] * 400, "x": [0, 1, 2, 3] * 100}, plan, by=["sex", "x"], method="mle"
    )
    d = whole.distribution("x", shares=[0.5])
    unknown = d.cells["sex"].index("m")
    assert np.isnan(part(d, "mean").values[unknown])
    assert np.isnan(part(d, "quantile").values[unknown])
    ends = part(d, "quantile").lower[unknown], part(d, "quantile").upper[unknown]
    assert ends == (0, 4)  # anywhere from the first band to the last
    assert 1.5 < part(d, "quantile").values[1 - unknown] < 2.5
    assert "Nothing is known" in repr(d)


def test_weights_and_clusters_are_used():
    rng = np.random.default_rng(2)
    data = {"x": rng.integers(0, 6, 4000), "w": rng.uniform(1, 3, 4000), "c": np.arange(4000) // 8}
    plan = {"x": pramble.geometric(6, 1.0)}
    out = pramble.perturb(data, plan, key=KEY)
    plain = pramble.estimate(out, plan, by="x").distribution()
    weighted = pramble.estimate(out, plan, by="x", weights="w").distribution()
    assert part(weighted, "mean").standard_errors[0] > part(plain, "mean").standard_errors[0]
    clustered = pramble.estimate(out, plan, by="x", survey={"clusters": "c"}).distribution()
    assert part(clustered, "mean").values == pytest.approx(part(plain, "mean").values)
    assert part(clustered, "mean").standard_errors[0] != part(plain, "mean").standard_errors[0]


def test_falling_curves_are_put_in_order():
    """Shares below zero by the inverse make the curve fall; ends and middle stay in order."""
    m = pramble.geometric(30, 0.2)
    rng = np.random.default_rng(4)
    e = pramble.estimate(rng.integers(100, 140, 30), m, counts=True, method="inverse")
    assert (e.values < 0).any()
    d = e.distribution(shares=np.linspace(0.05, 0.95, 31))
    assert (part(d, "quantile").lower <= part(d, "quantile").values).all()
    assert (part(d, "quantile").values <= part(d, "quantile").upper).all()
    assert (np.diff(part(d, "quantile").values) > 0).all()
    labels = e.quantiles("category", [0.3, 0.5, 0.7]).to_pydict()
    for low, middle, high in zip(*(labels[n] for n in ("lower", "quantile", "upper")), strict=True):
        assert low <= middle <= high


def test_refusals(ages, by_sex):
    cases = [
        (lambda: by_sex.distribution(), "Say which column"),
        (lambda: by_sex.distribution("y"), "no column"),
        (lambda: by_sex.distribution("x", high=3), "ends an open band; the last one ends at 20"),
        (lambda: ages.distribution(high=50), "high must be a number from 60 on"),
        (lambda: ages.distribution(high=float("nan")), "high must be a number"),
        (lambda: ages.distribution(edges=[0, 1]), "need as many edges"),
        (lambda: ages.distribution(edges=[0, 2, 1, 3]), "must increase"),
        (lambda: ages.distribution(shares=[0]), "between 0 and 1"),
        (lambda: ages.distribution(leave_out=["x"]), "'x' is no label"),
        (lambda: by_sex.collapse("x", {0: "a", 1: "a"}).distribution("x"), "merged"),
        (lambda: by_sex.distribution("x").distribution("sex"), "takes a table of shares"),
    ]
    for make, message in cases:
        with pytest.raises(pramble.InvalidInput, match=message):
            make()
    assert ages.distribution(edges=EDGES).values == pytest.approx(ages.distribution(high=90).values)
    assert ages.distribution(edges=EDGES[:-1]).cells == ages.distribution().cells
