r"""From a mechanism and secure words to drawn outputs, exactly.

A sampler is a function of (code, word, extra bits): over all :math:`2^{53}` of them each output of
a row appears exactly as often as its weight says. Many rows are drawn over several threads.

**Alias tables in integers.** A row of :math:`T` weights with sum :math:`2^B` is laid into
:math:`K = 2^k \ge T` cells that hold :math:`2^{B-k}` units each, at most two outputs to a cell:
cell :math:`c` belongs to output :math:`c` below its threshold :math:`t_c` and to the output
:math:`a_c` from there on. Because K is a power of two, :math:`B` random bits name a unit exactly:
the top :math:`k` bits the cell, the rest the unit in it. Output z is then drawn with weight exactly
:math:`w_z`; nothing is rounded and nothing is rejected.
"""

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.arrays import Rows, picked
from pramble.data.encode import Codes
from pramble.engine.keystream import KeyStream
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import UniformRows
from pramble.values import Integers, frozen

# Rows drawn at a time: their words and the arrays made of them fit the processor's second cache.
PIECE = 1 << 14

# So many values are drawn by NumPy before compiled code has loaded.
COMPILED_ABOVE = 1 << 23

# Uniform rows over more categories than this are drawn by division rather than from a table.
CLOSED_FORM_ABOVE = 256

_drawn = [0]


def is_compiled(rows: int) -> bool:
    """Whether a process has drawn enough for compiled code to pay for its loading.

    It changes nothing but the speed: either way draws what :meth:`WordSampler.exact` says.
    """
    _drawn[0] += rows
    return _drawn[0] > COMPILED_ABOVE or "pramble.engine.kernels" in sys.modules


def code_type(*sizes: int) -> Any:
    """Return the dtype in which codes of so many categories and outputs are held."""
    return np.uint8 if max(sizes) <= 256 else np.int32


@frozen
class Width:
    """How many bits the first word of a row has, and how many more settle a tie."""

    word: int
    extra: int

    @property
    def bits(self) -> int:
        return self.word + self.extra


FULL = Width(word=32, extra=21)


class WordSampler(ABC):
    """Draws from one word per row, and further bits where the word does not decide."""

    width: Width

    @abstractmethod
    def exact(self, codes: Codes, words: Codes, extras: Codes) -> Codes:
        """Return the output that each (code, word, extra) stands for: the distribution itself."""

    @abstractmethod
    def decide_compiled(self, codes: Codes, words: Codes, *, out: Codes, ties: Integers) -> int:
        """Write what words alone say; list the rows where they do not decide, and count them."""

    def decide(self, codes: Codes, words: Codes) -> tuple[Codes, Integers]:
        """Return what words alone say, and the rows in which further bits can change it.

        The units of a word that give one output follow each other, so a word decides if the least
        and the greatest further bits agree.
        """
        if is_compiled(len(codes)):
            out, ties = np.empty_like(codes), np.empty(len(codes), dtype=np.int64)
            return out, ties[: self.decide_compiled(codes, words, out=out, ties=ties)]
        least = np.zeros(len(words), dtype=np.uint32)
        greatest = np.full(len(words), (1 << self.width.extra) - 1, dtype=np.uint32)
        drawn = self.exact(codes, words, least)
        return drawn, np.flatnonzero(drawn != self.exact(codes, words, greatest))

    def draw(self, codes: Codes, words: Codes, *, extras_at: Callable[[Codes], Codes]) -> Codes:
        drawn, tied = self.decide(codes, words)
        if len(tied):
            drawn[tied] = self.exact(codes[tied], words[tied], extras_at(tied))
        return drawn

    def sample(self, codes: Codes, stream: KeyStream, *, rows: Rows, out: Codes) -> None:
        """Write the drawn output of each row to ``out``; codes of categories in, of outputs out."""
        for start in range(0, len(codes), PIECE):
            piece = slice(start, start + PIECE)

            def extras_at(tied: Codes, part: Rows = rows[piece]) -> Codes:
                return stream.extras(picked(part, tied))

            words = stream.words(rows[piece])
            out[piece] = self.draw(codes[piece], words, extras_at=extras_at)


