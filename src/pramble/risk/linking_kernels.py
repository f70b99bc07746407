"""Compiled inner loop: which records are left alone on their own cell after randomisation."""

from typing import Any

import numba


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]  # numba has no types
def chance_missed(
    codes: Any, counts: Any, bounds: Any, matrices: Any, missed: Any
) -> None:  # pragma: no cover - compiled
    """Fill ``missed[j]`` with the product over k ≠ j in its block of ``(1 - M[k, j]) ** f[k]``.

    Rows ``bounds[b]`` to ``bounds[b + 1]`` of ``codes`` form block b; M is the product of the
    columns' matrices.
    """
    columns = codes.shape[1]
    for b in range(len(bounds) - 1):
        for j in range(bounds[b], bounds[b + 1]):
            chance = 1.0
            for k in range(bounds[b], bounds[b + 1]):
                if k == j:
                    continue
                move = 1.0
                for c in range(columns):
                    move *= matrices[c, codes[k, c], codes[j, c]]
                if counts[k] == 1:
                    chance *= 1.0 - move
                else:
                    chance *= (1.0 - move) ** counts[k]
            missed[j] = chance
