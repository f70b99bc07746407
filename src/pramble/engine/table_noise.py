r"""Noise is added to exact tables, once and exactly; tables are chosen by noisy scores.

All pairs are measured with the precision ``first`` of the plan's choice. The score of a candidate T
is the whole number :math:`\sum_x |M_T(x) - F_T(x)|`, with :math:`F_T` the table of largest entropy
that has those noisy pairs, rounded; it gets Gaussian noise, rounded to whole numbers. By these
scores tables are chosen, and everything of their plan is measured with what is left of its
precision: of two measurements of a part their mean is published. All noise is bound to the exact
tables, candidates and weights included: a changed record changes every draw. Why the whole keeps
its promise is in :doc:`/proofs`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from pramble.engine.keystream import KeyStream, derived_key
from pramble.engine.lattice_noise import lattice_noise
from pramble.engine.table_counts import TableCounter
from pramble.errors import InvalidPlan
from pramble.information.proportional import Margin, fit_array
from pramble.mechanisms.measured import Exact, Measured, WeightedTables
from pramble.mechanisms.table_plan import SHARES, Columns, TablePlan
from pramble.privacy.table_privacy import table_guarantee
from pramble.solvers.tables.choice import chosen_tables, with_chosen
from pramble.values import Floats, Integers, Reporter

Counts = Mapping[Columns, Integers]


def measured_tables(
    plan: TablePlan, counter: TableCounter, *, secret: bytes, reporter: Reporter
) -> Measured:
    """Return what a plan publishes of exact tables."""
    weighted, weights = None, plan.weights
    if weights is not None and plan.weighted is not None and counter.weights is not None:
        sums = counter.weighted
        secret = key_of_tables(key_of_tables(secret, plan, counter.counts), plan.weighted, sums)
        secret = derived_key(secret, "squares", str(counter.squares))
        own = derived_key(secret, "weights")
        noisy = with_noise(plan.weighted, sums, secret=own, reporter=reporter.part(0.0, 0.5))
        stream = KeyStream(secret, "squares")
        noise = lattice_noise(stream, 1, scale=1, precision=weights.squares)
        squares = counter.squares + int(noise[0])
        weighted = WeightedTables(counter.weights[0], noisy, squares, weights)
        reporter = reporter.part(0.5, 0.5)
    measure = with_noise if plan.choice is None else measure_chosen
    alone = replace(plan, weights=None)
    found = measure(alone, counter.counts, secret=secret, reporter=reporter)
    return replace(found, plan=replace(found.plan, weights=weights), weighted=weighted)


def with_noise(plan: TablePlan, counts: Counts, *, secret: bytes, reporter: Reporter) -> Measured:
    own = key_of_tables(secret, plan, counts)
    parts: dict[Columns, Exact] = {}
    for i, part in enumerate(plan.parts):
        margin = exact_margin(counts, part)
        scale = plan.cells(part)
        stream = noise_stream(own, part)
        noise = lattice_noise(stream, scale, scale=scale, precision=plan.precision[part])
        parts[part] = interaction(margin, noise.reshape(margin.shape), scale)
        reporter.report("adding noise", (i + 1) / len(plan.parts))
    total = int(next(iter(counts.values())).sum())
    if not plan.total_is_public:
        noise = lattice_noise(noise_stream(own, ()), 1, scale=1, precision=plan.precision[()])
        total = max(total + int(noise[0]), 0)  # no file has fewer, and no manifest states it
    return Measured(plan, total, parts)


def key_of_tables(secret: bytes, plan: TablePlan, counts: Counts) -> bytes:
    """Return a key for these tables under this plan alone.

    Were noise a function of key and plan, two files of one key, such as a file and its correction,
    would differ by their exact difference.
    """
    digest = hashlib.sha256()
    for table in sorted(counts):
        own = np.ascontiguousarray(counts[table], dtype="<i8")
        head = json.dumps([list(table), own.shape]).encode()
        digest.update(len(head).to_bytes(8, "big") + head)
        digest.update(own.data)
    # read back, so that a number is a float however it was given
    document = TablePlan.from_json(plan.to_json()).to_json()
    written = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return derived_key(secret, "protected tables", written, digest.hexdigest())


def noise_stream(own: bytes, part: Columns) -> KeyStream:
    """Return the bits of the noise of one part: one name, whatever columns are called."""
    return KeyStream(own, json.dumps(list(part)))


def exact_margin(counts: Counts, part: Columns) -> Integers:
    """Return the exact table of some columns, from the smallest that has them."""
    table = min((t for t in counts if set(part) <= set(t)), key=lambda t: counts[t].size)
    beside = tuple(axis for axis, name in enumerate(table) if name not in part)
    return np.asarray(counts[table].sum(axis=beside))


def interaction(margin: Integers, noise: Exact, scale: int) -> Exact:
    r"""Return :math:`N \prod_j n_j P(M + \eta)` exactly, from M and :math:`N \eta`.

    Along each axis :math:`n_j` times "subtract the mean" is "multiply by :math:`n_j` and subtract
    the sum".
    """
    found = wide_enough(margin, scale) * scale
    found = wide_enough(found, 2) + noise
    for axis, size in enumerate(found.shape):
        # no number below is larger than 2 n_j times the largest so far
        found = wide_enough(found, 2 * size)
        found = found * size - found.sum(axis=axis, keepdims=True)
    return found


def wide_enough(numbers: Exact, factor: int) -> Exact:
    """Return whole numbers in a type in which so many times the largest is still exact."""
    largest = max(abs(int(numbers.max(initial=0))), abs(int(numbers.min(initial=0))))
    return numbers if largest * factor < 2**62 else numbers.astype(object)


# A fit ends when its pairs are met within half a record, or after so many sweeps.
CLOSE, SWEEPS = 0.5, 50


def measure_chosen(
    plan: TablePlan, counts: Counts, *, secret: bytes, reporter: Reporter
) -> Measured:
    """Return protected tables of all pairs and of the candidates that are worth their noise."""
    plan = with_chosen(plan, ())
    assert plan.choice is not None, "asked for where tables are chosen"
    own = key_of_tables(secret, plan, counts)
    total: dict[Columns, float] = {} if plan.total_is_public else {(): plan.precision[()]}
    pairs = tuple(combinations(plan.labels, 2))
    of_pairs = TablePlan(
        plan.labels, pairs, {**total, **plan.choice.first}, plan.delta, plan.rows_per_person
    )
    first = with_noise(of_pairs, counts, secret=derived_key(own, "first"), reporter=Reporter(None))
    noise = lattice_noise(
        KeyStream(own, "scores"),
        len(plan.choice.candidates),
        scale=1,
        precision=plan.choice.score_precision,
    )
    scores = exact_scores(plan.choice.candidates, counts, first, reporter=reporter.part(0.0, 0.6))
    final = with_chosen(plan, chosen_tables(plan, scores + noise))
    table_guarantee(final)  # refuses a plan that would spend more than it states
    # Every part is measured with what is left of its precision; the number of records is not.
    rest = {}
    for part in final.parts:
        before = plan.choice.first.get(part, 0.0)
        rest[part] = final.precision[part] - before
        if Fraction(rest[part]) != Fraction(final.precision[part]) - Fraction(before):
            raise InvalidPlan("Two measurements together have a precision of few digits.")
    second = with_noise(
        TablePlan(plan.labels, final.tables, rest, plan.delta),
        counts,
        secret=derived_key(own, "second"),
        reporter=reporter.part(0.6, 0.4),
    )
    parts: dict[Columns, Exact] = {}
    for part in final.parts:
        parts[part] = second.parts[part]
        if part in first.parts:
            one, other = (wide_enough(m.parts[part], 2 * SHARES) for m in (first, second))
            weight = plan.choice.weight(part, final.precision[part])
            parts[part] = np.asarray(one * weight + other * (SHARES - weight))
    return Measured(final, first.total, parts)


def exact_scores(
    candidates: tuple[Columns, ...], counts: Counts, first: Measured, *, reporter: Reporter
) -> Integers:
    """Return how far each candidate is from what measured pairs imply of it, in whole records.

    This must not leave the curator: noise is added to it.
    """
    pairs = {
        pair: nearest_counts(first.table(pair), max(first.total, 1)) for pair in first.plan.tables
    }
    found = np.zeros(len(candidates), dtype=np.int64)
    for i, table in enumerate(candidates):
        # the table of largest entropy that has the tables of all its pairs of columns
        implied = np.ones(tuple(first.plan.sizes[name] for name in table))
        axes = combinations(range(len(table)), 2)
        margins = [Margin((j, k), pairs[table[j], table[k]]) for j, k in axes]
        fit_array(implied, margins, close=CLOSE, sweeps=SWEEPS)
        # whole and bounded whatever the fit does: the proof rests on that alone
        implied = np.nan_to_num(implied, nan=0.0, posinf=0.0)
        implied = np.rint(np.clip(implied, 0, max(first.total, 1))).astype(np.int64)
        found[i] = np.abs(exact_margin(counts, table) - implied).sum()
        reporter.report("choosing tables", (i + 1) / len(candidates))
    return found


def nearest_counts(counts: Floats, total: int) -> Floats:
    """Return the nearest table without negative cells that sums to a total."""
    ordered = np.sort(counts.ravel())[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    last = int(np.flatnonzero(ordered > excess)[-1])
    return np.asarray(np.maximum(counts - excess[last], 0.0))
