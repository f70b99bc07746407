"""Files cut into small batches, so that few rows make many."""

import pytest

from pramble.data.formats import arrow, base, delimited, programs
from pramble.engine import files
from pramble.engine.shuffle import in_word_order, sorting_words


@pytest.fixture
def small_batches(monkeypatch):
    for module in (base, arrow, files):
        monkeypatch.setattr(module, "BATCH_ROWS", 211)
    monkeypatch.setattr(base.sliced, "__defaults__", (211,))
    monkeypatch.setattr(delimited, "BLOCK", 5000)
    monkeypatch.setattr(programs, "BATCH_ROWS", 500)
    monkeypatch.setattr(arrow, "GROUP_ROWS", 1024)


@pytest.fixture
def small_groups(monkeypatch):
    monkeypatch.setattr(arrow, "GROUP_ROWS", 1024)
    monkeypatch.setattr(arrow, "BATCH_ROWS", 512)


def random_order(rows, *, key):
    """The secret order of so many rows, sorted at once."""
    return in_word_order(sorting_words(range(rows), key=key))
