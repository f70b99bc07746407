"""People with several rows: α of a person is that of a record times rows, everywhere."""

import json
import math
import re
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv
from tests.releasing.conftest import rewrite

import pramble
from pramble.errors import InvalidData, InvalidPlan

AGES = [1, 2, 3]
KEY = bytes(range(32))


def visits(n=300, rows=4, seed=0):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n * rows)
    return pa.table(
        {
            "pid": np.repeat(np.arange(n), rows)[order],
            "age": rng.choice(AGES, n * rows),
            "sex": np.repeat(rng.choice(["f", "m"], n), rows)[order],
        }
    )


COLUMNS = {"age": {"categories": AGES}, "sex": {"categories": ["f", "m"]}}


def released(table, folder, **settings):
    return pramble.release(
        table, folder, columns=COLUMNS, ledger=False, pages=False, **settings, design="paper"
    )


@pytest.mark.parametrize("how", [{"person": "pid"}, {"rows_per_person": 4}])
def test_what_is_spent_on_a_person_is_that_of_a_record_times_rows(tmp_path, how):
    r = released(visits(), tmp_path / "out", alpha=8.0, **how)
    records = sum(
        Fraction(c["alpha"]) + Fraction(c["prior"]["alpha_exact"])
        for c in r.manifest["design"]["parts"]
    )
    assert r.guarantee.alpha == 4 * records
    assert r.guarantee.rows == 4
    assert 7.9 < r.alpha <= 8.0
    assert r.manifest["promise"]["relation"] == "replace one person, in at most 4 rows"
    assert "all 4 rows of the person" in r.manifest["promise"]["sentence"]
    opened = pramble.open_release(tmp_path / "out")
    c = pramble.certify(opened)
    assert c.rows == 4
    assert c.additional > 0
    assert c.satisfies(8.0)
    assert not c.satisfies(7.9)
    assert c.alpha == pytest.approx(r.alpha, rel=1e-3)
    assert c.alpha <= r.alpha


def test_brute_force_over_all_rows_of_a_person(tmp_path):
    """Every pair of a person's true rows, every released pair: the ratio is at most exp(α)."""
    r = released(visits(rows=2), tmp_path / "out", alpha=2.0, person="pid", prior="uniform")
    M = np.kron(r.plan["age"].matrix, r.plan["sex"].matrix)
    worst = 0.0
    for one, other in product(product(range(6), repeat=2), repeat=2):
        ratio = np.outer(M[one[0]], M[one[1]]) / np.outer(M[other[0]], M[other[1]])
        worst = max(worst, ratio.max())
    assert math.log(worst) == pytest.approx(2.0, abs=1e-9)
    assert math.log(worst) <= 2.0 + 1e-12


def used_rows(table, folder, **settings):
    """Which rows of a table are in a release, whose untouched column numbers them."""
    numbered = table.append_column("n", pa.array(np.arange(len(table))))
    r = released(numbered, folder, alpha=1.0, drop=["pid"], prior="uniform", **settings)
    return r.data["n"].to_numpy(), r


def test_a_random_three_rows_of_each_are_used_and_get_a_third(tmp_path):
    table = visits()
    rows, r = used_rows(table, tmp_path / "out", person="pid", rows_per_person=3, key=KEY)
    assert np.all(np.diff(rows) > 0)
    assert set(np.bincount(table["pid"].to_numpy()[rows])) == {3}
    assert r.guarantee.rows == 3
    assert r.manifest["rows"] == 900
    assert r.manifest["promise"]["unit"] == {
        "of": "person", "rows": 3, "columns": ["pid"], "stated": True
    }  # fmt: skip
    assert pramble.certify(r.plan).alpha == pytest.approx(1 / 3, rel=1e-9)
    (said,) = [one for one in r.outcome.warnings if "left out" in one]
    assert said.startswith("300 rows are left out: 300 of 300 people have more than 3")
    other, _ = used_rows(table, tmp_path / "other", person="pid", rows_per_person=3)
    assert other.tolist() != rows.tolist()


def as_csv(table, folder):
    csv.write_csv(table, folder / "visits.csv")
    return folder / "visits.csv"


def as_texts(table, folder):
    del folder
    texts = pa.array(list(map(str, table["pid"].to_pylist()))).dictionary_encode()
    return table.set_column(0, "pid", texts)


