"""Plans of several branches and blocks: one exact law, and one release through every door."""

import pickle
import time
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.engine.plans import (
    AREA,
    CELLS,
    JOINT,
    KEY,
    PLAN,
    SEX,
    TABLE,
    N,
    columns_of,
    law_of,
    listed,
)

import pramble
from pramble.engine.record import BoundPlan, bound_plan, share_weights
from pramble.errors import InvalidData, InvalidPlan

RELEASED = columns_of(PLAN, pramble.perturb(TABLE, PLAN, key=KEY))
GOLDEN = {
    "sex": ["f", "f", "m", "m", "f", "f", "m", "m"],
    "job": [3, 1, 1, 2, 1, 0, 2, 2],
    "area": ["s", None, None, "s", "s", None, "n", "n"],
    "ill": [None, False, False, None, None, False, None, None],
}
PAIRS = {"sex": ["f", "f", "f", "f", "f", "f", "m", "f"], "job": [3, 3, 3, 2, 2, 2, 1, 2]}
ONE = {"sex": "f", "job": 2, "area": "s", "ill": True}


def repeated(record, rows):
    return {name: [value] * rows for name, value in record.items()}


def p_value(law, outcomes):
    """The chi-square test of all outcomes against a law; an impossible one has no chance."""
    counts = Counter(outcomes)
    if set(counts) - {z for z, p in law.items() if p > 0}:
        return 0.0
    cells = [z for z in law if law[z] > 0]
    expected = np.array([law[z] for z in cells]) * len(outcomes)
    return stats.chisquare([counts[z] for z in cells], expected * (1 / sum(law.values()))).pvalue


@pytest.mark.parametrize("cell", CELLS)
def test_every_outcome_has_its_exact_probability(cell):
    record = {**ONE, "sex": cell[0], "job": cell[1]}
    law = law_of(PLAN, record)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    out = pramble.perturb(repeated(record, 120_000), PLAN, key=KEY)
    outcomes = list(zip(*(out[name] for name in PLAN.columns), strict=True))
    assert p_value(law, outcomes) > 1e-3


def test_wrong_laws_are_told_apart():
    out = pramble.perturb(repeated(ONE, 120_000), PLAN, key=KEY)
    outcomes = list(zip(*(out[name] for name in PLAN.columns), strict=True))
    one, two = PLAN.branches
    shares = pramble.Plan(
        branches=[
            pramble.Branch(Fraction(19, 32), one.blocks),
            pramble.Branch(Fraction(13, 32), two.blocks),
        ]
    )
    milder = pramble.Branch(
        two.share, {**two.blocks, "job": pramble.randomized_response([1, 2, 3], 1.0)}
    )
    for wrong in (shares, pramble.Plan(branches=[one, milder])):
        assert p_value(law_of(wrong, ONE), outcomes) < 1e-9
    law = law_of(PLAN, ONE)
    first = {z: p for z, p in law.items() if z[3] is None}
    parts = [Counter() for _ in range(3)]
    for z, p in first.items():  # the block as if its columns were drawn apart
        for part, value in zip(parts, z, strict=False):
            part[value] += p / (5 / 8)
    apart = {
        (*z, None): 5 / 8 * np.prod([part[v] for part, v in zip(parts, z, strict=True)])
        for z in product(*parts)
    }
    assert p_value({**law, **apart}, outcomes) < 1e-9


def test_blanks_stand_exactly_where_the_branch_says():
    area, ill = (np.array([v is None for v in RELEASED[name]]) for name in ("area", "ill"))
    assert (area != ill).all()
    record = bound_plan(KEY, PLAN, threads=1)
    first, second = record.branch_positions(range(N))
    assert np.array_equal(np.flatnonzero(ill), first)
    assert np.array_equal(np.flatnonzero(area), second)
    assert None not in {*RELEASED["sex"], *RELEASED["job"]}
    assert 0 in RELEASED["job"]
    pairs = set(zip(RELEASED["sex"], RELEASED["job"], ill, strict=True))
    assert ("m", 3, True) not in pairs
    assert ("m", 3, False) in pairs  # the second branch knows no pairs


