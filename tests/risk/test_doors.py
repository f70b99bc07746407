"""The same data through every door gives the same assessment, before and after a plan."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import pramble

N = 300
RNG = np.random.default_rng(31)
AGES = (20, 35, 9, 110, None)
TABLE = pa.table(
    {
        "age": pa.array([AGES[i] for i in RNG.choice(5, N, p=[0.4, 0.3, 0.15, 0.1, 0.05])]),
        "sex": pa.array([["f", "m", None][i] for i in RNG.choice(3, N, p=[0.5, 0.45, 0.05])]),
        "region": RNG.choice(40, N, p=np.arange(40, 0, -1) / 820),
        "w": 1 + RNG.integers(0, 40, N) / 4,
    }
)
KEYS = ["age", "sex", "region"]
PLAN = {
    "age": pramble.randomized_response(AGES, 1.5),
    "region": pramble.randomized_response(40, 2.0),
}


def write(path):
    """Write the table in the format of a path."""
    frame, kind = pl.from_arrow(TABLE), path.name.partition(".")[2]
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "arrow":
        frame.write_ipc(path)
    elif kind == "xlsx":
        frame.to_pandas().to_excel(path, index=False)
    elif kind in {"dta", "sav"}:
        import pyreadstat

        getattr(pyreadstat, f"write_{kind}")(frame.to_pandas(), str(path))
    else:
        separator = "\t" if kind.startswith("tsv") else ","
        text = frame.write_csv(separator=separator).encode()
        codec = {"gz": "gzip", "zst": "zstd"}.get(kind.rpartition(".")[2])
        path.write_bytes(text)
        if codec:
            with pa.CompressedOutputStream(str(path), codec) as stream:
                stream.write(text)
    return path


FRAMES = {
    "pandas": TABLE.to_pandas,
    "pandas categories": lambda: TABLE.to_pandas().astype({"sex": "category"}),
    "polars": lambda: pl.from_arrow(TABLE),
    "polars, lazy": lambda: pl.from_arrow(TABLE).lazy(),
    "pyarrow": lambda: TABLE,
    "a stream": lambda: TABLE.to_reader(70),
    "duckdb": lambda: duckdb.connect().from_arrow(TABLE),
    "a mapping": TABLE.to_pydict,
    "arrays by name": lambda: {
        name: column.to_numpy() if name == "region" else column.to_pylist()
        for name, column in zip(TABLE.column_names, TABLE.columns, strict=True)
    },
}
FILES = (
    ".parquet", ".csv", ".csv.gz", ".csv.zst", ".tsv", ".arrow", ".dta", ".sav", ".xlsx",
)  # fmt: skip


@pytest.fixture(scope="module")
def expected():
    a = pramble.assess(TABLE, KEYS, weights="w")
    assert a.sample_uniques > 20
    assert a.table.levels[0] == (9, 20, 35, 110, None)
    return a


def check(data, expected):
    a = pramble.assess(data, KEYS, weights="w")
    assert (a.n, a.sample_uniques) == (N, expected.sample_uniques)
    assert (a.tau1, a.tau2) == pytest.approx((expected.tau1, expected.tau2), rel=1e-9)
    assert a.table.levels[0] == expected.table.levels[0]
    np.testing.assert_array_equal(a.records["class_size"], expected.records["class_size"])
    for name in ("r2", "individual"):
        np.testing.assert_allclose(a.records[name], expected.records[name], rtol=1e-9)
    left, wanted = a.after(PLAN), expected.after(PLAN)
    assert left.tau2 == pytest.approx(wanted.tau2, rel=1e-9)
    np.testing.assert_allclose(left.records["r2"], wanted.records["r2"], rtol=1e-9)


@pytest.mark.parametrize("door", FRAMES)
def test_every_frame_gives_the_same_assessment(door, expected):
    check(FRAMES[door](), expected)


@pytest.mark.parametrize("ending", FILES)
def test_every_file_gives_the_same_assessment(tmp_path, ending, expected):
    check(write(tmp_path / f"people{ending}"), expected)


def test_a_folder_of_files_is_one_file(tmp_path, expected):
    frame = pl.from_arrow(TABLE)
    frame[:100].write_csv(tmp_path / "1.csv")
    frame[100:].write_csv(tmp_path / "2.csv")
    check(tmp_path, expected)
    check(str(tmp_path / "*.csv"), expected)


def test_a_plan_designed_from_the_labels_of_a_file(tmp_path):
    path = tmp_path / "people.csv"
    pl.from_arrow(TABLE).with_columns(old=pl.col("region") > 20).write_csv(path)
    a = pramble.assess(path, ["age", "sex", "old"], population_size=3000)
    assert a.table.levels == ((9, 20, 35, 110, None), ("f", "m", None), (False, True))
    plan = pramble.Plan(
        {
            key: pramble.design(
                np.full(len(levels), 1 / len(levels)), 1.0, categories=levels
            ).mechanism
            for key, levels in zip(a.keys, a.table.levels, strict=True)
        }
    )
    assert 0 < a.after(plan).tau2 < a.tau2
    assert a.after(dict(plan)).tau2 == a.after(plan).tau2
    as_text = {"age": pramble.randomized_response(["9", "20", "35", "110", None], 1.0)}
    as_numbers = {"age": pramble.randomized_response([9, 20, 35, 110, None], 1.0)}
    assert a.after(as_text).tau2 == a.after(as_numbers).tau2
    k = pramble.calibrate(path, ["age", "sex"], population_size=3000, column="age", at_most=0.5)
    assert k.design.mechanism.categories == (9, 20, 35, 110, None)
    assert k.met


def test_texts_for_missing_are_the_boundary_s_to_decide(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,name\n20,NA\n20,Ann\n30,Bob\n35,\n")
    keys = ["age", "name"]
    plain = pramble.assess(path, keys, model="none")
    assert plain.table.levels == ((20, 30, 35), ("Ann", "Bob", "NA", None))
    told = pramble.assess(path, keys, model="none", reading={"missing": ["NA"]})
    assert told.table.levels == ((20, 30, 35), ("Ann", "Bob", None))
    wild = pramble.assess(path, keys, model="none", reading=pramble.Reading(missing=["NA", "30"]))
    assert wild.table.levels == ((20, 35, None), ("Ann", "Bob", None))
    path.write_text("age\n20\n20\nNA\n35\n")
    found = pramble.assess(path, ["age"], model="none")
    assert found.table.levels == ((20, 35, None),)


def test_recodings_come_before_the_keys(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,sex\n21,f\n25,f\n38,m\n")
    steps = {"recode": {"age": [0, 30, 60]}}
    a = pramble.assess(path, ["age", "sex"], model="none", reading=steps)
    assert a.records["class_size"].tolist() == [2, 2, 1]
    k = pramble.calibrate(a, column="sex", measure="error", at_most=2.0)
    assert k.before.table.levels[0] == ("0-29", "30-59")
