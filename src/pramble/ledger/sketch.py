r"""Keyed sketches of what a file holds, by which a copy of it is recognised.

A sketch survives other names of columns, another order of rows, and values that are recoded one to
one. Of a column in which most values are different, it holds the smallest keyed hashes: of two such
columns, those below the smaller of their largest hashes are a random sample of the values that both
were asked about, whatever the size of the two (bottom-k sketches). Of a column of few values it
holds how often each occurs, in order of size.

Samples of the same population differ by chance; a copy from which few rows are missing differs by
much less. With counts :math:`a_i, b_i` of :math:`n, m` rows, :math:`p_i = (a_i + b_i)/(n + m)`,

.. math:: X = \frac{nm}{n + m} \sum_i \frac{(a_i/n - b_i/m)^2}{p_i}

has about as many units as degrees of freedom where the people are others, and a share f of them
where a share f of the rows was exchanged. So files are taken to hold the same people where they
are *closer than chance*.
"""

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from pramble.data.arrays import dictionary_places
from pramble.data.vocabulary import is_identifier, who_is_named
from pramble.values import Floats, Integers, frozen

# Hashes of a column of identifiers: a file that holds a fiftieth of another shares some twenty.
HASHES = 1024
# Columns of more values have no profile.
MOST_VALUES = 1024
# Values of a profile, the commonest first; the others are counted together.
SHOWN_VALUES = 64
# The share of different values from which on a column may be of identifiers.
IDENTIFYING = 0.5
# The share of hashes in common that says that two columns are of the same people.
SHARED = 0.3
# So many hashes must be comparable for columns of identifiers to say that people are others, and so
# many in common, with twice those that chance makes common, say that some are the same.
LEAST_COMPARED = 8
# Fewer of a value are counted with the rest: X is then about as chance has it.
LEAST_COUNT = 5
# Standard deviations between two values in order of size, lest chance puts them in another order.
DISTINCT = 2.0
# A copy is closer than this share of what chance makes of others, by the closest columns.
CLOSER = 0.25
CLOSEST = 0.7
# Profiles of fewer degrees of freedom say nothing.
LEAST_FREEDOM = 8
# Whole numbers that fill more than this share of their range number rows and identify nobody.
DENSE = 0.3
# Bytes of a text that count.
LONGEST = 128
NUMBER = r"^-?\d{1,300}(\.\d*)?$"
BLOCK = 16
# Masks of the first bytes of a word.
FIRST = np.array([2 ** (8 * size) - 1 for size in range(9)], dtype=np.uint64)

Hashes = NDArray[np.uint64]
NO_HASHES: Hashes = np.zeros(0, dtype=np.uint64)
NO_PROFILE: Integers = np.zeros(0, dtype=np.int64)


@frozen(eq=False)
class ColumnSketch:
    """What is remembered of a column: hashes of identifiers, or a profile of few values.

    - ``is_lasting``: Whether other values mean other people, as those of an income or of a date do
      not: by the name of the column, or because the curator states that it says whose a row is.
    - ``chance``: The share of values that other people have by chance; 1 where nobody knows.
    """

    hashes: Hashes
    profile: Integers
    is_lasting: bool = False
    chance: float = 1.0

    @property
    def identifies(self) -> bool:
        return bool(len(self.hashes))


@frozen(eq=False)
class Sketch:
    """What is remembered of a file: of its rows, and of each column that says something."""

    rows: int
    columns: tuple[ColumnSketch, ...]

    def may_hold_the_people_of(self, other: "Sketch") -> bool | None:
        """Whether two files may hold the same people; None where what they hold does not decide."""
        is_lasting = False
        mine, theirs = ([c for c in own.columns if c.identifies] for own in (self, other))
        for one, two in product(mine, theirs):
            common, compared = shared(one.hashes, two.hashes)
            if compared < LEAST_COMPARED:
                continue
            by_chance = max(one.chance, two.chance) * compared
            if common >= min(SHARED * compared, LEAST_COMPARED + 2 * by_chance):
                return True
            is_lasting |= one.is_lasting and two.is_lasting
        closeness = self.closeness(other)
        if closeness is not None and closeness < CLOSER:
            return True
        # Other pseudonyms are not other people where nothing else tells the files apart.
        return False if is_lasting and closeness is not None else None

    def closeness(self, other: "Sketch") -> float | None:
        """Return X of the closest columns for each degree of freedom: about 1 for other people."""
        first, second = sorted((self, other), key=lambda own: len(profiles_of(own)))
        few, more, rows = profiles_of(first), profiles_of(second), (first.rows, second.rows)
        found = []
        for one in few:
            distances = (chi_squared(one, two, rows=rows) for two in more)
            found += sorted((pair for pair in distances if pair[1]), key=per_degree)[:1]
        closest = sorted(found, key=per_degree)[: math.ceil(CLOSEST * len(few))]
        freedom = sum(degrees for _, degrees in closest)
        if freedom < LEAST_FREEDOM:
            return None
        return sum(square for square, _ in closest) / freedom

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "columns": [
                [in_letters(c.hashes), c.profile.tolist(), c.is_lasting, c.chance]
                for c in self.columns
            ],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Sketch":
        columns = (
            ColumnSketch(
                np.frombuffer(base64.b64decode(text), dtype="<u8").astype(np.uint64),
                np.array(profile, dtype=np.int64),
                *more,
            )
            for text, profile, *more in document["columns"]
        )
        return cls(document["rows"], tuple(columns))


