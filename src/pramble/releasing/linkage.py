r"""Whether a column that is released as it is tells a protected one.

α covers what is randomised. An untouched column goes beyond it where rows that share one of its
values are alike in a protected column (it names the person, the household, or a finer version of
the same thing), where it is a function of a protected column (a copy, a coarser version), and where
sorting by it gives back an order that goes with the protected values.

For a row :math:`i` whose value of :math:`U` is shared, let :math:`a_i` be the share of the other
rows with that value that have the same :math:`X`. With :math:`\bar a` the mean over those rows and
:math:`q = \sum_x p_x^2` what chance gives,

.. math:: \kappa = \frac{\bar a - q}{1 - q}

is 0 for independent columns and 1 where :math:`U` determines :math:`X`.
"""

import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import even_batches, without_dictionary
from pramble.data.encode import Levels
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.records import Records
from pramble.errors import PrivacyError
from pramble.releasing.value_sample import MOST_SAMPLED, ValueSample
from pramble.values import Integers, frozen

# Rows with a shared value from which on their likeness is judged.
LEAST_ROWS = 20

# κ from which on a column tells another: in groups of rows, in small groups, and as a function.
# In small groups the other rows of a person are few, and half of them alike say enough; in large
# ones chance alone makes many alike. 0.99 allows for errors in the data.
ALIKE, ALIKE_IN_SMALL_GROUPS, SMALL, FUNCTION = 0.9, 0.5, 20.0, 0.99

# Distinct values for each row, from which on a column is taken as one that names rows.
NEARLY_UNIQUE = 0.05

SENTENCES = {
    "alike": "Rows that share a value of {0.column!r} are alike in {0.protected!r}: together they "
    "tell it, whatever α is.",
    "function": "Column {0.column!r} follows from {0.protected!r}, which it tells as it is.",
    "order": "Sorting by {0.column!r} puts the rows in an order that goes with {0.protected!r}, "
    "and neighbours tell it, shuffled or not.",
}


# An order is said to go with a column from so many standard deviations of a random order on, and
# from so large a share of neighbours away from chance: a smaller one reveals next to nothing.
DEVIATIONS, LEAST_EXCESS = 6.0, 0.05


@dataclass
class Neighbours:
    """How many pairs of neighbouring rows were met, and in how many both have the same value."""

    pairs: int = 0
    equal: int = 0
    first: int | None = None
    last: int | None = None

    def add(self, codes: Integers) -> None:
        """Add the codes of one batch of rows."""
        if len(codes):
            same = int(np.count_nonzero(codes[1:] == codes[:-1]))
            self.merge(Neighbours(len(codes) - 1, same, int(codes[0]), int(codes[-1])))

    def merge(self, later: "Neighbours", place: Integers | None = None) -> None:
        """Add the rows that follow, of whose codes ``place`` gives the codes here."""
        if later.first is None or later.last is None:
            return
        first, last = later.first, later.last
        if place is not None:
            first, last = int(place[first]), int(place[last])
        self.pairs += later.pairs + (self.last is not None)
        self.equal += later.equal + (self.last == first)
        self.first = first if self.first is None else self.first
        self.last = last

    def follow_values(self, counts: Iterable[int]) -> bool:
        r"""Whether neighbours are alike more or less often than in a random order of the values.

        A pair is alike by chance with probability :math:`q = \sum_x p_x^2`, and
        :math:`q(1-q) + 2(\sum_x p_x^3 - q^2)` for each pair bounds the variance of their number.

        >>> [Neighbours(99, equal).follow_values([50, 50]) for equal in (98, 51)]
        [True, False]
        """
        found = [count for count in counts if count]
        rows = max(sum(found), 1)
        q, cubes = (sum((count / rows) ** power for count in found) for power in (2, 3))
        # Rounding may take the variance of a constant column a little below zero.
        spread = math.sqrt(self.pairs * max(q * (1 - q) + 2 * (cubes - q * q), 0.0))
        excess = abs(self.equal - q * self.pairs)
        return excess > max(DEVIATIONS * spread, LEAST_EXCESS * (1 - q) * self.pairs)


@frozen
class Link:
    """An untouched column that tells a protected one."""

    column: str
    protected: str
    kind: str

    def __str__(self) -> str:
        return SENTENCES[self.kind].format(self)


