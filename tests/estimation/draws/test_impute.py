from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product
from types import MappingProxyType

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from scipy.special import gammaln
from scipy.stats import chi2

import pramble
import pramble.estimation.draws.released as units
from pramble.data.open import open_records
from pramble.estimation.draws.chain import (
    FLAT,
    PRIOR,
    Chain,
    start_distribution,
    terms_of,
    whole_term,
)
from pramble.estimation.draws.impute import imputation
from pramble.estimation.draws.released import (
    count_patterns,
    laid_out,
    released_patterns,
    units_of,
)
from pramble.mechanisms.plan import as_plan

TRUE, FALSE = 1e-3, 1e-8
"""A right law gives a p-value above the first (seeds are fixed), a wrong one below the second."""


def rr(S, alpha):
    return pramble.randomized_response(S, alpha)


def p_value(found, expected):
    """Of a chi-square test, cells with few expected ones put together."""
    order = np.argsort(expected)
    few = order[np.cumsum(expected[order]) <= 5]
    rest = np.setdiff1d(np.arange(len(expected)), few)
    pairs = [(found[rest], expected[rest])]
    if len(few):
        pairs.append((found[few].sum(keepdims=True), expected[few].sum(keepdims=True)))
    statistic = sum(((f - e) ** 2 / np.maximum(e, 1e-12)).sum() for f, e in pairs)
    return chi2.sf(statistic, len(rest) + bool(len(few)) - 1)


def opened(data, plan, given=()):
    records, plan = open_records(data), as_plan(plan)
    counted = count_patterns(records, plan, given)
    return records, released_patterns(counted, plan, given, records=records), plan


def originals(release, terms, parts, law, *, draws, thin=4, seed=0):
    """Originals of all records, as cells in their own order, along one chain."""
    chain = Chain(release, terms, parts, np.random.default_rng(seed))
    places = np.zeros(release.rows, dtype=np.int64)
    found = np.zeros((draws, release.rows), dtype=np.int64)
    for one in found:
        for _ in range(thin):
            chain.draw(law, places)
            chain.renew(law, places)
        one[release.order] = places
    return found


def beta(counts):
    """The logarithm of the integral of a Dirichlet law, up to what its sum decides."""
    return gammaln(counts).sum()


def states_of(rows, K):
    return np.array(list(product(range(K), repeat=rows)))


class TestExactPosterior:
    """All originals of a few records, against the enumerated posterior."""

    data = MappingProxyType({"x": [0, 0, 1, 1, 0, 1], "town": ["n", "n", "n", "n", "s", "s"]})
    plan = MappingProxyType({"x": pramble.keep_probabilities([0.9, 0.7])})

    def law_of(self, *, ignoring=False, fixed=None):
        """The law of all originals; a wrong one on request."""
        M = self.plan["x"].matrix
        states = states_of(6, 2)
        south = np.array([town == "s" for town in self.data["town"]])
        logs = []
        for x in states:
            log = 0.0 if ignoring else np.log(M[x, self.data["x"]]).sum()
            for own in (x[~south], x[south]):
                counts = np.bincount(own, minlength=2)
                log += beta(counts + FLAT) if fixed is None else counts @ np.log(fixed)
            logs.append(log)
        law = np.exp(np.array(logs) - max(logs))
        return law / law.sum()

    def test_law_and_originals_have_their_joint_posterior(self):
        _, release, _ = opened(self.data, self.plan, ["town"])
        term = whole_term(release)
        law = np.ones((2, 2))
        found = originals(release, [term], units_of(release), law, draws=4000)
        counts = np.bincount(found @ 2 ** np.arange(5, -1, -1), minlength=64)
        assert p_value(counts, 4000 * self.law_of()) > TRUE
        fitted = np.array([0.45, 0.55])
        for wrong in (self.law_of(ignoring=True), self.law_of(fixed=fitted)):
            assert p_value(counts, 4000 * wrong) < FALSE

    def test_copies_of_the_verb_have_it_too(self):
        made = imputation(self.data, self.plan, copies=400, seed=4, tables="all")
        cells = np.array([frame["x"].to_numpy() for frame in made.frames])
        counts = np.bincount(cells @ 2 ** np.arange(5, -1, -1), minlength=64)
        assert p_value(counts, 400 * self.law_of()) > TRUE
        assert p_value(counts, 400 * self.law_of(ignoring=True)) < FALSE


