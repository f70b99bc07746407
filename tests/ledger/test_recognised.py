"""The same people are recognised by what a file holds, and what they spend adds up by its unit."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.releasing.conftest import in_ledger

import pramble
from pramble.errors import PrambleWarning, PrivacyError
from pramble.privacy.gaussian import delta_above
from pramble.privacy.promise import CentralPromise, composed


def people(rows, seed, *, has_ids=False):
    table = pramble.datasets.synthetic_new_york(rows, seed=seed)
    if has_ids:
        rng = np.random.default_rng(seed)
        names = [f"{number:012x}" for number in rng.integers(0, 2**48, rows)]
        table = table.append_column("id", pa.array(names))
    return table


def recoded(table, rng):
    """The same values under other names, one to one, in columns of other names."""
    columns = {}
    for place, name in enumerate(rng.permutation(table.column_names)):
        coded = table[name].combine_chunks().cast(pa.string()).dictionary_encode()
        labels = rng.permutation(len(coded.dictionary))
        columns[f"v{place}"] = pa.array([f"c{one}" for one in labels]).take(coded.indices)
    return pa.table(columns)


def changed(table, others, rng):
    """All at once: a tenth taken out, a tenth exchanged, sorted otherwise, renamed, recoded."""
    rows = table.num_rows
    mine = table.take(rng.choice(rows, rows * 8 // 10, replace=False))
    table = pa.concat_tables([mine, others.slice(0, rows // 10)])
    return recoded(table.take(rng.permutation(table.num_rows)), rng)


def released(folder, name, table, **options):
    plan = {"alpha": 1.0, "design": "columns", "prior": "uniform", **options.pop("plan", {})}
    first = table.column_names[0]
    keep = {first: {"categories": sorted(set(table[first].to_pylist()))}}
    drop = [name for name in table.column_names if name != first]
    given = {"plan": {**plan, "columns": keep, "drop": drop}, "ledger": folder / "l.db", **options}
    return pramble.release(table, folder / name, pages=False, **given)


@pytest.mark.parametrize("has_ids", [False, True])
def test_copies_are_asked_about_whatever_was_done_to_them(tmp_path, has_ids):
    rng, table = np.random.default_rng(4), people(3000, 1, has_ids=has_ids)
    others = people(3000, 2, has_ids=has_ids)
    released(tmp_path, "a", table)
    for number, copy in enumerate((recoded(table, rng), changed(table, others, rng))):
        with pytest.raises(PrivacyError, match="may hold the people of"):
            released(tmp_path, f"b{number}", copy)
    assert len(in_ledger(tmp_path / "l.db")) == 1


def test_an_identifier_is_enough_and_other_people_are_not_asked_about(tmp_path):
    table, others = people(3000, 1, has_ids=True), people(3000, 5, has_ids=True)
    released(tmp_path, "a", table)
    # Other people in columns of the same names: only the identifiers tell them from the first.
    released(tmp_path, "b", others)
    some = pa.table({
        "wave": np.random.default_rng(1).choice(["1", "2"], 1500),
        "person": pa.array([one.upper() + " " for one in table["id"].to_pylist()[::2]]),
    })  # fmt: skip
    with pytest.raises(PrivacyError, match="may hold the people of"):
        released(tmp_path, "c", some)
    assert [row["people"] for row in in_ledger(tmp_path / "l.db")] == ["people", "people-2"]


def test_numbers_are_known_as_texts_and_the_order_of_batches_does_not_matter(tmp_path):
    rng = np.random.default_rng(3)
    numbers = np.round(rng.lognormal(10, 1, 2000), 2)
    sex = rng.choice(["f", "m"], 2000)
    released(tmp_path, "a", pa.table({"sex": sex, "income": numbers}))
    texts = [f"{number:.4f}" for number in numbers]
    pieces = pa.table({"s": sex, "i": texts}).take(rng.permutation(2000))
    parts = pa.concat_tables([pieces.slice(0, 700), pieces.slice(700)])
    with pytest.raises(PrivacyError, match="may hold the people of"):
        released(tmp_path, "b", parts)


def test_the_ledger_holds_no_value_of_the_file(tmp_path):
    table = people(1000, 1, has_ids=True)
    released(tmp_path, "a", table)
    content = (tmp_path / "l.db").read_bytes()
    values = {value for name in table.column_names for value in table[name].to_pylist()}
    long = [value for value in values if isinstance(value, str) and len(value) > 5]
    assert len(long) > 1000
    assert not [value for value in long if value.encode() in content]


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow) for seed in range(2)])
@pytest.mark.parametrize("rows", [500, 2000, 20_000])
def test_how_often_copies_and_others_are_asked_about(shared_data, seed, rows):
    import pyarrow.parquet as pq

    from pramble.ledger.sketch import SketchJob

    def sketch(table):
        job = SketchJob(table.column_names, bytes(32))
        for batch in table.to_batches(max_chunksize=5000):
            job.add(batch)
        return job.result()

    rng = np.random.default_rng(seed)
    whole = pq.read_table(shared_data("acs2024_ten_ny.parquet"))
    found, wrong = 0, 0
    for _ in range(40):
        order = rng.permutation(whole.num_rows)
        first, second = (whole.take(order[i * rows : (i + 1) * rows]) for i in range(2))
        known = sketch(first)
        found += sketch(changed(first, second, rng)).may_hold_the_people_of(known) is True
        wrong += sketch(second).may_hold_the_people_of(known) is True
    assert found >= 38
    assert wrong <= 10


def test_entries_say_whose_rows_they_are_and_a_budget_is_of_one_unit(tmp_path):
    rng = np.random.default_rng(2)
    table = pa.table({"sex": rng.choice(["f", "m"], 900), "who": np.arange(900) // 3})
    of_people = {"person": "who"}
    released(tmp_path, "a", table, plan=of_people, people="x", budget=9.0)
    with pytest.raises(PrivacyError, match=r"of the same unit.*Nothing was released"):
        released(tmp_path, "b", table.select(["sex"]), people="x")
    released(tmp_path, "c", table, plan=of_people, people="x")
    assert [row["unit"]["of"] for row in in_ledger(tmp_path / "l.db")] == ["person", "person"]
    assert in_ledger(tmp_path / "l.db")[0]["unit"]["rows"] == 3


def test_units_that_differ_are_warned_of_without_a_budget(tmp_path):
    rng = np.random.default_rng(2)
    table = pa.table({"sex": rng.choice(["f", "m"], 900), "who": np.arange(900) // 3})
    released(tmp_path, "a", table, plan={"person": "who"}, people="x")
    with pytest.warns(PrambleWarning, match="holds for a row, not for a person with several"):
        released(tmp_path, "b", table.select(["sex"]), people="x")
    assert in_ledger(tmp_path / "l.db")[1]["mixed_units"] is True


def visits(people, each, *, seed=1, **columns):
    """So many rows of each, with numbers of patients far apart."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.asarray(people), each)
    return pa.table({"sex": rng.choice(["f", "m"], len(who)), **columns, "patient": who})