def test_the_release_of_a_key_stays_what_it_was():
    """A key that somebody keeps must repeat its release."""
    uniform = pramble.Plan({("sex", "job"): pramble.randomized_response(CELLS, 1.0)})
    pairs = columns_of(uniform, pramble.perturb(TABLE[:8], uniform, key=KEY))
    assert {name: found[:8] for name, found in RELEASED.items()} == GOLDEN
    assert pairs == PAIRS


FRAMES = {
    "mapping of lists": lambda: TABLE.to_pydict(),
    "mapping of arrays": lambda: {n: TABLE[n].to_numpy() for n in TABLE.column_names},
    "pandas": lambda: TABLE.to_pandas(),
    "pandas, Arrow types": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.from_arrow(TABLE),
    "polars, lazy": lambda: pl.from_arrow(TABLE).lazy(),
    "pyarrow": lambda: TABLE,
    "record batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(701),
    "DuckDB": lambda: duckdb.connect().from_arrow(TABLE),
}


def collected(frame):
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    return frame.read_all() if isinstance(frame, pa.RecordBatchReader) else frame


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("threads", [1, 2])
def test_every_door_gives_the_same_release(name, threads, monkeypatch):
    monkeypatch.setattr("pramble.engine.sampling.THREADED_ABOVE", 100)
    out = collected(pramble.perturb(FRAMES[name](), PLAN, key=KEY, threads=threads))
    assert columns_of(PLAN, out) == RELEASED
    assert listed(out["kept"]) == listed(TABLE["kept"])


def test_compiled_and_plain_draws_are_the_same(monkeypatch):
    for above in (0, 1 << 62):
        monkeypatch.setattr("pramble.engine.sampling.is_compiled", lambda _, a=above: not a)
        assert columns_of(PLAN, pramble.perturb(TABLE, PLAN, key=KEY)) == RELEASED


def as_csv(path):
    pl.from_arrow(TABLE).write_csv(path)


SOURCES = {
    "in.parquet": lambda path: pq.write_table(TABLE, path, row_group_size=500),
    "in.csv": as_csv,
    "in.arrow": lambda path: pa.feather.write_feather(TABLE, path, chunksize=300),
}


@pytest.mark.parametrize("target", ["out.parquet", "out.csv", "out.arrow"])
@pytest.mark.parametrize("source", SOURCES)
def test_files_give_the_same_release(source, target, tmp_path, monkeypatch):
    monkeypatch.setattr("pramble.engine.files.BATCH_ROWS", 777)
    SOURCES[source](tmp_path / source)
    pramble.perturb_file(tmp_path / source, tmp_path / target, PLAN, key=KEY)
    out = pl.from_arrow(
        {
            "out.parquet": lambda: pq.read_table(tmp_path / target),
            "out.csv": lambda: pl.read_csv(tmp_path / target).to_arrow(),
            "out.arrow": lambda: pa.feather.read_table(tmp_path / target),
        }[target]()
    )
    assert columns_of(PLAN, out) == RELEASED


def test_folders_and_parts_are_numbered_through(tmp_path):
    (tmp_path / "in").mkdir()
    for i in range(3):
        pq.write_table(TABLE.slice(i * 1000, 1000), tmp_path / "in" / f"{i}.parquet")
    pramble.perturb_file(tmp_path / "in", tmp_path / "out.parquet", PLAN, key=KEY)
    assert columns_of(PLAN, pq.read_table(tmp_path / "out.parquet")) == RELEASED
    tail = pramble.perturb(TABLE.slice(1234), PLAN, key=KEY, first_row=1234)
    assert columns_of(PLAN, tail) == {name: found[1234:] for name, found in RELEASED.items()}


@pytest.mark.parametrize("name", FRAMES)
def test_a_column_of_numbers_decides_whatever_the_order(name):
    order = np.random.default_rng(3).permutation(N)
    frame = FRAMES[name]()
    if isinstance(frame, dict):
        frame = {n: [listed(values)[i] for i in order] for n, values in frame.items()}
    elif isinstance(frame, pd.DataFrame):
        frame = frame.iloc[order]
    elif isinstance(frame, pl.DataFrame):
        frame = frame[order]
    else:
        frame = TABLE.take(order)
    out = columns_of(PLAN, collected(pramble.perturb(frame, PLAN, key=KEY, row_number="id")))
    assert out == {n: [found[i] for i in order] for n, found in RELEASED.items()}