class TestExactPosteriorOfTables:
    """Two columns, blank in some branches, under the model of independence."""

    plan = pramble.Plan(
        branches=[
            pramble.Branch(Fraction(1, 3), {"a": rr(2, 1.5)}),
            pramble.Branch(Fraction(1, 3), {"b": rr(3, 2.0)}),
            pramble.Branch(Fraction(1, 3), {("a", "b"): rr(list(np.ndindex(2, 3)), 1.0)}),
        ]
    )
    data = MappingProxyType({"a": [0, None, 1], "b": [None, 2, 0]})

    def law_of(self, *, independent=True):
        joint = self.plan.branches[2].blocks["a", "b"].matrix
        a, b = rr(2, 1.5).matrix, rr(3, 2.0).matrix
        chance = np.stack([np.repeat(a[:, 0], 3), np.tile(b[:, 2], 2), joint[:, 3]])
        states = states_of(3, 6)
        logs = np.log(chance[np.arange(3), states]).sum(axis=1)
        for i, x in enumerate(states):
            counts = np.bincount(x, minlength=6).reshape(2, 3)
            if independent:
                logs[i] += beta(counts.sum(1) + PRIOR) + beta(counts.sum(0) + PRIOR)
            else:
                logs[i] += beta(counts + FLAT)
        law = np.exp(logs - logs.max())
        return law / law.sum()

    @pytest.mark.parametrize("parts", [[[0, 1]], [[0], [1]]], ids=["together", "in turn"])
    def test_blanks_and_blocks(self, parts):
        _, release, _ = opened(self.data, self.plan)
        terms = terms_of(release, [("a",), ("b",)])
        own = laid_out(parts, release.shape)
        draws = 3000
        found = originals(release, terms, own, np.ones((1, 6)), draws=draws, seed=2)
        counts = np.bincount(found @ 6 ** np.arange(2, -1, -1), minlength=6**3)
        assert p_value(counts, draws * self.law_of()) > TRUE
        assert p_value(counts, draws * self.law_of(independent=False)) < FALSE


def people(n, *, seed=0):
    """A numeric and a categorical untouched column, and three that hang on them."""
    rng = np.random.default_rng(seed)
    town, income = rng.integers(0, 3, n), rng.normal(size=n)
    a = (rng.random(n) + 0.15 * town < 0.7).astype(int) + (rng.random(n) < 0.3)
    b = (rng.random(n) < np.array([0.2, 0.5, 0.7])[a]).astype(int)
    return {"a": a, "b": b, "town": np.array(["n", "s", "w"])[town], "income": income + b}


PLAN = {"a": rr(3, 2.5), "b": rr(2, 2.5)}


@pytest.mark.parametrize("together", [True, False])
def test_relations_are_those_of_the_original_and_not_attenuated(together, monkeypatch):
    """Also where columns are drawn one after the other."""
    if not together:
        monkeypatch.setattr(units, "MOST_TOGETHER", 0)
        monkeypatch.setattr(units, "MOST_UNIT", 3)
    data = people(6000)
    out = pramble.perturb(pa.table(data), PLAN, key=bytes(32))
    frames = [one.to_pandas() for one in pramble.impute(out, PLAN, copies=8, seed=1)]
    raw, truth = out.to_pandas(), pd.DataFrame(data)

    def slope(frame):
        return frame.groupby("b").income.mean().diff().iloc[1]

    def tied(frame):
        return pd.crosstab(frame.a, frame.b, normalize="index")[1].diff().iloc[1]

    for measure, near in ((slope, 0.06), (tied, 0.04)):
        assert abs(np.mean([measure(f) for f in frames]) - measure(truth)) < near
        assert measure(raw) < 0.9 * measure(truth)
    blind = pramble.impute(out, PLAN, copies=4, seed=1, using="town")
    assert np.mean([slope(f.to_pandas()) for f in blind]) < 0.85 * slope(truth)


