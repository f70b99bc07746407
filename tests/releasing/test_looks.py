"""What columns look like: by their names in several languages, their types and their values."""

import datetime as dt
import tomllib
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from pramble.releasing.profile.columns import round_bands
from pramble.releasing.profile.survey import survey_file
from pramble.releasing.profile.vocabulary import in_expected_order, is_weight_name, key_variable

N = 300
RNG = np.random.default_rng(4)


def look(values, name="x"):
    [found] = survey_file({name: values}).profiles
    return found


def kind(values, name="x"):
    return look(values, name).kind


def csv_survey(path, text):
    path.write_text(text, encoding="utf-8")
    return survey_file(path)


@pytest.mark.parametrize(
    "name",
    ["weight", "WGT", "pond", "poids", "peso", "Gewicht", "PWGTP", "PWGTP12", "fnlwgt", "w",
     "sampling_weight", "hh_weights", "final-wt", "poids_final", "Hochrechnungsfaktor",
     "factor_expansion"],
)  # fmt: skip
def test_weights_are_known_by_their_names(name):
    numbers = RNG.gamma(2, 30, N)
    assert is_weight_name(name)
    assert kind(numbers, name) == "weight"
    assert kind(np.full(N, 100), name) == "weight"
    assert kind(RNG.choice(["light", "heavy"], N), name) == "categorical"


@pytest.mark.parametrize("name", ["birth_weight", "weight_kg", "weekday", "powder", "width"])
def test_other_names_are_no_weights(name):
    assert kind(RNG.gamma(2, 30, N), name) == "numeric"


def test_replicate_weights_may_be_negative_here_and_there():
    assert kind(np.append(-3, RNG.integers(1, 90, N)), "PWGTP5") == "weight"
    assert kind(-RNG.gamma(2, 30, N), "weight") == "numeric"


DAYS = [dt.date(1950, 1, 1) + dt.timedelta(days=int(day)) for day in RNG.integers(0, 20_000, N)]


@pytest.mark.parametrize(
    "written",
    ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d",
     "%Y-%m-%dT%H:%M:%S", "%d.%m.%y"],
)  # fmt: skip
def test_dates_are_known_however_they_are_written(written):
    assert kind([day.strftime(written) for day in DAYS]) == "date"


def test_dates_of_a_type_and_as_whole_numbers_are_dates():
    assert kind(DAYS) == "date"
    assert kind([int(day.strftime("%Y%m%d")) for day in DAYS]) == "date"
    assert (
        kind([dt.datetime(2020, 1, 1, 5, second, tzinfo=dt.UTC) for second in range(60)]) == "date"
    )


def test_numbers_that_only_look_like_dates_are_none():
    assert kind([f"{i % 30}.{i % 12}" for i in range(N)]) == "numeric"
    assert kind([f"{i % 90}-{i % 9}" for i in range(N)]) != "date"