class Links:
    """Samples the untouched columns beside the protected ones, batch by batch.

    One sample takes every :math:`2^j`-th row. Of columns that nearly name rows a second one takes
    every row of a random :math:`2^{-j}` of the values, so that rows that share one stay together.
    """

    # Which rows are taken depends on their numbers, on their values and on the key, and j on all
    # rows together; so samples of consecutive rows under one key merge into the sample of all of
    # them.

    def __init__(
        self,
        untouched: Sequence[str],
        protected: Sequence[str],
        *,
        key: bytes | None = None,
        first_row: int = 0,
    ) -> None:
        self.columns, self.protected = list(untouched), list(protected)
        self.key = secrets.token_bytes(32) if key is None else key
        self.first_row, self.rows, self.step = first_row, 0, 1
        self.sampled: list[pa.Table] = []
        self.values: dict[str, ValueSample] | None = None

    def add(self, batch: Any, protected: Mapping[str, Integers]) -> None:
        codes = {f"{i}": protected[name] for i, name in enumerate(self.protected)}
        table = pa.table(
            [*(batch[name] for name in self.columns), *map(pa.array, codes.values())],
            names=[*(f"u{i}" for i in range(len(self.columns))), *codes],
        )
        self.sampled.append(
            every(table, self.step, start=-(self.first_row + self.rows) % self.step)
        )
        self.thin(self.step)
        if self.values is None:
            # The first batch decides for the whole file, so a later part cannot leave columns out
            # yet.
            wanted = is_scalar if self.first_row else is_nearly_unique
            self.values = {
                name: ValueSample(self.key, name)
                for i, name in enumerate(self.columns)
                if wanted(table[f"u{i}"])
            }
        for name, sample in self.values.items():
            sample.add(without_dictionary(batch[name]), list(codes.values()))
        self.rows += batch.num_rows

    def thin(self, least: int, *, values: bool = False) -> None:
        """Keep every so many rows at least, and fewer where they are too many; or values, too."""
        for sample in (self.values or {}).values() if values else ():
            sample.bits = max(sample.bits, least.bit_length() - 1)
            sample.thin()
        while self.step < least or sum(map(len, self.sampled)) > MOST_SAMPLED:
            # The rows that stay are those whose number in the whole file is divisible by twice the
            # step.
            odd = -(-self.first_row // self.step) % 2
            self.step *= 2
            together = pa.concat_tables(self.sampled, promote_options="permissive")
            self.sampled = [every(together, 2, start=odd)]

    def merge(self, later: "Links") -> None:
        if not later.rows:
            return
        step = max(self.step, later.step)
        other = deepcopy(later)
        if self.sampled:
            self.thin(step)
        other.thin(step)
        self.step = step
        self.sampled += other.sampled
        self.thin(step)
        if self.values is None:
            self.values = other.values
        else:
            for name, sample in self.values.items():
                sample.merge((other.values or {})[name])
        self.rows += later.rows

    def found(self, *, rows_per_person: int) -> Iterator[Link]:
        table = pa.concat_tables(self.sampled, promote_options="permissive")
        protected = {name: table[f"{i}"].to_numpy() for i, name in enumerate(self.protected)}
        for i, name in enumerate(self.columns):
            values = without_dictionary(table[f"u{i}"]).combine_chunks()
            if not is_scalar(values):
                continue
            places, near = value_codes(values), (self.values or {}).get(name)
            if near is None:
                yield from links_in_groups(name, places, protected, rows=rows_per_person)
                for other, codes in protected.items():
                    if likeness(codes, places) >= FUNCTION:
                        yield Link(name, other, "function")
                continue
            codes_near = dict(zip(protected, near.codes(), strict=True))
            yield from links_in_groups(name, near.groups(), codes_near, rows=rows_per_person)
            if is_nearly_unique(values):
                yield from links_by_order(name, values, protected)


def links_in_groups(
    name: str, groups: Integers, protected: Mapping[str, Integers], *, rows: int
) -> Iterator[Link]:
    """Yield the columns in which rows that share a value are alike.

    Nothing where no value is shared by more rows than a person has.
    """
    sizes = np.bincount(groups[groups >= 0])
    if not sizes.size or sizes.max() <= rows:
        return
    small = sizes[sizes > 1].mean() <= SMALL
    enough = ALIKE_IN_SMALL_GROUPS if small else ALIKE
    yield from (
        Link(name, other, "alike")
        for other, codes in protected.items()
        if likeness(groups, codes) >= enough
    )


def links_at_the_start(
    records: Records, untouched: Sequence[str], protected: Sequence[str], *, rows_per_person: int
) -> tuple[Link, ...]:
    """Return what the first rows of a file show, from as many as a sample holds on."""
    links, levels = Links(untouched, protected), {name: Levels(name) for name in protected}
    names = [*protected, *untouched]
    if not untouched:
        return ()
    here = records.here(names, rows=BATCH_ROWS)
    for batch in even_batches(here.batches(names, coded=list(protected)), BATCH_ROWS):
        links.add(batch, {name: levels[name].codes(batch[name]) for name in protected})
        if links.rows >= MOST_SAMPLED:
            break
    return tuple(links.found(rows_per_person=rows_per_person))


def refuse_links(links: Sequence[Link]) -> None:
    """Refuse untouched columns that tell protected ones; an order is only told."""
    found = [link for link in links if link.kind != "order"]
    if not found:
        return
    names = list(dict.fromkeys(link.column for link in found))
    listed = ", ".join(repr(name) for name in names)
    raise PrivacyError(
        "\n".join(str(link) for link in found)
        + f"\nLeave such columns out (drop, --drop), randomise them too, say whose rows they are "
        f"(person = {names[0]!r}, --person: α is then that of a person with all rows), or release "
        f"them knowingly (allow, --allow): {listed}."
    )


def every(table: pa.Table, step: int, *, start: int = 0) -> pa.Table:
    return table if step == 1 else table.take(pa.array(np.arange(start, len(table), step)))


def is_scalar(values: Any) -> bool:
    odd = (pa.types.is_nested, pa.types.is_run_end_encoded, pa.types.is_null)
    return not any(check(values.type) for check in odd)


def is_nearly_unique(values: Any) -> bool:
    """Whether a column has so many distinct values that it nearly names rows."""
    filled = len(values) - values.null_count
    return (
        is_scalar(values)
        and pc.count_distinct(without_dictionary(values)).as_py() > NEARLY_UNIQUE * filled > 0
    )


def value_codes(values: Any) -> Integers:
    coded = values.dictionary_encode()
    indices = coded.indices.cast(pa.int64()).fill_null(-1)
    return np.asarray(indices.to_numpy(zero_copy_only=False))


def likeness(groups: Integers, codes: Integers) -> float:
    r"""Return κ: how much more alike in their codes rows of one group are than by chance.

    >>> groups = np.arange(60) // 2
    >>> likeness(groups, groups % 2), round(likeness(groups, np.arange(60) % 2), 2)
    (1.0, -1.0)
    """
    known = (groups >= 0) & (codes >= 0)
    groups, codes = groups[known].astype(np.int64), codes[known]
    if not len(groups):
        return 0.0
    width = int(codes.max()) + 1
    # The cells that occur and how often: by counting, unless they are few among many.
    cells = groups * width + codes
    if (int(groups.max()) + 1) * width > 4 * len(cells):
        cells, counts = np.unique(cells, return_counts=True)
    else:
        counts = np.bincount(cells)
        cells = np.flatnonzero(counts)
        counts = counts[cells]
    sizes = np.bincount(groups)[cells // width]
    shared = sizes > 1
    cells, counts, sizes = cells[shared], counts[shared], sizes[shared]
    rows = counts.sum()
    if rows < LEAST_ROWS:
        return 0.0
    alike = float((counts * (counts - 1) / (sizes - 1)).sum() / rows)
    shares = np.bincount(cells % width, weights=counts) / rows
    chance = float(shares @ shares)
    # A constant column is alike everywhere and reveals nothing.
    return 0.0 if chance > 1 - 1e-9 else (alike - chance) / (1 - chance)


def links_by_order(name: str, values: Any, protected: Mapping[str, Integers]) -> Iterator[Link]:
    """Yield the protected columns that go with the order of a column's values.

    Neighbours that share a value do not count.
    """
    filled = len(values) - values.null_count
    order = pc.sort_indices(values).to_numpy()[:filled]
    places = value_codes(values)[order]
    differ = places[1:] != places[:-1]
    for other, codes in protected.items():
        equal = (codes[order][1:] == codes[order][:-1])[differ]
        neighbours = Neighbours(len(equal), int(np.count_nonzero(equal)))
        if neighbours.follow_values(np.bincount(codes).tolist()):
            yield Link(name, other, "order")
