"""Trade-offs: information against estimation variance, and against a loss."""

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
from pramble.solvers.general.nearby.curve import least_named, near_mechanisms
from pramble.values import Floats, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    """Return the rows that no other beats, smaller being better, the first of those alike.

    Less than ``alike`` times a figure does not count.
    """
    slack = alike * np.abs(np.where(np.isfinite(figures), figures, 0.0))

    def beaten(one: int, by: int) -> bool:
        as_good = (figures[by] <= figures[one] + slack[one]).all()
        better = (figures[by] < figures[one] - slack[one]).any()
        return bool(as_good and (better or by < one))

    rows = range(len(figures))
    return [one for one in rows if not any(beaten(one, by) for by in rows if by != one)]
