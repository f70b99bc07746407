"""Views that nobody can link: positions in one say nothing of positions in another, or in the file.

The attacks get plans that keep almost everything, so that any order that views share would show.
Each must succeed on views that are broken on purpose, and be no better than chance on the real.
"""

from importlib import import_module
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramble
from pramble.data.frame_records import TableRecords
from pramble.engine.order import random_order
from pramble.releasing.prepare import central_design
from pramble.solvers.record.result import RecordDesign

contents = import_module("pramble.releasing.write.contents")

ROWS, NAMES = 3000, 300
CHANCE = 5.0
"""Standard deviations that chance does not reach: below one in a million."""

CODES = list(range(NAMES))
MARKS = pramble.randomized_response(CODES, 12.0)
VIEWS = pramble.Views([{"a": MARKS}, {"b": MARKS}, {"c": MARKS}])
STATED = SimpleNamespace(epsilon=90.0, delta=1e-5, rows_per_person=1, lower=0.0, method="none")
COSTS = dict.fromkeys([("a",), ("b",), ("c",)], 1e-6)
DESIGN = RecordDesign(VIEWS, 36.1, "estimation", 3.0, 3.0, COSTS, central=STATED)
"""What is proven of so little noise is beside the point here."""


@pytest.fixture(scope="module")
def people():
    """Records whose three columns are equal, sorted: every value marks ten neighbours."""
    mark = np.repeat(np.arange(NAMES), ROWS // NAMES)
    return pa.table({"a": mark, "b": mark, "c": mark})


@pytest.fixture
def released(people, tmp_path, monkeypatch):
    """The columns of each view as a reader has them."""
    monkeypatch.setattr(central_design, "design_record", lambda *_, **__: DESIGN)
    monkeypatch.setattr(contents, "observed_record", lambda record, _, **__: record)

    def release(name="out", key=bytes(32)):
        made = pramble.release(
            people,
            tmp_path / name,
            columns={name: {"categories": CODES} for name in "abc"},
            central=100.0,
            delta=1e-5,
            tables=1,
            key=key,
            ledger=False,
            pages=False,
        )
        return {
            name: pq.read_table(made.folder / "views" / f"{name}.parquet")[name].to_numpy()
            for name in VIEWS
        }

    return release


def places(marks):
    """The mean place of the records of each mark."""
    return np.bincount(marks, np.arange(len(marks)), NAMES) / np.maximum(
        np.bincount(marks, minlength=NAMES), 1
    )


def by_rank(one, other):
    """Rank correlation of the mean places of marks in two views, in standard deviations."""
    ranks = [np.argsort(np.argsort(places(view))) for view in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1] * np.sqrt(NAMES - 1))


def by_row(one, other):
    """How many rows hold the same mark in both, beyond those of unlinked views."""
    expected, found = ROWS / NAMES, np.count_nonzero(one == other)
    return float((found - expected) / np.sqrt(expected))


def by_neighbours(one, other):
    """Pairs of marks that are neighbours in both views, beyond those of unlinked views."""
    pairs = [set(zip(view[:-1].tolist(), view[1:].tolist(), strict=True)) for view in (one, other)]
    expected = len(pairs[0]) * len(pairs[1]) / NAMES**2
    return float((len(pairs[0] & pairs[1]) - expected) / np.sqrt(expected))


def by_mirror(one, other):
    """The same against the other view read backwards."""
    return by_row(one, other[::-1])


ATTACKS = [by_rank, by_row, by_neighbours, by_mirror]


def kept(view, source):
    """The share of marks that a view kept, whatever their order."""
    return np.minimum(np.bincount(view, minlength=NAMES), np.bincount(source)).sum() / ROWS


def test_no_attack_links_the_views(released, people):
    views = released()
    source = people["a"].to_numpy()
    assert all(kept(view, source) > 0.98 for view in views.values())
    for attack in ATTACKS:
        for one, other in combinations(views.values(), 2):
            assert abs(attack(one, other)) < CHANCE, attack.__name__


def test_no_attack_finds_the_order_of_the_file(released, people):
    source = people["a"].to_numpy()
    for view in released().values():
        for attack in ATTACKS:
            assert abs(attack(view, source)) < CHANCE, attack.__name__


def test_two_releases_of_the_same_people_share_no_order(released):
    one, other = released("one", bytes(32)), released("other", bytes([1] * 32))
    for name in VIEWS:
        for attack in ATTACKS:
            assert abs(attack(one[name], other[name])) < CHANCE, attack.__name__


def test_the_attacks_succeed_where_an_order_is_shared(released, monkeypatch):
    """Power: views in the order of one key are linked by every attack that looks for it."""

    def shared(records, names, *, rows, key, **_):
        table = pa.Table.from_batches(list(records.batches(list(names))))
        order = pa.array(random_order(rows, key=bytes(32)))
        return as_records(table.take(order), records)

    monkeypatch.setattr(contents, "shuffled", shared)
    views = released()
    for attack in (by_rank, by_row, by_neighbours):
        for one, other in combinations(views.values(), 2):
            assert attack(one, other) > 3 * CHANCE, attack.__name__


def test_the_attacks_succeed_where_the_order_is_that_of_the_file(released, people, monkeypatch):
    """Power: unshuffled views, and views whose halves alone are shuffled, are found out."""
    source = people["a"].to_numpy()

    def halves(records, names, *, rows, key, **_):
        table = pa.Table.from_batches(list(records.batches(list(names))))
        first = random_order(rows // 2, key=key)
        order = pa.array(np.concatenate([first, rows // 2 + first]))
        return as_records(table.take(order), records)

    monkeypatch.setattr(contents, "shuffled", halves)
    for view in released("halves").values():
        assert by_rank(view, source) > 2 * CHANCE
    monkeypatch.setattr(contents, "shuffled", lambda records, *_, **__: records)
    for view in released("as it is").values():
        assert by_row(view, source) > 3 * CHANCE
        assert by_neighbours(view, source) > 3 * CHANCE


def as_records(table, records):
    """A table in place of the shuffled records."""
    return TableRecords(table, name=records.name, has_types=records.typed)
