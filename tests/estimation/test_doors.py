"""One table, whatever holds the records: frames, streams, and files of every format."""

import tracemalloc
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

import pramble

N = 1200
RNG = np.random.default_rng(12)
SEX = pramble.randomized_response(["f", "m"], 1.5)
PLAN = pramble.Plan({"sex": SEX, "ill": pramble.randomized_response([0, 1], 2.0)})
FRAME = pd.DataFrame(
    {
        "region": RNG.integers(1, 13, N),
        "town": RNG.choice(["b 2", "b 10", "a", None], N, p=[0.4, 0.3, 0.2, 0.1]),
        "sex": RNG.choice(["f", "m"], N, p=[0.6, 0.4]),
        "ill": RNG.integers(0, 2, N),
        "age": RNG.normal(size=N).round(3),
        "income": RNG.normal(10, 3, N).round(2),
        "w": RNG.uniform(0.5, 2, N).round(3),
    }
)


def write_compressed(path, kind):
    with pa.output_stream(path, compression=kind) as stream:
        stream.write(FRAME.to_csv(index=False).encode())


def write_sav(path):
    pyreadstat.write_sav(FRAME.assign(town=FRAME.town.fillna("")), path)


WRITERS = {
    ".parquet": FRAME.to_parquet,
    ".csv": lambda path: FRAME.to_csv(path, index=False),
    ".csv.gz": lambda path: FRAME.to_csv(path, index=False),
    ".csv.zst": lambda path: write_compressed(path, "zstd"),
    ".tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    ".arrow": lambda path: pl.from_pandas(FRAME).write_ipc(path),
    ".dta": lambda path: FRAME.to_stata(path, write_index=False),
    ".sav": write_sav,
    ".xlsx": lambda path: FRAME.to_excel(path, index=False),
}
FRAMES = {
    "polars": lambda: pl.from_pandas(FRAME),
    "lazy polars": lambda: pl.from_pandas(FRAME).lazy(),
    "pyarrow": lambda: pa.Table.from_pandas(FRAME),
    "stream": lambda: pa.Table.from_pandas(FRAME).to_reader(500),
    "duckdb": lambda: duckdb.connect().from_df(FRAME),
    "mapping": lambda: {name: FRAME[name].tolist() for name in FRAME},
    "mixed mapping": lambda: {**FRAME, "other": [1, "1"] * (N // 2)},
}
DOORS = [*FRAMES, *WRITERS]


@pytest.fixture(params=DOORS)
def door(request, tmp_path):
    if request.param in FRAMES:
        return FRAMES[request.param]
    path = tmp_path / f"people{request.param}"
    WRITERS[request.param](path)
    return lambda: path


def same(one, two):
    assert dict(one.cells) == dict(two.cells)
    for name in ("values", "standard_errors", "lower", "upper"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.covariance, two.covariance, rtol=1e-9, atol=1e-14)
    assert one.n == two.n


ESTIMATES = {
    "integers": {"by": ["region", "sex"]},
    "text with missing": {"by": ["town", "sex"]},
    "weights": {"by": ["sex", "town"], "weights": "w", "method": "inverse"},
    "array of weights": {"by": ["sex", "town"], "weights": FRAME.w.to_numpy()},
    "mean": {"by": ["ill", "town"], "mean": "income"},
    "weighted total": {"by": ["town", "sex", "ill"], "total": "income", "weights": "w"},
    "query": {"by": ["region", "sex"], "query": "sex=f,region=10|2"},
}


@pytest.mark.parametrize("keywords", ESTIMATES.values(), ids=list(ESTIMATES))
def test_every_door_gives_the_table_of_the_frame(door, keywords):
    same(pramble.estimate(door(), PLAN, **keywords), pramble.estimate(FRAME, PLAN, **keywords))


def test_labels_stand_in_natural_order_with_missing_last(door):
    e = pramble.estimate(door(), PLAN, by=["region"])
    assert e.cells["region"] == tuple(range(1, 13))
    assert pramble.estimate(door(), PLAN, by="town").cells["town"] == ("a", "b 2", "b 10", None)


def test_every_door_gives_the_same_test_of_independence(door):
    for columns in (["sex", "town"], ["region", "town"], ["ill", "sex"]):
        expected = pramble.independence_test(FRAME, PLAN, columns=columns)
        found = pramble.independence_test(door(), PLAN, columns=columns)
        for name in expected.__dataclass_fields__:
            assert getattr(found, name) == pytest.approx(getattr(expected, name)), name


@pytest.mark.parametrize(
    "keywords",
    [
        {"response": "ill", "covariates": ["sex", "age", "town"]},
        {"response": "income", "covariates": ["sex", "age"], "family": "linear", "weights": "w"},
        {"response": "ill", "covariates": "sex", "success": 0},
    ],
    ids=["logistic", "linear", "one covariate"],
)
def test_every_door_gives_the_same_regression(door, keywords):
    expected = pramble.estimate_regression(FRAME, PLAN, **keywords)
    found = pramble.estimate_regression(door(), PLAN, **keywords)
    assert found.names == expected.names
    np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-6, atol=1e-12)
    assert found.n == expected.n


def test_opened_releases_of_every_kind_of_data(tmp_path):
    path = tmp_path / "data.csv"
    FRAME.to_csv(path, index=False)
    for data in (FRAME, path, pl.from_pandas(FRAME).lazy()):
        release = SimpleNamespace(data=data, plan=PLAN)
        same(
            pramble.estimate(release, by=["town", "sex"]),
            pramble.estimate(FRAME, PLAN, by=["town", "sex"]),
        )
        assert pramble.independence_test(release, columns=["sex", "town"]).n == N
        assert pramble.estimate_regression(release, response="ill", covariates="sex").n == N


def test_a_release_folder_gives_the_table_of_its_file(tmp_path):
    source, folder = tmp_path / "people.parquet", tmp_path / "out"
    FRAME.to_parquet(source)
    columns = {"sex": {"categories": ["f", "m"]}}
    made = pramble.release(source, folder, columns=columns, alpha=3.0, ledger=False, design="paper")
    file = folder / made.manifest["data"]["file"]
    by = ["region", "town", "sex"]
    same(
        pramble.estimate(pramble.open_release(folder), by=by, mean="income", weights="w"),
        pramble.estimate(file, made.plan, by=by, mean="income", weights="w"),
    )


def test_reading_says_what_the_file_does_not(tmp_path):
    path = tmp_path / "people.txt"
    FRAME.fillna({"town": "?"}).to_csv(path, index=False, sep=";", decimal=",")
    reading = {"format": "csv", "separator": ";", "missing": ["?"], "decimal": ","}
    for keywords in (ESTIMATES["text with missing"], ESTIMATES["weighted total"]):
        same(
            pramble.estimate(path, PLAN, reading=reading, **keywords),
            pramble.estimate(FRAME, PLAN, **keywords),
        )
    keywords = {"response": "income", "covariates": ["age", "sex"], "family": "linear"}
    found = pramble.estimate_regression(path, PLAN, reading=reading, **keywords)
    expected = pramble.estimate_regression(FRAME, PLAN, **keywords)
    assert found.names == expected.names
    assert np.allclose(found.coefficients, expected.coefficients)
    test = pramble.independence_test(path, PLAN, columns=["sex", "town"], reading=reading)
    assert test == pramble.independence_test(FRAME, PLAN, columns=["sex", "town"])


def test_declared_orders_are_kept_and_levels_that_do_not_occur_have_no_cells():
    size = pd.Categorical(
        ["small", "large"] * (N // 2), categories=["small", "middle", "large"], ordered=True
    )
    frame = FRAME.assign(size=size)
    enum = pl.from_pandas(frame).cast({"size": pl.Enum(["small", "middle", "large"])})
    for data in (frame, enum, enum.lazy(), pa.Table.from_pandas(frame)):
        e = pramble.estimate(data, PLAN, by=["size", "sex"])
        assert e.cells["size"] == ("small", "small", "large", "large")
    found = pramble.independence_test(frame, PLAN, columns=["size", "town"])
    plain = pramble.independence_test(
        frame.assign(size=np.asarray(size)), PLAN, columns=["size", "town"]
    )
    for name in plain.__dataclass_fields__:
        assert getattr(found, name) == pytest.approx(getattr(plain, name)), name


def test_independence_of_an_untouched_column_and_one_of_combinations():
    ill = pramble.randomized_response([0, 1], 2.0)
    cells = [(sex, own) for sex in SEX.categories for own in (0, 1)]
    both = pramble.Mechanism.from_matrix(np.kron(SEX.matrix, ill.matrix), cells)
    pairs = list(zip(FRAME.sex, FRAME.ill, strict=True))
    data = {"pair": pairs, "region": FRAME.region.tolist()}
    test = pramble.independence_test(data, {"pair": both}, columns=["region", "pair"])
    flat = pramble.independence_test(
        {**data, "pair": [f"{sex}{ill}" for sex, ill in pairs]},
        {
            "pair": pramble.Mechanism.from_matrix(
                both.matrix, categories=[f"{sex}{ill}" for sex, ill in both.categories]
            )
        },
        columns=["region", "pair"],
    )
    for name in flat.__dataclass_fields__:
        assert getattr(test, name) == pytest.approx(getattr(flat, name)), name


LAZY = {
    "polars": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lambda frame: duckdb.connect().from_df(frame),
    "pandas": lambda frame: frame,
}


@pytest.mark.parametrize("make", LAZY.values(), ids=list(LAZY))
@pytest.mark.parametrize(
    ("column", "bad"),
    [("w", -1.0), ("w", None), ("w", np.inf), ("income", None), ("income", np.inf)],
)
def test_numbers_that_are_none_are_refused_by_every_engine(make, column, bad):
    values = FRAME[column].copy()
    values[7] = bad
    frame = make(FRAME.assign(**{column: values}))
    with pytest.raises(pramble.InvalidData, match=r"must hold finite|must not be negative"):
        pramble.estimate(frame, PLAN, by="sex", weights="w", mean="income")


@pytest.mark.parametrize("make", LAZY.values(), ids=list(LAZY))
def test_numbers_that_are_texts_are_refused_by_every_engine(make):
    with pytest.raises(pramble.InvalidData, match="'town' must hold numbers"):
        pramble.estimate(make(FRAME), PLAN, by="sex", mean="town")


@pytest.mark.parametrize("size", [0, 1, N - 1, N + 1])
def test_weights_must_be_one_per_record(door, size):
    with pytest.raises(pramble.InvalidData, match="one number per row"):
        pramble.estimate(door(), PLAN, by="sex", weights=np.ones(size))


def test_blocks_need_the_columns_that_bear_on_the_table():
    cells = [(one, two) for one in SEX.categories for two in SEX.categories]
    M = np.array([[5.0, 3, 1, 2], [1, 4, 2, 1], [2, 1, 6, 1], [1, 1, 1, 3]])
    joint = pramble.Mechanism.from_matrix(M / M.sum(axis=1, keepdims=True), cells)
    with pytest.raises(pramble.InvalidData, match="no column 'other'"):
        pramble.estimate(FRAME, pramble.Plan({("sex", "other"): joint}), by="sex")


def test_nothing_larger_than_the_table_is_held(tmp_path):
    """A file far larger than its table is estimated in the memory of a few batches."""
    path = tmp_path / "long.csv"
    with path.open("w") as file:
        file.write("sex,region,w\n")
        for _ in range(100):
            file.write("f,1,1.5\nm,2,0.5\nf,2,1.0\n" * 10_000)
    pramble.estimate(FRAME, PLAN, by="sex")
    tracemalloc.start()
    e = pramble.estimate(path, {"sex": SEX}, by=["sex", "region"], weights="w")
    left, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert e.n == 3_000_000
    assert most < 3 * 8 * e.n / 2
    assert left < 10**6


def test_truths_and_coded_texts_are_numbers():
    m = pramble.randomized_response(["a", "b"], 2.0)
    rows = pa.table({"x": ["a", "b", "a", "b"] * 50, "works": [True, False, True, True] * 50})
    plain = rows.set_column(1, "works", rows["works"].cast(pa.float64()))
    mean = pramble.estimate(rows, {"x": m}, by="x", mean="works").values
    assert mean.tolist() == pramble.estimate(plain, {"x": m}, by="x", mean="works").values.tolist()
    weights = pa.chunked_array([pa.array(["1", "2"] * 100).dictionary_encode()])
    numbers = np.tile([1.0, 2.0], 100)
    found = pramble.estimate(rows, {"x": m}, by="x", weights=weights).values
    expected = pramble.estimate(rows, {"x": m}, by="x", weights=numbers).values
    assert found.tolist() == expected.tolist()