def index_bits(outputs: int) -> int:
    """Return the smallest k ≥ 1 with :math:`2^k` at least the number of outputs."""
    return max(1, (outputs - 1).bit_length())


def fill_row(weights: Integers, capacity: int, threshold: Integers, other: Integers) -> None:
    """Lay one row of weights into cells of ``capacity`` units (Walker; here in integers).

    On return cell c belongs to output c below ``threshold[c]`` and to ``other[c]`` from there on.
    A full cell has threshold 0 and itself as the other, so every threshold is below the capacity.
    """
    cells = len(threshold)
    left = np.zeros(cells, dtype=np.int64)
    left[: len(weights)] = weights
    scanty = np.empty(cells, dtype=np.int64)
    ample = np.empty(cells, dtype=np.int64)
    few = many = 0
    for cell in range(cells):
        threshold[cell] = 0
        other[cell] = cell
        if left[cell] < capacity:
            scanty[few] = cell
            few += 1
        else:
            ample[many] = cell
            many += 1
    while few:
        few -= 1
        cell = scanty[few]
        donor = ample[many - 1]
        threshold[cell] = left[cell]
        other[cell] = donor
        left[donor] -= capacity - left[cell]
        if left[donor] < capacity:
            many -= 1
            scanty[few] = donor
            few += 1


# So many cells are filled by Python in the time in which compiled code is loaded.
FILLED_BY_PYTHON = 1 << 19

_filled = [0]


@lru_cache(maxsize=1)
def compiled_fill_row() -> Any:
    from pramble.compiled import compiled

    return compiled(fill_row)


def alias_rows(weights: Integers, *, width: Width = FULL) -> tuple[Integers, Integers]:
    """Return thresholds and other outputs, each of shape (S, 2**k)."""
    S, T = weights.shape
    k = index_bits(T)
    threshold = np.empty((S, 1 << k), dtype=np.int64)
    other = np.empty((S, 1 << k), dtype=np.int64)
    fill: Any = fill_row
    _filled[0] += threshold.size
    if _filled[0] > FILLED_BY_PYTHON:
        fill = compiled_fill_row()
    for row in range(S):
        fill(weights[row], 1 << (width.bits - k), threshold[row], other[row])
    return threshold, other


@frozen(eq=False)
class AliasSampler(WordSampler):
    """Draws from an alias table: threshold and other output of a cell packed in 64 bits."""

    table: NDArray[np.uint64]
    low: NDArray[np.uint32]
    index_bits: int
    width: Width

    @classmethod
    def of(cls, weights: Codes, *, width: Width = FULL) -> "AliasSampler":
        """Return the sampler of a matrix of integer weights over ``2**width.bits``."""
        k = index_bits(weights.shape[1])
        threshold, other = alias_rows(weights, width=width)
        cut = (np.arange(1 << k) << (width.word - k)) + (threshold >> width.extra)
        low = threshold & ((1 << width.extra) - 1)
        packed = (cut.astype(np.uint64) << np.uint64(32)) | other.astype(np.uint64)
        return cls(packed.ravel(), low.astype(np.uint32).ravel(), k, width)

    def exact(self, codes: Codes, words: Codes, extras: Codes) -> Codes:
        cell = words >> np.uint32(self.width.word - self.index_bits)
        at = (codes.astype(np.int64) << self.index_bits) | cell
        entry = self.table[at]
        cut = (entry >> np.uint64(32)).astype(np.uint32)
        own = (words < cut) | ((words == cut) & (extras < self.low[at]))
        return np.where(own, cell, entry.astype(np.uint32))

    def decide_compiled(self, codes: Codes, words: Codes, *, out: Codes, ties: Integers) -> int:
        from pramble.engine.kernels import draw_alias

        shift = self.width.word - self.index_bits
        return int(draw_alias(codes, words, self.table, self.index_bits, shift, out, ties))


