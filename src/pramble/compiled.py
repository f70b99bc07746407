"""How inner loops are compiled; import it where they are needed, for numba is slow to load."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
compiled: Callable[[Kernel], Kernel] = njit(cache=True, nogil=True)
