"""Estimates from branches and blocks against what they must equal, exactly and on the average."""

from fractions import Fraction
from itertools import product

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.estimation.record_plans import (
    COLUMNS,
    PLANS,
    ROUGH,
    SAMPLED,
    SINGLE,
    can_give,
    cells_of,
    people,
    response,
    rough,
)

import pramble
from pramble.errors import NotShown


def spread_of(plan, ask, truth, *, same_file, runs=150, n=3000):
    """Return z-scores of estimates from releases of one file, or of fresh ones."""
    rng, scores = np.random.default_rng(4), []
    fixed = people(n, rng)
    for turn in range(runs):
        file = fixed if same_file else people(n, rng)
        e = ask(pramble.perturb(file, plan, key=turn.to_bytes(32)))
        scores.append((e.values - truth(file)) / e.standard_errors)
    return np.array(scores)


def share(file, *, weights=None, by=("a", "b")):
    w = np.ones(len(file)) if weights is None else file[weights].to_numpy()
    sizes = [len(COLUMNS[name]) for name in by]
    place = np.zeros(len(file), dtype=int)
    for name, size in zip(by, sizes, strict=True):
        codes = [COLUMNS[name].index(v) for v in file[name].to_pylist()]
        place = place * size + codes
    return np.bincount(place, w, int(np.prod(sizes))) / w.sum(), place, w


ASKED = {
    "shares": ({}, lambda f: share(f)[0]),
    "weighted": ({"weights": "weight"}, lambda f: share(f, weights="weight")[0]),
    "query": ({"query": {"q": [1, 2, 0, 0, 0, -1]}}, lambda f: share(f)[0] @ [1, 2, 0, 0, 0, -1]),
    "total": (
        {"total": "income"},
        lambda f: np.bincount(share(f)[1], f["income"].to_numpy(), 6),
    ),
    "mean": (
        {"mean": "income", "weights": "weight"},
        lambda f: (
            np.bincount(share(f)[1], f["income"].to_numpy() * f["weight"].to_numpy(), 6)
            / np.bincount(share(f)[1], f["weight"].to_numpy(), 6)
        ),
    ),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=list(PLANS))
@pytest.mark.parametrize("what", list(ASKED))
def test_errors_of_one_file_are_those_promised(plan, what):
    """Randomisation alone: neither a bias nor a variance that is a fifth too small or large."""
    asked, truth = ASKED[what]

    def ask(z):
        return pramble.estimate(
            z, plan, by=["a", "b"], method="inverse", covers="randomisation", **asked
        )

    z = spread_of(plan, ask, truth, same_file=True)
    assert np.abs(np.median(z, axis=0)).max() < 0.45
    spread = np.sqrt(np.median(z**2) / 0.455)
    assert 0.85 < spread < 1.17


def test_impossible_cells_are_zero_and_the_rest_is_right():
    """A block without the cells (x, p) and (y, r): they come out as nothing, never as a guess."""
    cells = [cell for cell in cells_of("ab") if cell not in {("x", "p"), ("y", "r")}]
    law = np.array([0.4, 0.2, 0.3, 0.1])
    plan = pramble.Plan(branches=[
        pramble.Branch(Fraction(1, 2), {("a", "b"): pramble.randomized_response(cells, 1.0)}),
        pramble.Branch(Fraction(1, 2), {"b": SINGLE["b"]}),
    ])  # fmt: skip
    rng = np.random.default_rng(5)
    picked = rng.choice(4, 40_000, p=law)
    file = {name: [cells[i][j] for i in picked] for j, name in enumerate("ab")}
    for method in ("mle", "inverse"):
        e = pramble.estimate(pramble.perturb(file, plan), plan, by=["b", "a"], method=method)
        named = zip(e.cells["a"], e.cells["b"], strict=True)
        true = np.array([dict(zip(cells, law, strict=True)).get(cell, 0.0) for cell in named])
        none = true == 0
        assert none.sum() == 2
        for nothing in (e.probabilities, e.standard_errors, e.lower):
            assert not nothing[none].any()
        assert e.upper[none].max() < 1e-12
        z = (e.probabilities - true)[~none] / e.standard_errors[~none]
        assert np.abs(z).max() < 4
        assert e.probabilities.sum() == pytest.approx(1)