def test_a_lazy_frame_is_one_release_and_columns_may_be_asked_for_alone():
    lazy = pramble.perturb(pl.from_arrow(TABLE).lazy(), PLAN)
    first = lazy.collect()
    assert lazy.collect().equals(first)
    assert lazy.select("job").collect()["job"].to_list() == first["job"].to_list()
    assert lazy.collect(engine="streaming").equals(first)


LIBRARIES = {
    "pandas": lambda: TABLE.to_pandas().assign(
        job=pd.array(TABLE["job"].to_numpy(), "Int16"), area=TABLE["area"].to_pandas()
    ),
    "plain pandas": lambda: TABLE.to_pandas(),
    "polars": lambda: pl.from_arrow(TABLE).cast({"sex": pl.Enum(SEX)}),
    "pyarrow": lambda: TABLE,
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_types_follow_from_the_plan_never_from_the_data(name):
    """Rows that are all blank in a column have its type, and so have rows that are not."""
    frame = LIBRARIES[name]()
    schemas = set()
    for row in range(12):
        one = frame.slice(row, 1) if not isinstance(frame, pd.DataFrame) else frame[row : row + 1]
        out = pramble.perturb(one, PLAN, key=KEY, first_row=row)
        kinds = out.schema if not isinstance(out, pd.DataFrame) else out.dtypes.to_dict()
        schemas.add(str(kinds))
    assert len(schemas) == 1
    assert len({RELEASED["ill"][row] is None for row in range(12)}) == 2


def test_integers_become_nullable_as_for_missing_categories():
    half = Fraction(1, 2)
    m = pramble.randomized_response([1, 2], 1.0)
    plan = pramble.Plan(branches=[pramble.Branch(half, {n: m}) for n in "ab"])
    data = {"a": np.ones(50, dtype=np.int16), "b": np.ones(50, dtype=np.int16)}
    assert pramble.perturb(pd.DataFrame(data), plan)["a"].dtype == np.float64
    assert pramble.perturb(pl.DataFrame(data), plan)["a"].dtype == pl.Int16
    assert pramble.perturb(pa.table(data), plan)["a"].type == pa.int16()
    assert pramble.perturb(pd.DataFrame(data).astype("Int16"), plan)["a"].dtype == "Int16"


def test_coded_columns_hold_blanks_that_can_be_written(tmp_path):
    out = pramble.perturb(TABLE, PLAN, key=KEY)
    assert out["area"].type == TABLE["area"].type
    assert out["area"].null_count == sum(value is None for value in RELEASED["area"])
    assert out["area"].chunk(0).dictionary.to_pylist() == AREA
    pq.write_table(out, tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["area"].to_pylist() == RELEASED["area"]


def test_no_two_draws_share_bits():
    record = bound_plan(KEY, PLAN, threads=1)
    streams = [record.branch_stream, *(b.stream for blocks in record.blocks for b in blocks)]
    assert len(streams) == 6  # the coin, two and three; factors of a product have their own
    words = [stream.words(range(4096)) for stream in streams]
    words += [stream.extras(range(4096)) << np.uint32(11) for stream in streams]
    assert all((one == two).sum() <= 2 for one, two in combinations(words, 2))
    simple = bound_plan(KEY, {"sex": pramble.randomized_response(SEX, 1.0)}, threads=1)
    assert simple.blocks[0][0].stream.path == ("sex",)


def test_draws_of_blocks_and_branches_are_independent():
    """Outputs that do not depend on inputs: equal bits would show at once."""
    flat = pramble.Mechanism.from_matrix(np.full((2, 2), 0.5), categories=[0, 1])
    pair = pramble.Mechanism.from_matrix(
        np.full((4, 4), 0.25), categories=list(product([0, 1], [0, 1]))
    )
    branches = [
        pramble.Branch(Fraction(1, 2), {"a": flat, "b": flat, ("c", "d"): pair}),
        pramble.Branch(Fraction(1, 2), {"d": flat, "a": flat, "b": flat}),
    ]
    plan = pramble.Plan(branches=branches)
    zeros = {name: np.zeros(60_000, dtype=np.int64) for name in "abcd"}
    out = columns_of(plan, pramble.perturb(zeros, plan, key=KEY))
    law = law_of(plan, dict.fromkeys("abcd", 0))
    assert p_value(law, list(zip(*out.values(), strict=True))) > 1e-3


def test_a_plan_of_one_branch_draws_what_its_mechanisms_say():
    plan = pramble.Plan({("sex", "job"): JOINT, "area": pramble.randomized_response(AREA, 1.0)})
    out = pramble.perturb(repeated(ONE, 50_000), plan, key=KEY)
    outcomes = list(zip(*(out[name] for name in plan.columns), strict=True))
    assert p_value(law_of(plan, ONE), outcomes) > 1e-3
    lazy = pramble.perturb(pl.from_arrow(TABLE).lazy(), plan, key=KEY)
    assert len(bound_plan(KEY, plan, threads=1).parts) == 2
    whole = columns_of(plan, pramble.perturb(TABLE, plan, key=KEY))
    assert columns_of(plan, lazy.collect()) == whole
    assert pramble.perturb(TABLE, plan, key=KEY)["job"].type == pa.int16()


def test_many_cells_are_looked_up_as_few_are(monkeypatch):
    monkeypatch.setattr("pramble.engine.block.DIRECT_CELLS", 2)
    assert columns_of(PLAN, pramble.perturb(TABLE, PLAN, key=KEY)) == RELEASED
    bad = {**TABLE.to_pydict(), "job": [3] * N, "sex": ["f"] * (N - 1) + ["m"]}
    with pytest.raises(InvalidData, match=f"1 row does not .row {N - 1}."):
        pramble.perturb(bad, PLAN)


def test_a_block_of_many_cells_is_drawn_in_seconds():
    cells = list(product(range(100), range(100), range(10)))
    plan = pramble.Plan({("a", "b", "c"): pramble.randomized_response(cells, 12.0)})
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 10, 200_000) for name in "abc"}
    started = time.process_time()
    out = pramble.perturb(data, plan, key=KEY)
    assert time.process_time() - started < 5
    same = np.logical_and.reduce([out[name] == data[name] for name in "abc"])
    assert same.mean() == pytest.approx(plan["a", "b", "c"].operator.stay()[0], abs=0.01)