def test_identifiers_are_told_from_quantities():
    serial = np.arange(5_000, 5_000 + N)
    spread = np.unique(RNG.integers(1, 10**8, 2 * N))[::2][:N]
    assert kind(serial) == "identifier"
    assert kind(RNG.permutation(np.arange(10**7, 10**7 + N))) == "identifier"
    assert kind(spread, "expenditure") == "numeric"
    assert kind(np.repeat(np.arange(N // 3), 3), "ori_hid") == "identifier"
    assert kind(RNG.choice(["a@b.c", "d@e.f"], N), "E-Mail") == "identifier"
    assert kind([f"c{i}" for i in range(N)]) == "identifier"
    assert kind([f"town {i % 100}" for i in range(N)]) == "nearly unique"
    assert kind(RNG.choice(["north", "south"], N), "region_name") == "categorical"


def test_more_distinct_values_than_are_kept_are_no_identifier_by_that_alone():
    amounts = np.round(RNG.gamma(2, 900, 12_000), 2)
    found = look(amounts)
    assert found.kind == "numeric"
    assert found.reason == "numbers, more than 5,000 distinct"
    assert found.bands.low


def test_codes_with_many_values_are_no_quantities():
    assert kind(RNG.integers(1000, 1300, 4 * N), "zip") == "codes"
    assert kind(RNG.integers(1, 300, 4 * N), "salary") == "numeric"


def test_decimals_and_whole_floats_are_numbers():
    assert look([1.0, 2.0, float("nan")] * 30).labels == (1, 2)
    assert look([1.0, 2.0, float("nan")] * 30).empty == 30
    assert kind(pa.array([Decimal("1.50"), Decimal("2.25")] * 30)) == "numeric"


def test_marks_of_missing_values_are_no_numbers(tmp_path):
    rows = "".join(f"{i % 5},{i}\n" for i in range(40_000)) + "NA,NA\n" * 3
    survey = csv_survey(tmp_path / "late.csv", f"grade,amount\n{rows}")
    found = {one.name: one for one in survey.profiles}
    assert found["grade"].labels == (0, 1, 2, 3, 4)
    assert found["grade"].marks == found["amount"].marks == ("NA",)
    text = survey.draft(accepted=found)
    assert 'missing_values = ["NA"]' in text
    assert "missing = -1" in text


def test_a_question_mark_among_words_comes_last():
    assert look(["?", "Private", "State", "Other"] * 20).labels == (
        "Private",
        "State",
        "Other",
        "?",
    )


def test_blanks_around_words_make_no_categories():
    found = look(["a", " a", "b "] * 20)
    assert found.labels == ("a", "b")
    assert found.trim


@pytest.mark.parametrize(
    "order",
    [
        ["low", "medium", "high"],
        ["Never", "Sometimes", "Often", "Always"],
        ["nie", "selten", "oft", "immer"],
        ["jamais", "parfois", "toujours"],
        ["primary", "secondary", "tertiary"],
        ["9th", "11th", "HS-grad", "Some-college", "Bachelors", "Doctorate"],
        ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"],
        ["January", "February", "October"],
        [
            "None",
            "Nursery to grade 4",
            "Grade 5 to 8",
            "Grade 10",
            "1 year of college",
            "5+ years of college",
        ],
        ["Owned", "Rented", "Not applicable"],
        ["mars", "avril", "août"],
        ["Montag", "Freitag", "Sonntag"],
        ["0-14", "15-24", "65+"],
        ["<15", "15", "[16,24]", "[25,100]", ">100"],
        ["under 5", "5 to 9", "10 to 14", "15 and over"],
        ["moins de 15 ans", "15-64 ans", "65 ans et plus"],
        ["<5,000", "5,000-9,999", "10,000-99,999", "100,000+"],
        ["1", "2", "10"],
        [1, 2, 10],
    ],
    ids=str,
)
def test_categories_stand_in_the_order_people_expect(order):
    for _ in range(3):
        mixed = [order[i] for i in RNG.permutation(len(order))]
        found, ordered = in_expected_order(mixed)
        assert found == order
        assert ordered or order[0] in ("1", "Owned")


def test_words_of_no_scale_stand_in_natural_order():
    assert in_expected_order(["b2", "a10", "a9", "unknown", "other"]) == (
        ["a9", "a10", "b2", "other", "unknown"],
        False,
    )


def test_the_order_that_a_file_declares_is_kept(tmp_path):
    words = ["tiny", "huge", "vast"]
    values = pl.Series("size", RNG.choice(words[:2], N), dtype=pl.Enum(words))
    kept = pa.DictionaryArray.from_arrays(RNG.integers(0, 2, N), words, ordered=True)
    pq.write_table(pa.table({"size": kept}), tmp_path / "sizes.parquet")
    for data in (pl.DataFrame([values]).lazy(), tmp_path / "sizes.parquet"):
        [found] = survey_file(data).profiles
        assert found.labels == ("tiny", "huge", "vast")
        assert found.declared


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_value_labels_of_a_file_are_its_categories(tmp_path, ending):
    import pandas as pd

    frame = pd.DataFrame(
        {
            "sex": RNG.integers(1, 3, N),
            "age": RNG.integers(0, 90, N),
            "score": RNG.integers(0, 9, N),
        }
    )
    labels = {"sex": {1: "male", 2: "female", 3: "diverse"}, "score": {0: "worst", 8: "best"}}
    write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
    write(frame, tmp_path / f"people.{ending}", variable_value_labels=labels)
    survey = survey_file(tmp_path / f"people.{ending}")
    sex, age, score = survey.profiles
    assert sex.labels == (1, 2, 3)
    assert sex.meanings == ("male", "female", "diverse")
    assert sex.is_public
    assert (score.labels, score.declared) == (tuple(range(9)), False)
    assert age.kind == "numeric"
    text = survey.draft(accepted=())
    assert "# male; female; diverse\ncategories = [1, 2, 3]" in text


def test_bands_of_what_everybody_knows_do_not_depend_on_the_file():
    young, old = (
        round_bands([16, 17], "age", all_seen=True),
        round_bands([99], "age", all_seen=True),
    )
    assert young == old
    assert young.public
    assert not round_bands([16, 17, 200], "age", all_seen=True).public


def test_one_record_does_not_move_the_bands():
    amounts = list(RNG.gamma(2, 900, 400))
    usual = round_bands(amounts, None, all_seen=True)
    assert round_bands([*amounts, 10**9], None, all_seen=True).edges == usual.edges
    assert not usual.public


def test_bands_begin_below_all_numbers_or_count_the_smaller_ones():
    for values in (RNG.normal(0, 900, N), RNG.normal(5e6, 100, N), RNG.gamma(0.1, 9e5, N) + 1e-3):
        found = round_bands(values, None, all_seen=True)
        assert found.low or found.edges[0] <= values.min()
        assert 2 <= len(found.edges) <= 10
        assert len({f"{edge:.3g}" for edge in found.edges}) == len(found.edges) or min(values) > 1e6


@pytest.mark.parametrize(
    ("names", "key"),
    [
        ("sex gender Geschlecht sexe sexo sesso geslacht", "sex"),
        ("AGE Alter âge edad età leeftijd idade", "age"),
        ("region Bundesland département provincia regione provincie distrito", "region"),
        ("education EDUC Bildung niveau_etudes estudios istruzione opleiding", "education"),
        ("marital MARST Familienstand etat_civil estado_civil stato_civile", "marital"),
        ("occupation Beruf profession ocupación professione beroep profissão", "occupation"),
        ("nationality Nationalität nationalité nacionalidad cittadinanza race", "origin"),
        ("hhsize children Haushalt ménage hogar famiglia huishouden", "household"),
        ("tenure OWNERSHP logement Wohnung vivienda alloggio woning", "tenure"),
    ],
)
def test_key_variables_are_known_in_several_languages(names, key):
    assert {name: key_variable(name) for name in names.split()} == dict.fromkeys(names.split(), key)


def test_of_many_columns_at_most_eight_are_chosen_one_of_each_kind_first():
    names = [f"education_{i}" for i in range(20)] + ["sex", "region", "age"]
    chosen = survey_file({name: RNG.choice(["a", "b"], 60) for name in names}).chosen
    assert len(chosen) == 8
    assert {"education_0", "sex", "region", "age"} <= set(chosen)


def test_without_known_names_the_first_categorical_columns_are_chosen():
    data = {f"q{i}": RNG.choice(["a", "b"], 60) for i in range(20)}
    assert survey_file({"amount": RNG.gamma(2, 9, 60), **data}).chosen == tuple(
        f"q{i}" for i in range(8)
    )


def test_columns_with_very_many_categories_are_left_for_the_curator():
    data = {"puma": [f"{i:05}" for i in range(50)] * 20, "sex": ["f", "m"] * 500}
    survey = survey_file(data)
    assert survey.chosen == ("sex",)
    assert "too many to randomise, merge them into fewer" in survey.draft(accepted=data)


def test_columns_of_every_type_are_looked_at():
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
    survey = survey_file(data)
    assert {one.name: one.kind for one in survey.profiles} == {
        "nothing": "constant",
        "lists": "unsuited",
        "bytes": "unsuited",
        "infinite": "numeric",
        "immense": "numeric",
        "large": "identifier",
        "spans": "date",
        "signs": "categorical",
    }
    plan = tomllib.loads(survey.draft(accepted=data))
    assert list(plan["columns"]) == ["infinite", "immense", "signs"]
    assert "low" in plan["columns"]["infinite"]


def test_no_rows_give_no_columns_to_randomise():
    survey = survey_file({"a": pa.array([], pa.string()), "b": pa.array([], pa.int64())})
    assert survey.chosen == ()
    assert tomllib.loads(survey.draft(accepted=()))["drop"] == ["a", "b"]


def test_a_long_file_tells_how_far_it_is(tmp_path):
    (tmp_path / "long.csv").write_text("sex,age\n" + "f,10\nm,20\n" * 700_000)
    told = []
    survey_file(tmp_path / "long.csv", progress=told.append)
    shares = [one.share for one in told]
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert told[-1].rows == 1_400_000