def test_a_query_is_answered_where_its_table_cannot_be():
    plan = pramble.Plan(branches=[
        pramble.Branch(Fraction(1, 2), {name: SINGLE[name]}) for name in "ab"
    ])  # fmt: skip
    z = pramble.perturb(people(20_000, np.random.default_rng(6)), plan)
    with pytest.raises(pramble.InvalidInput, match="no records show a and b together"):
        pramble.estimate(z, plan, by=["a", "b"])
    with pytest.raises(pramble.NotIdentifiable):
        pramble.estimate(z, plan, by=["a", "b"], query="a=x,b=p")
    for method in ("mle", "inverse"):
        e = pramble.estimate(z, plan, by=["a", "b"], query=["a=x", "b=p|q"], method=method)
        alone = [
            pramble.estimate(z, plan, by="a", method=method).probabilities[0],
            pramble.estimate(z, plan, by="b", method=method).probabilities[:2].sum(),
        ]
        np.testing.assert_allclose(e.values, alone, rtol=1e-5)


def test_what_a_plan_can_give():
    assert can_give(SAMPLED, ["a", "b"])
    assert can_give(SAMPLED, ["a", "b", "town"])
    assert not can_give(SAMPLED, ["a", "b", "c"])
    assert can_give(ROUGH, ["c", "b", "a"])
    assert can_give(pramble.Plan(SINGLE), ["a", "b", "c"])
    lost = pramble.Mechanism.from_matrix(np.full((2, 2), 0.5), ["x", "y"])
    file = people(200, np.random.default_rng(2))
    file = file.set_column(file.column_names.index("c"), "c", file["a"])
    assert not can_give(pramble.Plan({("a", "b"): rough("ab", 1.0, 1), "c": lost}), ["c"], file)
    with pytest.raises(pramble.InvalidInput, match="pairs of them are shown, but not all"):
        pramble.estimate(pramble.perturb(people(500, np.random.default_rng(0)), SAMPLED), SAMPLED,
                         by=["a", "b", "c"])  # fmt: skip


def test_a_table_that_cannot_be_given_is_refused_in_its_own_words():
    lost = pramble.Mechanism.from_matrix(np.full((3, 3), 1 / 3), COLUMNS["c"])
    plan = pramble.Plan(branches=[
        pramble.Branch(Fraction(1, 2), {"a": SINGLE["a"], "c": lost}),
        pramble.Branch(Fraction(1, 2), {("a", "b"): response("ab", 1.0)}),
    ])  # fmt: skip
    z = pramble.perturb(people(400, np.random.default_rng(15)), plan)
    with pytest.raises(NotShown, match="the categories of c cannot be told apart"):
        pramble.estimate(z, plan, by=["a", "c"])
    short = z.filter(pa.compute.is_null(z["b"]))
    with pytest.raises(NotShown, match="this release has too few records"):
        pramble.estimate(short, plan, by=["a", "b"])
    whole = pramble.estimate(short, plan, by=["town"])
    assert whole.probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize("branches", [1, 2])
def test_the_likelihood_is_that_of_all_columns_of_a_block(branches):
    """The margins of the fit of the whole record, where the block is no margin's own."""
    blocks = [{("a", "b", "c"): rough("abc", 2.0, 3)}, {("b", "a"): rough("ba", 2.0, 1, extra=3)}]
    plan = pramble.Plan(
        branches=[pramble.Branch(Fraction(1, branches), own) for own in blocks[:branches]]
    )
    z = pramble.perturb(people(800, np.random.default_rng(16)), plan)
    part = pramble.estimate(z, plan, by=["town", "b", "a"])
    whole = pramble.estimate(z, plan, by=["town", "b", "a", "c"])
    summed = whole.probabilities.reshape(-1, 3).sum(axis=1)
    np.testing.assert_allclose(part.probabilities, summed, atol=2e-6)
    assert part.gap < 1e-3
    assert part.log_likelihood == pytest.approx(whole.log_likelihood)
    assert 0 <= part.misfit <= 1


def test_large_tables_of_one_branch_can_be_given_and_of_several_not():
    wide = {name: pramble.randomized_response(100, 1.0) for name in "uv"}
    file = pa.table({name: np.arange(200) % 100 for name in "uv"})
    assert can_give(pramble.Plan(wide), ["u", "v"], file)
    halves = [
        pramble.Branch(Fraction(1, 2), wide),
        pramble.Branch(Fraction(1, 2), {"u": wide["u"]}),
    ]
    with pytest.raises(pramble.InvalidInput, match="at most"):
        can_give(pramble.Plan(branches=halves), ["u", "v"], file)
    assert can_give(pramble.Plan(branches=halves), ["v"], file)


def test_the_table_of_a_plan_with_one_block_needs_no_name():
    plan = pramble.Plan({("a", "b"): response("ab", 2.0)})
    z = pramble.perturb(people(2000, np.random.default_rng(7)), plan)
    named, plain = pramble.estimate(z, plan, by=["a", "b"]), pramble.estimate(z, plan)
    assert plain.cells == named.cells
    np.testing.assert_array_equal(plain.probabilities, named.probabilities)
    with pytest.raises(pramble.InvalidInput, match="by= must name"):
        pramble.estimate(z, SAMPLED)


