"""A released file in pieces: the same rows, each piece by one function, and every piece checked."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import LEAST_ROWS, crowd, plan_that_keeps, release_by, sha256, tried
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import InvalidPlan, PrivacyError

KEY = bytes(range(32))
ROWS = 2 * LEAST_ROWS + 40_000
PLAN = pramble.Plan(
    {
        "sex": pramble.randomized_response(["f", "m"], 1.0),
        "age": pramble.randomized_response(list(range(5)), 2.0),
    }
)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("pieces") / "people.parquet"
    table = pa.table(
        {
            "sex": rng.choice(["f", "m"], ROWS),
            "age": rng.integers(0, 5, ROWS),
            "town": pa.array(rng.choice(["x", "y", "z"], ROWS)).dictionary_encode(),
            "income": pa.array(rng.normal(size=ROWS), mask=rng.random(ROWS) < 0.1),
        }
    )
    pq.write_table(table, path)
    return path


def released(source, target, **options):
    return release_by(PLAN, source, target, key=KEY, copies=["csv"], **options)


@pytest.fixture(scope="module")
def whole(source, tmp_path_factory):
    return released(source, tmp_path_factory.mktemp("whole") / "out")


@pytest.fixture(scope="module")
def honest(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cut") / "out"
    return released(source, folder, rows_per_file=LEAST_ROWS, pages=True)


def test_the_rows_are_those_of_the_single_file(whole, honest):
    names = [f"randomised/part-0000{i}.parquet" for i in range(3)]
    tables = [pq.read_table(honest.folder / name) for name in names]
    assert [len(table) for table in tables] == [LEAST_ROWS, LEAST_ROWS, 40_000]
    assert pa.concat_tables(tables).equals(pq.read_table(whole.folder / "randomised.parquet"))
    stated = honest.manifest["data"]
    assert [piece["file"] for piece in stated["pieces"]] == names
    for piece, table in zip(stated["pieces"], tables, strict=True):
        path = honest.folder / piece["file"]
        assert piece["rows"] == len(table)
        assert (piece["bytes"], piece["sha256"]) == (path.stat().st_size, sha256(path))
    together = "".join(piece["sha256"] for piece in stated["pieces"])
    assert stated["sha256"] == hashlib.sha256(together.encode()).hexdigest()
    assert honest.outcome.data_file == "3 files in randomised/"
    assert all(check.passed for check in honest.outcome.checks)


def test_analysts_get_what_they_get_from_the_single_file(whole, honest):
    one, cut = pramble.open_release(whole.folder), pramble.open_release(honest.folder)
    assert cut.data.equals(one.data)
    expected = pramble.estimate(one, by=["sex", "age"]).to_pandas()
    assert pramble.estimate(cut, by=["sex", "age"]).to_pandas().equals(expected)
    from_path = pramble.estimate(honest.folder / "randomised", PLAN, by=["sex", "age"]).to_pandas()
    assert from_path.equals(expected)
    assert pacsv.read_csv(honest.folder / "synthetic.csv").num_rows == ROWS
    assert "randomised/</code> (3 files)" in (honest.folder / "summary.html").read_text()


def test_links_are_found_over_pieces(tmp_path):
    """People whose two rows lie in different pieces, far beyond the first batch."""
    n = LEAST_ROWS
    sex = np.random.default_rng(1).choice(["f", "m"], n)
    who = np.random.default_rng(2).permutation(n)
    plan = pramble.Plan({"sex": pramble.randomized_response(["f", "m"], 1.0)})
    table = pa.table({"sex": np.tile(sex, 2), "who": np.tile(who, 2)})
    with pytest.raises(PrivacyError, match="'who' are alike in 'sex'"):
        release_by(plan, table, tmp_path / "out", rows_per_file=n, person=False)
    assert not list(tmp_path.glob("*out*"))


def test_shuffled_pieces(tmp_path):
    """Shuffled, with copies, scripts and synthetic records; the same rows as in one file."""
    plan, people = plan_that_keeps(2.0), crowd(LEAST_ROWS + 500)
    options = {
        "key": KEY, "tables": 2, "copies": ["csv"], "central": 40.0, "design": "records",
    }  # fmt: skip
    one = release_by(plan, people, tmp_path / "one", **options)
    cut = release_by(plan, people, tmp_path / "cut", rows_per_file=LEAST_ROWS, **options)
    whole, pieces = (pramble.open_release(r.folder).data for r in (one, cut))
    assert pieces.equals(whole)
    names = sorted(path.name for path in (tmp_path / "cut/randomised").iterdir())
    assert names == [f"part-0000{i}.parquet" for i in range(2)]
    complete = [pramble.open_release(r.folder).synthetic for r in (one, cut)]
    assert [table.num_rows for table in complete] == [LEAST_ROWS + 500] * 2
    for made, table in zip((one, cut), complete, strict=True):
        typed = pacsv.ConvertOptions(column_types=table.schema)
        copy = pacsv.read_csv(made.folder / "synthetic.csv", convert_options=typed)
        assert copy.equals(table.combine_chunks()), (copy.schema, table.schema)


def test_a_file_of_few_rows_is_one_piece(tmp_path):
    plan = pramble.Plan({"sex": pramble.randomized_response(["f", "m"], 1.0)})
    r = release_by(plan, {"sex": ["f", "m"] * 50}, tmp_path / "out", rows_per_file=LEAST_ROWS)
    assert [piece["rows"] for piece in r.manifest["data"]["pieces"]] == [100]
    assert r.outcome.data_file == "1 file in randomised/"
    assert pramble.open_release(r.folder).data.num_rows == 100


@pytest.mark.parametrize("asked", [0, -LEAST_ROWS, 1000, LEAST_ROWS + 1, 2.0**17, "all"])
def test_other_numbers_of_rows_are_refused_with_a_remedy(asked):
    words = "131072 is the nearest" if asked in (1000, LEAST_ROWS + 1) else "positive whole number"
    with pytest.raises(InvalidPlan, match=f"rows_per_file must be .*{words}"):
        tried({"alpha": 1, "rows_per_file": asked, "columns": {"x": {"categories": ["a", "b"]}}})


def test_a_plan_keeps_the_setting_and_an_option_takes_its_place():
    plan = {"alpha": 1, "rows_per_file": 1 << 18, "columns": {"x": {"categories": ["a", "b"]}}}
    for given, rows in (({"alpha": 2.0}, 1 << 18), ({"rows_per_file": 1 << 17}, 1 << 17)):
        assert f"rows_per_file = {rows}\n" in tried(plan, **given).outcome.plan


def test_the_command_line_writes_pieces(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex\n" + "f\nm\n" * 300)
    done = CliRunner().invoke(
        app,
        ["release", str(path), "--out", str(tmp_path / "out"), "--columns", "sex", "--alpha", "1",
         "--no-ledger", "--set", f"rows_per_file={LEAST_ROWS}"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out/randomised/part-00000.parquet").exists()
    assert pramble.open_release(tmp_path / "out").manifest["data"]["file"] == "randomised"
