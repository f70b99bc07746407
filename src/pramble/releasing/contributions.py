r"""At most k rows of each person are used: which ones, the secret key decides.

The j-th row of a person, in the order of the file, has the words
:math:`\operatorname{AES}_K(\text{person}, j)`; the k rows with the smallest are used. So they are a
random set of the person's rows, and depend on nobody else's.

A person is known by 64 bits of what the columns say. Two people who share them by chance count as
one, who has at most k rows: that costs rows, never privacy.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.records import LazyRecords, Records, TableRecords, scan
from pramble.data.selection import Selection, rows_moved, selected_records
from pramble.engine.keystream import KeyStream, derived_key
from pramble.engine.lattice_noise import lattice_noise
from pramble.engine.table_counts import (
    chained,
    in_part,
    person_texts,
    person_words,
    place_in_run,
)
from pramble.errors import InvalidData
from pramble.values import Integers, Reporter, frozen

# Rows whose people are held at once, 16 bytes each: of larger files the people are gone through in
# several parts, each in a pass of its own over the columns that name them.
MOST_HELD = 1 << 25

# Rows of a person that are told apart in the figures for the curator.
MOST_ROWS = 1000


@frozen(eq=False)
class Contributions:
    """How many people of a file have how many rows (raw).

    - ``people``: At place j the people with j rows; the last place has those with more, too.
    - ``most``: The most rows of one person.
    - ``key``: Decides which rows are used, and the noise of `choose_rows`.
    """

    people: Integers
    most: int
    key: bytes = field(repr=False)

    @property
    def count(self) -> int:
        return int(self.people.sum())

    def over(self, rows: int) -> int:
        """Return how many people have more than so many rows."""
        return int(self.people[rows + 1 :].sum())

    def left_out(self, rows: int) -> int:
        """Return how many rows are not used where at most so many of each person are."""
        beyond = np.maximum(np.arange(len(self.people)) - rows, 0)
        return int(self.people @ beyond)

    def choose_rows(self, precision: float, *, least: float) -> int:
        r"""Return a number of rows by noisy counts, which spend :math:`\mu^2 = 2u` on a person.

        Rows are added while it is nearly sure that more people than ``least`` have more of them. A
        person in the place of another moves at most two of the counts, by one each.
        """
        counts = np.array([self.people[part].sum() for part in LADDER_PARTS], dtype=np.int64)
        bound = derived_key(self.key, "chosen", repr(precision), *map(str, counts.tolist()))
        noise = lattice_noise(KeyStream(bound, "people"), len(counts), scale=1, precision=precision)
        noisy = counts + np.asarray(noise, dtype=np.int64)
        for place, rows in enumerate(LADDER[:-1]):
            above = noisy[place + 1 :]
            if above.sum() <= least + SURE * math.sqrt(len(above) / precision):
                return rows
        return LADDER[-1]


# Standard deviations of the noise from which on more people have more rows.
SURE = 2.0
# Numbers of rows that may be chosen, and the people who have more than one and up to the next.
LADDER = (1, 2, 3, 4, 5, 8, 12, 20, 40)
LADDER_PARTS = [slice(low + 1, high + 1) for low, high in pairwise((0, *LADDER))]
LADDER_PARTS.append(slice(LADDER[-1] + 1, None))


class PeopleJob:
    """Gathers whose each row is, of one part of the people: a job for a scan."""

    def __init__(self, columns: Sequence[str], *, part: int = 0, bits: int = 0) -> None:
        self.columns, self.part, self.bits, self.rows = list(columns), part, bits, 0
        self.marks: list[bytes] = []
        self.mark = hashlib.sha256()
        self.people: list[NDArray[np.uint64]] = []
        self.places: list[Integers] = []

    def add(self, batch: Any) -> None:
        first = self.rows + 1  # people count rows from one
        words = person_words([person_texts(batch[name], name, first) for name in self.columns])
        self.mark.update(words.tobytes())
        self._hold(words, self.rows + np.arange(batch.num_rows))
        self.rows += batch.num_rows

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: of a part that was seen, the mark of its rows in their order."""
        marks = [*self.marks, self.mark.digest()] if self.rows and not self.marks else self.marks
        return {**self.__dict__, "marks": marks, "mark": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, mark=hashlib.sha256())

    def _hold(self, words: NDArray[np.uint64], places: Integers) -> None:
        own = in_part(words, part=self.part, bits=self.bits)
        self.people.append(words[own])
        self.places.append(places[own])
        # Only the first part may halve itself: how many parts there are is decided by it.
        while not self.part and sum(map(len, self.people)) > MOST_HELD:
            self.bits += 1
            chosen = [in_part(words, part=0, bits=self.bits) for words in self.people]
            for held in (self.people, self.places):
                held[:] = [np.concatenate([a[b] for a, b in zip(held, chosen, strict=True)])]

    def merge(self, later: "PeopleJob") -> None:
        if later.bits > self.bits:  # a part of the file may have been the first to halve itself
            self.bits, held = later.bits, (self.people, self.places)
            self.people, self.places = [], []
            for words, places in zip(*held, strict=True):
                self._hold(words, places)
        for words, places in zip(later.people, later.places, strict=True):
            self._hold(words, places + self.rows)
        self.rows += later.rows
        self.marks += later.marks

    def by_person(self) -> tuple[NDArray[np.uint64], Integers, Integers]:
        """Return people, one after the other, and for each row its number and its place in them."""
        words, places = np.concatenate(self.people), np.concatenate(self.places)
        order = np.argsort(words, kind="stable")
        words = words[order]
        again = np.concatenate([[False], words[1:] == words[:-1]])
        return words, places[order], place_in_run(again)


