"""Exactness: the kernels themselves, narrowed so that every word can be tried."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble
from pramble.data.labels import as_labels
from pramble.engine import sampling
from pramble.engine.keystream import KeyStream
from pramble.engine.sampling import (
    FULL,
    AliasSampler,
    ArcSampler,
    UniformSampler,
    Width,
    alias_rows,
    code_type,
    compiled_fill_row,
    index_bits,
    sampler,
)
from pramble.mechanisms.arcs import Arcs, least_low

NARROW = Width(word=7, extra=4)
KEY = bytes(range(32))


def enumerated(drawer, S, T, *, width=NARROW):
    """How often each output comes over every word and every extra, on every path."""
    words = np.arange(1 << width.word, dtype=np.uint32)
    counts = np.zeros((S, T), dtype=np.int64)
    for x in range(S):
        codes = np.full(len(words), x, dtype=np.uint8)
        for extra in range(1 << width.extra):

            def extras_at(tied, extra=extra):
                return np.full(len(tied), extra, dtype=np.uint32)

            with patch.object(sampling, "is_compiled", lambda _: True):
                out = drawer.draw(codes, words, extras_at=extras_at)
            with patch.object(sampling, "is_compiled", lambda _: False):
                assert np.array_equal(drawer.draw(codes, words, extras_at=extras_at), out)
            counts[x] += np.bincount(out, minlength=T)
            extras = np.full(len(words), extra, dtype=np.uint32)
            assert np.array_equal(drawer.exact(codes, words, extras), out)
    return counts


@st.composite
def narrow_weights(draw):
    """Integer rows with sum 2**11, flat to degenerate."""
    S, T = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    rows = []
    for _ in range(S):
        cuts = draw(st.lists(st.integers(0, 1 << NARROW.bits), min_size=T - 1, max_size=T - 1))
        rows.append(np.diff([0, *sorted(cuts), 1 << NARROW.bits]))
    return np.array(rows, dtype=np.int64)


@st.composite
def narrow_uniform(draw):
    S = draw(st.integers(2, 9))
    off = np.array(draw(st.lists(st.integers(0, 2**11 // (S - 1)), min_size=S, max_size=S)))
    return UniformSampler(off, NARROW)


@given(narrow_weights())
def test_alias_kernel_draws_each_output_exactly_as_often_as_its_weight(weights):
    drawer = AliasSampler.of(weights, width=NARROW)
    assert np.array_equal(enumerated(drawer, *weights.shape), weights)


@given(narrow_uniform())
def test_uniform_kernel_draws_each_output_exactly_as_often_as_its_weight(drawer):
    S = len(drawer.off)
    weights = np.repeat(drawer.off[:, None], S, axis=1)
    np.fill_diagonal(weights, 2**11 - (S - 1) * drawer.off)
    assert np.array_equal(enumerated(drawer, S, S), weights)


@st.composite
def narrow_arcs(draw):
    """Arcs with weights over 2**11, and their matrix."""
    T = draw(st.integers(2, 9))
    W, low = draw(st.integers(1, T - 1)), draw(st.integers(1, 2**11 // T))
    high, raised = divmod(2**11 - (T - W) * low, W)
    positions = np.array(draw(st.lists(st.integers(0, T - 1), min_size=1, max_size=4)))
    slots = np.array(draw(st.permutations(range(T))))
    pattern = [high + 1] * raised + [high] * (W - raised) + [low] * (T - W)
    weights = np.zeros((len(positions), T), dtype=np.int64)
    for x, position in enumerate(positions):
        for distance in range(T):
            weights[x, slots[(position - distance) % T]] = pattern[distance]
    lengths, steps = (raised, W - raised, T - W), (high + 1, high, low)
    return ArcSampler(positions, slots, lengths, steps, NARROW), weights


@given(narrow_arcs())
def test_arc_kernel_draws_each_output_exactly_as_often_as_its_weight(case):
    drawer, weights = case
    assert np.array_equal(enumerated(drawer, *weights.shape), weights)


@given(narrow_weights())
def test_alias_cells_hold_the_weights(weights):
    threshold, other = alias_rows(weights, width=NARROW)
    cells = threshold.shape[1]
    capacity = (1 << NARROW.bits) // cells
    assert ((threshold >= 0) & (threshold < capacity)).all()
    held = np.zeros((len(weights), cells), dtype=np.int64)
    for x in range(len(weights)):
        held[x] += threshold[x]
        np.add.at(held[x], other[x], capacity - threshold[x])
    assert np.array_equal(held[:, : weights.shape[1]], weights)
    assert not held[:, weights.shape[1] :].any()


@given(narrow_weights())
def test_compiled_and_plain_tables_are_the_same(weights):
    plain = alias_rows(weights, width=NARROW)
    compiled = tuple(np.empty_like(part) for part in plain)
    for row in zip(weights, *compiled, strict=True):
        compiled_fill_row()(row[0], (1 << NARROW.bits) // plain[0].shape[1], *row[1:])
    assert np.array_equal(plain, compiled)


def full_weights(S, T, seed=0):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, 2**53, (S, T - 1)), axis=1)
    edges = np.concatenate([np.zeros((S, 1), int), cuts, np.full((S, 1), 2**53)], axis=1)
    return np.diff(edges, axis=1)


@pytest.mark.parametrize(("S", "T"), [(2, 2), (10, 10), (3, 17), (300, 129)])
def test_full_width_cells_hold_the_weights(S, T):
    weights = full_weights(S, T)
    threshold, other = alias_rows(weights)
    capacity = 2**53 >> index_bits(T)
    for x in range(0, S, max(1, S // 7)):
        held = [0] * threshold.shape[1]
        for cell, (t, o) in enumerate(zip(threshold[x].tolist(), other[x].tolist(), strict=True)):
            held[cell] += t
            held[o] += capacity - t
        assert held[:T] == weights[x].tolist()
        assert not any(held[T:])


@pytest.mark.parametrize("make", ["alias", "uniform"])
def test_full_width_is_right_on_both_sides_of_every_threshold(make, monkeypatch):
    S = 5
    off = np.array([3, 2**40 + 7, 2**50 + 1, 2**51 - 1, 0])
    keep = 2**53 - (S - 1) * off
    weights = np.repeat(off[:, None], S, axis=1)
    np.fill_diagonal(weights, keep)
    drawer = UniformSampler(off, FULL) if make == "uniform" else AliasSampler.of(weights)
    for x in range(S):
        edges = critical_units(drawer, x)
        codes = np.full(len(edges), x, dtype=np.uint8)
        words, extras = (edges >> 21).astype(np.uint32), (edges & (2**21 - 1)).astype(np.uint32)
        expected = drawer.exact(codes, words, extras)
        for compiled in (False, True):
            monkeypatch.setattr(sampling, "is_compiled", lambda _, found=compiled: found)
            out = drawer.draw(codes, words, extras_at=lambda tied, e=extras: e[tied])
            assert np.array_equal(out, expected)
        assert np.array_equal(lengths_between(edges, expected, S), weights[x])


def critical_units(drawer, x):
    """The first unit of every stretch of units with one outcome, and the last of all."""
    if isinstance(drawer, UniformSampler):
        others, off = len(drawer.off) - 1, int(drawer.off[x])
        keep = 2**53 - others * off
        starts = [0, keep, *(keep + j * off for j in range(1, others))]
    else:
        k = drawer.index_bits
        cells = np.arange(1 << k) << (53 - k)
        row = slice(x << k, (x + 1) << k)
        cut = (drawer.table[row] >> np.uint64(32)).astype(np.int64) << 21
        starts = [*cells, *(cut + drawer.low[row])]
    starts = np.unique([start for start in starts if start < 2**53])
    return np.unique(np.concatenate([starts, starts[1:] - 1, [2**53 - 1]]))


def lengths_between(edges, outcomes, T):
    """Units of each outcome, if it is constant from each start to the unit before the next."""
    held = np.zeros(T, dtype=np.int64)
    np.add.at(held, outcomes[:-1], np.diff(edges))
    held[outcomes[-1]] += 1
    return held


def arcs(S, alpha, seed=0):
    rng = np.random.default_rng(seed)
    width = max(1, S // 5)
    positions, slots = rng.integers(0, S, S), rng.permutation(S)
    return Arcs(as_labels(S), as_labels(S), positions, slots, width, least_low(S, width, alpha))


@pytest.mark.parametrize("kind", ["response", "arcs"])
@pytest.mark.parametrize("S", [2, 10, 256, 257, 3000])
def test_small_and_large_inputs_are_drawn_alike(S, kind):
    m = pramble.randomized_response(S, 3.0) if kind == "response" else arcs(S, 3.0)
    drawer, stream = sampler(m), KeyStream(KEY, "a")
    codes = np.random.default_rng(1).integers(0, S, 70_001).astype(code_type(*m.shape))
    fast, slow = np.empty_like(codes), np.empty_like(codes)
    drawer.sample(codes, stream, rows=range(5, 5 + len(codes)), out=fast)
    rows = range(5, 5 + len(codes))
    slow[:] = drawer.exact(codes, stream.words(rows), stream.extras(rows))
    assert np.array_equal(fast, slow)
    shuffled = np.random.default_rng(2).permutation(len(codes))
    scattered = np.empty_like(codes)
    drawer.sample(codes[shuffled], stream, rows=shuffled + 5, out=scattered)
    assert np.array_equal(scattered, fast[shuffled])


def test_uniform_rows_of_many_categories_need_no_table():
    m = pramble.randomized_response(10**6, 14.0)
    assert isinstance(sampler(m), UniformSampler)
    drawn = pramble.perturb(np.arange(10**6, dtype=np.int32), m, key=KEY, column="x")
    assert drawn.dtype == np.int32
    kept = (drawn == np.arange(10**6)).mean()
    q = np.exp(14.0) / (10**6 - 1 + np.exp(14.0))
    assert abs(kept - q) < 6 * np.sqrt(q * (1 - q) / 10**6)


def off_by_one(drawer):
    return replace(drawer, table=drawer.table + (np.uint64(1) << np.uint64(32)))


def off_by_one_low(drawer):
    return replace(drawer, low=drawer.low + np.uint32(1))


def ties_ignored(drawer):
    return replace(drawer, low=np.zeros_like(drawer.low))


def swapped_rows(drawer):
    half = len(drawer.table) // 2
    return replace(drawer, table=np.roll(drawer.table, half), low=np.roll(drawer.low, half))


@pytest.mark.parametrize("broken", [off_by_one, off_by_one_low, ties_ignored, swapped_rows])
def test_enumeration_catches_a_broken_table(broken):
    weights = np.array([[1000, 700, 348], [300, 48, 1700]])
    drawer = AliasSampler.of(weights, width=NARROW)
    assert np.array_equal(enumerated(drawer, 2, 3), weights)
    assert not np.array_equal(enumerated(broken(drawer), 2, 4)[:, :3], weights)


def test_a_lossy_table_would_be_seen(monkeypatch):
    fill = sampling.fill_row

    def careless(weights, capacity, threshold, other):
        fill(weights, capacity, threshold, other)
        threshold[0] ^= 1

    monkeypatch.setattr(sampling, "fill_row", careless)
    weights = np.array([[1000, 700, 348], [300, 48, 1700]])
    drawer = AliasSampler.of(weights, width=NARROW)
    assert not np.array_equal(enumerated(drawer, 2, 4)[:, :3], weights)
