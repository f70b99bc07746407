r"""What a release cannot tell: the directions that a mechanism maps to zero."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pramble.errors import NotIdentifiable
from pramble.values import Floats

RELATIVE_RANK_TOLERANCE = 1e-12


def lost_directions(M: Floats) -> Floats:
    r"""Return an orthonormal basis (k, S) of :math:`\{v : vM = 0\}`.

    Two priors that differ by such a v give the same released law. Every v sums to zero, since
    :math:`v1 = vM1 = 0`.
    """
    left, values, _ = np.linalg.svd(M, full_matrices=True)
    rank = int((values > values[0] * RELATIVE_RANK_TOLERANCE).sum())
    return np.asarray(left[:, rank:].T)


def refuse_unless_full_rank(M: Floats, categories: Sequence[Any]) -> None:
    """Raise NotIdentifiable with the lost directions, if there are any."""
    lost = lost_directions(M)
    if len(lost):
        error = NotIdentifiable(describe(M, lost, categories=categories))
        error.directions = lost
        raise error


def describe(M: Floats, lost: Floats, *, categories: Sequence[Any]) -> str:
    """Return one sentence that names what cannot be told apart."""
    groups = equal_rows(M)
    if groups:
        named = "; ".join(
            ", ".join(repr(categories[x]) for x in group[:6]) + (", …" if len(group) > 6 else "")
            for group in groups[:4]
        )
        what = f"these categories have the same law and cannot be told apart: {named}"
    else:
        x = np.argsort(-np.abs(lost[0]))[:6]
        terms = " ".join(f"{lost[0][i]:+.3g}·p[{categories[i]!r}]" for i in sorted(x))
        what = f"for one, nothing is known of {terms}"
    return (
        f"The mechanism must have rank {M.shape[0]} to give every probability; its rank is "
        f"{M.shape[0] - len(lost)}: {what}. Ask for a query= that does not need "
        "what is lost, such as the sum over a group."
    )


def equal_rows(M: Floats) -> list[list[int]]:
    """Return the groups of two or more rows that are equal up to rounding."""
    _, group = np.unique(np.round(M, 12), axis=0, return_inverse=True)
    members: dict[int, list[int]] = {}
    for x, g in enumerate(group.ravel().tolist()):
        members.setdefault(g, []).append(x)
    return [rows for rows in members.values() if len(rows) > 1]