def in_letters(hashes: Hashes) -> str:
    return base64.b64encode(hashes.astype("<u8").tobytes()).decode()


def profiles_of(sketch: Sketch) -> list[Integers]:
    return [column.profile for column in sketch.columns if len(column.profile)]


def per_degree(pair: tuple[float, int]) -> float:
    return pair[0] / pair[1]


def shared(one: Hashes, two: Hashes) -> tuple[int, int]:
    """Return how many of the comparable hashes of the rarer column the other has, of how many."""
    # A column of fewer hashes than are kept has all of them.
    most = min((int(own[-1]) for own in (one, two) if len(own) == HASHES), default=2**64 - 1)
    one, two = one[one <= most], two[two <= most]
    return len(np.intersect1d(one, two, assume_unique=True)), min(len(one), len(two))


def chi_squared(one: Integers, two: Integers, *, rows: tuple[int, int]) -> tuple[float, int]:
    """Return X of two profiles of so many rows, and its degrees of freedom."""
    n, m = rows
    counts = np.array([np.pad(own, (0, SHOWN_VALUES - len(own))) for own in (one, two)])
    # As many as the smaller file has of each.
    few = counts.sum(axis=0) * min(n, m) / (n + m)
    common = int((few >= LEAST_COUNT).sum())
    if not common:
        return 0.0, 0
    few, counts = few[:common], counts[:, :common]
    # Values that chance may have put in another order are one cell.
    ends = few[:-1] - few[1:] > DISTINCT * np.sqrt(2 * few[:-1])
    cells = np.add.reduceat(counts, np.flatnonzero(np.append(True, ends)), axis=1)
    cells = np.column_stack([cells, np.array(rows) - cells.sum(axis=1)])
    cells = cells[:, cells.sum(axis=0) > 0]
    shares: Floats = cells.sum(axis=0) / (n + m)
    square = float((((cells[0] / n - cells[1] / m) ** 2) / shares).sum()) * n * m / (n + m)
    return square, cells.shape[1] - 1


class Gathered:
    """What was found in a column so far: hashes of its values, and their numbers while few."""

    def __init__(self, name: str, *, is_person: bool) -> None:
        self.is_person, self.whose = is_person, "person" if is_person else who_is_named(name)
        self.is_lasting = is_person or is_identifier(name)
        self.hashes: Hashes = np.zeros(0, dtype=np.uint64)
        self.counts = np.zeros(0, dtype=np.int64)
        self.is_few = True
        self.rows, self.missing = 0, 0
        self.least, self.most = math.inf, -math.inf  # of whole numbers; nothing if others occur

    def take(self, hashes: Hashes, counts: Integers) -> None:
        both = np.concatenate([self.hashes, hashes])
        self.hashes, place = np.unique(both, return_inverse=True)
        found = np.bincount(place, weights=np.concatenate([self.counts, counts]))
        self.counts = found.astype(np.int64)
        if len(self.hashes) > MOST_VALUES:
            self.is_few = False
        if not self.is_few:
            self.hashes, self.counts = self.hashes[:HASHES], self.counts[:HASHES]

    def merge(self, later: "Gathered") -> None:
        self.is_few &= later.is_few
        self.take(later.hashes, later.counts)
        self.rows += later.rows
        self.missing += later.missing
        self.bound(later.least, later.most)

    def bound(self, least: float, most: float) -> None:
        self.least, self.most = min(self.least, least), max(self.most, most)

    def sketch(self) -> ColumnSketch:
        """Return what is remembered; no hashes of numbers that fill their range, as of rows.

        Where the curator states that a column says whose a row is, they do not number rows.
        """
        different: float = len(self.hashes)
        if not self.is_few:
            different = (HASHES - 1) * 2.0**64 / float(self.hashes[-1])
        density = different / (self.most - self.least + 1) if len(self.hashes) else 0.0
        chance = min(density, 1.0) if self.whose else 1.0
        is_dense = density > DENSE and not self.is_person
        hashes, is_lasting = NO_HASHES if is_dense else self.hashes[:HASHES], self.is_lasting
        if different >= IDENTIFYING * (self.rows - self.missing) and different >= LEAST_COMPARED:
            return ColumnSketch(hashes, NO_PROFILE, is_lasting, chance)
        if not self.whose:
            hashes = NO_HASHES
        elif self.whose == "record":
            # It may be of a visit: the same people may have other ones.
            is_lasting = False
        profile = np.sort(np.append(self.counts, self.missing))[::-1]
        profile = profile[profile > 0][:SHOWN_VALUES] if self.is_few else NO_PROFILE
        return ColumnSketch(hashes, profile, is_lasting, chance)


