r"""Contingency tables of declared categories, in one pass; of at most k rows of each person.

Which rows of a person are counted the secret key says. They are known by their cells alone, and the
rows of one cell are numbered, so that

.. math:: \operatorname{AES-CBC-MAC}_K(\text{person},\ \text{cell},\ \text{number})

orders them at random in a way that depends on nothing else: not on other people, nor on the order
of the rows, nor on the engine that holds them. The first k in this order are counted.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramble.data.arrays import finite_numbers, without_dictionary
from pramble.data.crosstab import group, grouped_batches
from pramble.data.encode import Encoder, UndeclaredValues
from pramble.data.labels import Labels
from pramble.data.records import LazyRecords, Records, Watch, changes_values, scan
from pramble.engine.keystream import derived_key
from pramble.errors import InvalidData, InvalidInput, PrambleError, bad_row
from pramble.mechanisms.table_plan import TableWeights
from pramble.values import Floats, Integers

Columns = tuple[str, ...]


class TableCounter:
    """Exact counts of every cell of some tables: a job for `pramble.data.records.scan`.

    Tables that lie within others are left out: they are margins. Of a column of weights, where one
    is named, their sums are counted too, in units, and the sum of their squares.
    """

    def __init__(
        self,
        tables: Sequence[Columns],
        labels: Mapping[str, Labels],
        *,
        typed: bool,
        nulls: Mapping[str, Any] | None = None,
        weights: tuple[str, TableWeights] | None = None,
        decimal: str | None = None,
    ) -> None:
        sets = {frozenset(table): table for table in tables}
        self.tables = tuple(t for one, t in sets.items() if not any(one < other for other in sets))
        self.columns: list[str] = list(
            dict.fromkeys(name for table in self.tables for name in table)
        )
        empty = nulls or {}
        self.encoders = {
            name: Encoder(labels[name], name, from_text=not typed, null_label=empty.get(name))
            for name in self.columns
        }
        self.weights, self.decimal = weights, decimal
        if weights is not None:
            self.columns.append(weights[0])
        self.squares = self.cut = 0  # squared weights together; rows whose weights are cut
        self.shapes = {t: tuple(len(labels[name]) for name in t) for t in self.tables}
        self.sums: dict[tuple[Columns, bool], Integers] = {}  # of rows, and of weights
        self.undeclared = UndeclaredValues()
        self.rows = 0

    def add(self, batch: Any, times: Integers | None = None) -> None:
        self.add_codes(self.codes(batch, times), times)

    def codes(self, batch: Any, times: Integers | None = None) -> dict[str, Integers]:
        """Return the codes of a batch, whose rows count as seen."""
        rows = range(self.rows, self.rows + batch.num_rows)
        self.rows += batch.num_rows if times is None else int(times.sum())
        found = {
            name: self.undeclared.codes(own, batch[name], rows)
            if times is None
            else self.undeclared.codes_of_groups(own, batch[name], times)
            for name, own in self.encoders.items()
        }
        if self.weights is not None:
            name, weights = self.weights
            own = weights_in(batch[name], name, None if times is not None else rows, self.decimal)
            found[name] = weights.units(own)
        return found

    def add_codes(self, codes: Mapping[str, Integers], times: Integers | None = None) -> None:
        for table in self.tables:
            place = codes[table[0]].astype(np.int64)
            for name, size in zip(table[1:], self.shapes[table][1:], strict=True):
                place *= size  # several times as fast as np.ravel_multi_index
                place += codes[name]
            self._add(table, place, times)
            if self.weights is not None:
                own = np.minimum(codes[self.weights[0]], self.weights[1].most)
                self._add(table, place, times, own.astype(np.int64))
        if self.weights is not None:
            own, weights = codes[self.weights[0]].astype(np.int64), self.weights[1]
            number = np.ones(len(own), dtype=np.int64) if times is None else times
            self.cut += int(number[own > weights.most].sum())
            self.squares += int(weights.squared(np.minimum(own, weights.most)) @ number)

    def _add(
        self, table: Columns, place: Integers, times: Integers | None, own: Integers | None = None
    ) -> None:
        sums = self._sums(table, is_weighted=own is not None)
        if times is None and len(sums) <= len(place):
            # sums of the weights of a batch are exact as floats: below 2^53
            sums += np.bincount(place, own, minlength=len(sums)).astype(np.int64)
            return
        number = own if times is None else times if own is None else times * own
        # a large table is not gone through for each batch
        np.add.at(sums, place, 1 if number is None else number)

    def _sums(self, table: Columns, *, is_weighted: bool = False) -> Integers:
        """Return the counts of a table, made when they are first needed: jobs travel empty."""
        if (table, is_weighted) not in self.sums:
            size = math.prod(self.shapes[table])
            self.sums[table, is_weighted] = np.zeros(size, dtype=np.int64)
        return self.sums[table, is_weighted]

    def merge(self, later: "TableCounter") -> None:
        for (table, is_weighted), sums in later.sums.items():
            self._sums(table, is_weighted=is_weighted)[:] += sums
        self.squares, self.cut = self.squares + later.squares, self.cut + later.cut
        self.undeclared.merge(later.undeclared, self.rows)
        self.rows += later.rows

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: filled cells, in numbers as narrow as they may be."""
        sums = {}
        for table, own in self.sums.items():
            filled = np.flatnonzero(own)
            parts = filled, own[filled]
            sums[table] = [part.astype(np.min_scalar_type(part.max(initial=0))) for part in parts]
        return {**self.__dict__, "sums": sums}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, sums={})
        for (table, is_weighted), (filled, counts) in state["sums"].items():
            self._sums(table, is_weighted=is_weighted)[filled] = counts

    def refuse_undeclared(self) -> None:
        self.undeclared.refuse(self.columns)

    @property
    def counts(self) -> dict[Columns, Integers]:
        """The counts of each table, one axis a column in the order of its declared labels."""
        return self._tables(is_weighted=False)

    @property
    def weighted(self) -> dict[Columns, Integers]:
        """The sums of weights of each table, in units."""
        return self._tables(is_weighted=True)

    def _tables(self, *, is_weighted: bool) -> dict[Columns, Integers]:
        self.refuse_undeclared()
        return {
            table: self._sums(table, is_weighted=is_weighted).reshape(self.shapes[table])
            for table in self.tables
        }


