"""Attacks through the rows around a record: each is tried as its finder tried it."""

import numpy as np
import pyarrow as pa
import pytest

import pramble
from pramble.errors import PrivacyError

COLUMNS = {"sex": {"categories": ["f", "m"]}}


def voters(people=200, rows=200, seed=1):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], people)
    order = rng.permutation(people * rows)
    who = np.repeat(np.arange(people), rows)[order]
    return sex, pa.table({"sex": sex[who], "who": who})


def majority_is_right(released, sex):
    """How many people the majority of their released rows names rightly."""
    female = np.asarray(released["sex"]) == "f"
    share = np.bincount(np.asarray(released["who"]), weights=female, minlength=len(sex))
    return int(np.sum((share > 100) == (sex == "f")))


def test_a_majority_vote_over_the_rows_of_a_person(tmp_path):
    """It was right for 200 of 200 people at α = 0.5."""
    sex, table = voters()
    for stated, words in (
        ({}, "Rows share values of 'who'"),
        ({"person": False}, "alike in 'sex'"),
    ):
        with pytest.raises(PrivacyError, match=words):
            pramble.release(
                table,
                tmp_path / "out",
                columns=COLUMNS,
                alpha=0.5,
                ledger=False,
                design="paper",
                **stated,
            )
    knowingly = pramble.release(
        table,
        tmp_path / "knowingly",
        columns=COLUMNS,
        alpha=0.5,
        ledger=False,
        allow=["who"],
        person=False,
        design="paper",
        key=b"k" * 32,
    )
    assert majority_is_right(knowingly.data, sex) == 200  # what the refusal prevents
    r = pramble.release(
        table,
        tmp_path / "out",
        columns=COLUMNS,
        alpha=0.5,
        ledger=False,
        person="who",
        design="paper",
    )
    right = majority_is_right(r.data, sex)
    # α = 0.5 allows 62 % at most; 200 people, six standard deviations
    assert right / 200 < 0.6225 + 6 * 0.5 / np.sqrt(200)


def test_an_ascending_number_beside_a_shuffle(tmp_path):
    """Sorting by it gave the order of a sorted file back, and no word was said."""
    sex = np.sort(np.random.default_rng(2).choice(["f", "m"], 2000))
    table = pa.table({"sex": sex, "n": np.arange(2000)})
    r = pramble.release(
        table,
        tmp_path / "out",
        columns=COLUMNS,
        alpha=0.1,
        ledger=False,
        shuffle=True,
        design="paper",
    )
    assert any("'n'" in warning and "order" in warning for warning in r.outcome.warnings)
    quiet = pramble.release(
        table,
        tmp_path / "q",
        columns=COLUMNS,
        alpha=0.1,
        ledger=False,
        shuffle=True,
        drop=["n"],
        design="paper",
    )
    assert not any("order" in warning for warning in quiet.outcome.warnings)


def test_an_unprotected_copy(tmp_path):
    sex = np.random.default_rng(3).choice(["f", "m"], 500)
    table = pa.table({"sex": sex, "gender": np.where(sex == "f", 2, 1)})
    with pytest.raises(PrivacyError, match="'gender' follows from 'sex'"):
        pramble.release(
            table, tmp_path / "out", columns=COLUMNS, alpha=1.0, ledger=False, design="paper"
        )
    assert not (tmp_path / "out").exists()


def test_a_certificate_of_a_release_counts_its_priors(tmp_path):
    """It said that 5.95 was satisfied where 5.9 of 6 went to the mechanisms alone."""
    table = pa.table({"age": np.random.default_rng(4).integers(0, 5, 3000)})
    columns = {"age": {"categories": list(range(5))}}
    r = pramble.release(
        table, tmp_path / "out", columns=columns, alpha=6.0, ledger=False, design="paper"
    )
    assert pramble.certify(r.plan).satisfies(5.95)
    assert not pramble.certify(r).satisfies(5.95)
    assert pramble.certify(r).satisfies(6.0)


def test_encounters_of_patients_whose_number_was_dropped(tmp_path):
    """The promise was one to every person, and held for one of two to nine rows."""
    rng = np.random.default_rng(5)
    who = rng.permutation(np.repeat(np.arange(506), rng.integers(2, 10, 506)))
    sex, born = rng.choice(["f", "m"], 506)[who], rng.integers(1930, 2010, 506)[who]
    table = pa.table({"patient_id": who, "sex": sex, "born": born})
    options = {"columns": COLUMNS, "drop": ["patient_id", "born"], "ledger": False}
    with pytest.raises(PrivacyError, match="'patient_id': 506 of 506 have 2 to 9 rows"):
        pramble.release(table, tmp_path / "out", central=1.0, **options)
    r = pramble.release(
        table, tmp_path / "out", central=1.0, person="patient_id", rows_per_person=9, **options
    )
    assert r.guarantee.rows == 9
    assert r.manifest["promise"]["unit"]["columns"] == ["patient_id"]


def test_a_number_that_the_plan_bands_still_names_people(tmp_path):
    """400 people with 50 rows each: a reader was right for 400 of 400."""
    _, table = voters(people=400, rows=50)
    columns = COLUMNS | {"who": {"bands": list(range(0, 401, 100))}}
    options = {"columns": columns, "alpha": 1.0, "ledger": False, "design": "columns"}
    with pytest.raises(PrivacyError, match="Rows share values of 'who'"):
        pramble.release(table, tmp_path / "out", **options)
    rest = options | {"columns": COLUMNS, "drop": ["who"]}
    assert pramble.release(table, tmp_path / "out", person="who", **rest).outcome.spent.rows == 50
