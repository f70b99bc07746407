r"""How many records randomised response keeps as they are under a central promise."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.frames import Tidy
from pramble.errors import InvalidInput
from pramble.shown import Display, Grid, number, shortened
from pramble.solvers.central.costs import false_share_of
from pramble.solvers.central.promise import Promise, as_promise
from pramble.solvers.central.response import largest_response
from pramble.solvers.record.problem import as_problem
from pramble.values import Floats, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = (1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7)


@value(eq=False, repr=False)
class KeptShares(Display, Tidy):
    r"""The share of records that randomised response keeps, against the number of rows.

    Attributes
    ----------
    epsilons, cells, rows : tuple
        What was asked: central ε, numbers S of cells, numbers n of rows.
    delta : float
    shares : (epsilons, cells, rows) array
        :math:`1 - \gamma`: a record is kept with this probability, and else a cell is drawn evenly.
        Each is proven; 0 where none was found.

    Examples
    --------
    >>> import pramble
    >>> found = pramble.kept_shares(epsilons=[1.0], cells=[110], rows=[10**4, 10**6])
    >>> found.shares.round(3).tolist()
    [[[0.752, 0.995]]]
    """

    epsilons: tuple[float, ...]
    cells: tuple[int, ...]
    rows: tuple[int, ...]
    delta: float
    shares: Floats

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as plain lists."""
        found = list(product(self.epsilons, self.cells, self.rows))
        names = ("epsilon", "cells", "rows")
        own = {name: [row[i] for row in found] for i, name in enumerate(names)}
        return {**own, "share": self.shares.ravel().tolist()}

    def shown(self) -> Grid:
        """Return a line for each promise, number of cells and number of rows."""
        columns = self.columns()
        rows = [list(map(number, row)) for row in zip(*columns.values(), strict=True)]
        title = f"Share of records kept as they are (δ = {self.delta:g})"
        return Grid(title, list(columns), shortened(rows), left=0)

    def plot(self) -> "Figure":
        """Return a figure of the shares against the number of rows."""
        from pramble.plots.tradeoffs import plot_kept

        return plot_kept(self)


def kept_shares(
    *,
    epsilons: Sequence[float] = (0.1, 1.0, 2.0),
    cells: Sequence[int] = (10, 100, 1000, 10_000),
    rows: Sequence[float] = ROWS,
    delta: float = 1e-6,
) -> KeptShares:
    r"""Return the largest proven share of records that a shuffled file may keep as they are.

    For randomised response on S cells, which with probability :math:`\gamma` replaces a record by a
    cell drawn evenly, it is the largest :math:`1 - \gamma` whose file of n rows in random order has
    (ε, δ). A promise fixes the number of false records in a cell, about :math:`\gamma n/S`.

    Parameters
    ----------
    epsilons, cells, rows : sequence
        Every combination is tried.
    delta : float, optional

    Returns
    -------
    KeptShares

    Examples
    --------
    >>> import pramble
    >>> found = pramble.kept_shares(epsilons=[0.1, 1.0], cells=[10], rows=[10**5])
    >>> bool(found.shares[0] < found.shares[1])
    True
    """
    asked = [as_promise((epsilon, delta), n) for epsilon, n in product(epsilons, rows)]
    if not asked or not len(cells):
        raise InvalidInput("Give at least one epsilon, one number of cells and one of rows.")
    shares = np.array([[kept_share(promise, S) for promise in asked] for S in cells])
    shaped = shares.reshape(len(cells), len(epsilons), len(rows)).transpose(1, 0, 2)
    return KeptShares(
        tuple(map(float, epsilons)),
        tuple(map(int, cells)),
        tuple(map(int, rows)),
        float(delta),
        np.ascontiguousarray(shaped),
    )


def kept_share(promise: Promise, cells: int) -> float:
    """Return the share of records that is kept under a promise; 0 if none is proven."""
    plan = largest_response(as_problem({"cell": cells}), promise)
    if plan is None:
        return 0.0
    return 1 - false_share_of(plan)
