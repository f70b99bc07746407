"""Untouched columns that tell protected ones are found, and those that do not are left alone."""

import re

import numpy as np
import pyarrow as pa
import pytest
from tests.releasing.conftest import reasons_of

import pramble
from pramble.errors import PrivacyError

RNG = np.random.default_rng(11)


WORDS = {
    "alike": r"Rows that share a value of '(\w+)' are alike in '(\w+)'",
    "function": r"Column '(\w+)' follows from '(\w+)'",
    "order": r"Sorting by '(\w+)' puts the rows in an order that goes with '(\w+)'",
}


def found(table, protected):
    """The links that a release of a table is refused for, or that it warns of."""
    try:
        r = pramble.release(
            table, "out", columns=protected, alpha=1.0, prior="uniform", design="paper",
            dry_run=True, ledger=False, person=False,
        )  # fmt: skip
    except PrivacyError as error:
        said = str(error)
        assert "--allow" in said
    else:
        said = "\n".join(r.outcome.warnings)
    return {(*pair, kind) for kind, words in WORDS.items() for pair in re.findall(words, said)}


def test_independent_columns_are_left_alone():
    n = 20_000
    table = pa.table(
        {
            "sex": RNG.choice(["f", "m"], n),
            "region": RNG.choice(["a", "b", "c"], n),
            "income": RNG.normal(size=n).round(3),
            "row": np.arange(n),
            "rounded": RNG.integers(0, n // 4, n),
            "empty": pa.nulls(n),
            "constant": ["x"] * n,
            "listed": pa.array([[1, 2]] * n),
        }
    )
    assert found(table, ["sex"]) == set()


def test_ordinary_association_is_not_refused():
    n = 20_000
    sex = RNG.integers(0, 2, n)
    job = np.where(RNG.random(n) < 0.85, sex, 1 - sex) + 2 * RNG.integers(0, 5, n)
    assert found(pa.table({"sex": sex, "job": job}), ["sex"]) == set()


def test_copies_and_coarser_and_finer_versions():
    n = 3000
    county = RNG.integers(0, 12, n)
    table = pa.table(
        {
            "county": county,
            "copy": [f"c{i}" for i in county],
            "state": county // 4,
            "town": county * 5 + RNG.integers(0, 5, n),
        }
    )
    assert found(table, ["county"]) == {
        ("copy", "county", "alike"),
        ("copy", "county", "function"),
        ("state", "county", "function"),
        ("town", "county", "alike"),
    }


def test_a_few_rows_by_chance_are_no_link():
    table = pa.table({"sex": ["f", "m", "f", "m"], "town": ["x", "y", "x", "y"]})
    assert found(table, ["sex"]) == set()


def test_missing_values_share_nothing():
    n = 4000
    sex = RNG.choice(["f", "m"], n)
    who = pa.array(np.arange(n), mask=sex == "f")
    assert found(pa.table({"sex": sex, "who": who}), ["sex"]) <= {("who", "sex", "order")}


@pytest.mark.parametrize("make", [int, float, str, lambda i: f"{i:05d}"])
def test_the_order_along_an_identifier_is_told(make):
    sex = np.sort(RNG.choice(["f", "m"], 2000))
    place = RNG.permutation(2000)
    table = pa.table({"sex": sex[place], "n": [make(int(i)) for i in place]})
    assert found(table, ["sex"]) == {("n", "sex", "order")}


@pytest.mark.parametrize(
    "name",
    ["patient_id", "patientId", "identifiant", "Matricule", "Kennung", "personennummer",
     "identificador", "identificatore", "DNI", "bsn", "prénom", "Straße", "achternaam", "NOME"],
)  # fmt: skip
def test_an_identifier_in_any_language_that_repeats_is_refused(tmp_path, name):
    """The same words as `pramble init` drops a column for."""
    n = 300
    table = pa.table({"sex": RNG.choice(["f", "m"], 2 * n), name: np.tile(np.arange(n), 2)})
    settings = {"columns": {"sex": {"categories": ["f", "m"]}}, "alpha": 1.0, "ledger": False}
    assert reasons_of(table, tmp_path)[name].startswith("identifier")
    with pytest.raises(PrivacyError, match=f"Rows share values of '{name}'"):
        pramble.release(table, tmp_path / "out", dry_run=True, **settings)
    renamed = table.rename_columns(["sex", "score"])
    pramble.release(renamed, tmp_path / "out", dry_run=True, **settings)
    pramble.release(table, tmp_path / "out", dry_run=True, person=name, **settings)


@pytest.mark.parametrize("texts", [True, False])
def test_a_link_beyond_the_first_rows_is_refused_before_anything_is_published(tmp_path, texts):
    """A file whose first 66,000 rows are one person each, and whose others are twice the same."""
    n = 100_000
    who = np.concatenate([np.arange(n), np.arange(n - 30_000, n)])
    sex = np.concatenate([s := RNG.choice(["f", "m"], n), s[n - 30_000 :]])
    table = pa.table({"sex": sex, "who": [f"P{i}" for i in who] if texts else who})
    columns = {"sex": {"categories": ["f", "m"]}}
    with pytest.raises(PrivacyError, match="Rows that share a value of 'who' are alike"):
        pramble.release(
            table,
            tmp_path / "out",
            columns=columns,
            alpha=1.0,
            ledger=False,
            person=False,
            design="paper",
        )
    assert list(tmp_path.iterdir()) == []
    r = pramble.release(
        table,
        tmp_path / "out",
        columns=columns,
        alpha=1.0,
        ledger=False,
        person="who",
        design="paper",
    )
    assert r.guarantee.rows == 2
