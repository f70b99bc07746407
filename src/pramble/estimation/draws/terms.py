r"""The law of the original given the untouched columns, as a log-linear model.

The cells are those of groups g of records with equal untouched values, and of combinations k of
the randomised columns. With one factor for each cell of every table T of the model,

.. math:: m_{gk} \propto \prod_T \lambda_T[T(g, k)] ,

the expected number of records in a cell. With Poisson counts and a prior
:math:`\lambda^{a-1}` of every factor, a factor given all others has a gamma law: it scales its
sum to a draw from :math:`\Gamma(N_T + a)`, with the records counted there. Doing so table after
table is the Bayesian twin of iterative proportional fitting (Gelman and others; Schafer, 1997).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pramble.estimation.draws.released import Released
from pramble.information.distributions import Table
from pramble.information.proportional import summed
from pramble.values import Floats, Integers, value

FLAT = 1.0
"""The a of one table of all columns: a flat prior over all laws."""

PRIOR = 2.0
"""The a of several tables, by measured coverage. A rare category has a factor in each of them,
and the more of them a small one may leave, the more laws there are with less of it."""


@value(eq=False)
class Term:
    """A table of the model: the place of cell (g, k) in it is ``high[g] + low[k]``.

    The ``whole`` one has all cells of the law, in their order.
    """

    table: Table
    high: Integers
    low: Integers
    size: int
    prior: float = PRIOR
    whole: bool = False

    def counts(self, groups: Integers, places: Integers) -> Floats:
        """Return how many records are in each cell of the table."""
        found = np.bincount(self.high[groups] + self.low[places], minlength=self.size)
        return np.asarray(found, dtype=np.float64)

    def scale(self, law: Floats, wanted: Floats) -> None:
        """Scale the sums of a law to those wanted, in place."""
        from pramble.information.kernels import scale_margin

        sums = summed(law, self.high, self.low, self.size)
        factors = np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
        scale_margin(law, self.high, self.low, factors)


def terms_of(release: Released, tables: Sequence[Table]) -> list[Term]:
    """Return the terms of a model: how many records are in each group, and tables."""
    groups, combinations = len(release.groups), math.prod(release.shape)
    nowhere = np.zeros(combinations, dtype=np.int64)
    everyone = Term(tuple(release.given), np.arange(groups), nowhere, groups, prior=0.0)
    return [everyone, *(term_of(release, table) for table in largest(tables))]


def whole_term(release: Released) -> Term:
    """Return the term of all cells, which needs no other."""
    groups, combinations = len(release.groups), math.prod(release.shape)
    return Term(
        (*release.given, *release.labels),
        combinations * np.arange(groups),
        np.arange(combinations),
        groups * combinations,
        prior=FLAT,
        whole=True,
    )


def largest(tables: Sequence[Table]) -> list[Table]:
    """Return the tables that lie within no other.

    >>> largest([("a",), ("b",), ("a", "b"), ("c",)])
    [('a', 'b'), ('c',)]
    """
    return [table for table in tables if not any(set(table) < set(other) for other in tables)]


def term_of(release: Released, table: Table) -> Term:
    """Return the term of a table of untouched and randomised columns."""
    shape = sizes_of(release, table)
    strides = dict(zip(table, np.cumprod([1, *shape[:0:-1]])[::-1].tolist(), strict=True))
    high = np.zeros(len(release.groups), dtype=np.int64)
    for codes, name in zip(release.groups.T, release.given, strict=True):
        high += strides.get(name, 0) * codes
    low = np.zeros(release.shape, dtype=np.int64)
    for axis, name in enumerate(release.labels):
        codes = np.arange(release.shape[axis])
        others = [i for i in range(len(release.shape)) if i != axis]
        low += strides.get(name, 0) * np.expand_dims(codes, others)
    return Term(table, high, low.reshape(-1), math.prod(shape))


def sizes_of(release: Released, table: Table) -> list[int]:
    """Return the numbers of labels of the columns of a table."""
    labels: Mapping[str, Sequence[object]] = {**release.given, **release.labels}
    return [len(labels[name]) for name in table]
