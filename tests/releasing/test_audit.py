"""A release made again from its source, plan and key: what is the same, and what is found."""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import COLUMNS, crowd, in_ledger, rewrite
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import InvalidData, InvalidInput, InvalidPlan

KEY = bytes(range(32))
PEOPLE = crowd(900).append_column("who", pa.array([f"p{k // 3}" for k in range(900)]))
PLAN = {"alpha": 2.0, "design": "paper", "drop": ["who"], "columns": COLUMNS}


@pytest.fixture(autouse=True)
def own_temporary_folder(monkeypatch, tmp_path):
    """Where an audit makes its files: nothing may be left there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.iterdir())


@pytest.fixture
def source(tmp_path):
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


@pytest.fixture
def released(source, tmp_path):
    """A function that releases the people, to be made again."""

    def release(plan=PLAN, source=source, **options):
        options = {"key": KEY, "ledger": False, "pages": False, **options}
        return pramble.release(source, tmp_path / "out", plan=plan, **options).folder

    return release


def verdicts(found):
    return {one.name: one.verdict for one in found.files}


def differing(found):
    assert not found.passed
    return {one.name: one.detail for one in found.files if one.verdict != "same"}


COLUMNS_ALONE = {"columns": COLUMNS, "drop": ["who"]}
KINDS = {
    "columns": PLAN,
    "records": {"alpha": 2.0, "tables": 1, "prior": "uniform", **COLUMNS_ALONE},
    "a private prior": {"alpha": 4.0, "tables": 1, **COLUMNS_ALONE},
    "shuffled": {"central": 20.0, "design": "records", "tables": 1, **COLUMNS_ALONE},
    "tables": {"central": 1.0, "copies": ["csv"], **COLUMNS_ALONE},
    "chosen tables": {"central": 1.0, "tables": "auto", **COLUMNS_ALONE},
    "rows of people": {**PLAN, "person": "who", "rows_per_person": 1},
    "all rows of people": {**PLAN, "person": "who"},
    "rows by noisy counts": {"central": 1.0, "person": "who", **COLUMNS_ALONE},
    "households": {"central": 1.0, "person": {"household": ["who"]}, "rows_per_person": 2,
                   **COLUMNS_ALONE},
    "an untouched column": {**PLAN, "columns": {"sex": COLUMNS["sex"], "age": COLUMNS["age"]},
                            "shuffle": True},
    "a rule": {"central": 1.0, "possible": [{"never": {"age": "0", "ill": "yes"},
                                             "repair": {"ill": "no"}}], **COLUMNS_ALONE},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_release_is_made_again(released, source, kind):
    found = pramble.audit(released(KINDS[kind]), source, key=KEY)
    assert found.passed, found
    assert "manifest.json" in verdicts(found)
    assert set(verdicts(found).values()) == {"same"}


def test_text_files_pages_signatures_and_key_files(released, tmp_path):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    pacsv.write_csv(PEOPLE, tmp_path / "people.csv")
    folder = released(
        source=tmp_path / "people.csv", key=None, key_file=tmp_path / "key", pages=True,
        sign=Ed25519PrivateKey.generate(),
    )  # fmt: skip
    found = pramble.audit(folder, tmp_path / "people.csv", key=tmp_path / "key")
    assert found.passed
    assert verdicts(found).pop("manifest.sig") == "cannot be repeated"
    assert verdicts(found)["summary.html"] == "same"
    assert "cannot be repeated" in repr(found)
    assert found.to_arrow().num_rows == len(found.files)


def test_another_cell_key_or_plan_is_found(released, source, tmp_path):
    folder = released()
    for row in (0, 899):
        values = PEOPLE["sex"].to_pylist()
        values[row] = {"f": "m", "m": "f"}[values[row]]
        other = tmp_path / f"{row}.parquet"
        pq.write_table(PEOPLE.set_column(0, "sex", pa.array(values)), other)
        found = differing(pramble.audit(folder, other, key=KEY))
        assert {"randomised.parquet", "manifest.json"} <= set(found)
    assert "randomised.parquet" in differing(pramble.audit(folder, source, key=bytes(32)))
    found = differing(pramble.audit(folder, source, key=KEY, plan={**PLAN, "alpha": 2.1}))
    assert "settings" in found["manifest.json"]
    assert "promise" in found["manifest.json"]
    assert "settings" in found["plan"]
    with pytest.raises(InvalidPlan, match="does not have"):
        pramble.audit(folder, PEOPLE.drop_columns("sex"), key=KEY)


def test_what_was_tampered_with_is_named(released, source):
    folder = released({**PLAN, "copies": ["csv"]})
    (folder / "analysis.R").write_text("quit()")
    (folder / "synthetic.csv").unlink()
    (folder / "more.csv").write_text("a\n")
    found = differing(pramble.audit(folder, source, key=KEY))
    assert found == {
        "analysis.R": found["analysis.R"],
        "synthetic.csv": "the release lacks it",
        "more.csv": "it is no file of this release",
    }


def test_a_value_that_was_changed_with_its_hash_is_found(released, source):
    """A forger who makes folder and manifest agree is found out by the source and the key."""
    folder = released()
    table = pq.read_table(folder / "randomised.parquet")
    values = ["f", *table["sex"].to_pylist()[1:]]
    values = values if values != table["sex"].to_pylist() else ["m", *values[1:]]
    pq.write_table(table.set_column(0, "sex", pa.array(values)), folder / "randomised.parquet")
    from hashlib import sha256

    content = (folder / "randomised.parquet").read_bytes()
    stated = {"bytes": len(content), "sha256": sha256(content).hexdigest()}
    rewrite(folder, lambda manifest: manifest["data"].update(stated))
    pramble.open_release(folder)
    assert set(differing(pramble.audit(folder, source, key=KEY))) == {
        "randomised.parquet",
        "manifest.json",
    }


def test_the_same_records_in_other_bytes_are_told_from_others(released, source):
    folder = released()
    pq.write_table(pq.read_table(folder / "randomised.parquet"), folder / "randomised.parquet")
    found = differing(pramble.audit(folder, source, key=KEY))
    assert "its records are the same" in found["randomised.parquet"]


MERGED = {
    **PLAN,
    "columns": {**COLUMNS, "age": {"categories": ["0", "other"], "merge": {"other": ["1", "2"]}}},
}


def test_what_is_not_published_of_a_plan(released, source, tmp_path):
    """Values that were merged may be one person's secret; dropped names and places are no one's."""
    secret = tmp_path / "secret place" / "prior.csv"
    secret.parent.mkdir()
    secret.write_text("category,count\nf,1\nm,2\n")
    plan = {**MERGED, "people": "ward 7", "allow": ["kept"]}
    plan["columns"] = {
        **plan["columns"], "sex": {**COLUMNS["sex"], "prior": "public", "prior_file": str(secret)},
    }  # fmt: skip
    ages = ["0" if age == "0" else f"rare {age}" for age in PEOPLE["age"].to_pylist()]
    people = PEOPLE.append_column("kept", PEOPLE["ill"]).set_column(2, "age", pa.array(ages))
    plan["columns"]["age"] = {**plan["columns"]["age"], "merge": {"other": ["rare 1", "rare 2"]}}
    folder = released(plan, people)
    text = (folder / "manifest.json").read_text()
    settings = json.loads(text)["settings"]
    assert settings["withheld"] == ["merge of 'age'"]
    assert settings["columns"]["sex"]["prior_file"] == "prior.csv"
    for word in ("secret place", "ward 7", '"who"', "rare 1", "allow", 'merge"'):
        assert word not in text, word
    with pytest.raises(InvalidPlan, match=r"withholds merge of 'age': give the plan"):
        pramble.audit(folder, people, key=KEY)
    assert pramble.audit(folder, people, key=KEY, plan=plan).passed


def test_a_release_without_settings_needs_its_plan(released, source):
    folder = released()
    rewrite(folder, lambda manifest: manifest.pop("settings"))
    with pytest.raises(InvalidPlan, match="states no settings"):
        pramble.audit(folder, source, key=KEY)
    found = pramble.audit(folder, source, key=KEY, plan=PLAN)
    assert differing(found) == {"manifest.json": "it states another settings"}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda s: s.update(alpha=3.0), "promise"),
        (lambda s: s["columns"].pop("age"), "columns"),
        (lambda s: s.update(design="records"), "design"),
        (lambda s: s.update(person="who"), "unit"),
        (lambda s: s.update(alpha="much"), "alpha must be a positive number"),
        (lambda s: s.update(kind="x"), "no setting 'kind'"),
    ],
)
def test_settings_that_contradict_the_release_are_refused(released, source, change, what):
    folder = released()
    rewrite(folder, lambda manifest: change(manifest["settings"]))
    with pytest.raises(InvalidData, match=what):
        pramble.open_release(folder)
    with pytest.raises(InvalidData, match=what):
        pramble.audit(folder, source, key=KEY)


def test_a_plan_of_any_settings_is_stated_as_it_was(released, source):
    """A release by the stated settings states the same settings."""
    plan = {
        "alpha": 3.0, "design": "columns", "drop": ["who"], "objective": "estimation",
        "columns": {
            "sex": {"categories": {"seen": ["f", "m"]}, "prior": [1 / 3, 2 / 3]},
            "ill": {"categories": ["no", "yes"], "missing": {"standard": "unknown"}},
            "age": {"bands": {"from": 0, "to": 3, "step": 1}},
        },
    }  # fmt: skip
    people = PEOPLE.set_column(2, "age", PEOPLE["age"].cast(pa.int64()))
    found = released(plan, people)
    settings = json.loads((found / "manifest.json").read_text())["settings"]
    again = pramble.release(
        people, "unwritten", plan={**settings, "drop": ["who"]}, dry_run=True, ledger=False
    )
    assert json.loads(json.dumps(again.manifest["settings"])) == settings
    assert settings["columns"]["age"]["bands"] == {"from": 0, "to": 3, "step": 1}
    assert pramble.audit(found, people, key=KEY).passed


def test_shuffled_records_state_their_design(released):
    """It is not the one that a central promise has by itself."""
    found = pramble.open_release(released(KINDS["shuffled"]))
    assert found.manifest["settings"]["design"] == "records"
    assert (
        "design"
        not in pramble.release(
            PEOPLE, "unwritten", plan=KINDS["tables"], dry_run=True, ledger=False
        ).manifest["settings"]
    )


def test_an_audit_enters_nothing_in_a_ledger(released, source, tmp_path):
    ledger = tmp_path / "ledger.db"
    folder = released(ledger=ledger)
    before = in_ledger(ledger)
    content = ledger.read_bytes()
    assert pramble.audit(folder, source, key=KEY).passed
    assert in_ledger(ledger) == before
    assert ledger.read_bytes() == content
    assert not (tmp_path / "xdg").exists()


@pytest.mark.parametrize("what", ["counting", "randomising", "comparing"])
def test_an_interrupt_leaves_nothing(released, source, own_temporary_folder, what):
    folder, seen = released(), []

    def watch(step):
        if step.what == what:
            seen.append(
                [stat.S_IMODE(one.stat().st_mode) for one in own_temporary_folder.iterdir()]
            )
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pramble.audit(folder, source, key=KEY, progress=watch)
    assert seen == [[0o700]]
    assert not list(own_temporary_folder.iterdir())


RUN = """
import sys, os
import pramble
def watch(step):
    if step.what == "comparing":
        print("ready", flush=True)
        sys.stdin.read()