@pytest.mark.parametrize("key", [bytes(32), KEY, b"k" * 32])
def test_an_impossible_combination_is_refused_in_every_branch(key, tmp_path):
    """Whichever branch its coin picks; the message names rows and columns, never values."""
    bad = TABLE.to_pydict()
    bad["sex"][17], bad["job"][17] = "m", 3
    with pytest.raises(InvalidData, match=r"Columns 'sex', 'job' .* 1 row does not .row 17.") as it:
        pramble.perturb(bad, PLAN, key=key)
    assert "'m'" not in str(it.value)
    assert it.value.values == "[['m', 3]]"
    pq.write_table(pa.table(bad), tmp_path / "in.parquet")
    with pytest.raises(InvalidData, match="row 17"):
        pramble.perturb_file(tmp_path / "in.parquet", tmp_path / "out.csv", PLAN, key=key)
    assert not (tmp_path / "out.csv").exists()
    with pytest.raises(InvalidData, match="row 117"):
        pramble.perturb(bad, PLAN, key=key, first_row=100)


def test_undeclared_values_are_refused_even_where_they_would_be_blank():
    blank = RELEASED["area"].index(None)
    bad = TABLE.to_pydict()
    bad["area"][blank] = "w"
    with pytest.raises(InvalidData, match=rf"Column 'area' .*\(row {blank}\)"):
        pramble.perturb(bad, PLAN, key=KEY)
    with pytest.raises(InvalidPlan, match="'ill' is missing"):
        pramble.perturb(TABLE.drop(["ill"]), PLAN)


def halves(first, second):
    return pramble.Plan(
        branches=[
            pramble.Branch(Fraction(1, 2), first),
            pramble.Branch(Fraction(1, 2), second),
        ]
    )


