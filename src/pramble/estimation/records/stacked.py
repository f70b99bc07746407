r"""All branches as one matrix on the cells of a table, and its right inverse.

What is released of the table is a record's branch b and an output z of the blocks that bear on it,
with the probability :math:`\pi_b M_b[x, z]`; records of branches that show nothing of it are one
more output. With :math:`u_b` (T, K_b) unbiased for the margins that branch b gives,
:math:`M_b u_b = B_b`, every row

.. math:: \varphi_b[z] = u_b[z]\,L_b - \delta_b , \qquad \sum_b \pi_b B_b L_b = I, \qquad
          \sum_b \pi_b \delta_b = 0,

is unbiased for the cells. The best :math:`L_b = F_b B_b^\top V`, :math:`V = (\sum_b \pi_b B_b F_b
B_b^\top)^{-1}`, weighs branches by the information :math:`F_b = (u_b^\top D_{m_b} u_b)^{-1}` of one
record, with :math:`m_b` the distribution of a branch's outputs that one distribution of the cells,
of all groups together, gives: were each branch weighed by its own counts, those with too few of a
cell would count too much. The shift :math:`\delta_b = p B_b L_b - p` gives every branch the same
mean, so that the drawing of branches, which is known, adds no variance.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from pramble.errors import NotShown
from pramble.estimation.records.intervals import inner_point
from pramble.limits import MOST_CELLS
from pramble.mechanisms.operators.base import InvertibleOperator, RightInverse
from pramble.mechanisms.operators.dense import DenseRightInverse
from pramble.values import Floats, Integers, frozen

# How far, relative to its weights, a query may reach into what is lost.
RESIDUAL = 1e-9


@frozen(eq=False)
class BranchInformation:
    r"""What the records of one branch tell of a table."""

    # (K,): which told margin each cell of the table is in; −1 for an impossible cell
    onto: Integers
    matrix: Floats  # (K_b, T): from those margins to outputs
    # (T, K_b): a right inverse of it, unbiased whatever distribution other columns have
    u: Floats
    # (K_b, r): an orthonormal basis Q of the sums of margins that are told, for which alone u is
    # right, u = uQQ^\top; None if all margins are told
    estimable: Floats | None = None
    # Whether the matrix is that of the margins whatever the distribution of columns beside them
    is_exact: bool = True

    @cached_property
    def possible(self) -> Integers:
        return np.flatnonzero(self.onto >= 0)

    def sums(self, p: Floats) -> Floats:
        flat = p[..., self.possible].reshape(-1, len(self.possible))
        answer = np.zeros((len(self.matrix), len(flat)))
        np.add.at(answer, self.onto[self.possible], flat.T)
        return answer.T.reshape(*p.shape[:-1], -1)

    def spread(self, margins: Floats) -> Floats:
        return np.asarray(np.where(self.onto >= 0, margins[..., self.onto], 0.0))


def slices_of(aspects: tuple[BranchInformation, ...]) -> list[slice]:
    """Return where the outputs of each aspect stand; the last output of all is silence."""
    ends = np.cumsum([0, *(len(aspect.u) for aspect in aspects)]).tolist()
    return [slice(a, b) for a, b in pairwise(ends)]


@frozen(eq=False)
class StackedInverse(RightInverse):
    """The right inverse φ, group by group."""

    aspects: tuple[BranchInformation, ...]
    # (R, B + 1): the shares of the aspects among the records of each group, silence last
    shares: Floats
    weights: tuple[Floats, ...]  # (R, K_b, K): the L above
    shifts: Floats  # (R, B + 1, K): the δ above

    def apply(self, c: Floats) -> Floats:
        answer = -c[..., -1:] * self.shifts[:, -1]
        for b, (aspect, own) in enumerate(zip(self.aspects, slices_of(self.aspects), strict=True)):
            estimable = np.einsum("...rk,rkx->...rx", c[..., own] @ aspect.u, self.weights[b])
            answer = answer + estimable - c[..., own].sum(axis=-1)[..., None] * self.shifts[:, b]
        return np.asarray(answer)

    def adjoint(self, w: Floats) -> Floats:
        parts = []
        for b, aspect in enumerate(self.aspects):
            estimable = np.einsum("...rx,rkx->...rk", w, self.weights[b]) @ aspect.u.T
            parts.append(estimable - (w * self.shifts[:, b]).sum(axis=-1)[..., None])
        parts.append(-(w * self.shifts[:, -1]).sum(axis=-1)[..., None])
        return np.concatenate(parts, axis=-1)

    def rows(self, group: int, b: int) -> Floats:
        if len(self.shares) == 1:
            return self.only_rows[b]
        return np.asarray(self.aspects[b].u @ self.weights[b][group] - self.shifts[group, b])

    @cached_property
    def only_rows(self) -> list[Floats]:
        """The rows of φ of each aspect, where there is one group."""
        aspects = zip(self.aspects, self.weights, self.shifts[0], strict=False)
        return [np.asarray(aspect.u @ weights[0] - shift) for aspect, weights, shift in aspects]

    def squares(self, m: Floats) -> Floats:
        """Return m G²."""
        answer = m[..., -1:] * self.shifts[:, -1] ** 2
        for b, own in enumerate(slices_of(self.aspects)):
            for group in range(len(self.shares)):
                answer[..., group, :] += m[..., group, own] @ self.rows(group, b) ** 2
        return np.asarray(answer)

    def own(self) -> Floats:
        """Return the diagonal of M G², group by group."""
        answer = self.shares[:, -1:] * self.shifts[:, -1] ** 2
        for b, aspect in enumerate(self.aspects):
            for group, share in enumerate(self.shares[:, b].tolist()):
                squares = self.rows(group, b)[:, aspect.possible] ** 2
                own = np.einsum("xz,zx->x", aspect.matrix[aspect.onto[aspect.possible]], squares)
                answer[group, aspect.possible] += share * own
        return np.asarray(answer)

    def of_group(self, group: int) -> DenseRightInverse:
        shares, aspects = self.shares[group], self.aspects
        rows = [self.rows(group, b) for b in range(len(aspects))]
        columns = [
            share * aspect.spread(aspect.matrix.T).T
            for aspect, share in zip(aspects, shares, strict=False)
        ]
        silent = (shares[-1] * (aspects[0].onto >= 0))[:, None]
        G = np.concatenate([*rows, -self.shifts[group, -1:]])
        return DenseRightInverse(G, np.concatenate([*columns, silent], axis=1))


@frozen(eq=False)
class StackedOperator:
    """All branches on the cells of a table, in each group with its own shares of them."""

    inverse: StackedInverse  # Right for what is told
    # (K, L): a basis of the changes of the cells that no release shows, one in each column
    lost: Floats
    refusal: NotShown | None = None  # Why not all cells are told, if they are not

    @property
    def is_exact(self) -> bool:
        return all(aspect.is_exact for aspect in self.inverse.aspects)

    @property
    def shape(self) -> tuple[int, int]:
        aspects = self.inverse.aspects
        return len(aspects[0].onto), sum(len(aspect.u) for aspect in aspects) + 1

    def apply(self, p: Floats) -> Floats:
        aspects, shares = self.inverse.aspects, self.inverse.shares
        parts = [
            aspect.sums(p) @ aspect.matrix * shares[:, b, None] for b, aspect in enumerate(aspects)
        ]
        silent = p[..., aspects[0].possible].sum(axis=-1) * shares[:, -1]
        return np.concatenate([*parts, silent[..., None]], axis=-1)

    def adjoint(self, v: Floats) -> Floats:
        aspects, shares = self.inverse.aspects, self.inverse.shares
        answer = v[..., -1:] * shares[:, -1:] * (aspects[0].onto >= 0)
        for b, (aspect, own) in enumerate(zip(aspects, slices_of(aspects), strict=True)):
            answer = answer + aspect.spread(v[..., own] @ aspect.matrix.T) * shares[:, b, None]
        return np.asarray(answer)

    def right_inverse(self, distribution: Floats | None = None) -> StackedInverse:
        """Return φ, which was made efficient at the distribution that the release suggests."""
        del distribution
        if self.refusal is not None:
            raise self.refusal
        return self.inverse

    def estimable(self, w: Floats) -> Floats:
        short = np.abs(w @ self.lost).max(initial=0.0) > RESIDUAL * max(np.abs(w).max(), 1.0)
        if short and self.refusal is not None:
            raise self.refusal
        return self.inverse.adjoint(w)

    def of_group(self, group: int) -> "GroupOperator":
        return GroupOperator(self.inverse.of_group(group))


@frozen(eq=False)
class GroupOperator(InvertibleOperator):
    """The matrix of one group, with its right inverse."""

    inverse: DenseRightInverse

    @property
    def shape(self) -> tuple[int, int]:
        return self.inverse.M.shape[0], self.inverse.M.shape[1]

    def dense(self) -> Floats:
        return self.inverse.M

    def right_inverse(self, distribution: Floats | None = None) -> DenseRightInverse:
        del distribution
        return self.inverse


# Rounds of weighing branches by what was found with the last weights; any weights are unbiased.
STEPS = 3

# The share of the largest eigenvalue below which a change of cells is shown by no branch, and of
# the largest diagonal entry below which an entry is no scale.
SINGULAR, SMALLEST = 1e-9, 1e-14
# Records of a group in a branch below which the branches' shares are those of all groups.
FEW = 10


@frozen(eq=False)
class PooledBranches:
    """The branches' weights for all records together."""

    aspects: tuple[BranchInformation, ...]
    shares: Floats  # (B,): of all records, or of weights
    margins: Sequence[Floats] | None = (
        None  # What each branch found; without, the distribution is even
    )
    n: float = 1.0  # Number of records

    @property
    def possible(self) -> Integers:
        return self.aspects[0].possible

    @property
    def is_alone(self) -> bool:
        """Whether one branch tells every cell, and nothing else bears on the table."""
        one = self.aspects[0]
        alone = len(self.aspects) == 1 and one.estimable is None
        return alone and len(one.matrix) == len(one.possible)

    def even(self) -> Floats:
        distribution = np.zeros(len(self.aspects[0].onto))
        distribution[self.possible] = 1 / len(self.possible)
        return distribution

    def informations(self, distribution: Floats) -> list[Floats]:
        answer = []
        for aspect in self.aspects:
            released = aspect.sums(distribution) @ aspect.matrix
            variance, Q = (aspect.u.T * released) @ aspect.u, aspect.estimable
            if Q is None:
                answer.append(np.asarray(np.linalg.inv(variance), dtype=np.float64))
            else:  # the inverse on what is estimable
                answer.append(np.asarray(Q @ np.linalg.inv(Q.T @ variance @ Q) @ Q.T))
        return answer

    @cached_property
    def best(self) -> tuple[list[Floats], Floats]:
        distribution = self.even()
        for step in range(1 if self.margins is None or self.is_alone else STEPS):
            informations = self.informations(distribution)
            V, lost = self.inverse(informations, self.shares)
            if self.margins is None or lost.shape[1] or step == STEPS - 1:
                break
            found = np.zeros(len(distribution))
            for share, aspect, F, y in zip(
                self.shares, self.aspects, informations, self.margins, strict=True
            ):
                found += share * aspect.spread(F @ y) @ V
            distribution = np.zeros(len(distribution))
            distribution[self.possible] = inner_point(found[self.possible], n=self.n)
        return informations, V

    @cached_property
    def lost(self) -> Floats:
        if self.is_alone:
            return np.zeros((len(self.aspects[0].onto), 0))
        return self.inverse(self.informations(self.even()), self.shares)[1]

    def inverse(self, informations: list[Floats], shares: Floats) -> tuple[Floats, Floats]:
        K, cells = len(self.aspects[0].onto), self.possible
        total = np.zeros((len(cells), len(cells)))
        for share, aspect, F in zip(shares, self.aspects, informations, strict=False):
            place = aspect.onto[cells]
            total += share * F[np.ix_(place, place)]
        diagonal = np.diag(total)
        root = np.sqrt(np.maximum(diagonal, max(SMALLEST * float(diagonal.max()), 1e-150)))
        values, vectors = np.linalg.eigh(total / np.outer(root, root))
        estimable = values > SINGULAR * max(float(values[-1]), 1e-300)
        used = vectors[:, estimable] / root[:, None]
        V = np.zeros((K, K))
        V[np.ix_(cells, cells)] = (used / values[estimable]) @ used.T
        lost = np.zeros((K, int((~estimable).sum())))
        lost[cells] = vectors[:, ~estimable] / root[:, None]
        norms = np.linalg.norm(lost, axis=0, keepdims=True)
        return V, lost / np.where(norms > 0, norms, 1.0)

    def weights(self, shares: Floats) -> list[Floats]:
        if self.is_alone:
            estimable = self.aspects[0].onto == np.arange(len(self.possible))[:, None]
            return [estimable / shares[0]]
        informations, V = self.best
        if not np.array_equal(shares, self.shares):
            V = self.inverse(informations, shares)[0]
        return [F @ v.sums(V).T for F, v in zip(informations, self.aspects, strict=True)]


