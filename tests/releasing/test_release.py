"""The whole job: what comes out, what is refused, and what no release may contain."""

import json
import re
import stat
from fractions import Fraction

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import AGES, PLAN, SCHEMA

import pramble
from pramble import estimate, release
from pramble.errors import InvalidData, InvalidInput, InvalidPlan, PrivacyError

KEY = bytes(range(32))


@pytest.mark.parametrize("kind", ["people_file", "people_csv"])
def test_from_file_to_estimates(request, people, tmp_path, kind):
    source = request.getfixturevalue(kind)
    r = release(source, tmp_path / "out", plan=PLAN)
    assert r.alpha <= 3.0
    opened = pramble.open_release(tmp_path / "out")
    assert opened.data.column_names == ["SEX", "AGE", "RACESING", "income"]
    assert opened.data.num_rows == people.num_rows
    assert opened.manifest == r.manifest
    for name in ("RACESING", "income"):
        texts = [table[name].cast(pa.string()).to_pylist() for table in (people, opened.data)]
        assert texts[0] == texts[1]
    before = np.array([people["AGE"].to_pylist().count(age) for age in AGES]) / people.num_rows
    e = estimate(opened.data["AGE"], opened.plan["AGE"])
    assert np.abs(e.probabilities - before).max() < 0.15
    assert ((e.lower <= before) & (before <= e.upper)).sum() >= 6


def test_the_manifest_follows_its_schema_and_adds_up(people_file, tmp_path):
    r = release(people_file, tmp_path / "out", plan=PLAN)
    document = json.loads((tmp_path / "out" / "manifest.json").read_text())
    jsonschema.validate(document, SCHEMA)
    randomised = document["design"]["parts"]
    spent = sum(Fraction(c["alpha"]) + Fraction(c["prior"]["alpha_exact"]) for c in randomised)
    assert spent == Fraction(document["promise"]["spent"]["alpha_exact"]) <= 3
    plan = pramble.Plan.from_json(document["plan"])
    assert plan == r.plan
    for column in randomised:
        assert pramble.certify(plan[column["column"]]).satisfies(column["alpha"])
    assert document["promise"]["conditional_on_prior"] is False
    assert document["promise"]["sentence"] == r.guarantee.sentence()
    assert "Released as they are, not protected: RACESING, income." in document["notes"]


def test_the_same_key_repeats_the_release_and_is_written_nowhere(people_file, tmp_path):
    plan = {**PLAN, "prior": "uniform"}
    first = release(people_file, tmp_path / "a", plan=plan, key=KEY)
    again = release(people_file, tmp_path / "b", plan=plan, key=KEY)
    other = release(people_file, tmp_path / "c", plan=plan)
    assert first.data.equals(again.data)
    assert not first.data.equals(other.data)
    for path in (tmp_path / "a").iterdir():
        content = path.read_bytes()
        assert KEY not in content
        assert KEY.hex().encode() not in content
    assert KEY.hex() not in repr(first)


def test_a_key_used_twice_with_other_mechanisms_or_another_file_shares_no_bits(people, tmp_path):
    """With shared bits a value kept at the smaller α would always be kept at the larger."""
    path, other = tmp_path / "people.parquet", tmp_path / "others.parquet"
    pq.write_table(people, path)
    pq.write_table(people.slice(0, people.num_rows - 1), other)
    plan = {"columns": {"SEX": {"categories": ["Male", "Female"]}}}
    true = np.array(people["SEX"].to_pylist())

    def kept(source, alpha, name):
        data = release(
            source, tmp_path / name, plan={**plan, "alpha": alpha}, key=KEY, ledger=False
        ).data
        return np.array(data["SEX"].to_pylist())[: len(true) - 1] == true[:-1]

    low, high, shifted = kept(path, 1.0, "a"), kept(path, 1.1, "b"), kept(other, 1.0, "c")
    for again in (high, shifted):
        share = (low & ~again).mean()
        assert abs(share - low.mean() * (1 - again.mean())) < 6 * 0.5 / np.sqrt(len(low))
        assert share > 0.1


