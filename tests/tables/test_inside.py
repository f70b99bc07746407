"""Tables from within: numbers of any size, every choice by brute force, bits of each stage."""

from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement, product

import numpy as np
import pytest
from tests.tables.brute import kernel
from tests.tables.people import assert_same
from tests.tables.test_auto import KEY, PARITY, SIZES, design, rows

import pramble
from pramble.engine import table_noise
from pramble.engine.lattice_noise import lattice_noise
from pramble.engine.table_noise import interaction, key_of_tables, noise_stream, with_noise
from pramble.solvers.tables.choice import with_chosen
from pramble.values import Reporter


def exact_interaction(margin, noise, scale):
    """The same by Python's whole numbers, from the definition."""
    found = margin.astype(object) * scale + noise.astype(object)
    for axis, size in enumerate(margin.shape):
        found = size * found - found.sum(axis=axis, keepdims=True)
    return found


@pytest.mark.parametrize("shape", [(7,), (5, 6), (20, 20, 20)])
@pytest.mark.parametrize("most", [10, 10**6, 10**12, 2**62])
@pytest.mark.parametrize("spread", [100, 10**9, 2**61])
def test_no_sum_overflows(shape, most, spread):
    rng = np.random.default_rng(0)
    margin = rng.integers(0, most, shape)
    margin.flat[0] = most
    noise = rng.integers(-spread, spread, shape)
    scale = int(np.prod(shape))
    found = interaction(margin, noise, scale)
    assert np.array_equal(found.astype(object), exact_interaction(margin, noise, scale))


@pytest.mark.parametrize("most", [50, 10**15])
def test_enormous_files_are_measured_exactly(most):
    """Counts as of a file of 10^19 rows: what is published is what whole numbers say."""
    sizes = {"a": 30, "b": 30, "c": 30}
    plan = pramble.design_tables(sizes, 1.0, 1e-6, tables=3).plan
    counts = {("a", "b", "c"): np.random.default_rng(0).integers(0, most, (30, 30, 30))}
    found = with_noise(plan, counts, secret=bytes(32), reporter=Reporter(None))
    own = key_of_tables(bytes(32), plan, counts)
    for part in plan.parts:
        margin = counts["a", "b", "c"].sum(
            axis=tuple(i for i, name in enumerate("abc") if name not in part)
        )
        scale = plan.cells(part)
        noise = lattice_noise(
            noise_stream(own, part), scale, scale=scale, precision=plan.precision[part]
        )
        expected = exact_interaction(margin, noise.reshape(margin.shape), scale)
        assert np.array_equal(found.parts[part].astype(object), expected)
    assert (found.parts["a", "b", "c"].dtype == object) == (most > 10**9)
    again = pramble.Measured.from_table(found.to_table(), plan, found.total)
    assert_same(again, found)


def choices(plan):
    candidates = plan.choice.candidates
    return chain.from_iterable(
        combinations(candidates, count) for count in range(len(candidates) + 1)
    )


@pytest.mark.parametrize("rows_per_person", [1, 2])
@pytest.mark.parametrize("sizes", [SIZES, {"a": 2, "b": 3, "c": 5}])
def test_every_choice_keeps_the_promise_by_brute_force(sizes, rows_per_person):
    plan = design(sizes, rows_per_person=rows_per_person).plan
    choice, limit = plan.choice, pramble.certify(plan).mu_squared
    assert limit == Fraction(choice.mu_squared)
    assert pramble.certify(plan).epsilon <= 1
    for chosen in choices(plan):
        inner = kernel(sizes, with_chosen(plan, chosen).precision)
        own = np.diag(inner)
        apart = (own[:, None] + own[None, :] - 2 * inner).max()
        # the scores: one record for another moves each by two, one for none by one
        scores = 4 * len(choice.candidates) * Fraction(choice.score_precision)
        spent = rows_per_person**2 * (max(apart, own.max() if rows_per_person > 1 else 0) + scores)
        assert spent <= limit
        assert spent > limit * Fraction(999, 1000)


def test_every_choice_measures_pairs_more_precisely_than_the_choice_did():
    plan = design().plan
    for chosen in choices(plan):
        found = with_chosen(plan, chosen)
        assert found.choice is plan.choice
        assert found.chosen == chosen
        assert all(found.precision[part] > own for part, own in plan.choice.first.items())


def test_a_replaced_record_moves_every_score_by_at_most_two():
    sizes = {"a": 2, "b": 2, "c": 2}
    pairs = pramble.design_tables(sizes, 50.0, 1e-6)
    records = list(product(range(2), repeat=3))
    people = dict(zip(sizes, zip(*records, strict=True), strict=True))
    first = pramble.measure({name: list(own) for name, own in people.items()}, pairs, key=KEY)

    def score(file):
        table = np.zeros((2, 2, 2), dtype=np.int64)
        for record in file:
            table[record] += 1
        own = table_noise.exact_scores((PARITY,), {PARITY: table}, first, reporter=Reporter(None))
        return int(own[0])

    scores = {file: score(file) for file in combinations_with_replacement(records, 2)}
    moved = {
        abs(scores[tuple(sorted((rest, one)))] - scores[tuple(sorted((rest, two)))])
        for rest in records
        for one in records
        for two in records
    }
    assert max(moved) == 2


def test_another_record_gives_independent_noise_in_every_stage(monkeypatch):
    drawn = []

    def watched(stream, cells, *, scale, precision):
        drawn.append(stream.words(range(8)).tobytes())
        return lattice_noise(stream, cells, scale=scale, precision=precision)

    lattice_noise = table_noise.lattice_noise
    monkeypatch.setattr(table_noise, "lattice_noise", watched)
    file = rows(parity=True)
    changed = {name: [*own[:-1], (own[-1] + 1) % 2] for name, own in file.items()}
    unseen = {name: [own[-1], *own[:-1]] for name, own in file.items()}
    found = []
    for own in (file, changed, unseen):
        drawn.clear()
        pramble.measure(own, design(), key=KEY)
        found.append(set(drawn))
        # every part of pairs twice, the scores, and what was chosen: no bits are used again
        assert len(found[-1]) == len(drawn) >= 2 * 10 + 1 + 1
    assert found[0].isdisjoint(found[1])
    assert found[0] == found[2]  # the same rows in another order