pramble.audit(sys.argv[1], sys.argv[2], key=bytes(range(32)), progress=watch)
"""


def test_a_killed_audit_leaves_nothing_raw_and_the_next_removes_it(
    released, own_temporary_folder, tmp_path
):
    words = [f"a very secret value {k}" for k in range(900)]
    people = PEOPLE.append_column("words", pa.array(words))
    pacsv.write_csv(people, tmp_path / "people.csv")
    plan = {"central": 20.0, "design": "records", "tables": 1, **COLUMNS_ALONE}
    folder = released({**plan, "drop": ["who", "words"]}, tmp_path / "people.csv")
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), str(tmp_path / "people.csv")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(own_temporary_folder)},
    )  # fmt: skip
    assert run.stdout.readline() == "ready\n"
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=60)
    (left,) = own_temporary_folder.iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    published = {path.name for path in folder.iterdir()}
    for path in left.rglob("*"):
        assert path.name in published
        assert b"secret" not in path.read_bytes()
    assert pramble.audit(folder, tmp_path / "people.csv", key=KEY).passed
    assert not left.exists()


def test_only_a_key_opens_an_audit(released, source, tmp_path):
    folder = released()
    for wrong in (b"short", tmp_path / "nowhere", None):
        with pytest.raises(InvalidInput, match="key"):
            pramble.audit(folder, source, key=wrong)


def test_the_command_says_by_its_status_whether_a_release_is_the_same(released, source, tmp_path):
    folder = released(MERGED)
    (tmp_path / "key").write_bytes(KEY)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'alpha = 2.0\ndesign = "paper"\ndrop = ["who"]\n'
        '[columns.sex]\ncategories = ["f", "m"]\n[columns.ill]\ncategories = ["no", "yes"]\n'
        '[columns.age]\ncategories = ["0", "other"]\nmerge = { other = ["1", "2"] }\n'
    )
    words = ["audit", str(folder), str(source), "--key", str(tmp_path / "key")]
    answer = CliRunner().invoke(app, [*words, "--plan", str(plan), "--json"])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["passed"] is True
    (folder / "analysis.py").write_text("pass")
    answer = CliRunner().invoke(app, [*words, "--plan", str(plan)])
    assert answer.exit_code == 1
    assert "analysis.py" in answer.stdout
    assert isinstance(CliRunner().invoke(app, words).exception, InvalidPlan)


def test_a_private_prior_follows_from_key_file_and_categories(tmp_path):
    """Noise that two priors share would subtract to exact counts."""
    rng = np.random.default_rng(3)
    people = pa.table({"job": rng.choice(["a", "b", "c", "d"], 4000, p=[0.25, 0.25, 0.3, 0.2])})

    def prior(people=people, labels=("a", "b", "c", "d"), key=KEY, alpha=2.0):
        made = pramble.release(
            people, "unwritten", columns={"job": {"categories": list(labels)}}, alpha=alpha,
            design="paper", key=key, dry_run=True, ledger=False,
        )  # fmt: skip
        (part,) = made.manifest["design"]["parts"]
        return dict(zip(labels, part["prior"]["probabilities"], strict=True))

    first = prior()
    assert prior() == first
    others = [
        prior(key=bytes(32)),
        prior(people.slice(1)),
        prior(pa.table({"job": people["job"].to_pylist()[::-1]})),
        prior(labels=("b", "a", "c", "d")),
        prior(labels=("a", "b", "c", "d", "e")),
        prior(alpha=2.0001),
        prior(key=None),
    ]
    for other in others:
        apart = [abs(first[label] - other[label]) * 4000 for label in "abcd"]
        assert max(apart) > 3, "noise of scale 100 that is shared, but for what is everywhere"


def test_the_draws_of_a_key_are_uniform():
    from pramble.releasing.priors import keyed_below

    below = keyed_below(KEY, "a")
    for n in (1, 2, 3, 7, 2**32, 2**32 + 1, 3 * 2**64):
        draws = [below(n) for _ in range(4000)]
        assert 0 <= min(draws) <= max(draws) < n
        counts = np.bincount([draw * 5 // n if n >= 5 else draw for draw in draws])
        expected = 4000 / len(counts)
        if n in (2, 3) or n > 100:
            assert ((counts - expected) ** 2 / expected).sum() < 30
    other = keyed_below(KEY, "b")
    assert [below(2**40) for _ in range(9)] != [other(2**40) for _ in range(9)]
