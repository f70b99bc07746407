r"""The paper's family by its own formulas: information, the four values, and placements.

Only the studies need many vectors q at once; one mechanism at a time is the library's business.
"""

from itertools import combinations

import numpy as np

from pramble.paper import Counts, keep_levels
from pramble.values import Floats


def information(p: Floats, q: Floats) -> Floats:
    r"""Return f(q) of the paper for each row of ``q``, in O(S) a row.

    .. math:: f(q) = \sum_x p_x\Big[q_x\log q_x + (1-q_x)\log\frac{1-q_x}{S-1}\Big]
              - \sum_z m_z\log m_z,\qquad
              m_z = c + p_z\Big(q_z - \frac{1-q_z}{S-1}\Big),\;
              c = \sum_x p_x\frac{1-q_x}{S-1}.
    """
    off = (1 - q) / (p.shape[-1] - 1)
    released = (p * off).sum(axis=-1, keepdims=True) + p * (q - off)
    kept = (p * (q * np.log(q) + (1 - q) * np.log(off))).sum(axis=-1)
    return np.asarray(kept - (released * np.log(released)).sum(axis=-1))


def placements(counts: Counts, alpha: float) -> Floats:
    """Return every vector q with these counts, one a row; at most two of the counts are positive.

    The rarer of the two values is placed on every possible set of categories.
    """
    S = sum(counts)
    present = [
        (number, value)
        for number, value in zip(counts, keep_levels(S, alpha), strict=True)
        if number
    ]
    rare, common = min(present), max(present)
    if len(present) == 1:
        return np.full((1, S), common[1])
    chosen = np.array(list(combinations(range(S), rare[0])))
    q = np.full((len(chosen), S), common[1])
    np.put_along_axis(q, chosen, rare[1], axis=1)
    return q


def best_placement(p: Floats, counts: Counts, *, alpha: float) -> tuple[Floats, float]:
    """Return the placement of the values that carries most information, and how much."""
    candidates = placements(counts, alpha)
    values = information(p, candidates)
    best = int(values.argmax())
    return candidates[best], float(values[best])


def count_values(q: Floats, alpha: float) -> Counts | None:
    """Return how often each of the four values occurs in q; None if another value does."""
    distance = np.abs(q[:, None] - np.array(keep_levels(len(q), alpha)))
    if (distance.min(axis=1) > 1e-9).any():
        return None
    counts = np.bincount(distance.argmin(axis=1), minlength=4)
    return Counts(*(int(count) for count in counts))


def in_words(q: Floats, alpha: float, *, joint: str = " + ", every: str = "") -> str:
    """Name a vertex by the values of Proposition 2; ``every`` replaces the number of all."""
    counts = count_values(q, alpha)
    if counts is None:
        return "another vertex"
    named = zip(counts, ("v_α", "v_−α", "v_min", "v_max"), strict=True)
    return joint.join(
        f"{every if every and number == len(q) else number} {name}"
        for number, name in named
        if number
    )
