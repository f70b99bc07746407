r"""How much each branch counts for a table: the best linear combination of what branches tell.

With :math:`m_b` the law of a branch's outputs and :math:`u_b` unbiased for the margins that it
tells, one record has the information :math:`F_b = (u_b^\top D_{m_b} u_b)^{-1}` on them, and the
weights of :mod:`pramble.estimation.inverse.stacked` follow. The law is one for all branches, that
of all groups together: were each branch weighed by its own counts, those with too few of a cell
would count too much.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramble.estimation.inverse.moments import inner_point
from pramble.estimation.inverse.stacked import Aspect, StackedInverse, StackedOperator, slices_of
from pramble.limits import MOST_CELLS
from pramble.values import Floats, Integers

STEPS = 3
SINGULAR = 1e-9
SMALLEST = 1e-14
FEW = 10
"""Records of a group in a branch below which the branches' shares are those of all groups."""


class Pooled:
    """The branches' weights for all records together.

    Parameters
    ----------
    aspects : tuple of Aspect
    shares : (B,) array
        Their shares of all records, or of weights.
    margins : list of arrays, optional
        What each found; without, the law is even.
    n : float
        Number of records.
    """

    def __init__(
        self,
        aspects: tuple[Aspect, ...],
        shares: Floats,
        *,
        margins: list[Floats] | None = None,
        n: float = 1.0,
    ) -> None:
        self.aspects, self.shares, self.margins, self.n = aspects, shares, margins, n

    @property
    def possible(self) -> Integers:
        return self.aspects[0].possible

    @property
    def is_alone(self) -> bool:
        """Whether one branch tells every cell, and nothing else bears on the table."""
        one = self.aspects[0]
        alone = len(self.aspects) == 1 and one.told is None
        return alone and len(one.matrix) == len(one.possible)

    def even(self) -> Floats:
        law = np.zeros(len(self.aspects[0].onto))
        law[self.possible] = 1 / len(self.possible)
        return law

    def informations(self, law: Floats) -> list[Floats]:
        """Return what a record of each branch tells of its margins."""
        answer = []
        for aspect in self.aspects:
            released = aspect.sums(law) @ aspect.matrix
            answer.append(inverse_where((aspect.u.T * released) @ aspect.u, aspect.told))
        return answer

    @cached_property
    def best(self) -> tuple[list[Floats], Floats]:
        """The informations at the law that was found, and V for all records."""
        law = self.even()
        for step in range(1 if self.margins is None or self.is_alone else STEPS):
            informations = self.informations(law)
            V, lost = self.inverse(informations, self.shares)
            if self.margins is None or lost.shape[1] or step == STEPS - 1:
                break
            found = np.zeros(len(law))
            for share, aspect, F, y in zip(
                self.shares, self.aspects, informations, self.margins, strict=True
            ):
                found += share * aspect.spread(F @ y) @ V
            law = np.zeros(len(law))
            law[self.possible] = inner_point(found[self.possible], n=self.n)
        return informations, V

    @cached_property
    def lost(self) -> Floats:
        """A basis of the changes of the cells that no branch shows, one in each column."""
        if self.is_alone:
            return np.zeros((len(self.aspects[0].onto), 0))
        return self.inverse(self.informations(self.even()), self.shares)[1]

    def inverse(self, informations: list[Floats], shares: Floats) -> tuple[Floats, Floats]:
        """Return V for some shares of the branches, and what is lost."""
        K, cells = len(self.aspects[0].onto), self.possible
        total = np.zeros((len(cells), len(cells)))
        for share, aspect, F in zip(shares, self.aspects, informations, strict=False):
            place = aspect.onto[cells]
            total += share * F[np.ix_(place, place)]
        diagonal = np.diag(total)
        root = np.sqrt(np.maximum(diagonal, max(SMALLEST * float(diagonal.max()), 1e-150)))
        values, vectors = np.linalg.eigh(total / np.outer(root, root))
        told = values > SINGULAR * max(float(values[-1]), 1e-300)
        kept = vectors[:, told] / root[:, None]
        V = np.zeros((K, K))
        V[np.ix_(cells, cells)] = (kept / values[told]) @ kept.T
        lost = np.zeros((K, int((~told).sum())))
        lost[cells] = vectors[:, ~told] / root[:, None]
        norms = np.linalg.norm(lost, axis=0, keepdims=True)
        return V, lost / np.where(norms > 0, norms, 1.0)

    def weights(self, shares: Floats) -> list[Floats]:
        """Return the L of each branch for some shares of the branches."""
        if self.is_alone:
            told = self.aspects[0].onto == np.arange(len(self.possible))[:, None]
            return [told / shares[0]]
        informations, V = self.best
        if not np.array_equal(shares, self.shares):
            V = self.inverse(informations, shares)[0]
        return [F @ v.sums(V).T for F, v in zip(informations, self.aspects, strict=True)]


