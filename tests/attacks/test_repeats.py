"""Files in which people have several rows are not released before somebody says whose they are."""

import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pramble
from pramble.errors import PrivacyError

PEOPLE = 150


def people(rows=None, *, seed=1, number=PEOPLE):
    """Who has each row, and rows with a sex, a year of birth and a diagnosis."""
    rng = np.random.default_rng(seed)
    each = rng.integers(2, 7, number) if rows is None else np.full(number, rows)
    who = rng.permutation(np.repeat(np.arange(number), each))
    sex, born = rng.choice(["f", "m"], number), rng.integers(1930, 2010, number)
    frame = {"sex": sex[who], "born": born[who], "diagnosis": rng.choice(list("abcde"), len(who))}
    return who, pd.DataFrame(frame).rename(columns={"born": "birth_year"})


def code(i):
    return f"{chr(65 + i * 7 % 26)}{chr(65 + i * 11 % 26)}{10_000 + i * 37}"


def hexadecimal(i):
    return uuid.uuid5(uuid.NAMESPACE_OID, str(i)).hex


# How identifiers are written, by name or only by their values.
BY_NAME = [
    "patient_id", "patientId", "PATIENTID", "person", "respondent_no", "subjectCode",
    "customer_number", "userid", "SSN", "case_no", "identifiant_patient", "numero_patient",
    "NumeroDossier", "id_assure", "matricule", "nir", "Patientennummer", "Versichertennr",
    "PersonenID", "Kundennummer", "fall_nr", "KENNUNG", "id_paciente", "numeroPaciente",
    "dni", "codigo_cliente", "idpersona", "codice_fiscale", "numero_paziente", "idPaziente",
    "codice_assistito", "burgerservicenummer", "bsn", "patientnummer", "klant_id",
    "deelnemernr", "n_utente", "numero_utente", "id_pessoa", "codigo_segurado", "nif",
    "id_foyer", "hid", "ori_hid", "Haushaltsnummer", "id_hogar", "huishouden_id",
    "id_famiglia", "numero_agregado", "patient_nbr", "pat_nr", "MRN", "subjnum",
]  # fmt: skip
BY_VALUE = {
    "code": code,
    "uuid": lambda i: str(uuid.uuid5(uuid.NAMESPACE_OID, str(i))),
    "hash": hexadecimal,
    "mail": lambda i: f"someone{i}@example.org",
    "phone": lambda i: f"+49 170 {5_550_000 + i * 7}",
    "running": lambda i: i + 1,
    "long": lambda i: 400_000 + i * 3_001,
    "zeros": lambda i: f"{i * 61:07d}",
    # numbers of no pattern: rows are alike in sex and year of birth
    "scattered": lambda i: (i * 7_919 + 13) ** 2 % 1_000_003,
}
HOW = ["csv", "parquet", "pandas", "polars"]


def source(frame, how, folder):
    if how in ("csv", "parquet"):
        path = folder / f"file.{how}"
        getattr(frame, f"to_{how}")(path, index=False)
        return path
    return frame if how == "pandas" else pl.from_pandas(frame)


def release(data, folder, *, columns=("sex",), central=False, **settings):
    local = {"alpha": 2.0, "prior": "uniform", "design": "columns"}
    settings |= {"central": 1.0} if central else local
    return pramble.release(
        data, folder / "out", columns=columns, ledger=False, dry_run=True, **settings
    )


def check_refused(data, folder, person, **settings):
    with pytest.raises(PrivacyError, match="State whose rows these are"):
        release(data, folder, **settings)
    stated = release(data, folder, person=person, **settings)
    assert stated.outcome.unit.of != "row"
    assert stated.outcome.unit.stated


@pytest.mark.parametrize(("place", "name"), list(enumerate(BY_NAME)), ids=BY_NAME)
def test_an_identifier_by_its_name(tmp_path, place, name):
    """In seven languages, in every form, dropped or released, for both promises."""
    who, frame = people()
    frame[name] = [code(i) if place % 2 else i + 1 for i in who]
    drop = (
        [name, "birth_year", "diagnosis"]
        if place % 3 or place % 4 == 1
        else ["birth_year", "diagnosis"]
    )
    frame = source(frame, HOW[place % 4], tmp_path)
    check_refused(frame, tmp_path, name, drop=drop, central=place % 4 == 1)