def bounded(
    records: Records, columns: Sequence[str], *, rows: int | None, secret: bytes, reporter: Reporter
) -> tuple[Records, Contributions]:
    """Return the records with at most so many rows of each person, and what people have.

    Without a number the records stay as they are.
    """
    if rows is not None and isinstance(records, LazyRecords):
        # Another engine may give rows in another order next time.
        table = records.collect(records.frame)
        records = TableRecords(table, records.backend, records.reading, records.name)

    def watch(count: int, share: float) -> None:
        reporter.report("counting rows of people", share, rows=count)

    key = derived_key(secret, "rows of a person")
    people = np.zeros(MOST_ROWS + 1, dtype=np.int64)
    unused: list[Integers] = []
    marks: list[bytes] = []
    most = total = part = bits = 0
    while not part or part < 1 << bits:
        job = PeopleJob(columns, part=part, bits=bits)
        total = scan(records, [job], watch=watch)
        if not total:
            raise InvalidData(f"{records.name!r} has no rows; there is nothing to release.")
        if part and job.marks != marks:
            raise rows_moved(total)
        bits, part, marks = job.bits, part + 1, job.marks
        words, places, ranks = job.by_person()
        if not len(words):
            continue
        last = np.concatenate([ranks[1:] == 0, [True]])
        found = ranks[last] + 1
        people += np.bincount(np.minimum(found, MOST_ROWS), minlength=len(people))
        most = max(most, int(found.max()))
        if rows is not None and found.max() > rows:
            over = np.repeat(found > rows, found)
            unused.append(places[over][~first_of_each(words[over], ranks[over], rows, key=key)])
    contributions = Contributions(people[: most + 1], most, key)
    if not unused:
        return records, contributions
    mask = np.ones(total, dtype=bool)
    mask[np.concatenate(unused)] = False
    selection = Selection.of(mask, marks)
    return selected_records(records, selection, PeopleJob(columns)), contributions


def first_of_each(
    words: NDArray[np.uint64], ranks: Integers, rows: int, *, key: bytes
) -> NDArray[np.bool_]:
    """Return which rows are among the first so many of their person in a random order."""
    order = chained(key, np.stack([words, ranks.astype(np.uint64)], axis=1))
    by_order = np.lexsort([order[:, 1], order[:, 0], words])
    again = np.concatenate([[False], words[by_order][1:] == words[by_order][:-1]])
    found = np.empty(len(words), dtype=bool)
    found[by_order] = place_in_run(again) < rows
    return found
