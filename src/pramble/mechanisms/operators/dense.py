r"""Any matrix, held as an array: information, inverses, and the directions that it maps to zero.

Information is computed from two convex functions that are accurate near zero,

.. math:: \varphi(t) = (1+t)\log(1+t) - t \ge 0, \qquad \psi(d) = d - \log(1+d) \ge 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pramble.errors import NotIdentifiable
from pramble.mechanisms.operators.base import MechanismOperator, RightInverse, xlogx
from pramble.values import Floats, frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pramble.data.labels import Labels
    from pramble.mechanisms.base import Mechanism


# Below it six terms of a series are exact, and a difference of logarithms would lose digits.
SMALL = 1e-3


def entropy_excess(t: Floats) -> Floats:
    r"""Return :math:`(1+t)\log(1+t) - t` for :math:`t \ge -1`, by its series when t is small."""
    small = np.abs(t) < SMALL
    if small.all():
        return _entropy_series(t)
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = np.where(t > -1, (1 + t) * np.log1p(t) - t, 1.0)
    if not small.any():
        return direct
    return np.where(small, _entropy_series(np.where(small, t, 0.0)), direct)


def _entropy_series(t: Floats) -> Floats:
    return t * t * (1 / 2 - t * (1 / 6 - t * (1 / 12 - t * (1 / 20 - t * (1 / 30 - t / 42)))))


def log_excess(d: Floats) -> Floats:
    r"""Return :math:`d - \log(1+d)` for :math:`d > -1`, by its series when d is small."""
    direct = d - np.log1p(d)
    small = np.abs(d) < SMALL
    near = np.where(small, d, 0.0)
    series = near**2 * (
        1 / 2 - near * (1 / 3 - near * (1 / 4 - near * (1 / 5 - near * (1 / 6 - near / 7))))
    )
    return np.where(small, series, direct)


# Singular values below this share of the largest are zero but for the rounding of weights.
RELATIVE_RANK_TOLERANCE = 1e-12


def refuse_unless_full_rank(M: Floats, labels: Labels) -> None:
    # Two priors that differ by a v with vM = 0 give the same released law; every such v sums to
    # zero, since v1 = vM1 = 0. These are an orthonormal basis of them.
    left, values, _ = np.linalg.svd(M, full_matrices=True)
    rank = int((values > values[0] * RELATIVE_RANK_TOLERANCE).sum())
    lost = np.asarray(left[:, rank:].T)
    if not len(lost):
        return
    _, group, count = np.unique(np.round(M, 12), axis=0, return_inverse=True, return_counts=True)
    shared = dict.fromkeys(g for g in group.ravel().tolist() if count[g] > 1)
    groups = [np.flatnonzero(group.ravel() == g).tolist() for g in shared]
    if groups:
        error = indistinguishable(groups, labels, rank=rank)
    else:
        x = sorted(np.argsort(-np.abs(lost[0]))[:6].tolist())
        terms = " ".join(f"{lost[0][i]:+.3g}·p[{labels.values[i]!r}]" for i in x)
        error = not_identifiable(f"for one, nothing is known of {terms}", labels, rank=rank)
    error.directions = lost
    raise error


def indistinguishable(
    groups: Sequence[Sequence[int]], labels: Labels, *, rank: int
) -> NotIdentifiable:
    named = "; ".join(
        ", ".join(repr(labels.values[x]) for x in group[:6]) + (", …" if len(group) > 6 else "")
        for group in groups[:4]
    )
    what = f"these categories have the same law and cannot be told apart: {named}"
    return not_identifiable(what, labels, rank=rank)


def not_identifiable(what: str, labels: Labels, *, rank: int) -> NotIdentifiable:
    return NotIdentifiable(
        f"The mechanism must have rank {len(labels)} to give every probability; its rank is "
        f"{rank}: {what}. Ask for a query= that does not need what is lost, such as the sum over a "
        "group."
    )


# Norm of an inverse above which the rank is looked at.
LARGEST_INVERSE = 1e6

# One unit of a weight.
UNIT = 2.0**-53
# Relative to a query, how much one unit of every weight may move its estimate.
MOST_NOISE = 1e-2


@frozen(eq=False)
class DenseRightInverse(RightInverse):
    """A right inverse held as a (T, S) array."""

    G: Floats
    M: Floats

    def apply(self, c: Floats) -> Floats:
        return np.asarray(c @ self.G)

    def adjoint(self, w: Floats) -> Floats:
        return np.asarray(w @ self.G.T)

    def squares(self, m: Floats) -> Floats:
        return np.asarray(m @ self.G**2)

    def own(self) -> Floats:
        return np.asarray(np.einsum("xz,zx->x", self.M, self.G**2))


@frozen(eq=False)
class DenseOperator(MechanismOperator):
    """Any mechanism."""

    mechanism: Mechanism

    def right_inverse(self, released: Floats | None = None) -> DenseRightInverse:
        r"""Return :math:`G = R^{-1}M^\top (M R^{-1} M^\top)^{-1}` with R = diag(released).

        For a square matrix this is :math:`M^{-1}` whatever the law. Otherwise it is the
        generalised least squares inverse; with the law of the flat prior (the default)
        :math:`G1 = 1`, so estimates sum to one.
        """
        M = self.dense()
        S, T = M.shape
        if T < S:
            refuse_unless_full_rank(M, self.mechanism.labels)
        try:
            G = np.linalg.inv(M) if S == T else weighted_inverse(M, released)
        except np.linalg.LinAlgError:
            G = np.full((T, S), np.nan)  # infinity times zero would warn
        # A singular matrix need not show in G: MG must be the identity up to rounding.
        inverts = np.abs(M @ G - np.eye(S)).max() < 1e-6
        if not (np.abs(G).sum(axis=1).max() < LARGEST_INVERSE and inverts):
            refuse_unless_full_rank(M, self.mechanism.labels)
        return DenseRightInverse(np.asarray(G, dtype=np.float64), M)

    def stay(self) -> Floats:
        mechanism = self.mechanism
        if mechanism.labels == mechanism.output_labels:
            return np.array(self.diagonal)
        place = {label: z for z, label in enumerate(mechanism.outputs)}
        S, T = mechanism.shape
        found = [place.get(label, T) for label in mechanism.categories]
        padded = np.column_stack([self.dense(), np.zeros(S)])
        return np.asarray(padded[np.arange(S), found])

    def row_entropies(self) -> Floats:
        return np.asarray(-xlogx(self.dense()).sum(axis=1))

    def information(self, p: Floats) -> float:
        matrix, prior = self.dense()[p > 0], p[p > 0]
        released = prior @ matrix
        matrix, released = matrix[:, released > 0], released[released > 0]
        excess = entropy_excess((matrix - released) / released)
        return float(prior @ excess @ released)

    def estimation_variance(self, p: Floats) -> float:
        matrix = self.dense()
        matrix = matrix[:, matrix.any(axis=0)]
        if matrix.shape[1] < len(p) or np.linalg.matrix_rank(matrix) < len(p):
            return math.inf
        return self.query_variance(p, np.eye(len(p)))

    def query_variance(self, p: Floats, queries: Floats) -> float:
        """Return n × the summed asymptotic variance of the best estimate of queries W p.

        Infinite when they cannot be estimated.
        """
        best = best_estimator(self.dense(), p, queries)
        return math.inf if best is None else float((p @ self.dense() @ best**2).sum())


def best_estimator(M: Floats, p: Floats, queries: Floats) -> Floats | None:
    r"""Return the weights g (T, Q) of the outputs in the best estimate of queries W p, centred.

    It is unbiased when :math:`\sum_z (M_{xz} - M_{oz})\,g(z) = W_x - W_o` for every x against one
    category o, differences that floats hold exactly. The best has the least :math:`\sum_z
    (pM)_z\,g(z)^2`: a least-norm solution, with mean 0. Rows are scaled to one length, and what
    the rounding of the weights blurs counts as nothing. None when there is no solution left.
    """
    # The likeliest category: the differences to it are the best known.
    one = int(p.argmax())
    scores = np.delete(M - M[one], one, axis=0)
    scores[np.abs(scores).max(axis=1) < len(p) * UNIT] = 0.0
    wanted = np.delete(queries - queries[:, [one]], one, axis=1).T
    released = p @ M
    used = released > 0
    scores, wanted = beside(scores[:, ~used], scores[:, used], wanted)
    roots = np.sqrt(released[used])
    scores = scores / roots
    norms = np.linalg.norm(scores, axis=1, keepdims=True)
    norms[norms == 0] = 1.0
    blur = UNIT * float(np.linalg.norm(1 / roots)) / float(norms.min())
    found = np.linalg.lstsq(scores / norms, wanted / norms, rcond=min(max(4 * blur, 1e-14), 1e-3))[
        0
    ]
    off = np.abs(scores @ found - wanted).max(axis=0, initial=0.0)
    best = np.zeros((M.shape[1], len(queries)))
    best[used] = found / roots[:, None]
    noise = UNIT * np.abs(best).sum(axis=0)
    size = np.abs(wanted).max(axis=0, initial=0.0)
    lost = (off > 1e-3 * size).any() or (noise > MOST_NOISE * size).any()
    return None if lost else best


def beside(known: Floats, scores: Floats, wanted: Floats) -> tuple[Floats, Floats]:
    """Return equations without what outputs tell that the prior makes impossible: all they see."""
    if not known.any():
        return scores, wanted
    left, values, _ = np.linalg.svd(known, full_matrices=True)
    unseen = left[:, int((values > values[0] * 1e-12).sum()) :].T
    return unseen @ scores, unseen @ wanted


def weighted_inverse(M: Floats, released: Floats | None) -> Floats:
    flat = M.mean(axis=0)
    used = flat > 0
    # A little of the flat law, so that no output has the weight zero.
    weights = flat if released is None else released + flat * 1e-9
    scaled = np.zeros_like(M)
    scaled[:, used] = M[:, used] / weights[used]
    return np.asarray(np.linalg.solve(M @ scaled.T, scaled).T, dtype=np.float64)
