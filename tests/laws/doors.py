"""Every door that data can come through, and every verb that takes data."""

import gzip
import json
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat
from tests.laws.drafts import init

import pramble

N = 900
RNG = np.random.default_rng(20)
TABLE = pa.table(
    {
        "sex": RNG.choice(["f", "m"], N),
        "age": RNG.integers(1, 13, N),
        "region": [None if i % 9 == 0 else "nsw"[i % 3] for i in range(N)],
        "ill": RNG.integers(0, 2, N),
        "weight": 1 + RNG.integers(0, 4, N) / 4,
    }
)
KEY = bytes(range(32))
SEX = pramble.randomized_response(["f", "m"], 2.0)
AGE = pramble.randomized_response(list(range(1, 13)), 3.0)
PLAN = {"sex": SEX, "age": AGE}
CELLS = [(sex, age) for sex in ("f", "m") for age in range(1, 13)]
PAIRS = pramble.Plan(
    branches=[
        pramble.Branch(Fraction(2, 3), {("sex", "age"): pramble.randomized_response(CELLS, 4.0)}),
        pramble.Branch(Fraction(1, 3), {"sex": SEX}),
    ]
)


def parquet(path):
    pq.write_table(TABLE, path, row_group_size=250)


def csv(path, separator=","):
    pl.from_arrow(TABLE).write_csv(path, separator=separator)


def packed_csv(path, codec):
    with pa.CompressedOutputStream(str(path), codec) as stream:
        stream.write(pl.from_arrow(TABLE).write_csv().encode())


def gzipped_csv(path):
    path.write_bytes(gzip.compress(pl.from_arrow(TABLE).write_csv().encode()))


def stream(path):
    with pa.ipc.new_stream(path, TABLE.schema) as sink:
        sink.write_table(TABLE, max_chunksize=300)


def parts(path, write):
    path.mkdir()
    for i in range(3):
        write(TABLE.slice(i * 300, 300), path / f"part-{i}")


def parquet_part(table, path):
    pq.write_table(table, path.with_suffix(".parquet"))


def csv_part(table, path):
    pl.from_arrow(table).write_csv(path.with_suffix(".csv"))


FILES = {
    "Parquet": ("people.parquet", parquet),
    "CSV": ("people.csv", csv),
    "CSV, semicolons": ("european.csv", lambda path: csv(path, ";")),
    "CSV, gzip": ("people.csv.gz", gzipped_csv),
    "CSV, zstd": ("people.csv.zst", lambda path: packed_csv(path, "zstd")),
    "TSV": ("people.tsv", lambda path: csv(path, "\t")),
    "Arrow, Feather": ("people.arrow", lambda path: pa.feather.write_feather(TABLE, path)),
    "Arrow stream": ("people.ipc", stream),
    "Stata": ("people.dta", lambda path: pyreadstat.write_dta(TABLE.to_pandas(), path)),
    "SPSS": ("people.sav", lambda path: pyreadstat.write_sav(TABLE.to_pandas(), path)),
    "SAS transport": ("people.xpt", lambda path: pyreadstat.write_xport(TABLE.to_pandas(), path)),
    "Excel": ("people.xlsx", lambda path: TABLE.to_pandas().to_excel(path, index=False)),
    "folder": ("parts", lambda path: parts(path, parquet_part)),
    "pattern": ("csvs", lambda path: parts(path, csv_part)),
}
"""Doors on disk: a name and what writes it."""

FRAMES = {
    "pandas": lambda: TABLE.to_pandas(),
    "polars": lambda: pl.from_arrow(TABLE),
    "polars, lazy": lambda: pl.from_arrow(TABLE).lazy(),
    "pyarrow": lambda: TABLE,
    "Arrow reader": lambda: TABLE.to_reader(400),
    "DuckDB": lambda: duckdb.connect().from_arrow(TABLE),
    "mapping": lambda: TABLE.to_pydict(),
}
"""Doors in memory."""


def door(name: str, folder: Path):
    """Return the data behind a door, written into a folder if it is one on disk."""
    if name in FRAMES:
        return FRAMES[name]()
    file, write = FILES[name]
    path = folder / file
    if not path.exists():
        write(path)
    return path / "*.csv" if name == "pattern" else path


def rounded(values):
    return [round(float(value), 9) for value in values]


def perturb(data, folder):
    """``perturb_file`` for doors on disk, ``perturb`` for those in memory: the released values."""
    again = isinstance(data, pa.RecordBatchReader)
    return [
        released_by(data if plan is PLAN or not again else TABLE.to_reader(400), plan, folder)
        for plan in (PLAN, PAIRS)
    ]


def released_by(data, plan, folder):
    if not isinstance(data, Path):
        return released(pramble.perturb(data, plan, key=KEY))
    target = folder / "out.parquet"
    pramble.perturb_file(data, target, plan, key=KEY, overwrite=True)
    return released(pq.read_table(target))


def released(frame):
    frame = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    table = pa.table(frame) if not isinstance(frame, pa.RecordBatchReader) else frame.read_all()
    ages = [None if age is None or age != age else int(age) for age in table["age"].to_pylist()]
    return table["sex"].to_pylist(), ages


def estimate(data, _):
    """A table of a randomised, a numeric and a text column with missing values, weighted."""
    e = pramble.estimate(data, {"sex": SEX}, by=["region", "sex"], weights="weight")
    return dict(e.cells), rounded(e.probabilities), rounded(e.lower)


def independence_test(data, _):
    test = pramble.independence_test(data, {"sex": SEX}, columns=["sex", "age"])
    return test.degrees_of_freedom, rounded([test.statistic, test.cramers_v])


def estimate_regression(data, _):
    fit = pramble.estimate_regression(
        data, {"sex": SEX}, response="ill", covariates=["sex", "age"], family="linear"
    )
    return fit.names, rounded(fit.coefficients)


def assess(data, _):
    a = pramble.assess(data, ["sex", "age", "region"], population_size=9000, model="two-way")
    left = a.after(PLAN)
    return a.sample_uniques, rounded([a.tau1, a.tau2, left.tau2]), a.records["class_size"].tolist()


def calibrate(data, _):
    k = pramble.calibrate(
        data, keys=["sex", "age"], population_size=9000, column="age", measure="tau2", at_most=0.5
    )
    return round(k.alpha, 6), k.design.mechanism.categories


def release(data, folder):
    """A dry run: what would be released, from which counts, at which risk."""
    r = pramble.release(
        data,
        folder / "never",
        columns={"sex": {}, "age": {}, "region": {"missing": True}},
        alpha=3.0,
        prior="uniform",
        risk={"keys": ["sex", "region"], "population_size": 9000},
        ledger=False,
        dry_run=True,
        design="paper",
    )
    o = r.outcome
    return (
        json.dumps(r.plan.to_json(), sort_keys=True),
        [column.before for column in o.columns],
        o.untouched,
        rounded([o.risk.tau2_before, o.risk.tau2_after]),
        tuple(o.warnings),
    )


VERBS = {
    "perturb": perturb,
    "release": release,
    "init": init,
    "estimate": estimate,
    "independence_test": independence_test,
    "estimate_regression": estimate_regression,
    "assess": assess,
    "calibrate": calibrate,
}
