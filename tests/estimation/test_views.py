"""Tables from views: unbiased, consistent, with the errors that they state."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import pramble
from pramble.errors import NotShown
from pramble.estimation.views import table_of_views

pytestmark = pytest.mark.xdist_group("views")  # one worker makes what all need

SIZES = {"sex": 2, "marst": 3, "educ": 4}
N, TIMES = 20_000, 200
LAW = np.random.default_rng(5).dirichlet(np.full(24, 1.5)).reshape(2, 3, 4)


def cells(*columns):
    return list(product(*(range(SIZES[name]) for name in columns)))


def joint(*columns, alpha):
    return {columns: pramble.randomized_response(cells(*columns), alpha)}


VIEWS = pramble.Views(
    [
        joint("sex", "marst", alpha=2.0),
        joint("marst", "educ", alpha=2.5),
        joint("educ", "sex", alpha=2.0),
        joint("sex", "marst", "educ", alpha=3.5),
    ]
)


def people(rng, n=N):
    drawn = np.unravel_index(rng.choice(24, size=n, p=LAW.ravel()), LAW.shape)
    return dict(zip(SIZES, drawn, strict=True))


def shares(frame, by):
    flat = np.ravel_multi_index([frame[name] for name in by], [SIZES[name] for name in by])
    size = int(np.prod([SIZES[name] for name in by]))
    return np.bincount(flat, minlength=size) / len(flat)


def margin(values, by, name):
    """Return the margin of one column of a table."""
    array = np.asarray(values).reshape([SIZES[column] for column in by])
    return array.sum(axis=tuple(i for i, column in enumerate(by) if column != name))


@pytest.fixture(scope="module")
def released():
    return pramble.perturb(people(np.random.default_rng(1)), VIEWS, key=bytes(32))


@pytest.fixture(scope="module")
def repeated():
    """Estimates of one table from many files by all views, by one, and by wrong weights."""
    by, rng = ["marst", "sex"], np.random.default_rng(3)
    rows = {"file": [], "all": [], "one": [], "wrong": [], "inside": []}
    for number in range(TIMES):
        frame = people(rng)
        views = pramble.perturb(frame, VIEWS, key=number.to_bytes(32, "big"))
        rows["file"].append(shares(frame, by))
        rows["all"].append(pramble.estimate(views, VIEWS, by=by, method="inverse"))
        alone = views["sex-marst"], VIEWS["sex-marst"]
        rows["one"].append(pramble.estimate(*alone, by=by, method="inverse"))
        rows["wrong"].append(wrongly_weighed(views, by))
        rows["inside"].append(
            pramble.estimate(views, VIEWS, by=by, method="inverse", covers="randomisation")
        )
    return rows


def wrongly_weighed(views, by):
    """Return a table whose components are averaged by weights that grow with the variance."""
    combined = table_of_views(views, VIEWS, by=by)
    turned = [{s: 1 / share for s, share in own.items()} for own in combined.shares]
    totals = {s: sum(own.get(s, 0.0) for own in turned) for own in turned for s in own}
    combined.__dict__["shares"] = tuple(
        {s: share / totals[s] for s, share in own.items()} for own in turned
    )
    return combined.unbiased


TRUE = LAW.sum(axis=2).T.ravel()


def test_the_table_is_unbiased(repeated):
    values = np.array([e.probabilities for e in repeated["all"]])
    z = (values.mean(axis=0) - TRUE) / (values.std(axis=0, ddof=1) / TIMES**0.5)
    assert np.abs(z).max() < 4


def test_the_covariance_is_that_of_repetitions(repeated):
    """Of 200 repetitions a variance has a relative error of a tenth, and a contrast no less."""
    values = np.array([e.probabilities for e in repeated["all"]])
    found, stated = np.cov(values.T), np.mean([e.covariance for e in repeated["all"]], axis=0)
    assert np.trace(found) == pytest.approx(np.trace(stated), rel=0.2)
    contrasts = np.array([[1, 1, -1, -1, 0, 0], [1, -1, 1, -1, 1, -1], [1, -1, -1, 1, 0, 0]])
    ratio = np.diag(contrasts @ found @ contrasts.T) / np.diag(contrasts @ stated @ contrasts.T)
    assert (np.abs(ratio - 1) < 0.4).all()


def test_the_error_against_the_file_is_that_of_randomisation(repeated):
    errors = np.array(
        [e.probabilities - own for e, own in zip(repeated["all"], repeated["file"], strict=True)]
    )
    stated = np.mean([np.trace(e.covariance) for e in repeated["inside"]])
    whole = np.mean([np.trace(e.covariance) for e in repeated["all"]])
    assert (errors**2).sum(axis=1).mean() == pytest.approx(stated, rel=0.15)
    assert whole - stated == pytest.approx((1 - (TRUE**2).sum()) / N, rel=0.02)


def test_intervals_cover(repeated):
    """1,200 intervals of each kind: 93 to 97 per cent is beyond three standard errors."""
    law = np.mean([(e.lower <= TRUE) & (e.upper >= TRUE) for e in repeated["all"]])
    pairs = zip(repeated["inside"], repeated["file"], strict=True)
    file = np.mean([(e.lower <= own) & (own <= e.upper) for e, own in pairs])
    assert 0.93 < law < 0.97
    assert 0.93 < file < 0.97


def test_all_views_beat_one_view_and_wrong_weights(repeated):
    def errors(tables):
        return ((np.array(tables) - np.array(repeated["file"])) ** 2).sum(axis=1)

    best = errors([e.probabilities for e in repeated["all"]])
    for other in ([e.probabilities for e in repeated["one"]], repeated["wrong"]):
        worse = errors(other) - best
        assert worse.mean() > 3 * worse.std() / TIMES**0.5
    stated = [np.trace(repeated[name][0].covariance) for name in ("all", "one")]
    assert stated[0] < stated[1]


def test_no_other_weights_have_less_variance(released):
    """Moving weight of a component from one view to another, either way, adds variance."""

    def trace(shares=None):
        combined = table_of_views(released, VIEWS, by=["sex", "educ"])
        combined.__dict__.update({} if shares is None else {"shares": shares})
        covariance = combined.covariance_of(np.eye(8), combined.unbiased, sampling=0.0)
        return np.trace(covariance), combined.shares

    least, best = trace()
    moves = 0
    for s in [(0,), (1,), (0, 1)]:
        views = [v for v, own in enumerate(best) if s in own]
        assert sum(best[v][s] for v in views) == pytest.approx(1)
        for one, two in product(views, views):
            if one != two:
                moved = [dict(own) for own in best]
                moved[one][s], moved[two][s] = best[one][s] + 0.02, best[two][s] - 0.02
                assert trace(tuple(moved))[0] > least
                moves += 1
    assert moves == 6 + 6 + 2


def test_tables_agree_about_what_they_share(released):
    tables = [
        ["sex"],
        ["sex", "marst"],
        ["educ", "sex"],
        ["marst", "educ"],
        ["educ", "sex", "marst"],
    ]
    found = {tuple(by): pramble.estimate(released, VIEWS, by=by, method="inverse") for by in tables}
    for name in SIZES:
        margins = [margin(e.probabilities, by, name) for by, e in found.items() if name in by]
        assert all(np.abs(one - margins[0]).max() < 1e-12 for one in margins)
    whole = found["educ", "sex", "marst"].probabilities.reshape(4, 2, 3)
    pair = found["educ", "sex"].probabilities.reshape(4, 2)
    assert np.abs(whole.sum(axis=2) - pair).max() < 1e-12


def test_tables_agree_with_matrices_that_have_many_inverses():
    high = np.exp(3.0)
    pattern = np.random.default_rng(2).random((6, 12)) < 0.5
    matrix = np.where(pattern, high, 1.0)
    outputs = [(f"z{i}", "q") for i in range(12)]
    wide = pramble.Mechanism.from_matrix(
        matrix / matrix.sum(axis=1, keepdims=True),
        categories=cells("sex", "marst"),
        outputs=outputs,
    )
    views = pramble.Views([{("sex", "marst"): wide}, joint("educ", "sex", alpha=2.0)])
    frame = people(np.random.default_rng(4))
    data = pramble.perturb(frame, views, key=bytes(32))
    one = pramble.estimate(data, views, by=["sex", "marst"], method="inverse")
    two = pramble.estimate(data, views, by=["educ", "sex"], method="inverse")
    by_one = margin(one.probabilities, ["sex", "marst"], "sex")
    assert np.abs(by_one - margin(two.probabilities, ["educ", "sex"], "sex")).max() < 1e-12
    z = (one.probabilities - shares(frame, ["sex", "marst"])) / one.standard_errors
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize("by", [["sex"], ["marst", "sex"], ["educ", "sex", "marst"]])
@pytest.mark.parametrize("options", [{}, {"covers": "randomisation"}, {"population_size": 50_000}])
@pytest.mark.parametrize("method", ["mle", "inverse"])
def test_one_view_gives_what_its_plan_gives(released, by, options, method):
    name = "sex-marst-educ"
    views = pramble.Views({name: VIEWS[name]})
    one = pramble.estimate(released, views, by=by, method=method, **options)
    plain = pramble.estimate(released[name], VIEWS[name], by=by, method=method, **options)
    assert one.cells == plain.cells
    assert (one.n, one.method, one.covers) == (plain.n, plain.method, plain.covers)
    for what in ("probabilities", "standard_errors", "lower", "upper", "covariance"):
        assert getattr(one, what) == pytest.approx(getattr(plain, what), abs=1e-12)


def test_queries_follow_from_the_table(released):
    by = ["sex", "educ"]
    weights = np.random.default_rng(1).normal(size=8)
    whole = pramble.estimate(released, VIEWS, by=by, method="inverse")
    asked = {"mine": weights, "women": "sex=0"}
    found = pramble.estimate(released, VIEWS, by=by, method="inverse", query=asked)
    both = np.stack([weights, np.repeat([1.0, 0.0], 4)])
    assert found.values == pytest.approx(both @ whole.probabilities, abs=1e-12)
    assert found.covariance == pytest.approx(both @ whole.covariance @ both.T, abs=1e-12)
    assert found.standard_errors == pytest.approx(np.sqrt(np.diag(found.covariance)))
    assert ((found.lower < found.values) & (found.values < found.upper)).all()
    women = pramble.estimate(released, VIEWS, by=["sex"], method="inverse")
    assert found.values[1] == pytest.approx(women.probabilities[0], abs=1e-12)
    assert found.lower[1] == pytest.approx(women.lower[0], abs=1e-4)
    plain = pramble.estimate(
        released["sex-marst"], VIEWS["sex-marst"], by=["sex"], method="inverse", query="sex=0"
    )
    assert found.standard_errors[1] < plain.standard_errors[0]


def test_the_default_stays_inside_the_simplex():
    frame = {
        "sex": np.zeros(400, dtype=int),
        "marst": np.arange(400) % 2,
        "educ": np.zeros(400, dtype=int),
    }
    data = pramble.perturb(frame, VIEWS, key=bytes(32))
    raw = pramble.estimate(data, VIEWS, by=["sex", "marst"], method="inverse")
    inside = pramble.estimate(data, VIEWS, by=["sex", "marst"])
    assert raw.probabilities.min() < 0
    assert inside.probabilities.min() >= 0
    assert inside.probabilities.sum() == pytest.approx(1)
    assert (inside.lower >= 0).all()
    assert (inside.lower <= inside.upper).all()


def gaps():
    """Views of which two know that nobody has sex 1 with marst 2."""
    first = [cell for cell in cells("sex", "marst") if cell != (1, 2)]
    whole = [cell for cell in cells("sex", "marst", "educ") if cell[:2] != (1, 2)]
    return pramble.Views(
        [
            {("sex", "marst"): pramble.randomized_response(first, 2.0)},
            joint("marst", "educ", alpha=2.0),
            {("sex", "marst", "educ"): pramble.randomized_response(whole, 3.0)},
        ]
    )


def test_impossible_cells_are_zero():
    frame = people(np.random.default_rng(2))
    frame["marst"] = np.where(frame["sex"] == 1, frame["marst"] % 2, frame["marst"])
    data = pramble.perturb(frame, gaps(), key=bytes(32))
    for by, empty in ((["sex", "marst"], [5]), (["educ", "sex", "marst"], [5, 11, 17, 23])):
        found = pramble.estimate(data, gaps(), by=by)
        for what in ("probabilities", "standard_errors", "lower", "upper"):
            assert (getattr(found, what)[empty] == 0).all()
        assert (found.covariance[empty] == 0).all()
        assert found.probabilities.sum() == pytest.approx(1)
        truth = shares(frame, by)
        rest = np.setdiff1d(np.arange(len(truth)), empty)
        z = (found.probabilities - truth)[rest] / found.standard_errors[rest]
        assert np.abs(z).max() < 4.5
        raw = pramble.estimate(data, gaps(), by=by, method="inverse")
        assert margin(raw.probabilities, by, "marst") == pytest.approx(
            pramble.estimate(data, gaps(), by=["marst"], method="inverse").probabilities, abs=1e-12
        )


@pytest.mark.parametrize("method", ["mle", "inverse"])
def test_one_view_with_impossible_cells_gives_what_its_plan_gives(method):
    frame = people(np.random.default_rng(2))
    frame["marst"] = np.where(frame["sex"] == 1, frame["marst"] % 2, frame["marst"])
    name, by = "sex-marst-educ", ["sex", "marst"]
    views = pramble.Views({name: gaps()[name]})
    data = pramble.perturb(frame, views, key=bytes(32))
    one = pramble.estimate(data, views, by=by, method=method)
    plain = pramble.estimate(data[name], views[name], by=by, method=method)
    for what in ("probabilities", "standard_errors", "lower", "upper"):
        assert getattr(one, what) == pytest.approx(getattr(plain, what), abs=1e-7)


def test_categories_in_another_order_are_matched():
    turned = pramble.Views(
        {
            "one": {"sex": pramble.randomized_response([1, 0], 2.0)},
            "two": {
                ("marst", "sex"): pramble.randomized_response(cells("marst", "sex")[::-1], 2.0)
            },
        }
    )
    frame = people(np.random.default_rng(9))
    data = pramble.perturb(frame, turned, key=bytes(32))
    found = pramble.estimate(data, turned, by=["sex", "marst"], method="inverse")
    assert found.cells["sex"] == (1, 1, 1, 0, 0, 0)
    place = np.ravel_multi_index([found.cells["sex"], found.cells["marst"]], (2, 3))
    z = (found.probabilities - shares(frame, ["sex", "marst"])[place]) / found.standard_errors
    assert np.abs(z).max() < 4.5


def test_a_view_of_branches_adds_what_it_tells():
    from fractions import Fraction

    half = Fraction(1, 2)
    branches = [
        pramble.Branch(half, joint("sex", "marst", alpha=2.0)),
        pramble.Branch(half, joint("marst", "educ", alpha=2.0)),
    ]
    views = pramble.Views(
        {"mixed": pramble.Plan(branches=branches), "pair": joint("marst", "educ", alpha=1.0)}
    )
    frame = people(np.random.default_rng(6))
    data = pramble.perturb(frame, views, key=bytes(32))
    by = ["marst", "educ"]
    both = pramble.estimate(data, views, by=by, method="inverse")
    z = (both.probabilities - shares(frame, by)) / both.standard_errors
    assert np.abs(z).max() < 4.5
    for name in views:
        alone = pramble.estimate(data[name], views[name], by=by, method="inverse")
        assert np.trace(both.covariance) < np.trace(alone.covariance)
    with pytest.raises(NotShown, match="They show sex with marst; marst with educ"):
        pramble.estimate(data, views, by=["sex", "educ"])


def test_a_release_and_files_will_do(released, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    by = ["sex", "educ"]
    plain = pramble.estimate(released, VIEWS, by=by)
    opened = SimpleNamespace(plan=VIEWS, data=released)
    assert np.array_equal(pramble.estimate(opened, by=by).probabilities, plain.probabilities)
    for name, view in released.items():
        pq.write_table(pa.table(view), tmp_path / f"{name}.parquet")
    paths = {name: tmp_path / f"{name}.parquet" for name in released}
    assert np.array_equal(pramble.estimate(paths, VIEWS, by=by).probabilities, plain.probabilities)


@pytest.mark.parametrize("make", ["pandas", "polars"])
def test_the_answer_comes_in_the_callers_frames(released, make):
    import pandas as pd
    import polars as pl

    kind = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[make]
    frames = {name: kind(view) for name, view in released.items()}
    table = pramble.estimate(frames, VIEWS, by="sex").table
    assert isinstance(table, kind)
    assert list(table.columns)[:2] == ["sex", "probability"]


def test_tables_that_no_view_shows_are_refused(released):
    views = pramble.Views({name: plan for name, plan in VIEWS.items() if len(plan.columns) == 2})
    with pytest.raises(NotShown, match="pairs of them are shown, but not all"):
        pramble.estimate(released, views, by=list(SIZES))
    del (fewer := dict(views))["educ-sex"]
    with pytest.raises(NotShown, match="no records show sex and educ together"):
        pramble.estimate(released, pramble.Views(fewer), by=["educ", "marst", "sex"][::-1])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": ["sex", "income"]}, "They show 'sex', 'marst', 'educ'"),
        ({"by": ["sex", "sex"]}, "different columns"),
        ({}, "by= must name"),
        ({"by": ["sex"], "weights": "w"}, "weights= does not go with views"),
        ({"by": ["sex"], "mean": "w"}, "mean= does not go with views"),
        ({"by": ["sex"], "total": "w"}, "total= does not go with views"),
        ({"by": ["sex"], "counts": True}, "counts= does not go with views"),
        ({"by": ["sex"], "method": "best"}, "method must be one of"),
        ({"by": ["sex"], "population_size": 10}, "population_size"),
        ({"by": ["sex"], "query": "town=3"}, "columns of the table"),
    ],
)
def test_what_views_cannot_answer_is_said(released, options, said):
    with pytest.raises(pramble.InvalidInput, match=said):
        pramble.estimate(released, VIEWS, **options)


def test_wrong_data_is_refused(released):
    with pytest.raises(pramble.InvalidData, match="mapping from their names"):
        pramble.estimate([1, 0], VIEWS, by=["sex"])
    some = {name: view for name, view in released.items() if name != "educ-sex"}
    with pytest.raises(pramble.InvalidData, match="educ-sex"):
        pramble.estimate(some, VIEWS, by=["sex"])
    short = dict(released, **{"educ-sex": {n: own[:5] for n, own in released["educ-sex"].items()}})
    with pytest.raises(pramble.InvalidData, match="same records"):
        pramble.estimate(short, VIEWS, by=["sex"])


def test_other_verbs_take_one_view_at_a_time(released):
    with pytest.raises(pramble.InvalidPlan, match="Take one view"):
        pramble.independence_test(released, VIEWS, columns=["sex", "marst"])
    name = "sex-marst"
    alone = pramble.independence_test(released[name], VIEWS[name], columns=["sex", "marst"])
    assert alone.p_value < 1e-6


def test_large_views_are_not_held_as_matrices():
    sizes = (60, 50, 4)
    labels = list(product(*map(range, sizes)))
    big = pramble.randomized_response(labels, 10.0)
    views = pramble.Views(
        {
            "big": {("a", "b", "c"): big},
            "pair": {("a", "b"): pramble.randomized_response(labels_of(sizes[:2]), 8.0)},
        }
    )
    rng = np.random.default_rng(3)
    frame = {name: rng.integers(0, s, 100_000) for name, s in zip("abc", sizes, strict=True)}
    data = pramble.perturb(frame, views, key=bytes(32))
    found = pramble.estimate(data, views, by=["c", "a"], method="inverse", covers="randomisation")
    truth = np.bincount(frame["c"] * 60 + frame["a"], minlength=240) / 100_000
    z = (found.probabilities - truth) / found.standard_errors
    assert 0.8 < z.std() < 1.2
    many = pramble.randomized_response(range(200), 3.0)
    with pytest.raises(pramble.InvalidInput, match="at most 20,000 cells"):
        pramble.estimate({}, pramble.Views([{"x": many, "y": many}]), by=["x", "y"])


def labels_of(sizes):
    return list(product(*map(range, sizes)))
