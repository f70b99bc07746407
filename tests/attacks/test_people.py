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
    with pytest.raises(PrivacyError, match="alike in 'sex'"):
        pramble.release(
            table, tmp_path / "out", columns=COLUMNS, alpha=0.5, ledger=False, design="paper"
        )
    knowingly = pramble.release(
        table,
        tmp_path / "knowingly",
        columns=COLUMNS,
        alpha=0.5,
        ledger=False,
        allow=["who"],
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