def test_a_key_file_is_the_owners_alone_and_elsewhere(people_file, tmp_path):
    path = tmp_path / "key.bin"
    release(people_file, tmp_path / "out", plan=PLAN, key=KEY, ledger=False, key_file=path)
    assert path.read_bytes() == KEY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(InvalidInput, match="Cannot write the key"):
        release(people_file, tmp_path / "out2", plan=PLAN, key=KEY, ledger=False, key_file=path)
    inside = tmp_path / "out3" / "key.bin"
    with pytest.raises(InvalidInput, match="must not lie in the release folder"):
        release(people_file, tmp_path / "out3", plan=PLAN, key=KEY, ledger=False, key_file=inside)
    assert not (tmp_path / "out2").exists()
    assert not (tmp_path / "out3").exists()


@pytest.mark.parametrize("design", ["records", "paper"])
def test_nothing_raw_is_in_what_may_be_published(tmp_path, design):
    """Planted canaries: file name, dropped values, raw counts and the true prior."""
    n, rare = 40_000, 13_577
    table = pa.table(
        {
            "illness": ["CANARY-COMMON"] * (n - rare) + ["CANARY-RARE"] * rare,
            "note": [f"CANARY-TEXT-{i}" for i in range(n)],
            "town": ["CANARY-TOWN"] * n,
        }
    )
    source = tmp_path / "CANARY-FILE.parquet"
    pq.write_table(table, source)
    r = pramble.release(
        source,
        tmp_path / "out",
        plan={
            "alpha": 1.0,
            "design": design,
            "columns": {"illness": {"categories": ["CANARY-COMMON", "CANARY-RARE", "none"]}},
            "drop": ["note"],
        },
    )
    shown = r.outcome.columns if design == "paper" else r.outcome.record.columns
    assert shown[0].before == (n - rare, rare, 0)
    manifest = (r.folder / "manifest.json").read_text()
    summary = (r.folder / "summary.html").read_text()
    codebook = (r.folder / "codebook.xml").read_text()
    for text in (manifest, summary, codebook):
        assert "CANARY-FILE" not in text
        assert "CANARY-TEXT" not in text
        assert "CANARY-TOWN" not in text
        assert not re.search(r"\b(13,?577|26,?423)\b", text)
        assert str(rare / n) not in text
    assert "CANARY-FILE" in (tmp_path / "out-report.html").read_text()
    assert "note" not in [column["name"] for column in r.manifest["columns"]]
    assert "CANARY-RARE" in manifest  # a declared label is public, and must be there


def test_values_of_people_who_left_the_file_do_not_stay_in_dictionaries(tmp_path):
    towns = pa.array(["CANARY-GONE", "x", "y", "CANARY-TOO", None, "z"] * 2000).dictionary_encode()
    table = pa.table({"sex": ["f", "m", "f", "m", "f", "m"] * 2000, "town": towns})
    stays = table.filter(pa.array([False, True, True, False, True, True] * 2000))
    source = tmp_path / "people.arrow"
    with pa.OSFile(str(source), "wb") as sink, pa.ipc.new_file(sink, stays.schema) as file:
        file.write_table(stays, max_chunksize=700)
    assert b"CANARY-GONE" in source.read_bytes()
    r = release(
        source, tmp_path / "out", columns=["sex"], alpha=1.0, allow=["town"], design="paper"
    )
    assert r.data["town"].to_pylist() == stays["town"].to_pylist()
    written = pq.read_table(tmp_path / "out" / "randomised.parquet", read_dictionary=["town"])[
        "town"
    ]
    assert {value for chunk in written.chunks for value in chunk.dictionary.to_pylist()} == {*"xyz"}


