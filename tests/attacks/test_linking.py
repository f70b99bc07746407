"""A shuffled file tells nothing by its order: not of the source, nor of another release of it.

The attacks get a plan that keeps almost everything, so that any order that is shared would show.
Each must succeed on files that are broken on purpose, and be no better than chance on the real.
"""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramble
from tests.attacks.seams import order_by_key, reorder, take_unproven

ROWS, NAMES = 3000, 300
CHANCE = 5.0
"""Standard deviations that chance does not reach: below one in a million."""

CODES = list(range(NAMES))
MARKS = pramble.randomized_response(CODES, 12.0)


@pytest.fixture(scope="module")
def people():
    """Records in order: every value marks ten neighbours."""
    return pa.table({"a": np.repeat(np.arange(NAMES), ROWS // NAMES)})


@pytest.fixture
def released(people, tmp_path, monkeypatch):
    """The released column as a reader has it."""
    take_unproven(monkeypatch, pramble.Plan({"a": MARKS}))

    def release(name="out", key=bytes(32)):
        made = pramble.release(
            people,
            tmp_path / name,
            columns={"a": {"categories": CODES}},
            central=100.0,
            design="records",
            delta=1e-5,
            tables=1,
            key=key,
            ledger=False,
            pages=False,
        )
        return pq.read_table(made.folder / "randomised.parquet")["a"].to_numpy()

    return release


def places(marks):
    """The mean place of the records of each mark."""
    return np.bincount(marks, np.arange(len(marks)), NAMES) / np.maximum(
        np.bincount(marks, minlength=NAMES), 1
    )


def by_rank(one, other):
    """Rank correlation of the mean places of marks in two files, in standard deviations."""
    ranks = [np.argsort(np.argsort(places(file))) for file in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1] * np.sqrt(NAMES - 1))


def by_row(one, other):
    """How many rows hold the same mark in both, beyond those of unlinked files."""
    expected, found = ROWS / NAMES, np.count_nonzero(one == other)
    return float((found - expected) / np.sqrt(expected))


def by_neighbours(one, other):
    """Pairs of marks that are neighbours in both files, beyond those of unlinked files."""
    pairs = [set(zip(file[:-1].tolist(), file[1:].tolist(), strict=True)) for file in (one, other)]
    expected = len(pairs[0]) * len(pairs[1]) / NAMES**2
    return float((len(pairs[0] & pairs[1]) - expected) / np.sqrt(expected))


def by_mirror(one, other):
    """The same against the other file read backwards."""
    return by_row(one, other[::-1])


ATTACKS = [by_rank, by_row, by_neighbours, by_mirror]


def kept(file, source):
    """The share of marks that a file kept, whatever their order."""
    return np.minimum(np.bincount(file, minlength=NAMES), np.bincount(source)).sum() / ROWS


def test_no_attack_finds_the_order_of_the_source(released, people):
    source, file = people["a"].to_numpy(), released()
    assert kept(file, source) > 0.98
    for attack in ATTACKS:
        assert abs(attack(file, source)) < CHANCE, attack.__name__


def test_two_releases_of_the_same_people_share_no_order(released):
    one, other = released("one", bytes(32)), released("other", bytes([1] * 32))
    for attack in ATTACKS:
        assert abs(attack(one, other)) < CHANCE, attack.__name__


def test_the_attacks_succeed_where_an_order_is_shared(released, monkeypatch):
    """Power: releases in the order of one key are linked by every attack that looks for it."""
    reorder(monkeypatch, lambda rows, _: order_by_key(rows, bytes(32)))
    one, other = released("one", bytes(32)), released("other", bytes([1] * 32))
    for attack in (by_rank, by_row, by_neighbours):
        assert attack(one, other) > 3 * CHANCE, attack.__name__


def test_the_attacks_succeed_where_the_order_is_that_of_the_source(released, people, monkeypatch):
    """Power: files in order, and files whose halves alone are shuffled, are found out."""
    source = people["a"].to_numpy()

    def halves(rows, key):
        first = order_by_key(rows // 2, key)
        return np.concatenate([first, rows // 2 + first])

    reorder(monkeypatch, halves)
    assert by_rank(released("halves"), source) > 2 * CHANCE
    reorder(monkeypatch, lambda rows, _: np.arange(rows))
    file = released("as it is")
    assert by_row(file, source) > 3 * CHANCE
    assert by_neighbours(file, source) > 3 * CHANCE