def stack(
    aspects: tuple[BranchInformation, ...], released: Floats, numbers: Floats
) -> StackedOperator:
    places = [*slices_of(aspects), slice(-1, None)]
    sizes = np.stack([released[:, own].sum(axis=1) for own in places], axis=1)
    whole = sizes.sum(axis=0) / sizes.sum()
    totals = sizes.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, sizes / np.where(totals > 0, totals, 1.0), whole)
    margins = [
        released[:, own].sum(axis=0) @ aspect.u / max(float(size), 1e-300)
        for aspect, own, size in zip(aspects, places, sizes.sum(axis=0), strict=False)
    ]
    pooled = PooledBranches(aspects, whole[:-1], margins=margins, n=float(numbers.sum()))
    common = pooled.weights(pooled.shares)
    weights = [np.broadcast_to(L, (len(released), *L.shape)) for L in common]
    shifts = np.zeros((len(released), len(places), len(aspects[0].onto)))
    # which groups have enough records in every branch for shares of their own
    if len(numbers) == 1:
        many = np.ones(1, dtype=np.bool_)
    elif len(numbers) * sum(L.size for L in common) > MOST_CELLS // 2:
        many = np.zeros(len(numbers), dtype=np.bool_)
    else:
        many = np.min([numbers[:, own].sum(axis=1) for own in places[:-1]], axis=0) >= FEW
    if many.any() and len(released) > 1:
        weights = [np.array(L) for L in weights]
    for group in np.flatnonzero(many):
        if len(released) > 1:
            own = pooled.weights(shares[group, :-1])
            for b, L in enumerate(own):
                weights[b][group] = L
        counts, found = released[group], [L[group] for L in weights]
        estimable = [counts[own] @ v.u for v, own in zip(aspects, places, strict=False)]
        p = sum(y @ L for y, L in zip(estimable, found, strict=True)) / counts.sum()
        means = [aspect.sums(p) @ L for aspect, L in zip(aspects, found, strict=True)]
        shifts[group] = np.stack([*(mean - p for mean in means), -p])
    inverse = StackedInverse(aspects, shares, tuple(weights), shifts)
    return StackedOperator(inverse, pooled.lost)
