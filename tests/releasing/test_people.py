"""People with several rows: α of a person is that of a record times rows, everywhere."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.releasing.conftest import rewrite

import pramble
from pramble.errors import InvalidData, InvalidPlan

AGES = [1, 2, 3]


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


def released(table, folder, **settings):
    columns = {"age": {"categories": AGES}, "sex": {"categories": ["f", "m"]}}
    return pramble.release(
        table, folder, columns=columns, ledger=False, pages=False, **settings, design="paper"
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


def test_rows_beyond_what_is_declared_are_refused(tmp_path):
    with pytest.raises(InvalidData, match="has 4 rows, and the plan says at most 3"):
        released(visits(), tmp_path / "out", alpha=1.0, person="pid", rows_per_person=3)
    assert not (tmp_path / "out").exists()


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