def test_a_confidential_prior_is_flagged_and_not_printed(people_file, tmp_path):
    plan = {**PLAN, "prior": "confidential"}
    with pytest.raises(PrivacyError, match="confidential_prior_allowed"):
        release(people_file, tmp_path / "out", plan=plan)
    r = release(people_file, tmp_path / "out", plan=plan, confidential_prior_allowed=True)
    assert r.manifest["promise"]["conditional_on_prior"] is True
    assert any("conditional on the prior" in note for note in r.manifest["notes"])
    age = next(c for c in r.manifest["design"]["parts"] if c["column"] == "AGE")
    assert "probabilities" not in age["prior"]


def test_two_categories_need_no_prior_and_spend_nothing_on_it(people_file, tmp_path):
    r = release(people_file, tmp_path / "out", columns=["SEX"], alpha=1.0, design="paper")
    (sex,) = r.outcome.columns
    assert sex.alpha_prior == 0
    assert sex.alpha == 1.0


CONCENTRATED = [0.003, 0.423, 0.091, 0.388, 0.095]


def test_a_design_that_merges_categories_is_replaced(tmp_path):
    pq.write_table(pa.table({"x": [0, 1, 2, 3, 4] * 400}), tmp_path / "x.parquet")
    column = {"categories": [0, 1, 2, 3, 4], "prior": CONCENTRATED}
    plan = {"alpha": 1.47, "design": "columns", "columns": {"x": column}}
    r = release(tmp_path / "x.parquet", tmp_path / "out", plan=plan)
    (x,) = r.outcome.columns
    assert x.estimate is not None
    assert np.isfinite(x.estimation_variance)
    assert any("merges categories" in warning for warning in r.outcome.warnings)
    assert x.certificate.satisfies(1.47)


def test_a_dry_run_tells_and_writes_nothing(people_file, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    plan = {**PLAN, "risk": {"keys": ["SEX", "AGE", "RACESING"], "population_size": 10**6}}
    r = release(people_file, tmp_path / "out", plan=plan, dry_run=True, ledger=False)
    assert sorted(tmp_path.rglob("*")) == before
    outcome = r.outcome
    assert outcome.dry_run
    assert r.folder is None
    assert outcome.risk.tau2_after < outcome.risk.tau2_before
    assert [c.name for c in outcome.columns] == ["SEX", "AGE"]
    assert all(c.information <= c.information_bound * (1 + 1e-9) for c in outcome.columns)
    assert all(0 < c.change_expected < 1 for c in outcome.columns)
    with pytest.raises(InvalidData, match="writes no data"):
        _ = r.data


def test_the_parts_of_the_columns_stay_within_the_total(people_file, tmp_path):
    plan = {**PLAN, "alpha": 0.7}
    r = release(people_file, tmp_path / "out", plan=plan)
    sex, age = r.outcome.columns
    total = sum(Fraction(c.alpha) for c in (sex, age)) + Fraction(age.alpha_prior)
    assert r.guarantee.alpha <= Fraction(0.7)
    assert float(total) == pytest.approx(0.7, rel=1e-9)


def test_columns_may_have_their_own_alpha(people_file, tmp_path):
    columns = {
        "SEX": {"categories": ["Male", "Female"], "alpha": 0.5},
        "AGE": {"categories": AGES, "alpha": 2.0, "family": "response"},
    }
    r = release(people_file, tmp_path / "out", columns=columns, design="paper")
    assert [c.alpha for c in r.outcome.columns] == [0.5, 2.0]
    assert r.plan["AGE"] == pramble.randomized_response(AGES, 2.0)


def test_seen_categories_work_and_are_warned_of(people_file, tmp_path):
    r = release(people_file, tmp_path / "out", columns=["RACESING"], alpha=2.0, design="paper")
    assert r.plan["RACESING"].categories == tuple(sorted(r.plan["RACESING"].categories))
    assert any("values that occur" in warning for warning in r.outcome.warnings)
    column = next(c for c in r.manifest["columns"] if c["randomised"])
    assert column["categories_from"] == "seen"


def typed_file(tmp_path, ending):
    path = tmp_path / f"typed.{ending}"
    table = pa.table(
        {
            "code": pa.array([1, 2, 3, None] * 100, pa.int64()),
            "flag": pa.array([True, False] * 200),
            "word": pa.array(["a", None, "b", ""] * 100),
        }
    )
    if ending == "csv":
        pacsv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    return path


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_types_and_empty_cells(tmp_path, ending):
    columns = {
        "code": {"categories": [1, 2, 3], "missing": 9},
        "flag": {"categories": [False, True]},
        "word": {"categories": ["a", "b"], "missing": True},
    }
    if ending == "parquet":
        columns["word"]["categories"] = ["a", "b", ""]
    path = typed_file(tmp_path, ending)
    out = tmp_path / "out"
    release(path, out, columns=columns, alpha=30.0, prior="uniform", design="paper")
    opened = pramble.open_release(out)
    for data in (opened.data, opened.synthetic):
        assert set(data["code"].to_pylist()) == {1, 2, 3, 9}
        assert set(data["flag"].to_pylist()) == {False, True}
        assert None in data["word"].to_pylist()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"SEX": {"categories": ["Male", "Other"]}}, "rows hold others, of 1 values"),
        ({"SEX": {"categories": [1, 2]}}, "declared categories only"),
        ({"income": {}}, "must hold labels"),
    ],
)
def test_files_that_do_not_fit_are_refused_before_writing(people_file, tmp_path, columns, message):
    with pytest.raises(InvalidData, match=message):
        release(people_file, tmp_path / "out", columns=columns, alpha=1.0, design="paper")
    assert not (tmp_path / "out").exists()