class SketchJob:
    """Sketches some columns, of which one may say whose a row is: a job for a scan."""

    def __init__(self, columns: Sequence[str], key: bytes, *, person: Sequence[str] = ()) -> None:
        self.columns, self.key, self.rows = list(columns), key, 0
        # One of several columns that name somebody only together names nobody.
        alone = person if len(person) == 1 else ()
        self.found = {name: Gathered(name, is_person=name in alone) for name in columns}

    def add(self, batch: Any) -> None:
        self.rows += batch.num_rows
        for name, own in self.found.items():
            own.rows += batch.num_rows
            values = batch[name]
            if not isinstance(values, pa.Array):  # of several types, which Arrow cannot hold
                values = pa.array([None if one is None else str(one) for one in values])
            self._take(own, values)

    def _take(self, own: Gathered, values: Any) -> None:
        is_coded = pa.types.is_dictionary(values.type)
        if own.is_few and not is_coded and not pa.types.is_nested(values.type):
            values, is_coded = values.dictionary_encode(), True
        counts = np.ones(len(values), dtype=np.int64)
        if is_coded:
            size = len(values.dictionary)
            counts = np.bincount(dictionary_places(values, null=size), minlength=size + 1)[:size]
            own.missing += values.null_count
            values = values.dictionary
        hashes, valid = self._hashed(own, values)
        valid &= counts > 0
        own.missing += int(counts[~valid].sum())
        own.take(hashes[valid], counts[valid])

    def _hashed(self, own: Gathered, values: Any) -> tuple[Hashes, NDArray[np.bool_]]:
        """Return hashes, alike for 7, 7.0 and " 7", and which values there are."""
        encrypt = Cipher(algorithms.AES(self.key), modes.ECB()).encryptor().update  # noqa: S305
        kind, hashes = values.type, np.zeros(len(values), dtype=np.uint64)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            is_number = is_valid = ~np.isnan(numbers)
        else:
            try:
                texts = pc.utf8_lower(pc.utf8_trim_whitespace(values.cast(pa.large_string())))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # nested, or bytes
                return hashes, hashes > 0
            is_valid = texts.is_valid().to_numpy(zero_copy_only=False)
            found = pc.fill_null(pc.match_substring_regex(texts, NUMBER), fill_value=False)
            is_number = found.to_numpy(zero_copy_only=False)
            numbers = texts.filter(found).cast(pa.float64()).to_numpy()
            is_text = is_valid & ~is_number
            if is_text.any():
                own.bound(-math.inf, math.inf)
                hashes[is_text] = hashes_of_texts(texts.filter(pa.array(is_text)), encrypt)
        some = numbers[is_number] if len(numbers) == len(values) else numbers
        if len(some):
            whole = bool((some == np.floor(some)).all())
            own.bound(*((some.min(), some.max()) if whole else (-math.inf, math.inf)))
            blocks = np.column_stack([(some + 0.0).view(np.uint64), np.ones(len(some), np.uint64)])
            hashes[is_number] = sealed(blocks, encrypt)[:, 0]
        return hashes, is_valid

    def merge(self, later: "SketchJob") -> None:
        self.rows += later.rows
        for name, own in self.found.items():
            own.merge(later.found[name])

    def result(self) -> Sketch:
        found = (own.sketch() for own in self.found.values())
        return Sketch(self.rows, tuple(one for one in found if one.identifies or len(one.profile)))


def sealed(blocks: Hashes, encrypt: Callable[[bytes], bytes]) -> Hashes:
    return np.frombuffer(encrypt(blocks.tobytes()), dtype=np.uint64).reshape(-1, 2)


def hashes_of_texts(texts: Any, encrypt: Callable[[bytes], bytes]) -> Hashes:
    """Return 64 bits of a CBC-MAC of each text's beginning, all texts at a time."""
    _, ends, content = texts.buffers()
    offsets = np.frombuffer(ends, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(b"".join((content or b"", bytes(BLOCK))), dtype=np.uint8)
    # Eight bytes from each place on.
    words = np.ndarray(len(letters) - 7, np.uint64, letters.data, strides=(1,))
    lengths = np.minimum(np.diff(offsets), LONGEST)
    state: Hashes = np.zeros((len(texts), 2), dtype=np.uint64)
    for begin in range(0, int(lengths.max()) + 1, BLOCK):
        active = np.flatnonzero(lengths >= begin)
        at, left = offsets[:-1][active] + begin, lengths[active] - begin
        halves = (words[at + half] & FIRST[np.clip(left - half, 0, 8)] for half in (0, 8))
        state[active] = sealed(np.column_stack(list(halves)) ^ state[active], encrypt)
    return state[:, 0]
