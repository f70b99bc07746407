"""The noise is exactly a Gaussian rounded to the lattice, whichever way a draw is settled."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.tables.exact import Bits, ball, masses, size_of_tail, size_of_word, upper_tail

from pramble.engine.keystream import KeyStream
from pramble.engine.lattice_noise import (
    TABLE_ERROR,
    TOP,
    lattice_noise,
    magnitudes,
    nearest_root,
    tail,
)

TWO64 = 2**64
LAST = 2**63 - 1
SCALES = [Fraction(3, 10), Fraction(1), Fraction(27, 10), Fraction(1000), Fraction(10**9)]


def p_value(found, expected):
    """The p-value of Pearson's test; cells of few expected draws are taken together."""
    few = expected < 10
    found = np.append(found[~few], found[few].sum())
    expected = np.append(expected[~few], expected[few].sum())
    keep = expected > 0
    distance = ((found[keep] - expected[keep]) ** 2 / expected[keep]).sum()
    return chi2.sf(distance, keep.sum() - 1)


@pytest.mark.parametrize("s", [0.3, 1.0, 2.7])
def test_draws_have_the_exact_law_and_no_law_nearby(s):
    draws, reach = 200_000, math.ceil(9 * s)
    stream = KeyStream(bytes(32), f"law {s}")
    noise = lattice_noise(stream, draws, scale=1, precision=1 / s**2)
    assert np.abs(noise).max() <= reach
    found = np.bincount(noise + reach, minlength=2 * reach + 1)

    def p(factor):
        return p_value(found, draws * masses(Fraction(s * factor) ** 2, reach))

    assert p(1.0) > 1e-3
    assert max(p(1.05), p(0.95)) < 1e-9


def test_lattice_and_precision_enter_as_one_scale():
    one = lattice_noise(KeyStream(bytes(32), "a"), 1000, scale=6, precision=0.25)
    other = lattice_noise(KeyStream(bytes(32), "a"), 1000, scale=12, precision=1.0)
    assert np.array_equal(one, other)


def boundary_words(s):
    """Digits on both sides of the edges of cells, and at the ends of what is possible."""
    before, ctx.prec = ctx.prec, 400
    found = {0, 1, 2, 3, LAST, LAST - 1, 2**62, 2**32, 2**32 - 1, 2**12, 2**14 + 1}
    for k in [*range(12), *(int(s * z) for z in (0.5, 1.7, 3.1, 5.0, 7.9, 8.5, 8.6))]:
        edge = TWO64 * upper_tail(k + Fraction(1, 2), s * s)
        found |= {int(edge.floor().unique_fmpz()) + step for step in (-2, -1, 0, 1, 2)}
    ctx.prec = before
    return sorted(w for w in found if 0 <= w <= LAST)


@pytest.mark.parametrize("s", SCALES, ids=float)
def test_words_at_the_edges_of_cells_are_settled_as_ball_arithmetic_does(s):
    words = boundary_words(s)
    variance = float(s * s)  # the precision is what the float says
    s2 = 1 / Fraction(1 / variance)
    signed = [w for word in words for w in (word, word | 2**63)]
    stream = Bits(signed)
    found = lattice_noise(stream, len(signed), scale=1, precision=1 / variance).tolist()
    expected = [sign * size_of_word(word, stream.more, s2) for word in words for sign in (1, -1)]
    assert found == expected
    assert stream.asked > 0


def test_random_words_are_settled_as_ball_arithmetic_does():
    rng = np.random.default_rng(3)
    for s in SCALES:
        words = rng.integers(0, 2**64, 400, dtype=np.uint64)
        # some of them far out in the tail
        words[::2] >>= rng.integers(0, 60, 200).astype(np.uint64)
        precision = float(1 / (s * s))
        variance = 1 / Fraction(precision)
        stream = Bits(words)
        found = lattice_noise(stream, len(words), scale=1, precision=precision).tolist()
        for word, number in zip(words.tolist(), found, strict=True):
            size = size_of_word(word & LAST, stream.more, variance)
            assert number == (-size if word >> 63 else size), (s, word)


def test_no_word_whose_cell_is_open_is_called_sure():
    for s in SCALES:
        words = boundary_words(s)
        size, sure = magnitudes(np.array(words, dtype=np.uint64), float(s))
        for w, k, known in zip(words, size.tolist(), sure.tolist(), strict=True):
            exact = size_of_tail(Fraction(w, TWO64), Fraction(w + 1, TWO64), s * s)
            assert not known or exact == k, (s, w)


def test_nearly_every_draw_is_settled_by_floats():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**63, 10**6, dtype=np.uint64)
    for s in (0.3, 10.0, 1e5):
        assert (~magnitudes(words, s)[1]).sum() <= 1


@given(st.floats(0.0, TOP))
@example(0.0)
@example(TOP)
@example(1 / 32)
@example(math.nextafter(1 / 32, 0))
@example(math.nextafter(TOP, 0))
def test_the_tail_is_as_precise_as_is_proven(t):
    before, ctx.prec = ctx.prec, 300
    try:
        exact = upper_tail(Fraction(t), Fraction(1))
        error = abs(ball(Fraction(float(tail(np.array([t]))[0]))) / exact - 1)
        assert error < arb(fmpq(1, 2**46))
        assert TABLE_ERROR == 2.0**-46
    finally:
        ctx.prec = before


@given(st.fractions(Fraction(1, 10**30), Fraction(10**40)))
def test_roots_are_the_nearest_floats(square):
    root = Fraction(nearest_root(square))
    low, high = (Fraction(math.nextafter(float(root), end)) for end in (0.0, math.inf))
    assert ((low + root) / 2) ** 2 <= square <= ((root + high) / 2) ** 2


def test_huge_scales_give_whole_numbers_of_any_size():
    noise = lattice_noise(KeyStream(bytes(32), "huge"), 200, scale=10**30, precision=1.0)
    assert noise.dtype == object
    assert all(type(one) is int for one in noise)
    floats = np.array(noise / 10**30, dtype=float)
    assert abs(floats.std() - 1) < 0.2
    assert len({one % 1000 for one in noise}) > 150


def test_both_ways_agree_where_floats_end():
    """Draws that differ only in the way in which they are settled are of nearly the same size."""
    below, above = 2.0**44 * 0.999, 2.0**44 * 1.001
    one, other = (
        lattice_noise(KeyStream(bytes(32), "x"), 300, scale=1, precision=s**-2)
        for s in (below, above)
    )
    assert (one.dtype, other.dtype) == (np.int64, object)
    assert np.allclose(one / below, np.array(other / above, dtype=float), rtol=1e-9)


def test_noise_that_is_far_smaller_than_the_lattice_is_none():
    assert not lattice_noise(KeyStream(bytes(32), "x"), 1000, scale=1, precision=1e30).any()


def test_a_draw_depends_on_its_place_alone():
    stream = KeyStream(bytes(32), "x")
    long = lattice_noise(stream, 300_000, scale=7, precision=0.1)
    assert np.array_equal(lattice_noise(stream, 1000, scale=7, precision=0.1), long[:1000])
    assert not np.array_equal(long[:1000], long[131_072 : 131_072 + 1000])
