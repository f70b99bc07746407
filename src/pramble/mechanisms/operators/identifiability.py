r"""What a release cannot tell: the directions that a mechanism maps to zero."""

from collections.abc import Sequence

import numpy as np

from pramble.data.labels import Labels
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


def refuse_unless_full_rank(M: Floats, labels: Labels) -> None:
    """Raise NotIdentifiable with the lost directions, if there are any."""
    lost = lost_directions(M)
    if not len(lost):
        return
    rank = len(M) - len(lost)
    groups = equal_rows(M)
    error = same_law(groups, labels, rank=rank) if groups else unknown(lost[0], labels, rank=rank)
    error.directions = lost
    raise error


def same_law(groups: Sequence[Sequence[int]], labels: Labels, *, rank: int) -> NotIdentifiable:
    """Return the error for groups of categories that are released alike."""
    named = "; ".join(
        ", ".join(repr(labels.values[x]) for x in group[:6]) + (", …" if len(group) > 6 else "")
        for group in groups[:4]
    )
    what = f"these categories have the same law and cannot be told apart: {named}"
    return not_identifiable(what, labels, rank=rank)


def unknown(direction: Floats, labels: Labels, *, rank: int) -> NotIdentifiable:
    """Return the error for a combination of probabilities of which nothing is known."""
    x = sorted(np.argsort(-np.abs(direction))[:6].tolist())
    terms = " ".join(f"{direction[i]:+.3g}·p[{labels.values[i]!r}]" for i in x)
    return not_identifiable(f"for one, nothing is known of {terms}", labels, rank=rank)


def not_identifiable(what: str, labels: Labels, *, rank: int) -> NotIdentifiable:
    """Return the error in one sentence, with what to do."""
    return NotIdentifiable(
        f"The mechanism must have rank {len(labels)} to give every probability; its rank is "
        f"{rank}: {what}. Ask for a query= that does not need what is lost, such as the sum over a "
        "group."
    )


def equal_rows(M: Floats) -> list[list[int]]:
    """Return the groups of two or more rows that are equal up to rounding."""
    _, group = np.unique(np.round(M, 12), axis=0, return_inverse=True)
    members: dict[int, list[int]] = {}
    for x, g in enumerate(group.ravel().tolist()):
        members.setdefault(g, []).append(x)
    return [rows for rows in members.values() if len(rows) > 1]
