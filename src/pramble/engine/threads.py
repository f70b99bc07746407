"""Drawing over several threads."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from pramble.data.arrays import Rows
from pramble.data.encode import Codes
from pramble.engine.keystream import KeyStream
from pramble.engine.sampling import Sampler

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""What calls a function on each of some items, in order: ``map``, or that of a pool of threads."""

THREADED_ABOVE = 1 << 19
"""Fewer rows than this are drawn by one thread."""


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
    sampler: Sampler, codes: Codes, *, stream: KeyStream, rows: Rows, threads: int
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
