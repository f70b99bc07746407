"""One key, many uses: what differs has bits of its own, and what does not is the same."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import CATEGORIES, COLUMNS, central, crowd, views_that_keep

import pramble
from pramble.engine.order import random_order
from pramble.releasing.decisions.parsing import decisions_from
from pramble.releasing.prepare.part import parts_of
from pramble.releasing.write.secret import bound_key, part_key

KEY = bytes(range(32))
PLAN = views_that_keep(2.0)
DECISIONS = decisions_from({"central": 3.0, "delta": 1e-5, "columns": COLUMNS})


def key_of(key=KEY, digest="d", plan=PLAN, decisions=DECISIONS):
    return bound_key(key, digest, plan=plan, decisions=decisions)


def other_decisions():
    """The decisions with one thing changed, each."""
    yield replace(DECISIONS, central=3.0000001)
    yield replace(DECISIONS, delta=1e-6)
    yield replace(DECISIONS, views=False)
    yield replace(DECISIONS, rows_per_person=2)
    yield replace(DECISIONS, drop=("id",))
    yield replace(DECISIONS, output="csv")
    yield replace(DECISIONS, tables=1)
    yield replace(DECISIONS, possible=({"never": {"sex": "f"}, "repair": {"sex": "m"}},))
    for change in (
        {"missing": "f"},
        {"missing": True},
        {"recode": {"trim": True}},
        {"recode": {"merge": {"f": ("w",)}}},
        {"recode": {"missing_values": ("?",)}},
    ):
        first, *rest = DECISIONS.columns
        yield replace(DECISIONS, columns=(replace(first, **change), *rest))
    for reading in (
        {"separator": ";"},
        {"missing": ("f",)},
        {"recode": {"sex": {"merge": {"m": ["f"]}}}},
        {"recode": {"sex": {"merge": {"m": ["w"]}}}},
    ):
        yield replace(DECISIONS, reading=pramble.Reading(**reading))


def test_a_key_is_bound_to_everything_that_makes_a_release():
    keys = [
        key_of(),
        key_of(key=bytes(32)),
        key_of(digest="e"),
        key_of(plan=views_that_keep(2.0000001)),
        key_of(plan=PLAN["sex-ill"]),
        key_of(plan=pramble.Views(dict(list(PLAN.items())[::-1]))),
        key_of(plan=pramble.Views(list(PLAN.values())[:1])),
        *(key_of(decisions=changed) for changed in other_decisions()),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of() == keys[0]


def test_each_view_has_a_key_of_its_own_and_none_is_the_whole():
    parts = parts_of(PLAN, list(CATEGORIES), data_file="data.parquet")
    keys = [key_of(), *(part_key(key_of(), part) for part in parts)]
    assert len(set(keys)) == 3
    orders = [random_order(2000, key=key) for key in keys]
    for one, other in combinations(orders, 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(2000)


@pytest.fixture
def folders(tmp_path, given_plan):
    """Releases under one key; the bytes of each file of each."""
    people, made = crowd(2000), iter(range(99))

    def release(plan=PLAN, people=people, **options):
        given_plan(plan)
        settings = {"central": 30.0, "tables": 2, "key": KEY, **options}
        folder = central(people, tmp_path / str(next(made)), **settings).folder
        return {path.name: path for path in (folder / "views").iterdir()}

    return release


def contents(files):
    return {name: path.read_bytes() for name, path in files.items()}


def test_the_same_key_data_and_decisions_give_the_same_bytes(folders):
    first = contents(folders())
    assert contents(folders()) == first
    assert contents(folders(key=bytes(32))) != first
    assert contents(folders(key=None)) != contents(folders(key=None))


def agreement(one, other):
    """Rows of a view that are alike in two releases, in standard deviations beyond chance."""
    first, second = (pq.read_table(path) for path in (one, other))
    cells = [list(zip(*(t[name].to_pylist() for name in t.column_names), strict=True))
             for t in (first, second)]  # fmt: skip
    rows = len(cells[0])
    shares = [{cell: own.count(cell) / rows for cell in set(own)} for own in cells]
    chance = sum(share * shares[1].get(cell, 0) for cell, share in shares[0].items())
    alike = sum(a == b for a, b in zip(*cells, strict=True))
    return (alike - rows * chance) / np.sqrt(rows * chance * (1 - chance))


@pytest.mark.parametrize(
    "change",
    [
        {"plan": views_that_keep(2.0001)},
        {"rows_per_person": 2},
        {"delta": 1e-6},
        {"tables": 1},
        {"people": crowd(2000).slice(1)},
        {"key": bytes(32)},
    ],
)
def test_a_changed_setting_shares_neither_order_nor_draws(folders, change):
    """Under one key, equal places of two releases hold equal cells no oftener than by chance."""
    one, other = folders(), folders(**change)
    assert list(one) == list(other)
    for name in one:
        short = agreement(one[name], other[name]) if "people" not in change else 0.0
        assert abs(short) < 5
    if "people" in change:
        assert contents(one) != contents(other)


def test_equal_bits_would_be_seen(folders, monkeypatch):
    """Power: a key that is bound to nothing makes two plans agree in nearly every row."""
    from importlib import import_module

    verb = import_module("pramble.releasing.release")
    monkeypatch.setattr(verb, "bound_key", lambda *_, **__: bytes(32))
    one, other = folders(), folders(views_that_keep(2.0001))
    assert all(agreement(one[name], other[name]) > 20 for name in one)


def test_recodings_given_with_the_reading_have_bits_of_their_own(tmp_path):
    """The same file, plan and key; another recoding makes other records, and draws anew."""
    people = crowd(500).select(["sex"])
    pq.write_table(people, tmp_path / "people.parquet")

    def release(name, into):
        made = pramble.release(
            tmp_path / "people.parquet",
            tmp_path / name,
            columns={"sex": COLUMNS["sex"]},
            alpha=1.0,
            design="paper",
            prior="uniform",
            reading={"recode": {"sex": {"merge": {into: ["nobody"]}}}},
            key=KEY,
            ledger=False,
            pages=False,
        )
        return pramble.open_release(made.folder).data["sex"].to_pylist()

    one, other = release("one", "f"), release("other", "m")
    same = release("same", "f")
    assert one == same
    assert one != other
