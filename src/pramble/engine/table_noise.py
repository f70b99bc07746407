"""Noise is added to exact tables, once and exactly."""

import hashlib
import json
from collections.abc import Mapping

import numpy as np

from pramble.engine.keystream import KeyStream, derived_key
from pramble.engine.lattice_noise import lattice_noise
from pramble.mechanisms.measured import Exact, Measured
from pramble.mechanisms.table_plan import Columns, TablePlan
from pramble.values import Clock, Integers

Counts = Mapping[Columns, Integers]


def with_noise(plan: TablePlan, counts: Counts, *, secret: bytes, clock: Clock) -> Measured:
    """Return protected tables from exact ones."""
    own = key_of_tables(secret, plan, counts)
    parts: dict[Columns, Exact] = {}
    for i, part in enumerate(plan.parts):
        margin = margin_of(counts, part)
        scale = plan.cells(part)
        stream = stream_of(own, part)
        noise = lattice_noise(stream, scale, scale=scale, precision=plan.precision[part])
        parts[part] = interaction(margin, noise.reshape(margin.shape), scale)
        clock.tell("adding noise", (i + 1) / len(plan.parts))
    total = int(next(iter(counts.values())).sum())
    if not plan.total_is_public:
        noise = lattice_noise(stream_of(own, ()), 1, scale=1, precision=plan.precision[()])
        total += int(noise[0])
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


def stream_of(own: bytes, part: Columns) -> KeyStream:
    """Return the bits of the noise of one part: one name, whatever columns are called."""
    return KeyStream(own, json.dumps(list(part)))


def margin_of(counts: Counts, part: Columns) -> Integers:
    """Return the exact table of some columns, from the smallest that has them."""
    table = min((t for t in counts if set(part) <= set(t)), key=lambda t: counts[t].size)
    beside = tuple(axis for axis, name in enumerate(table) if name not in part)
    return np.asarray(counts[table].sum(axis=beside))


def interaction(margin: Integers, noise: Exact, scale: int) -> Exact:
    r"""Return :math:`N \prod_j n_j P(M + \eta)` exactly, from M and :math:`N \eta`.

    Along each axis :math:`n_j` times "subtract the mean" is "multiply by :math:`n_j` and subtract
    the sum".

    >>> interaction(np.array([3, 1]), np.array([0, 1]), 2).tolist()
    [3, -3]
    """
    found = fitting(margin, scale) * scale
    found = fitting(found, 2) + noise
    for axis, size in enumerate(found.shape):
        # no number below is larger than 2 n_j times the largest so far
        found = fitting(found, 2 * size)
        found = found * size - found.sum(axis=axis, keepdims=True)
    return found


def fitting(numbers: Exact, factor: int) -> Exact:
    """Return whole numbers in a type in which so many times the largest is still exact."""
    largest = max(abs(int(numbers.max(initial=0))), abs(int(numbers.min(initial=0))))
    return numbers if largest * factor < 2**62 else numbers.astype(object)
