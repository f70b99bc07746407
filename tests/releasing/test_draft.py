"""First plans: what columns look like by name, type and values, and plans that read back."""

import datetime as dt
import re
import tomllib
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pyreadstat
import pytest
from tests.releasing.conftest import drafted, tried

from pramble.errors import InvalidPlan

N = 300
RNG = np.random.default_rng(4)


@pytest.fixture
def plan_of(tmp_path):
    """A function from data to the plan that is drafted for it, without where things came from."""
    return lambda data, *options: plan_in(drafted(data, tmp_path, *options))


def plan_in(text):
    """A drafted plan, without where its categories and bands came from."""
    plan = tomllib.loads(text)
    for column in plan.get("columns", {}).values():
        for name, own in column.items():
            if isinstance(own, dict) and {*own} <= {"seen", "standard"}:
                (column[name],) = own.values()
    return plan


@pytest.fixture
def kinds(tmp_path):
    """A function from data to the kind of each column."""
    return lambda data: kinds_in(drafted(data, tmp_path))


def kinds_in(text):
    """The kinds of columns that a plan drops, and what it does with the others."""
    reasons = re.findall(r'^  "(.+)",  # ([\w ]+?)(?:, not chosen)?: ', text, re.MULTILINE)
    columns = tomllib.loads(text)["columns"] if "\n[columns" in text else {}
    randomised = {
        name: "numeric" if "bands" in own else "categorical" for name, own in columns.items()
    }
    return {**dict(reasons), **randomised}


def is_all(found, kind):
    return set(found.values()) == {kind}


TABLE = pa.table(
    {
        "sex": pa.array(RNG.choice(["m", "f"], 400)).dictionary_encode(),
        "grade": pa.array(RNG.integers(1, 5, 400)),
        "smokes": pa.array(RNG.random(400) < 0.3),
        "region": pa.array([None if i % 50 == 0 else "nesw"[i % 4] for i in range(400)]),
        "person_id": pa.array(RNG.permutation(10**6)[:400]),
        "code": pa.array([f"c{i}" for i in range(400)]),
        "income": pa.array(np.random.default_rng(3).normal(size=400)),
        "zip": pa.array(RNG.integers(10_000, 10_150, 400)),
        "remark": pa.array([f"{'a long remark ' * 4}{i % 90}" for i in range(400)]),
        "town": pa.array([f"town {i % 250}" for i in range(400)]),
        "born": pa.array([dt.date(1980, 1, 1)] * 400),
        "country": pa.array(["x"] * 400),
    }
)
KINDS = {
    "sex": "categorical",
    "grade": "categorical",
    "smokes": "categorical",
    "region": "categorical",
    "person_id": "identifier",
    "code": "identifier",
    "income": "numeric",
    "zip": "codes",
    "remark": "free text",
    "town": "nearly unique",
    "born": "date",
    "country": "constant",
}


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_an_accepted_draft_is_a_plan(tmp_path, ending):
    path = tmp_path / f"people.{ending}"
    (pq.write_table if ending == "parquet" else pacsv.write_csv)(TABLE, path)
    text = drafted(path, tmp_path, "--alpha", "1.5")
    assert kinds_in(text) == KINDS
    assert "identifier: 400 distinct values in 400 rows" in text
    plan = plan_in(text)
    assert plan["alpha"] == 1.5
    assert list(plan["columns"]) == ["sex", "grade", "smokes", "region", "income"]
    assert set(plan["drop"]) == set(KINDS) - set(plan["columns"])
    assert plan["columns"]["sex"] == {"categories": ["f", "m"]}
    assert plan["columns"]["smokes"] == {"categories": [False, True]}
    assert plan["columns"]["region"] == {"categories": [*"ensw"], "missing": "missing"}
    assert plan["columns"]["income"] == {"bands": [-2, -1, 0, 1], "low": -2}
    r = tried(plan, path, tables=1, prior="uniform")
    assert [name for (name,) in (table.columns for table in r.outcome.tables)] == [*plan["columns"]]


def test_what_was_declined_must_be_declared(plan_of):
    with pytest.raises(InvalidPlan, match="Column 'region': categories must be at least two"):
        tried(plan_of(TABLE, "--decline-seen"), TABLE)