DOORS = {
    "csv": as_csv,
    "texts": as_texts,
    "pandas": lambda table, _: table.to_pandas(),
    "polars lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "many batches": lambda table, _: pa.Table.from_batches(table.to_batches(max_chunksize=7)),
}


@pytest.mark.parametrize("door", DOORS)
def test_the_same_rows_are_used_whatever_holds_them(tmp_path, door):
    table = visits(80)
    numbered = table.append_column("n", pa.array(np.arange(len(table))))
    settings = {"alpha": 1.0, "drop": ["pid"], "person": "pid", "rows_per_person": 2, "key": KEY}
    here = released(numbered, tmp_path / "here", **settings)
    there = released(DOORS[door](numbered, tmp_path), tmp_path / "there", **settings)
    assert list(map(int, there.data["n"].to_pylist())) == here.data["n"].to_pylist()


def test_people_in_several_passes_are_the_same(tmp_path, monkeypatch):
    settings = {"person": "pid", "rows_per_person": 2, "key": KEY}
    whole, _ = used_rows(visits(), tmp_path / "whole", **settings)
    monkeypatch.setattr("pramble.releasing.contributions.MOST_HELD", 100)
    parts, r = used_rows(visits(), tmp_path / "parts", **settings)
    assert parts.tolist() == whole.tolist()
    assert any("300 of 300 people" in one for one in r.outcome.warnings)


def test_which_rows_are_used_depends_on_no_other_person(tmp_path):
    settings = {"person": "pid", "rows_per_person": 2, "key": KEY}
    table = visits(120)
    few = table.filter(pc.less(table["pid"], 60))
    whole, _ = used_rows(table, tmp_path / "whole", **settings)
    part, _ = used_rows(few, tmp_path / "part", **settings)
    own = np.flatnonzero(table["pid"].to_numpy() < 60)
    assert own[part].tolist() == [row for row in whole if table["pid"][row].as_py() < 60]