def test_a_block_of_a_hundred_thousand_cells_gives_its_margins():
    sizes = {"u": 40, "v": 50, "w": 50}
    cells = list(product(*(range(size) for size in sizes.values())))
    plan = pramble.Plan({tuple(sizes): pramble.randomized_response(cells, 9.0)})
    rng = np.random.default_rng(9)
    file = {name: np.minimum(rng.geometric(0.2, 50_000) - 1, 9) for name in sizes}
    z = pramble.perturb(pa.table(file), plan, key=bytes(32))
    for by in (["w"], ["v", "u"]):
        e = pramble.estimate(z, plan, by=by)
        true = np.zeros([sizes[name] for name in by])
        np.add.at(true, tuple(file[name] for name in by), 1 / 50_000)
        held = (e.lower <= true.ravel()) & (true.ravel() <= e.upper)
        assert 0.9 < held.mean() <= 1
        assert e.gap < 1e-3


DOORS = {
    "polars": lambda z, _: pl.from_arrow(z),
    "lazy polars": lambda z, _: pl.from_arrow(z).lazy(),
    "duckdb": lambda z, _: duckdb.connect().from_arrow(z),
    "pandas": lambda z, _: z.to_pandas(),
    "dictionary": lambda z, _: z.set_column(0, "a", z["a"].dictionary_encode()),
    "mapping": lambda z, _: {name: z[name].to_pylist() for name in z.column_names},
    "csv": lambda z, folder: written(z, folder / "z.csv"),
}


def written(z, path):
    z.to_pandas().to_csv(path, index=False, float_format="%g")
    return path


@pytest.mark.parametrize("door", DOORS.values(), ids=list(DOORS))
def test_a_blank_is_a_blank_whatever_holds_it(door, tmp_path):
    z = pramble.perturb(people(900, np.random.default_rng(13)), SAMPLED)
    plain = pramble.estimate(z, SAMPLED, by=["town", "b", "a"], weights="weight")
    through = pramble.estimate(door(z, tmp_path), SAMPLED, by=["town", "b", "a"], weights="weight")
    assert through.cells == plain.cells
    for name in ("probabilities", "standard_errors", "lower", "upper"):
        np.testing.assert_allclose(getattr(through, name), getattr(plain, name), rtol=1e-9)


RARE = np.random.default_rng(10).dirichlet(np.full(18, 2.0)).reshape(2, 3, 3)
MIXED = pramble.Plan(
    branches=[
        pramble.Branch(Fraction(1, 4), {("a", "b"): response("ab", 2.0)}),
        pramble.Branch(Fraction(1, 2), {"a": SINGLE["a"], ("b", "c"): response("bc", 1.0)}),
        pramble.Branch(Fraction(1, 4), {"b": SINGLE["b"]}),
    ]
)
JOINT = pramble.Plan({("a", "b", "c"): rough("abc", 2.0, 3)})


def rare_law(n):
    """A law whose cell (x, p) is expected five times, and (y, r) never."""
    law = RARE.copy()
    law[0, 0] *= 5 / n / law[0, 0].sum()
    law[1, 2] = 0
    others = np.ones(law.shape, dtype=bool)
    others[0, 0] = others[1, 2] = False
    law[others] *= (1 - 5 / n) / law[others].sum()
    return law.ravel()


def coverage(plan, n, runs):
    law, rng = rare_law(n), np.random.default_rng(11)
    true = law.reshape(2, 3, 3).sum(axis=2).ravel()
    held = []
    for turn in range(runs):
        released = pramble.perturb(people(n, rng, law), plan, key=turn.to_bytes(32))
        e = pramble.estimate(released, plan, by=["a", "b"])
        held.append((e.lower <= true) & (true <= e.upper))
    return np.mean(held, axis=0)


@pytest.mark.parametrize("plan", [SAMPLED, JOINT, MIXED], ids=["sampled", "joint", "mixed"])
def test_intervals_hold_also_for_rare_cells(plan):
    held = coverage(plan, 2000, 120)
    assert 0.92 < held.mean() < 0.985
    assert held[[0, 5]].min() > 0.88


@pytest.mark.slow
@pytest.mark.parametrize("n", [2000, 20_000])
@pytest.mark.parametrize("plan", [SAMPLED, JOINT, MIXED], ids=["sampled", "joint", "mixed"])
def test_intervals_hold_in_long_runs(plan, n):
    held = coverage(plan, n, 600)
    assert 0.93 < held.mean() < 0.97
    assert held[[0, 5]].min() > 0.9