def test_odd_names_are_written_so_that_they_read_back(plan_of):
    names = ['a "quoted" name', "with.dots", "üñí ☃", "line\nbreak"]
    labels = ["x", "y", 'z "q"', "back\\slash"]
    table = pa.table({name: RNG.choice(labels, N) for name in names})
    plan = plan_of(table)
    assert list(plan["columns"]) == names
    assert plan["columns"][names[0]]["categories"] == ["back\\slash", "x", "y", 'z "q"']


WEIGHTS = [
    "weight", "WGT", "pond", "poids", "peso", "Gewicht", "PWGTP", "PWGTP12", "fnlwgt", "w",
    "sampling_weight", "hh_weights", "final-wt", "poids_final", "Hochrechnungsfaktor",
    "factor_expansion",
]  # fmt: skip


def test_weights_are_known_by_their_names_if_they_are_numbers(kinds):
    assert is_all(kinds({name: RNG.gamma(2, 30, N) for name in WEIGHTS}), "weight")
    assert is_all(kinds({name: np.full(N, 100) for name in WEIGHTS}), "weight")
    words = kinds({name: RNG.choice(["light", "heavy"], N) for name in WEIGHTS})
    assert is_all(words, "categorical")
    others = ["birth_weight", "weight_kg", "weekday", "powder", "width"]
    assert is_all(kinds({name: RNG.gamma(2, 30, N) for name in others}), "numeric")


def test_replicate_weights_may_be_negative_here_and_there(kinds):
    some = np.append(-3, RNG.integers(1, 90, N - 1))
    found = kinds({"PWGTP5": some, "weight": -RNG.gamma(2, 30, N)})
    assert found == {"PWGTP5": "weight", "weight": "numeric"}


DAYS = [dt.date(1950, 1, 1) + dt.timedelta(days=int(day)) for day in RNG.integers(0, 20_000, N)]
WRITTEN = [
    "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d",
    "%Y-%m-%dT%H:%M:%S", "%d.%m.%y",
]  # fmt: skip


def test_dates_are_known_however_they_are_written(kinds):
    moments = [dt.datetime(2020, 1, 1, 5, second % 60, tzinfo=dt.UTC) for second in range(N)]
    data = {f"d{i}": [day.strftime(form) for day in DAYS] for i, form in enumerate(WRITTEN)}
    number = [int(day.strftime("%Y%m%d")) for day in DAYS]
    assert is_all(kinds({**data, "typed": DAYS, "number": number, "moment": moments}), "date")
    odd = kinds({"n": [f"{i % 30}.{i % 12}" for i in range(N)],
                 "r": [f"{i % 90}-{i % 9}" for i in range(N)]})  # fmt: skip
    assert odd["n"] == "numeric"
    assert odd["r"] != "date"