def inverse_where(variance: Floats, told: Floats | None) -> Floats:
    r"""Return :math:`Q(Q^\top A Q)^{-1}Q^\top`, the inverse on what is told."""
    if told is None:
        return np.asarray(np.linalg.inv(variance), dtype=np.float64)
    return np.asarray(told @ np.linalg.inv(told.T @ variance @ told) @ told.T)


def stack(aspects: tuple[Aspect, ...], released: Floats, numbers: Floats) -> StackedOperator:
    """Return all branches as one operator, from sums over outputs and numbers of records."""
    places = [*slices_of(aspects), slice(-1, None)]
    sizes = np.stack([released[:, own].sum(axis=1) for own in places], axis=1)
    whole = sizes.sum(axis=0) / sizes.sum()
    totals = sizes.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, sizes / np.where(totals > 0, totals, 1.0), whole)
    margins = [
        released[:, own].sum(axis=0) @ aspect.u / max(float(size), 1e-300)
        for aspect, own, size in zip(aspects, places, sizes.sum(axis=0), strict=False)
    ]
    pooled = Pooled(aspects, whole[:-1], margins=margins, n=float(numbers.sum()))
    common = pooled.weights(pooled.shares)
    weights = [np.broadcast_to(L, (len(released), *L.shape)) for L in common]
    shifts = np.zeros((len(released), len(places), len(aspects[0].onto)))
    many = has_many(numbers, places, cells=sum(L.size for L in common))
    if many.any() and len(released) > 1:
        weights = [np.array(L) for L in weights]
    for group in np.flatnonzero(many):
        if len(released) > 1:
            own = pooled.weights(shares[group, :-1])
            for b, L in enumerate(own):
                weights[b][group] = L
        shifts[group] = shifts_of(aspects, [L[group] for L in weights], released[group])
    inverse = StackedInverse(aspects, shares, tuple(weights), shifts)
    return StackedOperator(inverse, pooled.lost)


def has_many(numbers: Floats, places: list[slice], *, cells: int) -> NDArray[np.bool_]:
    """Return which groups have enough records in every branch for shares of their own."""
    if len(numbers) == 1:
        return np.ones(1, dtype=np.bool_)
    if len(numbers) * cells > MOST_CELLS // 2:
        return np.zeros(len(numbers), dtype=np.bool_)
    least = np.min([numbers[:, own].sum(axis=1) for own in places[:-1]], axis=0)
    return np.asarray(least >= FEW)


def shifts_of(aspects: tuple[Aspect, ...], weights: list[Floats], released: Floats) -> Floats:
    """Return the shift of each branch in one group, and of silence."""
    total = released.sum()
    told = [released[own] @ v.u for v, own in zip(aspects, slices_of(aspects), strict=True)]
    p = sum(y @ L for y, L in zip(told, weights, strict=True)) / total
    means = [aspect.sums(p) @ L for aspect, L in zip(aspects, weights, strict=True)]
    return np.stack([*(mean - p for mean in means), -p])
