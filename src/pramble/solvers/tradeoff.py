r"""Trade-offs: information against estimation variance, and against a loss.

The most information less a multiple of the expected loss, by column generation.

A column :math:`\theta s_A` that is released as z costs :math:`\theta\sum_x p_x s_A(x) L_{xz}`,
least at one z. If columns may share a name and are still told apart, the most of
:math:`I - \mu\,\text{loss}` is the linear programme of
:mod:`~pramble.solvers.general.generation` with gains
:math:`\varphi(p(A)) - \mu \min_z \sum_x p_x s_A(x) L_{xz}`; pricing is done for one z after the
other, exactly, with :math:`\lambda_x + \mu p_x L_{xz}` in place of :math:`\lambda_x`. So its bound
holds for every α-DP matrix. An optimum has at most S columns, and where each is best released as
another value, it is a matrix of these S outputs and attains the bound. Where not, columns of one
name are added up, which loses information, or all get names of their own, which costs loss; the
better is taken.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pramble.data.frames import Tidy
from pramble.information.distributions import as_prior
from pramble.information.fisher import estimation_variance
from pramble.information.measures import mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.shown import Display, Grid, number, shortened
from pramble.solvers.design import as_loss, design
from pramble.values import Floats, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


from dataclasses import dataclass

from pramble.information.measures import information_bound
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.generation import PULLS, Columns, bound_of
from pramble.solvers.general.pricing import price
from pramble.solvers.general.sets import (
    Gain,
    Sets,
    matrix_information,
    matrix_of,
    patterns_of,
    trim,
)

ALIKE = 1e-6
SHARES = (1.0, 0.99, 0.975, 0.95, 0.925, 0.9, 0.85, 0.8)


@value(eq=False, repr=False)
class Pareto(Display, Tidy):
    r"""Information against estimation variance at one α, and against a loss if one was given.

    Attributes
    ----------
    share : array
        The share of the best information that was asked for; 0 where none was.
    information : array
        In nats.
    variance : array
        n times the summed asymptotic variance of the estimate of p; infinite when p is not
        identifiable.
    loss : array or None
        The expected loss, with columns named so that it is least.

    Examples
    --------
    >>> import pramble
    >>> sorted(pramble.pareto_curve([0.5, 0.3, 0.2], 1.0, shares=[0.9]).to_json())
    ['information', 'share', 'variance']
    """

    share: Floats
    information: Floats
    variance: Floats
    loss: Floats | None = None

    def columns(self) -> dict[str, list[float]]:
        """Return the points as plain lists."""
        found = {name: getattr(self, name) for name in ("share", "information", "variance", "loss")}
        return {name: column.tolist() for name, column in found.items() if column is not None}

    to_json = columns

    def shown(self) -> Grid:
        columns = self.columns()
        rows = [list(map(number, row)) for row in zip(*columns.values(), strict=True)]
        return Grid("Pareto", list(columns), shortened(rows), left=0)

    def plot(self) -> "Figure":
        """Return a figure of information against estimation variance."""
        from pramble.plots.tradeoffs import plot_tradeoff

        return plot_tradeoff(self)


def pareto_curve(
    prior: ArrayLike,
    alpha: float,
    *,
    shares: Iterable[float] = SHARES,
    loss: ArrayLike | None = None,
) -> Pareto:
    r"""Return how much estimation variance each share of the best information costs.

    For every share a general matrix of least variance among those that carry at least so much of
    the best information; last, the general design for estimation. A point that another one beats in
    both is left out.

    With a ``loss`` there are also the design of least loss and, for some weights μ, a matrix of
    much :math:`I - \mu\sum_x p_x\sum_z M_{xz}L_{xz}`, and a point that another beats in all three
    is left out; less than a millionth of a figure does not count.

    **Between two points.** Let a share t of the records be released by one matrix and the rest by
    the other. If it is told which, information and loss are both exactly on the chord. If it is
    not, equal outputs are added up: the loss stays on the chord, and the information falls below
    it, for it is convex in the matrix. So what is best with outputs told apart is concave, above
    all chords, and a square matrix may lie below it.

    Parameters
    ----------
    prior : (S,) array_like
    alpha : float
    shares : iterable of float
        Between 0 and 1.
    loss : (S, S) array_like, optional
        What it costs to release a value (column) for a true one (row).

    Returns
    -------
    Pareto
        Sorted by information, largest first.

    Examples
    --------
    >>> import pramble
    >>> curve = pramble.pareto_curve([0.4, 0.3, 0.2, 0.1], 1.0, shares=[1.0, 0.9])
    >>> bool((curve.information[:-1] > curve.information[1:]).all())
    True
    >>> bool((curve.variance[:-1] > curve.variance[1:]).all())
    True
    """
    p = as_prior(prior)
    designs = [
        (share, design(p, alpha, family="general", information_at_least=share)) for share in shares
    ]
    designs.append((0.0, design(p, alpha, family="general", objective="estimation")))
    found = [(share, one.mechanism) for share, one in designs]
    losses = None if loss is None else as_loss(loss, len(p))
    if losses is not None:
        found += [(0.0, one) for one in near_mechanisms(p, alpha, losses)]
    figures = np.array([[*figures_of(p, one, losses), share] for share, one in found])
    figures = figures[np.lexsort(figures.T[::-1])]
    kept = figures[undominated(figures[:, :-1], 0.0 if losses is None else ALIKE)]
    return Pareto(
        kept[:, -1], -kept[:, 0], kept[:, 1], None if losses is None else kept[:, 2].copy()
    )


def figures_of(prior: Floats, mechanism: Mechanism, loss: Floats | None) -> list[float]:
    """Return minus the information, the variance and the least loss under any names."""
    figures = [-mutual_information(prior, mechanism), estimation_variance(prior, mechanism)]
    return figures if loss is None else [*figures, least_named(prior, mechanism.matrix, loss)]


def undominated(figures: Floats, alike: float) -> list[int]:
    """Return the rows that no other beats, smaller being better, the first of those alike."""
    # Less than alike times a figure does not count.
    slack = alike * np.abs(np.where(np.isfinite(figures), figures, 0.0))

    def beaten(one: int, by: int) -> bool:
        as_good = (figures[by] <= figures[one] + slack[one]).all()
        better = (figures[by] < figures[one] - slack[one]).any()
        return bool(as_good and (better or by < one))

    rows = range(len(figures))
    return [one for one in rows if not any(beaten(one, by) for by in rows if by != one)]


WEIGHTS = 2.0 ** np.arange(-4, 5)
"""Of the loss, in units of the chord between both ends."""

TOLERANCE = 1e-6


def least_named(prior: Floats, matrix: Floats, loss: Floats) -> float:
    """Return the least expected loss of a square matrix under any names of its columns."""
    from scipy.optimize import linear_sum_assignment

    lost = matrix.T @ (prior[:, None] * loss)
    return float(lost[linear_sum_assignment(lost)].sum())


def near_mechanisms(prior: Floats, alpha: float, loss: Floats) -> list[Mechanism]:
    """Return the design of least loss, and matrices that tell more and lose more, by weights."""
    near = design(prior, alpha, family="general", objective="loss", loss=loss)
    telling = design(prior, alpha, family="general")
    cost = least_named(prior, telling.mechanism.matrix, loss) - near.value
    if not cost > 0:
        return [near.mechanism]
    chord = max(telling.information - near.information, TOLERANCE * telling.information) / cost
    sets = np.zeros((0, len(prior)), dtype=np.bool_)
    found = [near.mechanism]
    for weight in (chord * WEIGHTS).tolist():
        told = information_less_loss(
            prior, loss, alpha, weight=weight, start=sets, budget=SearchBudget(TOLERANCE)
        )
        sets = np.vstack([sets, told.sets])
        found.append(Mechanism.from_matrix(told.matrix, alpha=alpha))
    return found


MOST_ROUNDS = 400
NODES = 20_000


@dataclass(frozen=True)
class Compromise:
    """A matrix with outputs under their own labels, and a bound on information less loss."""

    matrix: Floats
    value: float
    bound: float
    sets: Sets


def information_less_loss(
    prior: Floats, loss: Floats, alpha: float, *, weight: float, start: Sets, budget: SearchBudget
) -> Compromise:
    """Return the best matrix found; the gap is in units of the universal bound on information."""
    gain, tolerance = Gain(alpha), budget.tolerance
    costs = weight * prior[:, None] * loss
    columns = Columns(
        prior, gain, costs=lambda sets: (patterns_of(sets, gain.a1) @ costs).min(axis=1)
    )
    size = len(prior)
    columns.add(np.vstack([np.zeros((1, size), dtype=np.bool_), np.eye(size, dtype=np.bool_)]))
    columns.add(start)
    unit = information_bound(alpha)
    bound, centre = np.inf, np.zeros(size)
    theta = np.zeros(0)
    for _ in range(MOST_ROUNDS):
        solved = columns.solve(budget)
        assert solved is not None
        theta, prices, value = solved
        if bound - value <= tolerance * unit:
            break
        for pull in PULLS if bound < np.inf else (0.0,):
            between = (1 - pull) * prices + pull * centre
            sets, most = dearest(
                prior, between, costs, gain, slack=tolerance * unit / 20, budget=budget
            )
            proven, shift = bound_of(between, most, gain)
            if proven < bound:
                bound, centre = proven, between + shift * prior
            worth = columns.worth(sets) - patterns_of(sets, gain.a1) @ prices
            if columns.add(sets[worth > 1e-12 * unit]):
                break
        else:
            break
    used = theta > 1e-12 * theta.max()
    sets, theta = trim(columns.sets[: len(theta)][used], theta[used], gain)
    candidates = under_names(matrix_of(sets, theta, alpha), costs)
    values = [
        matrix_information(prior, one[:, one.any(axis=0)]) - float((one * costs).sum())
        for one in candidates
    ]
    best = int(np.argmax(values))
    return Compromise(candidates[best], values[best], bound, sets)


def dearest(
    prior: Floats, prices: Floats, costs: Floats, gain: Gain, *, slack: float, budget: SearchBudget
) -> tuple[Sets, float]:
    """Return sets that gain most above the prices under some name, and a bound on what they do."""
    found, most = [], -np.inf
    for z in range(costs.shape[1]):
        shifted = gain.a1 * (prices + costs[:, z])
        one = price(prior, shifted, gain, slack=slack, budget=budget, most_nodes=NODES)
        found.append(one.sets[-2:])
        most = max(most, one.bound - float(costs[:, z].sum()))
    return np.vstack(found), most


def under_names(matrix: Floats, costs: Floats) -> list[Floats]:
    """Return square matrices of some columns: each under its best name, and each under its own."""
    from scipy.optimize import linear_sum_assignment

    lost = matrix.T @ costs
    added = np.zeros(costs.shape)
    np.add.at(added.T, lost.argmin(axis=1), matrix.T)
    if matrix.shape[1] > len(costs):
        return [added]
    columns, names = linear_sum_assignment(lost)
    apart = np.zeros(costs.shape)
    apart[:, names] = matrix[:, columns]
    return [added, apart]