def test_too_many_values_are_no_categories(tmp_path):
    path = tmp_path / "many.parquet"
    pq.write_table(pa.table({"name": [f"n{i}" for i in range(10_001)]}), path)
    with pytest.raises(InvalidData, match="Column 'name' has 10,001 distinct values"):
        release(path, tmp_path / "out", columns=["name"], alpha=1.0, design="paper")


def test_empty_cells_are_refused_unless_declared(tmp_path):
    with pytest.raises(InvalidData, match="Column 'code' has 100 empty cells"):
        release(
            typed_file(tmp_path, "parquet"),
            tmp_path / "out",
            columns=["code"],
            alpha=1.0,
            design="paper",
        )


def test_odd_requests_are_refused(people_file, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    with pytest.raises(InvalidInput, match="never overwritten"):
        release(people_file, tmp_path / "full", plan=PLAN)
    with pytest.raises(InvalidInput, match="is no folder"):
        release(people_file, people_file, plan=PLAN)
    with pytest.raises(InvalidPlan, match="names of some of its columns"):
        release(people_file, tmp_path / "out", plan=PLAN, columns={"SEX": {}})
    with pytest.raises(InvalidPlan, match="needs a plan"):
        release(people_file, tmp_path / "out", alpha=1.0)
    with pytest.raises(InvalidPlan, match="no setting 'famly'"):
        release(
            people_file, tmp_path / "out", columns=["SEX"], alpha=1.0, famly="x", design="paper"
        )
    with pytest.raises(InvalidData, match="There is no file"):
        release(tmp_path / "no.parquet", tmp_path / "out", plan=PLAN)
    with pytest.raises(InvalidData, match="no known ending"):
        release(tmp_path / "full" / "x", tmp_path / "out", plan=PLAN)
    (tmp_path / "empty.csv").write_text("SEX,AGE,name\n")
    with pytest.raises(InvalidData, match="no rows"):
        release(tmp_path / "empty.csv", tmp_path / "out", plan=PLAN)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("cut", [0, 4, 1000, -100])
def test_damaged_files_give_clear_words(people_file, tmp_path, cut):
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(people_file.read_bytes()[:cut])
    with pytest.raises(
        InvalidData, match=r"broken.parquet'? must (be a sound parquet file|hold data)"
    ):
        release(broken, tmp_path / "out", plan=PLAN)


def test_a_ragged_csv_gives_clear_words(tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("SEX,AGE,name\nMale,15,x\nMale,15\n")
    with pytest.raises(InvalidData, match=r"ragged.csv: line 3 has 2 fields, the header 3"):
        release(path, tmp_path / "out", plan=PLAN)


def test_lines_within_values_survive(tmp_path):
    path = tmp_path / "lines.csv"
    rows = [f'{"xyz"[i % 3]},"a ""word"", and{chr(10)}a line {i}"' for i in range(30_000)]
    path.write_text("x,note\n" + "\n".join(rows) + "\n")
    r = release(path, tmp_path / "out", columns=["x"], alpha=2.0, design="paper")
    notes = [f'a "word", and\na line {i}' for i in range(30_000)]
    assert r.data["note"].to_pylist() == notes


def test_the_confidential_file_is_no_public_prior(people_file, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    people_file.rename(folder / "one.parquet")
    link = tmp_path / "census.parquet"
    link.symlink_to(folder / "one.parquet")
    settings = {"columns": {"AGE": {"categories": AGES}}, "alpha": 2.0, "prior": "public"}
    for source in (folder, folder / "one.parquet"):
        with pytest.raises(PrivacyError, match="'AGE' must come from a public source"):
            release(source, tmp_path / "out", **settings, prior_file=str(link))
    copy = tmp_path / "another.parquet"
    copy.write_bytes(link.read_bytes())
    release(folder, tmp_path / "out", **settings, prior_file=str(copy))


@pytest.mark.parametrize("text", [pa.string(), pa.large_string()])
def test_untouched_dictionaries_of_any_width_pass_the_comparison(tmp_path, text):
    kind = pa.dictionary(pa.int8(), text)
    table = pa.table({"x": ["a", "b"] * 50, "town": pa.array(["here", None] * 50, kind)})
    path = tmp_path / "people.arrow"
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)
    r = release(path, tmp_path / "out", columns=["x"], alpha=2.0, design="paper")
    assert r.data["town"].to_pylist() == ["here", None] * 50


def test_values_that_only_nested_dictionaries_list_are_not_released(tmp_path):
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), ["here", "CANARY-GONE"])
    nested = {
        "structure": pa.StructArray.from_arrays([coded], names=["town"]),
        "list": pa.ListArray.from_arrays([0, 1, 2], coded),
        "wide": pa.LargeListArray.from_arrays([0, 1, 2], coded),
        "fixed": pa.FixedSizeListArray.from_arrays(coded, 1),
    }
    table = pa.table({"x": ["a", "b"], **nested})
    path = tmp_path / "people.arrow"
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)
    r = release(path, tmp_path / "out", columns=["x"], alpha=2.0, design="paper")
    assert r.data["structure"].to_pylist() == [{"town": "here"}] * 2
    assert r.data["list"].to_pylist() == r.data["fixed"].to_pylist() == [["here"]] * 2
    assert b"CANARY-GONE" not in (tmp_path / "out" / "randomised.parquet").read_bytes()


