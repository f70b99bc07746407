"""Releases of protected tables: the folder, its promise, and what a reader gets from it."""

import json
import math
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import in_ledger

import pramble

COLUMNS = {"SEX": ["f", "m"], "MARST": ["single", "married", "other"], "JOB": ["no", "yes"]}
KEY = bytes(range(32))


def people(rows=5_000, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table({name: rng.choice(labels, rows) for name, labels in COLUMNS.items()})


def released(source, target, **settings):
    columns = {name: {"categories": labels} for name, labels in COLUMNS.items()}
    given = {"central": 1.0, "delta": 1e-6, "ledger": False, "pages": False, "key": KEY}
    plan = {"columns": columns, **{k: v for k, v in settings.items() if k in ("design", "tables")}}
    more = {k: v for k, v in settings.items() if k not in plan}
    given |= more
    central = {"central": given.pop("central"), "delta": given.pop("delta")}
    return pramble.release(source, target, plan={**plan, **central}, **given)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("tables") / "out"
    released(people(), target)
    return target


def test_tables_are_the_default_under_a_central_promise(folder):
    names = sorted(path.name for path in folder.iterdir())
    assert names == [
        *("analysis.R", "analysis.py", "codebook.xml", "manifest.json"),
        *("synthetic.parquet", "tables.parquet"),
    ]
    release = pramble.open_release(folder)
    assert release.data is None
    assert set(release.tables.columns) == set(COLUMNS)
    assert release.synthetic.num_rows == 5_000
    assert release.guarantee.epsilon <= 1
    assert release.guarantee.delta == pytest.approx(1e-6)
    assert math.isinf(release.alpha)
    assert pramble.certify(release).epsilon <= 1.0


def test_estimates_from_the_folder_cover_the_file(folder):
    table, truth = pramble.open_release(folder), people()
    found = pramble.estimate(table, by=["SEX", "MARST"], covers="randomisation").table
    counts = truth.group_by(["SEX", "MARST"]).aggregate([([], "count_all")]).to_pylist()
    true = {(one["SEX"], one["MARST"]): one["count_all"] / 5_000 for one in counts}
    rows = found.to_pylist()
    inside = [one["lower"] <= true[one["SEX"], one["MARST"]] <= one["upper"] for one in rows]
    assert sum(inside) >= len(inside) - 2  # of six; coverage is tested over many keys elsewhere


def test_complete_records_have_nearly_the_counts_of_the_file(folder):
    made, truth = pramble.open_release(folder).synthetic, people()
    for name, labels in COLUMNS.items():
        for label in labels:
            one, other = (sum(v == label for v in t[name].to_pylist()) for t in (made, truth))
            assert abs(one - other) < 100


def test_the_same_file_key_and_plan_give_the_same_bytes(folder, tmp_path):
    released(people(), tmp_path / "again")
    for name in ("tables.parquet", "synthetic.parquet", "analysis.py", "analysis.R"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_another_file_under_the_same_key_has_other_noise(folder, tmp_path):
    source = people()
    one_more = source.slice(0, 4_999).to_pylist()
    changed = {**source.slice(4_999).to_pylist()[0]}
    changed["SEX"] = "m" if changed["SEX"] == "f" else "f"
    released(pa.Table.from_pylist([*one_more, changed]), tmp_path / "other")
    one, two = (pq.read_table(f / "tables.parquet") for f in (folder, tmp_path / "other"))
    difference = np.subtract(one["count"].to_numpy(), two["count"].to_numpy())
    assert np.abs(difference).max() > 3  # a person more or less would be 1


@pytest.mark.parametrize("field", ["precision", "epsilon", "total"])
def test_forged_manifests_are_refused(folder, tmp_path, field):
    shutil.copytree(folder, tmp_path / "forged")
    path = tmp_path / "forged" / "manifest.json"
    document = json.loads(path.read_text())
    if field == "precision":
        document["plan"]["precision"][0]["value"] *= 2
    elif field == "epsilon":
        spent = document["promise"]["spent"]
        spent["epsilon"] = spent["epsilon"] / 2
        spent["epsilon_exact"] = (
            str(spent["epsilon"].as_integer_ratio()[0])
            + "/"
            + str(spent["epsilon"].as_integer_ratio()[1])
        )
    else:
        document["rows"] += 1
    path.write_text(json.dumps(document))
    with pytest.raises(pramble.InvalidData):
        pramble.open_release(tmp_path / "forged")


def test_a_changed_number_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "changed")
    path = tmp_path / "changed" / "tables.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(pramble.InvalidData, match=r"tables\.parquet"):
        pramble.open_release(tmp_path / "changed")


@pytest.mark.parametrize(
    ("setting", "given"),
    [("whole", True), ("shuffle", True), ("prior", "public"), ("rows_per_file", 131072)],
)
def test_settings_of_records_are_refused_with_both_ways_out(tmp_path, setting, given):
    with pytest.raises(pramble.InvalidPlan, match="records"):
        pramble.release(
            people(), tmp_path / "out", columns=list(COLUMNS), central=1.0, ledger=False,
            **{setting: given},
        )  # fmt: skip


def test_records_stay_possible(tmp_path):
    made = released(people(), tmp_path / "out", design="records")
    assert made.tables is None
    assert made.data.num_rows == 5_000
    assert made.central.epsilon <= 1


def test_untouched_columns_are_refused(tmp_path):
    source = people().append_column("id", pa.array(range(5_000)))
    with pytest.raises(pramble.PrivacyError, match="'id'"):
        released(source, tmp_path / "out")


def test_several_rows_of_a_person(tmp_path):
    source = people().append_column("who", pa.array(np.arange(5_000) // 4))
    made = released(source, tmp_path / "out", person="who", rows_per_person=2, drop=["who"])
    assert made.guarantee.epsilon <= 1
    assert made.guarantee.rows == 2
    assert made.manifest["promise"]["relation"] == "replace one person, in at most 2 rows"
    assert abs(made.tables.total - 2_500) < 200
    assert made.tables.total != 2_500  # the number of rows is not public
    assert "5000" not in json.dumps(made.manifest)
    assert "2500" not in json.dumps(made.manifest)


def test_the_python_script_needs_pyarrow_alone(folder):
    done = subprocess.run(
        [sys.executable, folder / "analysis.py", "MARST", "SEX"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = done.stdout.strip().splitlines()
    assert len(lines) == 1 + 6
    release = pramble.open_release(folder)
    counts = dict(
        zip((("single", "f"),), release.tables.table(["MARST", "SEX"])[0, :1], strict=True)
    )
    shown = next(line for line in lines if line.startswith("single × f"))
    assert float(shown.split()[-3].replace(",", "")) == pytest.approx(
        counts["single", "f"], abs=0.06
    )
    wrong = subprocess.run(
        [sys.executable, folder / "analysis.py", "SEX", "MARST", "JOB"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert wrong.returncode == 1
    assert "was measured" in wrong.stderr


def test_the_ledger_counts_tables_by_their_noise(tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    for number in range(4):
        released(people(seed=3), tmp_path / f"out{number}", ledger=ledger, key=None)
    total = in_ledger(ledger)[-1]["total_epsilon"]
    assert total < 2.5  # four releases of ε = 1: less than twice that, since noise adds up
    with pytest.raises(pramble.PrivacyError, match="central budget"):
        released(people(seed=3), tmp_path / "more", ledger=ledger, budget=3.0)
    with pytest.raises(pramble.PrivacyError, match="Nothing was released"):
        released(people(seed=3), tmp_path / "more", ledger=ledger, central_budget=(1.5, 1e-4))


def test_a_dry_run_measures_nothing(tmp_path):
    made = released(people(), tmp_path / "out", dry_run=True)
    assert made.folder is None
    assert not (tmp_path / "out").exists()
    assert made.outcome.protected.noise > 0


@pytest.mark.pictures
def test_pages_speak_of_tables(tmp_path):
    made = released(people(), tmp_path / "out", pages=True)
    summary = (made.folder / "summary.html").read_text()
    report = (tmp_path / "out-report.html").read_text()
    for page in (summary, report):
        assert "synthetic.parquet" in page
        assert "shuffled" not in page
        assert "α bounds" not in page
    assert "For the curator only" in report


def test_copies_are_of_the_complete_records(tmp_path):
    released(people(), tmp_path / "out", copies=["csv"])
    from pyarrow import csv

    made = csv.read_csv(tmp_path / "out" / "synthetic.csv")
    assert made.equals(pq.read_table(tmp_path / "out" / "synthetic.parquet"))
    pramble.open_release(tmp_path / "out")


def test_noise_never_makes_a_release_fail(tmp_path):
    """Whether a release succeeds would otherwise say something of noise that is secret."""
    few = pa.table({
        "id": [1, 1, 2, 2, 3], "sex": list("ffmmm"), "ill": list("nynny"),
    })  # fmt: skip
    totals = []
    for number in range(12):
        made = pramble.release(
            few, tmp_path / str(number), central=1.0, person="id", rows_per_person=2, drop=["id"],
            columns={"sex": {"categories": ["f", "m"]}, "ill": {"categories": ["n", "y"]}},
            key=bytes([number]) * 32, ledger=False, pages=False,
        )  # fmt: skip
        totals.append(made.tables.total)
    assert min(totals) <= 0 < max(totals)