def test_plans_that_contradict_themselves_are_refused():
    two, three = pramble.randomized_response(2, 1.0), pramble.randomized_response(3, 1.0)
    with pytest.raises(InvalidPlan, match=r"'a' must have the same categories .* 2 is not in all"):
        halves({"a": two}, {"a": three})
    true = pramble.randomized_response([False, True], 1.0)
    with pytest.raises(InvalidPlan, match="'a' must have the same categories"):
        halves({"a": two}, {"a": true, "b": two})
    for empty in (None, ""):
        missing = pramble.randomized_response(["x", empty], 1.0)
        with pytest.raises(InvalidPlan, match=r"'a' is left blank .* Give missing values a label"):
            halves({"a": missing}, {"b": two})
        assert halves({"a": missing}, {"a": missing, "b": two}).columns == ("a", "b")
    asked = pramble.Mechanism.from_matrix(np.full((2, 2), 0.5), outputs=[0, None])
    with pytest.raises(InvalidPlan, match="'a' is left blank"):
        halves({"a": asked}, {"b": two})
    document = halves({"a": two}, {"b": two}).to_json()
    document["branches"][0]["blocks"][0]["mechanism"] = asked.body()
    with pytest.raises(InvalidPlan, match="'a' is left blank"):
        pramble.Plan.from_json(document)


def test_a_block_of_too_many_combinations_is_refused():
    names = tuple(f"c{i}" for i in range(21))
    cells = [(i,) * 21 for i in range(9)]
    plan = pramble.Plan({names: pramble.randomized_response(cells, 1.0)})
    with pytest.raises(InvalidPlan, match=r"may have 4.6e\+18 combinations"):
        pramble.perturb({name: [0] for name in names}, plan)


def test_shares_are_weights_over_two_to_the_53():
    assert share_weights([Fraction(5, 8), Fraction(3, 8)]).tolist() == [5 * 2**50, 3 * 2**50]
    thirds = share_weights([Fraction(1, 3)] * 3)
    assert thirds.sum() == 2**53
    assert set(thirds.tolist()) == {2**53 // 3, 2**53 // 3 + 1}
    tiny = share_weights([Fraction(1, 2**80), 1 - Fraction(1, 2**80)])
    assert tiny.tolist() == [0, 2**53]


def test_a_record_travels_and_draws_the_same():
    record = bound_plan(KEY, PLAN, threads=1)
    sent = pickle.loads(pickle.dumps(record))
    codes = {name: np.zeros(500, dtype=np.uint8) for name in PLAN.columns}
    one, two = record.draw(codes, range(500)), sent.draw(codes, range(500))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert isinstance(sent, BoundPlan)
    assert repr(KEY)[2:12] not in repr(record)


@st.composite
def plans(draw):
    """Plans of up to three branches over up to three columns, with any partition into blocks."""
    sizes = {name: draw(st.integers(2, 3)) for name in "abc"[: draw(st.integers(1, 3))]}
    raw = draw(st.lists(st.integers(1, 7), min_size=1, max_size=3))
    branches = []
    for part in raw:
        names = draw(st.permutations(list(sizes)))[: draw(st.integers(1, len(sizes)))]
        cut = draw(st.integers(0, len(names)))
        blocks = {}
        for block in (tuple(names[:cut]), tuple(names[cut:])):
            if block:
                blocks[block] = draw(mechanisms(sizes, block))
        branches.append(pramble.Branch(Fraction(part, sum(raw)), blocks))
    return pramble.Plan(branches=branches)


@st.composite
def mechanisms(draw, sizes, block):
    """A mechanism on the cells of a block, with categories in some order."""
    cells = list(product(*(range(sizes[name]) for name in block)))
    order = draw(st.permutations(cells))
    categories = order if len(block) > 1 else [cell[0] for cell in order]
    seed = draw(st.integers(0, 2**32 - 1))
    M = np.random.default_rng(seed).dirichlet(np.ones(len(cells)), size=len(cells))
    return pramble.Mechanism.from_matrix(M, categories=categories)


@given(plan=plans(), data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_joint_law_of_any_plan_is_sampled(plan, data):
    """Hoeffding's bound for each outcome: a sound engine fails with probability 1e-12."""
    labels = plan.column_labels()
    record = {
        name: data.draw(st.sampled_from(list(labels[name].labels.values))) for name in plan.columns
    }
    rows = 4000
    out = pramble.perturb(repeated(record, rows), plan, key=KEY)
    counts = Counter(zip(*(out[name] for name in plan.columns), strict=True))
    law = law_of(plan, record)
    assert set(counts) <= {z for z, p in law.items() if p > 0}
    bound = np.sqrt(np.log(2 * len(law) / 1e-12) / (2 * rows))
    assert all(abs(counts[z] / rows - p) <= bound for z, p in law.items())