@frozen(eq=False)
class UniformSampler(WordSampler):
    """Draws from uniform rows by comparing and dividing; stores one number per category."""

    off: Integers
    width: Width

    def exact(self, codes: Codes, words: Codes, extras: Codes) -> Codes:
        x = codes.astype(np.int64)
        unit = (words.astype(np.int64) << self.width.extra) | extras
        off = self.off[x]
        moved = unit - ((1 << self.width.bits) - (len(self.off) - 1) * off)
        step = moved // np.maximum(off, 1)
        return np.where(moved < 0, x, step + (step >= x))

    def decide_compiled(self, codes: Codes, words: Codes, *, out: Codes, ties: Integers) -> int:
        from pramble.engine.kernels import draw_uniform

        total, extra = 1 << self.width.bits, self.width.extra
        return int(draw_uniform(codes, words, self.off, total, extra, out, ties))


@frozen(eq=False)
class ArcSampler(WordSampler):
    """Draws a distance on the circle, which has one law for every category, and walks it back.

    ``lengths`` are the numbers of slots with the weights in ``steps``, from the position on.
    """

    positions: Integers
    slots: Integers
    lengths: tuple[int, int, int]
    steps: tuple[int, int, int]
    width: Width

    @cached_property
    def bounds(self) -> tuple[Integers, Integers]:
        """The first distance and the first unit of each of the three stretches."""
        units = [length * step for length, step in zip(self.lengths, self.steps, strict=True)]
        return np.cumsum([0, *self.lengths[:2]]), np.cumsum([0, *units[:2]])

    def exact(self, codes: Codes, words: Codes, extras: Codes) -> Codes:
        unit = (words.astype(np.int64) << self.width.extra) | extras
        distances, units = self.bounds
        stretch = (unit >= units[1]).astype(np.int64) + (unit >= units[2])
        steps = np.array(self.steps)
        distance = distances[stretch] + (unit - units[stretch]) // steps[stretch]
        return np.asarray(self.slots[(self.positions[codes] - distance) % len(self.slots)])

    def decide_compiled(self, codes: Codes, words: Codes, *, out: Codes, ties: Integers) -> int:
        from pramble.engine.kernels import draw_arc

        circle = (self.positions, self.slots)
        stretches = (*self.bounds, np.array(self.steps))
        return int(draw_arc(codes, words, circle, stretches, self.width.extra, out, ties))


def sampler(mechanism: Mechanism, *, slim: bool = False) -> WordSampler:
    """Return the sampler of a mechanism; a slim one has no table where there is a closed form."""
    if isinstance(mechanism, Arcs):
        T, W, r = len(mechanism.slots), mechanism.width, mechanism.raised
        steps = (mechanism.high + 1, mechanism.high, mechanism.low)
        return ArcSampler(mechanism.positions, mechanism.slots, (r, W - r, T - W), steps, FULL)
    if isinstance(mechanism, UniformRows) and (slim or len(mechanism.off) > CLOSED_FORM_ABOVE):
        return UniformSampler(mechanism.off, FULL)
    return AliasSampler.of(mechanism.weights)


# What calls a function on each of some items, in order: ``map``, or that of a pool of threads.
Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

# Fewer rows than this are drawn by one thread.
THREADED_ABOVE = 1 << 19


def available_threads() -> int:
    """Return how many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def each_column(threads: int) -> Iterator[Each]:
    """Yield what maps over the columns of a batch: in turn, unless several threads are to spare.

    Reading and writing keep one busy.
    """
    if threads < 3:
        yield map
        return
    with ThreadPoolExecutor(threads - 1) as pool:
        yield pool.map


def draw_rows(
    sampler: WordSampler, codes: Codes, *, stream: KeyStream, rows: Rows, threads: int
) -> Codes:
    """Return the drawn output of each row, in the dtype of the codes."""
    out = np.empty_like(codes)
    if threads < 2 or len(codes) < THREADED_ABOVE:
        sampler.sample(codes, stream, rows=rows, out=out)
        return out

    def draw(span: slice) -> None:
        sampler.sample(codes[span], stream, rows=rows[span], out=out[span])

    step = -(-len(codes) // threads)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(draw, [slice(i, i + step) for i in range(0, len(codes), step)]))
    return out
