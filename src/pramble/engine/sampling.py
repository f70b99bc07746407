"""From a mechanism and secure words to drawn outputs, exactly.

A sampler is a function of (code, word, extra bits): over all :math:`2^{53}` of them each output of
a row appears exactly as often as its weight says.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.engine.alias import FULL, Width, alias_rows, index_bits
from pramble.engine.keystream import KeyStream, Rows, picked
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.general import General
from pramble.mechanisms.product import Product
from pramble.mechanisms.uniform import UniformRows

Codes = NDArray[Any]

PIECE = 1 << 16
"""Rows drawn at a time: their words fit the processor's second cache."""

COMPILED_ABOVE = 1 << 15
"""Fewer rows than this are drawn by NumPy, sooner than compiled code loads."""

CLOSED_FORM_ABOVE = 256
"""Uniform rows over more categories than this are drawn by division rather than from a table."""


def code_type(mechanism: Mechanism) -> Any:
    """Return the dtype in which codes of categories and outputs are held."""
    return np.uint8 if max(mechanism.shape) <= 256 else np.int32


class Sampler(ABC):
    """Draws outputs of one mechanism for rows of one column."""

    @abstractmethod
    def sample(self, codes: Codes, stream: KeyStream, *, rows: Rows, out: Codes) -> None:
        """Write the drawn output of each row to ``out``; codes of categories in, of outputs out."""


class WordSampler(Sampler):
    """Draws from one word per row, and further bits where the word does not decide."""

    @abstractmethod
    def exact(self, codes: Codes, words: Codes, extras: Codes) -> Codes:
        """Return the output that each (code, word, extra) stands for: the law itself."""

    @abstractmethod
    def fast(self, codes: Codes, words: Codes, *, out: Codes, ties: Codes) -> int:
        """Write what words alone decide; list the undecided rows and return their number."""

    def sample(self, codes: Codes, stream: KeyStream, *, rows: Rows, out: Codes) -> None:
        """Write the drawn output of each row to ``out``."""
        if len(codes) <= COMPILED_ABOVE and "pramble.engine.kernels" not in sys.modules:
            out[:] = self.exact(codes, stream.words(rows), stream.extras(rows))
            return
        ties = np.empty(PIECE, dtype=np.int64)
        for start in range(0, len(codes), PIECE):
            piece = slice(start, start + PIECE)
            part = rows[piece]
            self.draw(
                codes[piece],
                stream.words(part),
                out=out[piece],
                ties=ties,
                extras_at=partial(extras_of, stream, part),
            )

    def draw(
        self,
        codes: Codes,
        words: Codes,
        *,
        out: Codes,
        ties: Codes,
        extras_at: Callable[[Codes], Codes],
    ) -> None:
        """Draw by the compiled kernel and settle its ties with the bits of ``extras_at``."""
        tied = ties[: self.fast(codes, words, out=out, ties=ties)]
        if len(tied):
            out[tied] = self.exact(codes[tied], words[tied], extras_at(tied))


def extras_of(stream: KeyStream, rows: Rows, positions: Codes) -> Codes:
    """Return the further bits of the rows at some positions."""
    return stream.extras(picked(rows, positions))


@dataclass(frozen=True)
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
        """Return the output that each (code, word, extra) stands for."""
        cell = words >> np.uint32(self.width.word - self.index_bits)
        at = (codes.astype(np.int64) << self.index_bits) | cell
        entry = self.table[at]
        cut = (entry >> np.uint64(32)).astype(np.uint32)
        own = (words < cut) | ((words == cut) & (extras < self.low[at]))
        return np.where(own, cell, entry.astype(np.uint32))

    def fast(self, codes: Codes, words: Codes, *, out: Codes, ties: Codes) -> int:
        """Write what words alone decide and list the other rows."""
        from pramble.engine.kernels import draw_alias

        shift = self.width.word - self.index_bits
        return int(draw_alias(codes, words, self.table, self.index_bits, shift, out, ties))


@dataclass(frozen=True)
class UniformSampler(WordSampler):
    """Draws from uniform rows by comparing and dividing; stores two numbers per category."""

    keep: NDArray[np.int64]
    off: NDArray[np.int64]
    width: Width

    def exact(self, codes: Codes, words: Codes, extras: Codes) -> Codes:
        """Return the output that each (code, word, extra) stands for."""
        x = codes.astype(np.int64)
        unit = (words.astype(np.int64) << self.width.extra) | extras
        step = (unit - self.keep[x]) // np.maximum(self.off[x], 1)
        return np.where(unit < self.keep[x], x, step + (step >= x))

    def fast(self, codes: Codes, words: Codes, *, out: Codes, ties: Codes) -> int:
        """Write what words alone decide and list the other rows."""
        from pramble.engine.kernels import draw_uniform

        return int(draw_uniform(codes, words, self.keep, self.off, self.width.extra, out, ties))


@dataclass(frozen=True)
class ProductSampler(Sampler):
    """Draws each factor of a product from a stream of its own."""

    factors: tuple[Sampler, ...]
    types: tuple[Any, ...]
    shapes: tuple[tuple[int, int], ...]

    def sample(self, codes: Codes, stream: KeyStream, *, rows: Rows, out: Codes) -> None:
        """Write the drawn output of each row to ``out``."""
        digits = np.unravel_index(codes, [S for S, _ in self.shapes])
        drawn = []
        for position, factor in enumerate(self.factors):
            digit = digits[position].astype(self.types[position])
            part = np.empty_like(digit)
            factor.sample(digit, stream.child(str(position)), rows=rows, out=part)
            drawn.append(part.astype(np.int64))
        out[:] = np.ravel_multi_index(drawn, [T for _, T in self.shapes])


@singledispatch
def sampler(mechanism: Mechanism) -> Sampler:
    """Return the sampler of a mechanism; new kinds of mechanism register theirs here."""
    return AliasSampler.of(mechanism.weights)


@sampler.register
def _(mechanism: General) -> Sampler:
    return AliasSampler.of(mechanism.weights)


@sampler.register
def _(mechanism: UniformRows) -> Sampler:
    if len(mechanism.keep) > CLOSED_FORM_ABOVE:
        return UniformSampler(mechanism.keep, mechanism.off, FULL)
    return AliasSampler.of(mechanism.weights)


@sampler.register
def _(mechanism: Arcs) -> Sampler:
    if max(mechanism.shape) <= CLOSED_FORM_ABOVE:
        return AliasSampler.of(mechanism.weights)
    from pramble.engine.arcs import ArcsSampler

    return ArcsSampler(
        mechanism.positions,
        mechanism.slots,
        mechanism.width,
        mechanism.low,
        mechanism.high,
        mechanism.raised,
        FULL,
    )


@sampler.register
def _(mechanism: Product) -> Sampler:
    return ProductSampler(
        tuple(sampler(factor) for factor in mechanism.factors),
        tuple(code_type(factor) for factor in mechanism.factors),
        tuple(factor.shape for factor in mechanism.factors),
    )