def test_an_empty_line_of_a_single_column_is_a_row(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("x\n" + "a\n\nb\n" * 30)
    columns = {"x": {"categories": ["a", "b"], "missing": True}}
    r = release(path, tmp_path / "out", columns=columns, alpha=30.0, design="paper")
    assert pramble.open_release(r.folder).data["x"].to_pylist() == ["a", None, "b"] * 30


def test_a_second_release_of_the_same_people_warns_and_a_budget_refuses(people_file, tmp_path):
    first = release(people_file, tmp_path / "a", plan=PLAN)
    assert first.outcome.ledger_total.shown == pytest.approx(3)
    second = release(people_file, tmp_path / "b", plan=PLAN)
    assert second.outcome.ledger_total.shown == pytest.approx(6)
    assert "These people have spent α = 3 in earlier releases" in second.outcome.warnings[0]
    with pytest.raises(PrivacyError, match="Nothing was released"):
        release(people_file, tmp_path / "c", plan=PLAN, budget=8.0)
    with pytest.raises(PrivacyError, match="at most 2 is left"):
        release(people_file, tmp_path / "c", plan=PLAN, budget=8.0, dry_run=True)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("budget", [float("nan"), float("inf"), 0.0, -1.0])
def test_a_budget_is_a_positive_number(people_file, tmp_path, budget):
    with pytest.raises(InvalidPlan, match="A budget must be a positive number"):
        release(people_file, tmp_path / "out", plan=PLAN, budget=budget)


def test_no_ledger_and_a_ledger_out_of_reach(people_file, tmp_path, monkeypatch):
    r = release(people_file, tmp_path / "a", plan=PLAN, ledger=False)
    assert r.outcome.ledger_total is None
    assert "This release is in no ledger" in r.outcome.warnings[0]
    assert "This release is in no ledger" in (tmp_path / "a-report.html").read_text()
    with pytest.raises(InvalidPlan, match="needs a ledger"):
        release(people_file, tmp_path / "b", plan=PLAN, ledger=False, budget=1.0)
    blocked = tmp_path / "file"
    blocked.write_text("x")
    monkeypatch.setenv("XDG_DATA_HOME", str(blocked))
    with pytest.raises(InvalidInput, match=r"cannot be reached.*Nothing was released.*--no-ledger"):
        release(people_file, tmp_path / "b", plan=PLAN, dry_run=True)
    with pytest.raises(InvalidInput, match=r"cannot be opened.*Nothing was released.*--no-ledger"):
        release(people_file, tmp_path / "b", plan=PLAN)
    assert not (tmp_path / "b").exists()


def test_progress_reaches_the_end(people_file, tmp_path):
    seen = []
    release(people_file, tmp_path / "out", plan=PLAN, progress=seen.append)
    assert seen[-1].share == 1.0
    assert [step.share for step in seen] == sorted(step.share for step in seen)
    assert max(step.rows for step in seen if step.what == "randomising") == 6000


def test_a_folder_of_files_is_one_source(people, tmp_path):
    (tmp_path / "parts").mkdir()
    for i in range(3):
        pq.write_table(people.slice(i * 2000, 2000), tmp_path / "parts" / f"{i}.parquet")
    r = release(tmp_path / "parts", tmp_path / "out", plan=PLAN)
    assert r.data["income"].to_pylist() == people["income"].to_pylist()


def test_the_curators_report_is_private_and_lies_outside_the_folder(people_file, tmp_path):
    r = release(people_file, tmp_path / "out", plan=PLAN)
    names = sorted(path.name for path in r.folder.iterdir())
    scripts = ["analysis.R", "analysis.py"]
    files = ["codebook.xml", "manifest.json", "randomised.parquet", "summary.html"]
    assert names == [*scripts, *files, "synthetic.parquet"]
    report = tmp_path / "out-report.html"
    assert report.stat().st_mode & 0o777 == 0o600
    assert "For the curator only" in report.read_text()
    assert "For the curator only" not in (r.folder / "summary.html").read_text()
    with pytest.raises(InvalidData):
        release(tmp_path / "gone.parquet", tmp_path / "other", plan=PLAN)
    assert not (tmp_path / "other-report.html").exists()


def test_a_column_of_several_types_is_refused_by_name(tmp_path):
    people = {"sex": ["f", "m"] * 50, "code": [1, "u"] * 50}
    with pytest.raises(InvalidData, match="Column 'code' must hold values of one type"):
        release(people, tmp_path / "out", columns=["sex"], alpha=1.0, design="paper")
    assert not (tmp_path / "out").exists()