def test_identifiers_are_told_from_quantities(kinds):
    spread = np.unique(RNG.integers(1, 10**8, 2 * N))[::2][:N]
    found = kinds({
        "serial": np.arange(5_000, 5_000 + N),
        "number": RNG.permutation(np.arange(10**7, 10**7 + N)),
        "expenditure": spread,
        "ori_hid": np.repeat(np.arange(N // 3), 3),
        "E-Mail": RNG.choice(["a@b.c", "d@e.f"], N),
        "code": [f"c{i}" for i in range(N)],
        "town": [f"town {i % 100}" for i in range(N)],
        "region_name": RNG.choice(["north", "south"], N),
    })  # fmt: skip
    assert found.pop("expenditure") == "numeric"
    assert found.pop("town") == "nearly unique"
    assert found.pop("region_name") == "categorical"
    assert is_all(found, "identifier")


def test_more_distinct_values_than_are_kept_are_no_identifier_by_that_alone(tmp_path):
    text = drafted({"x": np.round(RNG.gamma(2, 900, 12_000), 2)}, tmp_path)
    assert "[columns.x]  # numbers, more than 5,000 distinct, in round bands" in text
    assert "low = " in text


def test_codes_with_many_values_are_no_quantities(kinds):
    data = {"zip": RNG.integers(1000, 1300, 4 * N), "salary": RNG.integers(1, 300, 4 * N)}
    assert kinds(data) == {"zip": "codes", "salary": "numeric"}


def test_decimals_and_whole_floats_are_numbers(tmp_path):
    data = {"x": [1.0, 2.0, float("nan")] * 30, "y": [Decimal("1.50"), Decimal("2.25")] * 45}
    text = drafted(data, tmp_path)
    columns = plan_in(text)["columns"]
    assert columns["x"]["categories"] == [1, 2]
    assert "30 cells are empty" in text
    assert "bands" in columns["y"]


def test_marks_of_missing_values_are_no_numbers(tmp_path):
    rows = "".join(f"{i % 5},{i}\n" for i in range(40_000)) + "NA,NA\n" * 3
    (tmp_path / "late.csv").write_text(f"grade,amount\n{rows}", encoding="utf-8")
    text = drafted(tmp_path / "late.csv", tmp_path)
    assert text.count('missing_values = ["NA"]') == 1
    grade = plan_in(text)["columns"]["grade"]
    assert grade == {"categories": [0, 1, 2, 3, 4], "missing_values": ["NA"], "missing": -1}


def test_odd_words_are_ordered_and_trimmed(plan_of):
    words = RNG.choice(["?", "Private", "State", "Other"], N)
    blanks = RNG.choice(["a", " a", "b "], N)
    columns = plan_of({"work": words, "blanks": blanks})["columns"]
    assert columns["work"]["categories"] == ["Private", "State", "Other", "?"]
    assert columns["blanks"] == {"categories": ["a", "b"], "trim": True}


ORDERS = [
    ["low", "medium", "high"],
    ["Never", "Sometimes", "Often", "Always"],
    ["nie", "selten", "oft", "immer"],
    ["jamais", "parfois", "toujours"],
    ["primary", "secondary", "tertiary"],
    ["9th", "11th", "HS-grad", "Some-college", "Bachelors", "Doctorate"],
    ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"],
    ["January", "February", "October"],
    ["None", "Nursery to grade 4", "Grade 5 to 8", "Grade 10", "1 year of college",
     "5+ years of college"],
    ["Owned", "Rented", "Not applicable"],
    ["mars", "avril", "août"],
    ["Montag", "Freitag", "Sonntag"],
    ["0-14", "15-24", "65+"],
    ["<15", "15", "[16,24]", "[25,100]", ">100"],
    ["under 5", "5 to 9", "10 to 14", "15 and over"],
    ["moins de 15 ans", "15-64 ans", "65 ans et plus"],
    ["<5,000", "5,000-9,999", "10,000-99,999", "100,000+"],
    [1, 2, 10],
    ["a9", "a10", "b2", "other", "unknown"],
]  # fmt: skip


def test_categories_stand_in_the_order_people_expect(plan_of):
    for _ in range(2):
        data = {f"x{i}": RNG.permutation(np.resize(own, N)) for i, own in enumerate(ORDERS)}
        columns = plan_of(data, "--columns", ",".join(data))["columns"]
        for name, order in zip(data, ORDERS, strict=True):
            assert columns[name]["categories"] == order


def test_the_order_that_a_file_lists_is_kept(tmp_path):
    words = ["tiny", "huge", "vast"]
    ordered = pa.DictionaryArray.from_arrays(RNG.integers(0, 2, N), words, ordered=True)
    pq.write_table(pa.table({"size": ordered}), tmp_path / "sizes.parquet")
    frame = pl.DataFrame([pl.Series("size", RNG.choice(words[:2], N), dtype=pl.Enum(words))])
    frame.write_ipc(tmp_path / "sizes.arrow")
    for name in ("sizes.parquet", "sizes.arrow"):
        text = drafted(tmp_path / name, tmp_path)
        assert "3 values listed in the file" in text
        assert tomllib.loads(text)["columns"]["size"]["categories"] == {"seen": words}
        declined = drafted(tmp_path / name, tmp_path, "--decline-seen")
        assert tomllib.loads(declined)["columns"]["size"]["categories"] == []
        assert "huge" not in declined


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_value_labels_of_a_file_are_its_categories(tmp_path, ending):
    frame = pd.DataFrame(
        {
            "sex": RNG.integers(1, 3, N),
            "age": RNG.integers(0, 90, N),
            "score": RNG.integers(0, 9, N),
        }
    )
    labels = {"sex": {1: "male", 2: "female", 3: "diverse"}, "score": {0: "worst", 8: "best"}}
    write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
    path = tmp_path / f"people.{ending}"
    write(frame, path, variable_value_labels=labels)
    declined = drafted(path, tmp_path, "--decline-seen")
    assert "[columns.sex]  # 3 values listed in the file\ncategories = []" in declined
    assert "male" not in declined
    text = drafted(path, tmp_path)
    assert "# 1 = male; 2 = female; 3 = diverse\ncategories = { seen = [1, 2, 3] }" in text
    assert "[columns.score]  # 9 values seen" in text
    columns = tomllib.loads(text)["columns"]
    assert columns["score"]["categories"] == {"seen": list(range(9))}
    assert "bands" in columns["age"]


def test_bands_of_what_everybody_knows_do_not_depend_on_the_file(tmp_path):
    texts = [
        drafted({"age": ages}, tmp_path)
        for ages in (range(16, 76), range(40, 100), [*range(16, 75), 200])
    ]
    young, old, odd = (tomllib.loads(text)["columns"]["age"]["bands"] for text in texts)
    assert young == old
    assert ["the usual ones" in text for text in texts] == [True, True, False]
    assert odd


def test_one_record_does_not_move_the_bands(plan_of):
    amounts = list(RNG.gamma(2, 900, 400))
    usual, with_one = (plan_of({"x": own})["columns"]["x"] for own in (amounts, [*amounts, 10**9]))
    assert with_one["bands"] == usual["bands"]


def test_bands_begin_below_all_numbers_or_count_the_smaller_ones(plan_of):
    for values in (RNG.normal(0, 900, N), RNG.normal(5e6, 100, N), RNG.gamma(0.1, 9e5, N) + 1e-3):
        found = plan_of({"x": values})["columns"]["x"]
        edges = found["bands"]
        assert "low" in found or edges[0] <= values.min()
        assert 2 <= len(edges) <= 10
        assert len({f"{edge:.3g}" for edge in edges}) == len(edges) or min(values) > 1e6


def test_of_many_columns_at_most_eight_are_chosen_one_of_each_kind_first(plan_of):
    names = [f"education_{i}" for i in range(20)] + ["sex", "region", "age"]
    chosen = plan_of({name: RNG.choice(["a", "b"], 60) for name in names})["columns"]
    assert len(chosen) == 8
    assert {"education_0", "sex", "region", "age"} <= set(chosen)


def test_without_known_names_the_first_categorical_columns_are_chosen(plan_of):
    data = {f"q{i}": RNG.choice(["a", "b"], 60) for i in range(20)}
    chosen = plan_of({"amount": RNG.gamma(2, 9, 60), **data})["columns"]
    assert list(chosen) == [f"q{i}" for i in range(8)]


def test_columns_with_very_many_categories_are_left_for_the_curator(tmp_path):
    data = {"puma": [f"{i:05}" for i in range(50)] * 20, "sex": ["f", "m"] * 500}
    text = drafted(data, tmp_path)
    assert list(tomllib.loads(text)["columns"]) == ["sex"]
    assert "too many to randomise, merge them into fewer" in text


def test_columns_of_every_type_are_looked_at(tmp_path):
    data = {
        "nothing": pa.nulls(60),
        "lists": [[1, 2]] * 60,
        "bytes": [b"x", b"y"] * 30,
        "infinite": [float("inf"), float("-inf"), 1.5] * 20,
        "immense": [1.7e308, -1.7e308, 0.5, 0.25, 4.0] * 12,
        "large": pa.array([2**63 + 7 * i**2 for i in range(60)], pa.uint64()),
        "spans": pa.array([1] * 60, pa.duration("s")),
        "signs": ["a\x00b", "c\nd"] * 30,
    }
    text = drafted(data, tmp_path)
    assert kinds_in(text) == {
        "nothing": "constant",
        "lists": "unsuited",
        "bytes": "unsuited",
        "infinite": "numeric",
        "immense": "numeric",
        "large": "identifier",
        "spans": "date",
        "signs": "categorical",
    }
    columns = tomllib.loads(text)["columns"]
    assert list(columns) == ["infinite", "immense", "signs"]
    assert "low" in columns["infinite"]


def test_no_rows_give_no_columns_to_randomise(plan_of):
    plan = plan_of(pa.table({"a": pa.array([], pa.string()), "b": pa.array([], pa.int64())}))
    assert plan["drop"] == ["a", "b"]
    assert "columns" not in plan