def test_every_pair_of_rows_is_as_likely(tmp_path):
    """Of 1,500 people with four rows each: each of the six pairs, 5.5 standard deviations."""
    people = 1500
    table = pa.table(
        {
            "pid": np.tile(np.arange(people), 4),
            "age": np.ones(4 * people, dtype=int),
            "sex": ["f", "m"] * 2 * people,
        }
    )
    rows, _ = used_rows(table, tmp_path / "out", person="pid", rows_per_person=2)
    pairs = Counter(map(tuple, np.sort((rows // people)[np.argsort(rows % people)].reshape(-1, 2))))
    assert set(pairs) == set(combinations(range(4), 2))
    assert all(abs(own - people / 6) < 5.5 * math.sqrt(people * 5 / 36) for own in pairs.values())


def test_households_and_people_of_several_columns(tmp_path):
    table = visits(60).rename_columns(["hid", "age", "sex"])
    table = table.append_column("member", pa.array(np.arange(len(table)) % 2))
    settings = {"alpha": 1.0, "drop": ["hid", "member"]}
    houses = released(table, tmp_path / "houses", person="hid", rows_per_person=1, **settings)
    assert houses.manifest["promise"]["unit"]["of"] == "household"
    assert houses.manifest["rows"] == 60
    stated = {"household": ["hid"]}
    same = released(table, tmp_path / "same", person=stated, rows_per_person=1, **settings)
    assert same.manifest["promise"]["unit"] == houses.manifest["promise"]["unit"]
    both = ["hid", "member"]
    people = released(table, tmp_path / "people", person=both, rows_per_person=1, **settings)
    pairs = zip(*(table[name].to_pylist() for name in both), strict=True)
    assert people.manifest["rows"] == len(set(pairs))
    assert people.manifest["promise"]["unit"]["columns"] == both


def test_that_every_row_is_another_person_can_be_stated(tmp_path):
    r = released(visits().drop_columns("pid"), tmp_path / "out", alpha=1.0, person=False)
    unit = {"of": "row", "rows": 1, "columns": [], "stated": True}
    assert r.manifest["promise"]["unit"] == unit
    with pytest.raises(InvalidPlan, match="person = false"):
        released(visits(), tmp_path / "two", alpha=1.0, person=False, rows_per_person=2)


def test_a_number_of_rows_that_was_counted_is_warned_of(tmp_path):
    table = pa.concat_tables([visits(300, 1), visits(1, 9)])
    r = released(table, tmp_path / "out", alpha=3.0, person="pid", drop=["pid"])
    (said,) = [one for one in r.outcome.warnings if "counted in the file" in one]
    assert "One of 300 people has 10 rows" in said
    assert "with rows_per_person = 1 a random 1" in said


def protected(table, folder, **settings):
    return pramble.release(
        table, folder, columns=COLUMNS, ledger=False, pages=False, drop=["pid"], **settings
    )


def test_a_number_of_rows_is_chosen_by_noisy_counts_that_are_paid_for(tmp_path):
    """Most people have one or two rows, a few have 40: k is small, whatever the noise, and paid."""
    rng = np.random.default_rng(0)
    pid = np.repeat(
        np.arange(20_000), np.where(np.arange(20_000) < 20, 40, 1 + (rng.random(20_000) < 0.5))
    )
    table = pa.table(
        {"pid": pid, "age": rng.choice(AGES, len(pid)), "sex": rng.choice(["f", "m"], len(pid))}
    )
    made = protected(table, tmp_path / "out", central=1.0, person="pid", key=KEY)
    rows = made.manifest["promise"]["unit"]["rows"]
    assert 2 <= rows <= 4
    assert 0.97 < made.guarantee.epsilon <= 1.0
    precision = Fraction(made.manifest["plan"]["people_precision"])
    assert precision > 0
    without = json.loads(json.dumps(made.manifest["plan"]))
    del without["people_precision"]
    alone = pramble.certify(made.plan.from_json(without)).mu_squared
    assert pramble.certify(made.plan).mu_squared == alone + 2 * precision
    assert any("noisy counts of people" in one for one in made.manifest["promise"]["assumes"])
    assert pramble.open_release(tmp_path / "out").plan.rows_per_person == rows
    repeated = protected(table, tmp_path / "again", central=1.0, person="pid", key=KEY)
    assert repeated.manifest["tables"]["sha256"] == made.manifest["tables"]["sha256"]
    # what was paid for the choice cannot be left out of a manifest
    rewrite(tmp_path / "out", lambda d: d["plan"].update(people_precision=float(50 * precision)))
    with pytest.raises(InvalidData, match="does not prove"):
        pramble.open_release(tmp_path / "out")


def test_the_choice_of_rows_is_random_within_its_promise(tmp_path):
    """Chances of each choice in two files that differ in one person's rows: e^ε apart at most."""

    def people(rows_of_first):
        rows = [rows_of_first, *[1] * 60, *[2] * 30]
        pid = np.repeat(np.arange(len(rows)), rows)
        return pa.table({"pid": pid, "age": [1] * len(pid), "sex": ["f"] * len(pid)})

    def chosen(table, n=150):
        rng = np.random.default_rng(1)
        plans = (
            protected(
                table, tmp_path / "x", central=20.0, person="pid", dry_run=True, key=rng.bytes(32)
            ).plan
            for _ in range(n)
        )
        return Counter(plan.rows_per_person for plan in plans)

    one, forty = chosen(people(1)), chosen(people(40))
    assert len(one) > 1
    # one person's rows decide on the choice no more than its part of the promise allows
    assert all(abs(one[k] - forty[k]) < 60 for k in {*one, *forty})


def test_more_rows_than_occur_may_be_declared(tmp_path):
    r = released(visits(), tmp_path / "out", alpha=1.0, person="pid", rows_per_person=9)
    assert r.guarantee.rows == 9


def test_a_row_of_nobody_is_refused_by_its_number(tmp_path):
    table = visits()
    people = table["pid"].to_pylist()
    people[7] = None
    table = table.set_column(0, "pid", pa.array(people))
    with pytest.raises(InvalidData, match="row 8 says nothing"):
        released(table, tmp_path / "out", alpha=1.0, person="pid")


def test_who_it_is_cannot_be_randomised():
    with pytest.raises(InvalidPlan, match="says whose row it is"):
        pramble.release(
            visits(), "out", columns=["pid"], alpha=1.0, person="pid", dry_run=True, design="paper"
        )


def test_an_unknown_person_column_is_named():
    with pytest.raises(InvalidPlan, match="'pidd' to say whose row it is"):
        pramble.release(
            visits(), "out", columns=["age"], alpha=1.0, person="pidd", dry_run=True, design="paper"
        )


def test_a_manifest_that_states_other_rows_is_refused(tmp_path):
    released(visits(), tmp_path / "out", alpha=2.0, person="pid")
    for rows in (0, -1, 1.5, "2", True, None, 1, 3):
        rewrite(tmp_path / "out", lambda d, k=rows: d["promise"]["spent"].update(rows_per_person=k))
        with pytest.raises(InvalidData):
            pramble.open_release(tmp_path / "out")
    rewrite(tmp_path / "out", lambda d: d["promise"]["spent"].pop("rows_per_person"))
    with pytest.raises(InvalidData, match="not that of the release"):
        pramble.open_release(tmp_path / "out")


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 3},
        {"rows": 0},
        {"of": "row"},
        {"of": "anybody"},
        {"columns": "pid"},
        {"stated": "yes"},
        {"stated": False},
        {"columns": ["age"]},
        {"whose": "theirs"},
    ],
)
def test_a_manifest_of_another_unit_is_refused(tmp_path, change):
    released(visits(), tmp_path / "out", alpha=2.0, person="pid", prior="uniform")
    rewrite(tmp_path / "out", lambda d: d["promise"]["unit"].update(change))
    with pytest.raises(InvalidData, match="unit"):
        pramble.open_release(tmp_path / "out")


def test_readers_are_told_who_is_protected_and_what_of_them(tmp_path):
    r = released(visits(), tmp_path / "out", alpha=2.0, person="pid", rows_per_person=2)
    said = " ".join(r.manifest["notes"])
    assert "People are protected, known by 'pid': at most 2 rows of each are used." in said
    assert "how many there are is not protected" in said
    made = protected(visits(), tmp_path / "tables", central=1.0, person="pid", rows_per_person=2)
    assert made.manifest["promise"]["assumes"][0].startswith("People are protected")
    assert "people with more than 2 count with 2" in " ".join(made.manifest["notes"])
    vouched = protected(visits(), tmp_path / "vouched", central=1.0, rows_per_person=4)
    assert "as the producer states" in vouched.manifest["notes"][0]
    assert not any("random" in note for note in vouched.manifest["notes"])


def test_no_published_file_holds_the_number_of_rows_of_the_file(tmp_path):
    """With one row of each the number of people is public, and that of their rows is not."""
    table = visits(611, 3)
    for i, more in enumerate(({"rows_per_person": 1}, {"rows_per_person": 2}, {"tables": "auto"})):
        r = pramble.release(
            table, tmp_path / f"out{i}", columns=COLUMNS, drop=["pid"], central=1.0, person="pid",
            ledger=False, **more,
        )  # fmt: skip
        texts = {path.name: path.read_bytes() for path in r.folder.iterdir()}
        # A share on the page may have these digits.
        number = re.compile(rb"(?<![\d.])1,?833(?!\d)")
        assert not [name for name, text in texts.items() if number.search(text)]


@pytest.mark.parametrize("spelled", [["7", "7.0", "07"], ["p1", "p1 ", " P1"]])
def test_spellings_of_one_person_are_one_person(tmp_path, spelled):
    others = [f"q{i}" for i in range(60)]
    table = pa.table({"pid": [*spelled, *others], "age": [1] * 63, "sex": ["f", "m", "f"] * 21})
    r = released(table, tmp_path / "out", alpha=1.0, person="pid", rows_per_person=2, drop=["pid"])
    assert r.manifest["rows"] == 62
    made = protected(table, tmp_path / "tables", central=50.0, person="pid", rows_per_person=1)
    assert abs(made.manifest["rows"] - 61) <= 1


def test_what_is_shown_of_a_promise_is_worked_out_again(tmp_path):
    released(visits(), tmp_path / "out", alpha=2.0, person="pid", prior="uniform")
    rewrite(tmp_path / "out", lambda d: d["promise"].update(sentence="Nobody learns anything."))
    shown = repr(pramble.open_release(tmp_path / "out"))
    assert "Nobody learns" not in shown
    assert "People are protected, known by 'pid'" in shown
    rewrite(tmp_path / "out", lambda d: d["promise"].update(relation="replace one record"))
    with pytest.raises(InvalidData, match="relation"):
        pramble.open_release(tmp_path / "out")