NINE = visits(np.arange(200) * 7919, 9)
ALL_ROWS, ONE_ROW = {"person": "patient"}, {"person": "patient", "rows_per_person": 1}


@pytest.mark.parametrize(
    ("first", "second", "columns"),
    [
        (ONE_ROW, {"person": False}, ["sex", "patient"]),
        (ONE_ROW, {}, ["sex"]),
        (ONE_ROW, {"rows_per_person": 1}, ["sex"]),
        (ALL_ROWS, {"rows_per_person": 1}, ["sex"]),
        (ONE_ROW, {"rows_per_person": 9}, ["sex", "patient"]),
        (ALL_ROWS, {"person": "visit", "rows_per_person": 1}, ["sex", "patient", "visit"]),
        ({"rows_per_person": 9}, {"rows_per_person": 2}, ["sex"]),
        ({"person": False}, ONE_ROW, ["sex", "patient"]),
    ],
)
def test_a_row_that_was_selected_is_not_the_only_one(tmp_path, first, second, columns):
    table = NINE.append_column("visit", pa.array(np.arange(NINE.num_rows) * 31 % 1009))
    released(tmp_path, "a", table, plan=first, people="x", budget=9.0)
    with pytest.raises(PrivacyError, match=r"of the same unit.*Nothing was released"):
        released(tmp_path, "b", table.select(columns), plan=second, people="x")
    assert len(in_ledger(tmp_path / "l.db")) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ONE_ROW, ALL_ROWS),
        ({"person": ["patient", "site"]}, {"person": ["site", "patient"], "rows_per_person": 2}),
        ({"rows_per_person": 9}, {"rows_per_person": 9}),
    ],
)
def test_the_same_unit_adds_up_under_a_budget(tmp_path, first, second):
    table = NINE.append_column("site", pa.array(["n", "s"] * (NINE.num_rows // 2)))
    for name, plan in (("a", first), ("b", second)):
        released(tmp_path, name, table, plan=plan, people="x", budget=9.0)
    assert [row["mixed_units"] for row in in_ledger(tmp_path / "l.db")] == [False, False]


def test_one_row_each_is_one_unit_however_it_is_stated(tmp_path):
    table = NINE.select(["sex"])
    for name, plan in (("a", {"person": False}), ("b", {"rows_per_person": 1}), ("c", {})):
        released(tmp_path, name, table, plan=plan, people="x", budget=9.0)
    assert not any(row["mixed_units"] for row in in_ledger(tmp_path / "l.db"))


def test_a_renamed_column_of_people_is_named_by_the_refusal(tmp_path):
    released(tmp_path, "a", NINE, plan=ONE_ROW, people="x", budget=9.0)
    other = NINE.rename_columns(["sex", "pid"])
    with pytest.raises(PrivacyError, match=r"person = 'patient'; .*person = 'pid'.*rename it as"):
        released(tmp_path, "b", other, plan={"person": "pid"}, people="x")
    released(tmp_path, "b", other.rename_columns(["sex", "patient"]), plan=ONE_ROW, people="x")


@pytest.mark.parametrize(("name", "step"), [("patient_id", 7919), ("v1", 7919), ("v1", 1)])
def test_people_with_several_rows_are_recognised_by_their_numbers(tmp_path, name, step):
    """More people than values of a profile, three rows each; also numbers that fill their range."""
    numbers = np.arange(2000) * step
    plan = {"person": name, "rows_per_person": 3}
    first = visits(numbers, 3).rename_columns(["sex", name])
    released(tmp_path, "a", first, plan=plan)
    drug = np.random.default_rng(2).choice(list("abcdefghijkl"), 6000)
    second = pa.table({"drug": drug, "v9": first[name].to_numpy()[::-1]})
    with pytest.raises(PrivacyError, match="may hold the people of"):
        released(tmp_path, "b", second, plan={"person": "v9", "rows_per_person": 3})
    others = visits((numbers + 10**8) * 13, 3, seed=3).rename_columns(["gender", "v2"])
    released(tmp_path, "c", others, plan={"person": "v2", "rows_per_person": 3})
    assert [row["people"] for row in in_ledger(tmp_path / "l.db")] == ["people", "people-2"]


@pytest.mark.parametrize("name", ["patient_id", "study_id"])
def test_numbers_of_people_are_known_by_their_name_where_nobody_states_a_column(tmp_path, name):
    plan, numbers = {"rows_per_person": 3}, np.arange(2000) * 7919
    released(tmp_path, "a", visits(numbers, 3).rename_columns(["sex", name]), plan=plan)
    second = visits(numbers, 3).rename_columns(["drug", "uid"])
    with pytest.raises(PrivacyError, match="may hold the people of"):
        released(tmp_path, "b", second, plan=plan)


def test_some_people_in_common_are_enough_and_chance_is_not(tmp_path):
    rng = np.random.default_rng(8)
    known = rng.choice(10**9, 6000, replace=False)
    few = rng.choice(30_000, 4000, replace=False)  # some 130 of 2,000 are in both by chance

    def file(numbers, name):
        some = {f"{name}_{i}": rng.choice(list("abc"), 2000) for i in range(2)}
        return pa.table({**some, "patient_id": numbers})

    released(tmp_path, "a", file(known[:2000], "sex"))
    with pytest.raises(PrivacyError, match="may hold the people of"):
        released(tmp_path, "b", file(known[1500:3500], "drug"))
    released(tmp_path, "c", file(few[:2000], "ward"))
    released(tmp_path, "d", file(rng.choice(30_000, 2000, replace=False), "diet"))
    assert len({row["people"] for row in in_ledger(tmp_path / "l.db")}) == 3


def test_the_same_file_with_other_pseudonyms_is_asked_about(tmp_path):
    rng = np.random.default_rng(9)
    sex = rng.choice(["f", "m"], 2000)
    for name, numbers in (("a", rng.choice(10**9, 2000)), ("b", rng.choice(10**9, 2000) + 10**10)):
        table = pa.table({"sex": sex, "patient_id": numbers})
        if name == "a":
            released(tmp_path, name, table)
    with pytest.raises(PrivacyError, match="may hold the people of"):
        released(tmp_path, "b", table)


def test_small_releases_add_up_as_noise_does(tmp_path):
    """A hundred releases of ε = 0.1 keep ε = 7 at δ = 1e-6, which their sum of 10 does not."""
    tenth = CentralPromise(Fraction(1, 10), Fraction(0))
    most = CentralPromise(Fraction(7), Fraction(1, 10**6))
    assert most.allows_together([tenth] * 100)
    assert not most.allows_together([tenth] * 200)
    assert not CentralPromise(Fraction(7), Fraction(0)).allows_together([tenth] * 100)


promises = st.builds(
    CentralPromise, st.fractions(0, 2, max_denominator=9), st.fractions(0, 1, max_denominator=90)
)


@given(st.lists(promises, max_size=6), st.floats(1e-9, 0.2))
def test_a_budget_allows_what_composition_states(parts, delta):
    epsilon = composed(parts, delta=delta)
    if epsilon < 1e6:
        most = CentralPromise(Fraction(epsilon), Fraction(repr(delta)))
        assert most.allows_together(parts)


@given(st.floats(0.01, 8), st.floats(0, 8))
def test_a_pure_promise_is_gaussian(epsilon, at):
    """δ of randomised response is nowhere above that of the Gaussian that stands for it."""
    gaussian = composed([CentralPromise(Fraction(epsilon), Fraction(0))] * 1, delta=0.5)
    assert gaussian <= epsilon
    from pramble.privacy.gaussian import mu_squared_of

    response = max(np.exp(epsilon) - np.exp(at), 0) / (1 + np.exp(epsilon))
    assert delta_above(at, mu_squared_of(epsilon)) >= response * (1 - 1e-9)
