"""Untouched columns that tell protected ones are found, and those that do not are left alone."""

import numpy as np
import pyarrow as pa
import pytest

import pramble
import pramble.releasing.linkage as links
import pramble.releasing.value_sample as value_sample
from pramble.data.encode import Levels
from pramble.errors import PrivacyError
from pramble.releasing.linkage import Link, Links, likeness, refuse_links
from pramble.releasing.profile.survey import survey_file
from pramble.releasing.value_sample import ValueSample

RNG = np.random.default_rng(11)


def found(table, protected, *, batch=1000, rows_per_person=1):
    levels = {name: Levels(name) for name in protected}
    job = Links([name for name in table.column_names if name not in protected], protected)
    for part in table.to_batches(max_chunksize=batch):
        job.add(part, {name: levels[name].codes(part[name]) for name in protected})
    return {
        (link.column, link.protected, link.kind)
        for link in job.found(rows_per_person=rows_per_person)
    }


def brute_force_likeness(groups, codes):
    agreed, base = [], []
    for i in range(len(groups)):
        mates = [j for j in range(len(groups)) if j != i and groups[j] == groups[i]]
        if mates:
            agreed.append(np.mean([codes[j] == codes[i] for j in mates]))
            base.append(codes[i])
    q = (np.bincount(base) / len(base) ** 1.0) @ np.bincount(base) / len(base)
    return (np.mean(agreed) - q) / (1 - q)


@pytest.mark.parametrize("groups", [2, 10, 40])
def test_likeness_is_what_brute_force_finds(groups):
    g, x = RNG.integers(0, groups, 90), RNG.integers(0, 3, 90)
    assert likeness(g, x) == pytest.approx(brute_force_likeness(g, x))


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


@pytest.mark.parametrize("batch", [317, 40_000])
def test_rows_of_one_person_in_a_file_larger_than_the_sample(monkeypatch, batch):
    """Two waves, one after the other: mates are far apart, and most rows are not kept."""
    for place in (links, value_sample):
        monkeypatch.setattr(place, "MOST_KEPT", 2000)
    n = 20_000
    sex = RNG.choice(["f", "m"], n)
    names = np.array([f"P{i:06d}" for i in RNG.permutation(n)])
    table = pa.table({"sex": np.tile(sex, 2), "who": np.tile(names, 2)})
    assert found(table, ["sex"], batch=batch) == {("who", "sex", "alike")}
    assert found(table, ["sex"], batch=batch, rows_per_person=2) == set()


def test_values_of_a_part_stay_whole(monkeypatch):
    monkeypatch.setattr(value_sample, "MOST_KEPT", 500)
    who, x = np.repeat(np.arange(3000), 3), np.tile(np.arange(3), 3000)
    sample = ValueSample(bytes(32), "id")
    for a, b in zip(np.array_split(who, 7), np.array_split(x, 7), strict=True):
        sample.add(pa.array(a), [b])
    sizes = np.bincount(sample.groups())
    assert set(sizes) == {3}
    assert 100 < sizes.sum() <= 500
    assert np.bincount(sample.codes()[0]).tolist() == [len(sizes)] * 3


def test_a_repeated_identifier_is_found_by_its_name():
    n = 2000
    table = pa.table({"sex": RNG.choice(["f", "m"], 2 * n), "person_id": np.tile(np.arange(n), 2)})
    assert found(table, ["sex"]) == {("person_id", "", "identifier")}
    assert found(table.rename_columns(["sex", "score"]), ["sex"]) == set()


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


def test_every_kind_of_link_speaks_of_its_columns_and_not_of_values():
    for kind in ("alike", "function", "identifier", "order"):
        text = str(Link("who", "sex", kind))
        assert "'who'" in text
        assert "'sex'" in text or kind == "identifier"
    refuse_links([Link("who", "sex", "order")])
    with pytest.raises(PrivacyError, match="--allow"):
        refuse_links([Link("who", "sex", "alike")])


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
    [_, drafted] = survey_file(table).profiles
    assert drafted.kind == "identifier"
    with pytest.raises(PrivacyError, match=f"'{name}' looks like an identifier, and its values"):
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
            table, tmp_path / "out", columns=columns, alpha=1.0, ledger=False, design="paper"
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


def test_texts_have_equal_hashes_where_they_are_equal():
    texts = pa.array(["a", "b", None, "", "a", "ab" * 50, "ab" * 50]).slice(1)
    assert (
        len(set(value_sample.hashes(texts).tolist())) == 4
    )  # b, the empty one, a, and the long one
