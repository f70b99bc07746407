"""Trade-offs: information against estimation variance."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pramble.data.frames import Tidy
from pramble.information.distributions import as_prior
from pramble.information.fisher import estimation_variance
from pramble.information.measures import mutual_information
from pramble.shown import Display, Grid, number, shortened
from pramble.solvers.design import design
from pramble.values import Floats, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARES = (1.0, 0.99, 0.975, 0.95, 0.925, 0.9, 0.85, 0.8)


@value(eq=False, repr=False)
class Pareto(Display, Tidy):
    r"""Information against estimation variance at one α.

    Attributes
    ----------
    share : array
        The share of the best information that was asked for; 0 where none was.
    information : array
        In nats.
    variance : array
        n times the summed asymptotic variance of the estimate of p; infinite when p is not
        identifiable.

    Examples
    --------
    >>> import pramble
    >>> sorted(pramble.pareto_curve([0.5, 0.3, 0.2], 1.0, shares=[0.9]).to_json())
    ['information', 'share', 'variance']
    """

    share: Floats
    information: Floats
    variance: Floats

    def columns(self) -> dict[str, list[float]]:
        """Return the points as plain lists."""
        names = ("share", "information", "variance")
        return {name: getattr(self, name).tolist() for name in names}

    to_json = columns

    def shown(self) -> Grid:
        columns = self.columns()
        rows = [list(map(number, row)) for row in zip(*columns.values(), strict=True)]
        return Grid("Pareto", list(columns), shortened(rows), left=0)

    def plot(self) -> "Figure":
        """Return a figure of information against estimation variance."""
        from pramble.plots.tradeoffs import plot_tradeoff

        return plot_tradeoff(self)


def pareto_curve(prior: ArrayLike, alpha: float, *, shares: Iterable[float] = SHARES) -> Pareto:
    """Return how much estimation variance each share of the best information costs.

    For every share a general matrix of least variance among those that carry at least so much of
    the best information; last, the general design for estimation. A point that another one beats in
    both is left out.

    Parameters
    ----------
    prior : (S,) array_like
    alpha : float
    shares : iterable of float
        Between 0 and 1.

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
    found = [
        (mutual_information(p, one.mechanism), estimation_variance(p, one.mechanism), share)
        for share, one in designs
    ]
    kept: list[tuple[float, float, float]] = []
    least = np.inf
    # most information first: a point is beaten iff one before it has as little variance
    for information, variance, share in sorted(found, key=lambda one: (-one[0], *one[1:])):
        if variance < least or not kept:
            kept.append((share, information, variance))
            least = variance
    return Pareto(*np.array(kept).T.copy())