@pytest.mark.parametrize(("place", "kind"), list(enumerate(BY_VALUE)), ids=BY_VALUE)
@pytest.mark.parametrize("rows", [None, 2, 40])
def test_an_identifier_by_its_values(tmp_path, place, kind, rows):
    who, frame = people(rows, seed=place)
    frame["v17"] = [BY_VALUE[kind](int(i)) for i in who]
    drop = ["v17", "birth_year", "diagnosis"]
    check_refused(source(frame, HOW[place % 4], tmp_path), tmp_path, "v17", drop=drop)


@pytest.mark.parametrize(
    "settings",
    [
        {"bands": [0, 50, 100]},
        {"bands": {"step": 30, "from": 0, "to": 150}},
        {
            "categories": ["low", "high"],
            "merge": {"low": list(range(75)), "high": list(range(75, 150))},
        },
    ],
    ids=["bands", "steps", "merged"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["patient_id", "v17"])
def test_an_identifier_that_the_plan_recodes(tmp_path, settings, name):
    who, frame = people()
    frame[name] = who
    columns = {"sex": {"categories": ["f", "m"]}, name: settings}
    with pytest.raises(PrivacyError, match=f"Rows share values of '{name}'"):
        release(frame, tmp_path, columns=columns, drop=["birth_year", "diagnosis"])
    release(frame, tmp_path, columns=columns, drop=["birth_year", "diagnosis"], person=False)


@pytest.mark.parametrize(
    "make",
    [
        lambda who: pd.Categorical([f"p{i:04d}" for i in who]),
        lambda who: np.where(who < 20, np.nan, who),
        lambda who: [f"{i}.0" for i in who],
        lambda who: [f"Anna{i % 10} Berg{i % 77}" for i in who],
        lambda who: [uuid.uuid5(uuid.NAMESPACE_OID, str(i)).bytes for i in who],
    ],
    ids=["categories", "holes", "points", "names", "bytes"],
)
def test_identifiers_in_other_forms(tmp_path, make):
    who, frame = people()
    name = "name" if isinstance(make(who)[0], str) and " " in make(who)[0] else "patient_id"
    frame[name] = make(who)
    frame = frame[[name, "sex"]].dropna()
    with pytest.raises(PrivacyError, match=f"Rows share values of '{name}'"):
        release(frame, tmp_path, drop=[name])


def test_without_sex_and_birth_two_other_traits_speak_for_a_person(tmp_path):
    """One alone does not: a finer code of a region has the same."""
    who, frame = people()
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"v1": who, "q1": rng.choice(list("abcd"), PEOPLE)[who]})
    release(frame, tmp_path, columns=["q1"], drop=["v1"])
    frame["q2"] = rng.choice(list("uvw"), PEOPLE)[who]
    with pytest.raises(PrivacyError, match="Rows share values of 'v1'"):
        release(frame, tmp_path, columns=["q1"], drop=["v1", "q2"])


def named(frame, who):
    frame["surname"] = [f"Sur{i % 23}" for i in who]
    frame["first_name"] = [f"Fore{i % 11}" for i in who]
    frame["date_of_birth"] = [f"{1950 + i % 50}-0{1 + i % 9}-11" for i in who]
    return ["surname", "first_name", "date_of_birth"]


def german(frame, who):
    frame["Nachname"] = [f"Name{i % 23}" for i in who]
    frame["Vorname"] = [f"Vor{i % 11}" for i in who]
    frame["Geburtsdatum"] = pd.to_datetime([f"{1950 + i % 50}-0{1 + i % 9}-11" for i in who])
    return ["Nachname", "Vorname", "Geburtsdatum"]


def within_hospitals(frame, who):
    frame["hospital"] = [f"H{i % 6}" for i in who]
    frame["nr"] = who // 6 + 1
    return ["hospital", "nr"]


def within_schools(frame, who):
    frame["scuola"] = who % 6
    frame["numero_alunno"] = who // 6 + 1
    return ["scuola", "numero_alunno"]


def in_households(frame, who):
    frame["hid"] = who // 3
    frame["member"] = who % 3 + 1
    return ["hid", "member"]