def weights_in(values: Any, name: str, rows: range | None, decimal: str | None) -> Floats:
    """Return the weights of rows, or of groups of rows that have no places."""
    try:
        found = finite_numbers(values, name, rows=rows, decimal=decimal)
    except InvalidData:
        if rows is not None:
            raise
        raise InvalidData(
            f"Weights must be finite numbers; column {name!r} holds others."
        ) from None
    if negative := np.flatnonzero(found < 0).tolist():
        if rows is None:
            raise InvalidData(f"Weights must not be negative; column {name!r} holds one that is.")
        raise bad_row(
            f"Weights must not be negative; column {name!r} is below zero in row ",
            rows.start + negative[0],
            ". Leave the row out, or weigh it 0.",
        )
    return found


BLOCK = 16
# Rows of people that are held at once, some 100 bytes each: of more, people are counted in several
# parts, each in a pass of its own over the data.
MOST_HELD = 1 << 24
ARROW = pa.Array | pa.ChunkedArray


class PersonCounts:
    """Tables of at most so many rows of each person: a job for `pramble.data.records.scan`.

    ``together`` says that whoever has rows in a part of the data has all of them there: then a part
    sends its tables, else its rows. People are counted in parts where they are many: ``bits`` says
    in how many, and the job of the first part decides it.
    """

    def __init__(
        self,
        tables: TableCounter,
        person: Sequence[str],
        most: int,
        *,
        secret: bytes,
        together: bool = False,
        part: int = 0,
        bits: int = 0,
    ) -> None:
        self.tables, self.person, self.most, self.together = tables, list(person), most, together
        self.part, self.bits = part, bits
        self.secret = derived_key(secret, "rows of a person")
        self.columns = list(dict.fromkeys([*tables.columns, *person]))
        self.codes: list[NDArray[np.int32]] = []
        self.people: list[list[Any]] = []
        self.times: list[Integers] = []
        self.words: list[NDArray[np.uint64]] = []

    def add(self, batch: Any, times: Integers | None = None) -> None:
        start = self.tables.rows if times is None else None
        codes = np.array(list(self.tables.codes(batch, times).values()), dtype=np.int32)
        texts = [person_texts(batch[name], name, start) for name in self.person]
        self.codes.append(codes)
        self.people.append(texts)
        self.times.append(np.ones(batch.num_rows, dtype=np.int64) if times is None else times)
        self.words.append(person_words(texts))
        self.thin(len(self.words) - 1)
        while not (self.part or self.together) and sum(map(len, self.words)) > MOST_HELD:
            self.bits += 1
            self.thin(0)

    def thin(self, first: int) -> None:
        """Drop the rows of people of other parts."""
        for place in range(first, len(self.words) if self.bits else 0):
            own = in_part(self.words[place], part=self.part, bits=self.bits)
            self.words[place], self.times[place] = self.words[place][own], self.times[place][own]
            self.codes[place] = self.codes[place][:, own]
            self.people[place] = [texts.filter(pa.array(own)) for texts in self.people[place]]

    def merge(self, later: "PersonCounts") -> None:
        self.tables.merge(later.tables)
        self.codes += later.codes
        self.people += later.people
        self.times += later.times
        self.words += later.words

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: tables, where nobody has rows elsewhere."""
        if self.together:
            self.settle()
        return self.__dict__

    def settle(self) -> None:
        if not self.codes:
            return
        codes, times = np.concatenate(self.codes, axis=1), np.concatenate(self.times)
        people = [pa.concat_arrays(texts) for texts in zip(*self.people, strict=True)]
        self.codes, self.people, self.times, self.words = [], [], [], []
        ids = [texts.dictionary_encode().indices.to_numpy().astype(np.int64) for texts in people]
        sizes = [int(own.max(initial=0)) + 1 for own in ids]
        member, first = group(ids, sizes, rows=len(times))
        rows_of = np.zeros(len(first), dtype=np.int64)
        np.add.at(rows_of, member, times)
        over = (rows_of > self.most)[member]
        self._add(codes[:, ~over], times[~over])
        if over.any():
            some, own = np.unique(member[over], return_inverse=True)
            names = [texts.take(pa.array(first[some])).to_pylist() for texts in people]
            digests = [person_digest(self.secret, parts) for parts in zip(*names, strict=True)]
            each = np.repeat(np.arange(len(own)), times[over])
            codes, own = codes[:, over][:, each], own[each]
            chosen = rows_counted(
                codes, own, digests, key=derived_key(self.secret, "order"), most=self.most
            )
            self._add(codes[:, chosen], np.ones(len(chosen), dtype=np.int64))

    def _add(self, codes: NDArray[np.int32], times: Integers) -> None:
        names = self.tables.columns
        by_name = {name: own.astype(np.int64) for name, own in zip(names, codes, strict=True)}
        self.tables.add_codes(by_name, times)


def count_by_person(
    records: Records,
    job: TableCounter,
    person: Sequence[str],
    *,
    most: int,
    secret: bytes,
    watch: Watch | None = None,
) -> None:
    """Count at most so many rows of each person, in as many passes as memory needs."""
    empty, part, bits = deepcopy(job), 0, 0
    while not part or part < 1 << bits:
        tables = deepcopy(empty) if part else job
        together = records.rows_stay
        own = PersonCounts(
            tables, person, most, secret=secret, together=together, part=part, bits=bits
        )
        count_everywhere(records, own, watch=watch)
        own.tables.refuse_undeclared()
        own.settle()
        if part:
            job.merge(own.tables)
        part, bits = part + 1, own.bits


def count_everywhere(
    records: Records, job: "TableCounter | PersonCounts", *, watch: Watch | None = None
) -> None:
    """Show a job all rows, wherever they are."""
    if isinstance(records, LazyRecords) and not changes_values(records.reading):
        for batch, times in grouped_batches(records, job.columns):
            job.add(batch, times)
    elif isinstance(job, PersonCounts) and records.rows_stay:
        count_on_spark(records, job, watch)
    else:
        scan(records, [job], watch=watch)


def count_on_spark(records: Any, job: PersonCounts, watch: Watch | None) -> None:
    """Count where the rows are, after all rows of a person have come to one part of them."""
    if any(records.reading.recode.get(name) for name in job.person):
        raise InvalidInput(
            "On Spark a column that says whose a row is cannot be recoded: rows are brought "
            f"together by it. Recode {', '.join(job.person)} in the frame."
        )
    here = records.gathered_by(job.person, job.columns)
    spare = deepcopy(job)
    try:
        scan(here, [job], watch=watch)
        job.tables.refuse_undeclared()
    except PrambleError:
        # rows were moved: an error is to name them by the places that the caller knows
        scan(records, [spare])
        spare.tables.refuse_undeclared()
        raise


def person_texts(values: Any, name: str, start: int | None) -> Any:
    """Return what says whose each row is, as text: the same for 7, "7" and " 07", "A" and "a".

    Missing ones are refused.
    """
    try:
        array = without_dictionary(values if isinstance(values, ARROW) else pa.array(values))
        if pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
            array = array.cast(pa.int64())  # pandas and databases hold whole numbers so
        texts = array.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise InvalidData(
            f"Column {name!r} must say whose each row is by text or whole numbers; it holds others."
        ) from None
    if texts.null_count:
        gone = int(np.flatnonzero(texts.is_null().to_numpy(zero_copy_only=False))[0])
        before = f"Column {name!r} must say whose each row is; "
        after = "says nothing. Fill it in, or leave the row out."
        if start is None:
            raise InvalidData(f"{before}some row {after}")
        raise bad_row(f"{before}row ", start + gone, f" {after}")
    # Two spellings of one person are worse than one of two: the former would have twice the rows.
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    texts = pc.replace_substring_regex(texts, NUMBER, r"\1")
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


# A whole number as files without types have it, such as 007 and 7.0.
NUMBER = r"^\+?0*(\d+)(\.0*)?$"


def text_hashes(texts: Any) -> NDArray[np.uint64]:
    """Return 64 bits for each text, on every machine the same."""
    from pramble.engine.kernels import hash_texts

    _, ends, data = texts.buffers()
    places = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    found = hash_texts(places, np.frombuffer(data if data is not None else b"", np.uint8))
    return np.asarray(found, dtype=np.uint64)


# An odd number with no pattern in its bits, as a multiplier of hashes: 2^64 over the golden ratio.
ODD = np.uint64(0x9E3779B97F4A7C15)


def person_words(texts: Sequence[Any]) -> NDArray[np.uint64]:
    """Return 64 bits for each row that follow from what several columns say of whose it is."""
    found = np.zeros(len(texts[0]), dtype=np.uint64)
    for column in texts:
        found = (found * ODD + text_hashes(column)) * ODD
        found ^= found >> np.uint64(29)
    return found


def in_part(words: NDArray[np.uint64], *, part: int, bits: int) -> Any:
    """Return which rows are of people of a part, of as many as the bits can tell apart."""
    return slice(None) if not bits else words >> np.uint64(64 - bits) == part


def person_digest(secret: bytes, parts: Sequence[str]) -> bytes:
    """Return the block that stands for a person; texts are parted by their lengths."""
    message = "".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.blake2b(message.encode(), key=secret, digest_size=BLOCK).digest()


def rows_counted(
    codes: NDArray[np.int32], own: Integers, digests: Sequence[bytes], *, key: bytes, most: int
) -> Integers:
    """Return which rows are counted: of each person so many that come first in random order.

    ``codes`` has a line for each column, ``own`` says whose each row is, by place in ``digests``.
    """
    words = chained(key, np.frombuffer(b"".join(digests), np.uint64).reshape(-1, 2)[own])
    filled = -len(codes) % 4
    cells = np.pad(codes, ((0, filled), (0, 0))).T.copy().view(np.uint64)
    for start in range(0, cells.shape[1], 2):
        words = chained(key, words ^ cells[:, start : start + 2])
    # rows of one person and cell have the same words by now, and others have other ones
    order = np.lexsort([words[:, 1], words[:, 0]])
    again = np.all(words[order[1:]] == words[order[:-1]], axis=1)
    words[order, 0] ^= place_in_run(np.concatenate([[False], again])).astype(np.uint64)
    words = chained(key, words)
    order = np.lexsort([words[:, 1], words[:, 0], own])
    again = np.concatenate([[False], own[order[1:]] == own[order[:-1]]])
    return np.asarray(order[place_in_run(again) < most])


def place_in_run(again: NDArray[np.bool_]) -> Integers:
    """Return how many places each entry is behind the start of its run."""
    places = np.arange(len(again))
    return places - np.maximum.accumulate(np.where(again, 0, places))


def chained(key: bytes, blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the encryption of each block of 16 bytes, one step of CBC."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    cipher = Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305 - a step of CBC-MAC, fixed length
    encrypted = cipher.encryptor().update(np.ascontiguousarray(blocks).tobytes())
    return np.frombuffer(encrypted, dtype="<u8").reshape(-1, 2).copy()