def test_only_randomised_columns_change_and_blanks_are_filled():
    cells = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)]
    plan = pramble.Plan(
        branches=[
            pramble.Branch(Fraction(1, 2), {("a", "b"): rr(cells, 2.0)}),
            pramble.Branch(Fraction(1, 2), {"a": rr(3, 2.0)}),
        ]
    )
    data = people(800)
    data["b"] = np.where(data["a"] == 0, 0, data["b"])
    out = pramble.perturb(pa.table(data), plan, key=bytes(32))
    assert out["b"].null_count > 300
    frames = pramble.impute(out, plan, copies=3, seed=1)
    for frame in frames:
        assert frame.column_names == out.column_names
        assert frame.schema == out.schema
        for name in ("town", "income"):
            assert frame[name].equals(out[name])
        assert frame["b"].null_count == 0
        found = set(zip(frame["a"].to_pylist(), frame["b"].to_pylist(), strict=True))
        assert found == set(cells)
    assert not frames[0].equals(frames[1])


@pytest.mark.parametrize("parts", [[[0, 1]], [[0], [1]]])
def test_cells_that_cannot_occur_are_not_drawn_however_columns_are_drawn(parts):
    cells = [(0, 0), (1, 0), (1, 1), (2, 1)]
    plan = {("a", "b"): rr(cells, 0.5)}
    rng = np.random.default_rng(0)
    picked = np.array(cells)[rng.integers(0, 4, 500)]
    out = pramble.perturb(pa.table({"a": picked[:, 0], "b": picked[:, 1]}), plan, key=bytes(32))
    _, release, _ = opened(out, plan)
    terms = terms_of(release, [("a", "b")])
    law = start_distribution(release, terms, rng=rng)
    found = originals(release, terms, laid_out(parts, (3, 2)), law, draws=20)
    assert set(np.unique(found)) == {2 * a + b for a, b in cells}


def test_seeds_give_the_same_copies_and_more_copies_the_same_first_ones():
    out = pramble.perturb(pa.table(people(300)), PLAN, key=bytes(32))
    few, many = (pramble.impute(out, PLAN, copies=m, seed=1) for m in (2, 3))
    other = pramble.impute(out, PLAN, copies=2, seed=2)
    assert all(one.equals(two) for one, two in zip(few, many, strict=False))
    assert not few[0].equals(other[0])
    assert not pramble.impute(out, PLAN, copies=1)[0].equals(pramble.impute(out, PLAN, copies=1)[0])


def test_frames_come_back_in_the_library_types_and_order_of_the_caller(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(1, 4, 200),
            "band": pd.Categorical(rng.choice(["low", "high"], 200), ["low", "high"], ordered=True),
            "note": [f"{i}" for i in range(200)],
        },
        index=np.arange(200)[::-1],
    )
    halves = [{"age": rr([1, 2, 3], 2.0)}, {"band": rr(["low", "high"], 2.0)}]
    plan = pramble.Plan(branches=[pramble.Branch(Fraction(1, 2), own) for own in halves])
    out = pramble.perturb(frame, plan, key=bytes(32))
    assert out["age"].isna().any()
    with pytest.warns(UserWarning, match="'note' is left out of the model"):
        (made,) = pramble.impute(out, plan, copies=1, seed=1, tables=1)
    assert made.index.equals(frame.index)
    assert made["note"].equals(frame["note"])
    assert made["age"].dtype == "int64"
    assert list(made["band"].cat.categories) == ["low", "high"]
    assert made["band"].cat.ordered
    assert out["age"].isna().any()
    plain = {"age": PLAN["a"], "sex": rr(["f", "m"], 2.0)}
    columns = {"age": rng.integers(0, 3, 200).tolist(), "sex": ["f", "m"] * 100}
    released_columns = pramble.perturb(columns, plain, key=bytes(32))
    eager = pl.DataFrame(released_columns)
    answers = [
        pramble.impute(one, plain, copies=1, seed=1)[0]
        for one in (eager, eager.lazy(), released_columns, pa.table(released_columns))
    ]
    assert [type(one) for one in answers] == [pl.DataFrame, pl.DataFrame, pa.Table, pa.Table]
    assert answers[0].schema == eager.schema
    assert answers[0].equals(answers[1])
    path = tmp_path / "released.csv"
    pa.csv.write_csv(pa.table(released_columns), path)
    (read,) = pramble.impute(path, plain, copies=1, seed=1)
    assert read["age"].to_pylist() == answers[2]["age"].to_pylist()


