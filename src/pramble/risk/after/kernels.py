"""Compiled inner loop: which records are left alone on their own cell after randomisation."""

from typing import Any

from pramble.compiled import compiled


@compiled
def chance_missed(codes: Any, counts: Any, bounds: Any, laws: Any, missed: Any) -> None:
    """Fill ``missed[j]`` with the product over k ≠ j in its block of ``(1 - M[k, j]) ** f[k]``.

    Rows ``bounds[b]`` to ``bounds[b + 1]`` of ``codes`` form block b; M is the product of the
    columns' matrices. ``laws`` holds, for the first columns, the probabilities of staying and of
    moving to any one other level; for the others their matrices.
    """
    stays, moves, matrices = laws
    uniform, others = len(stays), len(matrices)
    for b in range(len(bounds) - 1):
        for j in range(bounds[b], bounds[b + 1]):
            chance = 1.0
            for k in range(bounds[b], bounds[b + 1]):
                if k == j:
                    continue
                move = 1.0
                for c in range(uniform):
                    x = codes[k, c]
                    move *= stays[c, x] if x == codes[j, c] else moves[c, x]
                for c in range(others):
                    move *= matrices[c, codes[k, uniform + c], codes[j, uniform + c]]
                if counts[k] == 1:
                    chance *= 1.0 - move
                else:
                    chance *= (1.0 - move) ** counts[k]
            missed[j] = chance
