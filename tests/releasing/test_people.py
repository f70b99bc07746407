"""People with several rows: α of a person is that of a record times rows, everywhere."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import pramble
from pramble.errors import InvalidData, InvalidPlan, PrambleError
from pramble.privacy.guarantee import RecordPrivacy, guarantee_from_json
from pramble.releasing.scan import RowsOfPeople

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
    assert r.guarantee == RecordPrivacy(records).of_rows(4)
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


def test_a_private_prior_of_a_person_has_the_noise_of_all_rows(tmp_path, monkeypatch):
    """The histogram's noise has rate ε/(2k), for one person moves 2k counts."""
    import pramble.releasing.noise as laplace

    rates = []
    true = laplace.discrete_laplace
    monkeypatch.setattr(
        laplace, "discrete_laplace", lambda rate, *rest: rates.append(rate) or true(rate, *rest)
    )
    r = released(visits(), tmp_path / "out", alpha=4.0, person="pid")
    spent = 4 * sum(Fraction(c["prior"]["alpha_exact"]) for c in r.manifest["design"]["parts"])
    assert set(rates) == {spent / (2 * 4)}
    assert len(rates) == len(AGES)  # sex needs no prior


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


def test_people_are_counted_over_batches_and_merges(monkeypatch):
    monkeypatch.setattr("pramble.releasing.scan.MERGED_AT", 50)
    rng = np.random.default_rng(3)
    people = rng.integers(0, 40, 1000)
    job = RowsOfPeople("p")
    for block in np.array_split(people, 13):
        job.add(pa.record_batch({"p": pa.array(block).dictionary_encode()}))
    assert job.most(None) == np.bincount(people).max()


def test_guarantees_of_people_are_read_back_and_forged_ones_refused():
    promise = RecordPrivacy(Fraction(1, 3)).of_rows(5)
    assert guarantee_from_json(promise.to_json()) == promise
    for rows in (0, -1, 1.5, "2", True, None):
        with pytest.raises(PrambleError):
            guarantee_from_json({**promise.to_json(), "rows_per_person": rows})


def test_a_manifest_that_hides_the_rows_is_refused(tmp_path):
    import json

    released(visits(), tmp_path / "out", alpha=2.0, person="pid")
    path = tmp_path / "out" / "manifest.json"
    document = json.loads(path.read_text())
    del document["promise"]["spent"]["rows_per_person"]
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidData, match="not that of the release"):
        pramble.open_release(tmp_path / "out")