def test_columns_of_text_keep_their_types_wherever_they_come_from(tmp_path):
    texts = {"x": ["f", "m"] * 60, "town": ["n", "s", "w"] * 40}
    table, plan = pa.table(texts), {"x": rr(["f", "m"], 2.0)}
    pa.csv.write_csv(table, tmp_path / "released.csv")
    pa.parquet.write_table(table, tmp_path / "released.parquet")
    sources = [
        tmp_path / "released.csv",
        tmp_path / "released.parquet",
        table.to_reader(),
        duckdb.from_arrow(table),
    ]
    for source in sources:
        (made,) = pramble.impute(source, plan, copies=1, seed=1)
        assert made.schema.equals(table.schema)
        assert made["town"].equals(table["town"])
    lazy = pl.LazyFrame(texts)
    (made,) = pramble.impute(lazy, plan, copies=1, seed=1)
    assert made.schema == lazy.collect_schema()


def test_tables_that_the_plan_cannot_give_are_left_out_with_a_warning():
    halves = [{"a": rr(3, 3.0)}, {"b": rr(2, 3.0)}]
    plan = pramble.Plan(branches=[pramble.Branch(Fraction(1, 2), own) for own in halves])
    out = pramble.perturb(pa.table(people(2000)), plan, key=bytes(32))
    with pytest.warns(UserWarning, match="hold nothing beyond smaller ones: a with b"):
        (made,) = pramble.impute(out, plan, copies=1, seed=1, using=["town"])
    assert made["a"].null_count == made["b"].null_count == 0
    with pytest.raises(pramble.NotIdentifiable, match="table of all columns"):
        pramble.impute(out, plan, using=["town"], tables="all")


def test_a_table_that_is_hardly_told_is_named():
    plan = {"a": rr(3, 0.1), "b": rr(2, 0.1)}
    out = pramble.perturb(pa.table(people(300)), plan, key=bytes(32))
    made = imputation(out, plan, copies=1, seed=1, using=[])
    assert any("rests on the flat prior: " in note and "a with b" in note for note in made.notes)


def test_a_law_without_room_leaves_columns_out_and_says_so(monkeypatch):
    import pramble.estimation.draws.impute as verb
    import pramble.estimation.draws.released as cells

    monkeypatch.setattr(cells, "MOST_IMPUTED_CELLS", 40)
    out = pramble.perturb(pa.table(people(500)), PLAN, key=bytes(32))
    with pytest.warns(UserWarning, match=f"at most {verb.MOST_IMPUTED_CELLS:,} cells: 'income'"):
        pramble.impute(out, PLAN, copies=1, seed=1)
    with pytest.raises(pramble.InvalidInput, match="Name fewer columns"):
        pramble.impute(out, PLAN, copies=1, seed=1, using=["town", "income"])
    monkeypatch.setattr(cells, "MOST_IMPUTED_CELLS", 5)
    with pytest.raises(pramble.InvalidInput, match="`synthesize` draws records"):
        pramble.impute(out, PLAN, copies=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"copies": 0}, "copies must be a whole number"),
        ({"copies": 2.5}, "copies must be a whole number"),
        ({"using": ["a"]}, "'a' is randomised"),
        ({"using": ["x"]}, "x"),
        ({"tables": 0}, "Tables of 0 columns"),
        ({"tables": [("a", "x")]}, "x"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, message):
    with pytest.raises(pramble.InvalidInput, match=message):
        pramble.impute(pa.table(people(50)), PLAN, **wrong)