@pytest.mark.parametrize(
    "compose", [named, german, within_hospitals, within_schools, in_households]
)
@pytest.mark.parametrize("how", ["csv", "parquet", "polars"])
def test_several_columns_that_only_together_name_somebody(tmp_path, compose, how):
    who, frame = people()
    del frame["birth_year"]
    names = compose(frame, who)
    data = source(frame, how, tmp_path)
    with pytest.raises(PrivacyError, match=" and ".join(map(repr, names))):
        release(data, tmp_path, drop=["diagnosis", *names])
    stated = release(data, tmp_path, drop=["diagnosis", *names], person=names)
    assert stated.outcome.spent.rows > 1


def singles(n=600):
    """Columns of files with one row for each person, by what they look like."""
    rng = np.random.default_rng(3)
    weights = rng.lognormal(5, 1, 40).round(2)
    return {
        "patient_id": rng.permutation(n),
        "uuid": [hexadecimal(i) for i in range(n)],
        "email": [f"p{i}@example.org" for i in range(n)],
        "PWGTP": rng.integers(1, 300, n),
        "weight": rng.choice(weights, n),
        "poids": rng.choice(weights, n),
        "age": rng.integers(0, 95, n),
        "Alter": rng.integers(0, 95, n),
        "birth_year": rng.integers(1930, 2010, n),
        "dob": [f"{y}-{m:02d}-11" for y, m in rng.integers((1950, 1), (1990, 13), (n, 2))],
        "admitted": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        "day": rng.integers(0, 28, n) + 20_240_101,
        "income": rng.integers(8, 90, n) * 500,
        "salary": rng.lognormal(10, 1, n).round(),
        "score": rng.integers(0, 150, n),
        "free": rng.integers(0, n // 4, n),
        "x1": rng.integers(10_000, 10_200, n),
        "height": rng.normal(170, 9, n).round(1),
        "kg": rng.integers(45, 120, n),
        "zip": rng.integers(10_000, 10_090, n),
        "postcode": [f"{i} AB" for i in rng.integers(1000, 1090, n)],
        "plz": [f"{i:05d}" for i in rng.integers(1000, 1090, n)],
        "PUMA": rng.integers(100, 200, n),
        "region_code": rng.integers(100, 160, n),
        "occupation": rng.integers(1000, 1090, n),
        "isco": rng.integers(1000, 1090, n),
        "icd": [f"{chr(65 + i % 26)}{i:02d}.{i % 10}" for i in rng.integers(0, 90, n)],
        "nace": [f"{chr(65 + i % 20)}{i:02d}" for i in rng.integers(10, 90, n)],
        "stock": [f"ZX{i:04d}" for i in rng.integers(0, 100, n)],
        "hospital_id": rng.integers(1, 50, n),
        "school_id": rng.integers(1000, 1050, n),
        "doctor_no": rng.integers(1, 50, n),
        "hours": rng.integers(0, 80, n),
        "nchild": rng.integers(0, 9, n),
        "n_persons": rng.integers(1, 30, n),
        "pernum": rng.integers(1, 16, n),
        "first_name": rng.choice([f"Fore{i}" for i in range(60)], n),
        "surname": rng.choice([f"Sur{i}" for i in range(90)], n),
        "comment": rng.choice([f"said {i} things" for i in range(80)], n),
        "town": rng.choice([f"Town{chr(65 + i % 26)}{chr(97 + i // 26)}" for i in range(60)], n),
    }


@pytest.mark.parametrize(("place", "name"), list(enumerate(singles())), ids=list(singles()))
def test_a_file_with_one_row_each_is_released_without_being_asked(tmp_path, place, name):
    rng = np.random.default_rng(place)
    values = singles()[name]
    frame = pd.DataFrame({name: values, "sex": rng.choice(["f", "m"], len(values))})
    frame["diagnosis"] = rng.choice(list("abcde"), len(values))
    done = release(source(frame, HOW[place % 4], tmp_path), tmp_path, drop=[name, "diagnosis"])
    said = [line for line in done.outcome.warnings if "another person" in line]
    assert len(said) == 1
    assert "person = false" in said[0]


def test_all_of_them_in_one_file(tmp_path):
    frame = pd.DataFrame(singles())
    frame["sex"] = np.random.default_rng(9).choice(["f", "m"], len(frame))
    release(frame, tmp_path, columns=["sex"], drop=[name for name in frame if name != "sex"])


def test_whoever_states_that_every_row_is_another_person_is_warned(tmp_path):
    who, frame = people()
    frame["patient_id"] = who
    done = release(frame, tmp_path, drop=["birth_year", "diagnosis", "patient_id"], person=False)
    said = [line for line in done.outcome.warnings if "'patient_id'" in line]
    assert len(said) == 1
    assert "every row is another person" in said[0]


def test_rows_per_person_is_a_statement_too(tmp_path):
    who, frame = people()
    frame["patient_id"] = who
    done = release(
        frame, tmp_path, drop=["birth_year", "diagnosis", "patient_id"], rows_per_person=6
    )
    assert not [line for line in done.outcome.warnings if "another person" in line]


def test_people_far_beyond_the_first_rows(tmp_path):
    """The first 200,000 rows are one each; of the last 60,000 two belong together."""
    who = np.concatenate([np.arange(200_000), 200_000 + np.arange(60_000) // 2])
    sex = np.random.default_rng(1).choice(["f", "m"], who.max() + 1)[who]
    frame = pl.DataFrame({"sex": sex, "v1": who})
    with pytest.raises(PrivacyError, match="in a random part of them"):
        release(frame, tmp_path, columns=["sex"], drop=["v1"])
    release(frame.unique("v1"), tmp_path, columns=["sex"], drop=["v1"])


def test_a_cell_that_names_nobody_is_no_person(tmp_path):
    who = [*range(1, 500), *[0] * 90]
    sex = np.random.default_rng(1).choice(["f", "m"], len(who))
    texts = ["unknown" if i == 0 else "" if i % 7 == 0 else f"P{i:04d}" for i in who]
    for values in (who, texts):
        frame = pd.DataFrame({"sex": sex, "patient_id": values})
        release(frame, tmp_path, columns=["sex"], drop=["patient_id"])


ODD_TYPES = {
    "decimal": lambda who: pa.array(who).cast(pa.decimal128(20, 0)),
    "run-end encoded": lambda who: pc.run_end_encode(pa.array(who)),
    "list": lambda who: pa.array([[int(one)] for one in who]),
    "struct": lambda who: pa.array([{"number": int(one)} for one in who]),
}


@pytest.mark.parametrize("kind", ODD_TYPES)
def test_an_identifier_of_a_type_that_is_hard_to_look_at(tmp_path, kind):
    who, frame = people()
    table = pa.table(
        {"sex": pa.array(frame["sex"]), "patient_id": ODD_TYPES[kind](np.asarray(who))}
    )
    with pytest.raises(PrivacyError, match="'patient_id'"):
        release(table, tmp_path, drop=["patient_id"])
    assert release(table, tmp_path, drop=["patient_id"], person=False)


def test_more_rows_than_are_stated_without_a_column(tmp_path):
    who, frame = people(9)
    frame["patient_id"] = who
    drop = ["birth_year", "diagnosis", "patient_id"]
    with pytest.raises(PrivacyError, match="State whose rows these are"):
        release(frame, tmp_path, drop=drop, rows_per_person=1)
    assert release(frame, tmp_path, drop=drop, rows_per_person=9)


def test_one_row_each_by_a_column_beside_people_with_several(tmp_path):
    who, frame = people(9)
    frame["patient_id"], frame["visit"] = who, np.arange(len(frame))
    drop = ["birth_year", "diagnosis", "patient_id", "visit"]
    done = release(frame, tmp_path, drop=drop, person="visit")
    assert any("Rows share values of 'patient_id'" in one for one in done.outcome.warnings)


def test_marks_of_missing_values_among_numbers(tmp_path):
    """Few enough to be looked at with the numbers; and a text behind the first 2,000 values."""
    rng = np.random.default_rng(3)
    few = rng.permutation([*map(str, rng.integers(0, 9000, 900)), "NA", "NA"])
    late = [str(7 * i) for i in range(3000)] + ["unknown to us"]
    for name, values in (("few", few), ("late", late)):
        frame = pd.DataFrame({"sex": rng.choice(["f", "m"], len(values)), "v17": values})
        assert release(frame, tmp_path, drop=["v17"]), name
