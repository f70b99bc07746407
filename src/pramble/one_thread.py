"""Small matrices on one thread: on a busy machine threads of BLAS wait for one another."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

PREFIX, SUFFIX = "scipy_openblas_", "64_"


@lru_cache(maxsize=1)
def own_blas() -> Any:
    """Return the OpenBLAS that NumPy's wheels bring along; None where there is another."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for path in folder.glob("*scipy_openblas64_*"):
        library = ctypes.CDLL(str(path))
        if hasattr(library, f"{PREFIX}set_num_threads{SUFFIX}"):
            return library
    return None


@contextmanager
def one_thread() -> Iterator[None]:
    """Let NumPy's linear algebra use one thread meanwhile, where it can be told to.

    Solvers and estimates take thousands of steps on matrices of some hundred rows. With two threads
    on two busy cores each step took twenty to thirty times as long as with one.
    """
    library = own_blas()
    if library is None:
        yield
        return
    threads = library[f"{PREFIX}get_num_threads{SUFFIX}"]()
    tell = library[f"{PREFIX}set_num_threads{SUFFIX}"]
    tell(1)
    try:
        yield
    finally:
        tell(threads)