def test_what_cannot_be_filled_is_refused():
    data = pa.table(people(50))
    with pytest.raises(pramble.InvalidInput, match="one mechanism"):
        pramble.impute(data, rr(3, 1.0))
    with pytest.raises(pramble.InvalidInput, match="must randomise a column"):
        pramble.impute(data, {})
    merging = pramble.Mechanism.from_matrix([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]])
    with pytest.raises(pramble.NotIdentifiable):
        pramble.impute(pramble.perturb(data, {"a": merging}), {"a": merging}, copies=1)
    never = pramble.Mechanism.from_matrix([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]], outputs=[0, 1, 2])
    with pytest.raises(pramble.InvalidData, match="never releases"):
        pramble.impute({"a": [0, 1, 2]}, {"a": never}, copies=1)
    with pytest.raises(pramble.InvalidData, match="declared"):
        pramble.impute({"a": [0, 1, 7], "b": [0, 0, 1]}, PLAN, copies=1)


@pytest.mark.parametrize(
    ("column", "taken"),
    [
        ([i % 3 == 0 for i in range(120)], True),
        ([None if i % 3 else float(i) for i in range(120)], True),
        ([np.inf if i % 3 else float(i) for i in range(120)], True),
        ([Decimal(i) / 3 for i in range(120)], True),
        ([date(2020, 1, 1 + i % 5) for i in range(120)], True),
        ([date(2020, 1, 1) + timedelta(i) for i in range(120)], False),
        ([[i] for i in range(120)], False),
        ([{"part": i} for i in range(120)], False),
        ([str(i) for i in range(120)], False),
        (["same"] * 120, False),
        (pa.nulls(120), False),
    ],
    ids=lambda own: "" if isinstance(own, bool) else str(own[1])[:20],
)
def test_untouched_columns_of_any_type_come_back(column, taken):
    frame = pa.table({"x": ["f", "m"] * 60, "other": column})
    plan = {"x": rr(["f", "m"], 2.0)}
    made = imputation(frame, plan, copies=1, seed=1)
    assert made.given == (("other",) if taken else ())
    assert made.frames[0]["other"].equals(frame["other"])
    constant = column in (["same"] * 120, pa.nulls(120))
    assert bool(made.notes) == (not taken and not constant)


def test_progress_grows():
    shares = []
    out = pramble.perturb(pa.table(people(200)), PLAN, key=bytes(32))
    pramble.impute(out, PLAN, copies=3, seed=1, progress=lambda told: shares.append(told.share))
    assert shares == sorted(shares)
    assert len(shares) >= 3


def test_all_columns_are_taken_together_where_their_cells_are_well_told():
    out = pramble.perturb(pa.table(people(5000)), PLAN, key=bytes(32))
    few = imputation(out, PLAN, copies=1, seed=1, using=[])
    assert few.tables == (("a", "b"),)
    many = imputation(out, PLAN, copies=1, seed=1)
    assert many.classes == ("income",)
    assert set(many.tables) == {
        ("town", "a"), ("town", "b"), ("income", "a"), ("income", "b"), ("a", "b"),
    }  # fmt: skip
    assert imputation(out, PLAN, copies=1, seed=1, tables="all").tables == (
        ("town", "income", "a", "b"),
    )


def test_columns_that_depend_on_each_other_count_by_the_combinations_that_occur():
    """A column that hangs on two others at once, of which one third of all combinations occur."""
    rng = np.random.default_rng(0)
    area, sex = rng.integers(0, 6, 8000), rng.integers(0, 2, 8000)
    often = (area >= 3) ^ (sex == 1)
    x = (rng.random(8000) < np.where(often, 0.9, 0.1)).astype(int)
    data = pa.table({"area": area, "kind": 2 * (area % 3) + sex, "x": x})
    plan = {"x": rr(2, 3.0)}
    out = pramble.perturb(data, plan, key=bytes(32))
    for frame in pramble.impute(out, plan, copies=3, seed=1):
        found = frame["x"].to_numpy()
        assert abs(found[often].mean() - x[often].mean()) < 0.03
        assert abs(found[~often].mean() - x[~often].mean()) < 0.03


def test_copies_of_one_column_do_not_multiply_the_cells_of_all_columns():
    labels = np.arange(2000) % 40
    columns = {f"u{i}": [f"{label}" for label in labels] for i in range(9)}
    plan = {"x": rr(2, 3.0)}
    out = pramble.perturb(pa.table(columns | {"x": labels % 2}), plan, key=bytes(32))
    (made,) = pramble.impute(out, plan, copies=1, seed=1, tables="all")
    assert (made["x"].to_numpy() == labels % 2).mean() > 0.9
