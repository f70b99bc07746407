r"""Tables of columns that no measured table holds together: the distribution of largest entropy.

Of all distributions over the cells of the asked columns that have the measured tables within them,
the one of largest entropy is log-linear without interactions beyond those tables,

.. math:: p = \exp(X\beta), \qquad X^\top p = t .

The columns of X are orthonormal contrasts: those of a set A of columns say what its table adds to
smaller ones. A is measured with the precision :math:`u_A` in people, so its entries of
:math:`\hat t` are independent with the variance :math:`1/(u_A\,n^2\prod_{j \notin A} n_j)`, and

.. math:: \frac{\partial p}{\partial t} = D X M^{-1}, \qquad D = \operatorname{diag}(p), \quad
          M = X^\top D X,

so that a query w of the cells has the variance :math:`s^\top M^{-1} \Sigma M^{-1} s` with
:math:`s = X^\top D w` (the delta method). Sampling adds :math:`(D - pp^\top)/n` seen by the same
contrasts, which is :math:`(M - tt^\top)/n` in Σ.

The derivative is taken a little inside the simplex: every measured table is mixed with an even one
that weighs as much as its noise. A cell that noise has left at zero has there the derivative of a
cell that might have been above it, so its interval has a length.

All of this is right if the model is. Nothing in the measured tables says whether it is.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from pramble.errors import InvalidInput, NotShown
from pramble.estimation.functionals.result import Settings
from pramble.estimation.records.intervals import inner_point
from pramble.estimation.records.moments import batches
from pramble.estimation.records.tabulate import NO_GROUPS, Layout
from pramble.estimation.tables.nearest import largest_tables, nearest_cells
from pramble.information.proportional import Axes, Margin, fit_array, margin_over
from pramble.limits import MOST_MODEL_PARAMETERS, MOST_MODELLED_ENTRIES
from pramble.mechanisms.measured import Measured, spread
from pramble.mechanisms.table_plan import Columns, TablePlan, subsets
from pramble.values import Floats, Integers, frozen

# Variance that rounding to whole records adds to the noise of the total.
ROUNDED = 1 / 12

# A fit ends when no cell of a measured table is off by more than this part of its noise.
CLOSE, SWEEPS = 1e-3, 500

# The same as a share of all records, where there is next to no noise.
EXACTLY = 1e-10

# Where no distribution has all measured tables, a cell may be off by this part of its noise for
# each unit of the interaction that holds it there.
SLACK = 0.1


@frozen(eq=False)
class Contrasts:
    """The contrasts of the cells that some of their margins hold, orthonormal."""

    bases: tuple[Floats, ...]  # Those along each axis, in rows; the first is constant
    places: Integers  # (d,): which products of them the margins hold; the first is constant

    def of(self, cells: Floats) -> Floats:
        return np.asarray(along(self.bases, cells)[:, self.places])

    def spread(self, contrasts: Floats) -> Floats:
        found = np.zeros((len(contrasts), math.prod(map(len, self.bases))))
        found[:, self.places] = contrasts
        return along([basis.T for basis in self.bases], found)

    def information(self, p: Floats) -> Floats:
        d = len(self.places)
        found = np.empty((d, d))
        for some in batches(d, p.size):
            found[some] = self.of(self.spread(np.eye(d)[some]) * p)
        return (found + found.T) / 2

    def diagonal(self, matrix: Floats) -> Floats:
        d, found = len(self.places), np.zeros(math.prod(map(len, self.bases)))
        for some in batches(d, found.size):
            own, moved = self.spread(np.eye(d)[some]), self.spread(matrix[some])
            found += np.einsum("qk,qk->k", own, moved)
        return np.maximum(found, 0.0)


def along(bases: Sequence[Floats], cells: Floats) -> Floats:
    shape, after = cells.shape, cells.shape[1]
    for basis in bases[:-1]:
        after //= len(basis)
        cells = basis @ cells.reshape(-1, len(basis), after)
    return np.asarray((cells.reshape(-1, after) @ bases[-1].T).reshape(shape))


@frozen(eq=False)
class ModelledAnswers:
    """What a modelled table answers (:mod:`pramble.estimation.records.moments`)."""

    layout: Layout
    contrasts: Contrasts
    p: Floats  # (K,): the fitted shares
    inside: Floats  # (K,): those at which derivatives are taken
    measured: Floats  # (d,): the measured contrasts, unbiased, as shares
    noise: Floats  # (d,): the variances of their noise when the total is held
    n: float  # Number of records
    total_variance: float  # Variance of the noise of that number
    sampled: float  # The share of the sampling variance that counts
    unit: float = 1.0  # What one of n counts for

    @property
    def sampling(self) -> float:
        """Nothing to be added: sampling is in the covariance, where the model reduces it."""
        return 0.0

    @property
    def squares(self) -> Floats:
        return self.p / self.n

    @property
    def width(self) -> int:
        return len(self.p)

    @cached_property
    def inverse(self) -> Floats:
        from scipy.linalg import cho_factor, cho_solve

        M = self.contrasts.information(self.inside)
        return np.asarray(cho_solve(cho_factor(M), np.eye(len(M))))

    @cached_property
    def by_noise(self) -> Floats:
        found = (self.inverse * self.noise) @ self.inverse
        if self.total_variance:  # all shares but that of everything fall as the total grows
            moved = self.inverse[:, 1:] @ self.measured[1:]
            found += self.total_variance / self.n**2 * np.outer(moved, moved)
        return np.asarray(found)

    @cached_property
    def by_sampling(self) -> Floats:
        found = self.inverse.copy()
        found[0, 0] -= self.width  # the inverse times t has the contrasts of 1: √K, then zeros
        return np.asarray(found / self.n)

    @cached_property
    def coefficients(self) -> Floats:
        return np.asarray(self.by_noise + self.sampled * self.by_sampling)

    @cached_property
    def unbiased(self) -> Floats:
        """The shares that the measured contrasts give to first order; they may be negative."""
        away = self.measured - self.contrasts.of(self.p[None, :])[0]
        return np.asarray(
            self.p + self.inside * self.contrasts.spread((self.inverse @ away)[None, :])[0]
        )

    @cached_property
    def even(self) -> Floats:
        """What shares would be, to first order, if the records were spread evenly."""
        constant = self.inverse[:1] / math.sqrt(self.width)
        return np.asarray(self.inside * self.contrasts.spread(constant)[0])

    @cached_property
    def cell_variances(self) -> Floats:
        return np.asarray(self.inside**2 * self.contrasts.diagonal(self.by_noise))

    @cached_property
    def cell_sampling(self) -> Floats:
        if not self.sampled:
            return np.zeros(self.width)
        variances = self.inside**2 * self.contrasts.diagonal(self.by_sampling)
        return np.asarray(self.sampled * self.n * variances / (self.inside * (1 - self.inside)))

    def randomised(self, w: Floats) -> Floats:
        s = self.contrasts.of(w * self.inside)
        return np.asarray(s @ self.coefficients @ s.T)

    def products(self, w: Floats, other: Floats) -> Floats:
        one, two = (self.contrasts.of(queries * self.inside) for queries in (w, other))
        return np.asarray(((one @ self.coefficients) * two).sum(axis=1))

    def covariance(self) -> Floats:
        return self.randomised(np.eye(self.width))


def modelled_answers(measured: Measured, names: Columns, settings: Settings) -> ModelledAnswers:
    from scipy.linalg import helmert

    plan = measured.plan
    tables = measured_within(plan, names)
    refuse_unmodelled(plan, names, tables, method=settings.method)
    n, shape = positive_total(float(measured.total)), plan.shape(names)
    noise = np.full(shape, np.nan)
    for part in dict.fromkeys(part for table in tables for part in subsets(table)):
        beside = math.prod(plan.sizes[name] for name in names if name not in part)
        own = tuple(slice(1, None) if name in part else slice(0, 1) for name in names)
        noise[own] = 1 / (plan.precision[plan.ordered(part)] * beside) if part else 0.0
    places = np.flatnonzero(~np.isnan(noise))
    contrasts = Contrasts(tuple(helmert(size, full=True) for size in shape), places)
    axes = [tuple(names.index(name) for name in table) for table in tables]
    wanted = [nearest_cells(measured, table).reshape(plan.shape(table)) for table in tables]
    variances = [plan.cell_variance(table) / n**2 for table in tables]
    p = largest_entropy(shape, axes, wanted, variances)
    # as many even records as the noise of a typical table moves, and one
    loose = np.mean([math.sqrt(v) * one.size for v, one in zip(variances, wanted, strict=True)])
    mixed = inner_point(p, n=1 / (float(loose) + 1 / n)).reshape(shape)
    inside = largest_entropy(shape, axes, [margin_over(mixed, own) for own in axes], variances)
    whole = spread(measured.effects, plan.ordered(names), plan.sizes) / n
    whole = np.transpose(whole, [plan.ordered(names).index(name) for name in names])
    return ModelledAnswers(
        layout=layout_of(plan, names),
        contrasts=contrasts,
        p=p,
        inside=inside,
        measured=contrasts.of(whole.reshape(1, -1))[0],
        noise=noise.ravel()[places] / n**2,
        n=n,
        total_variance=total_variance(plan),
        sampled=settings.sampling_share(n),
    )


def measured_within(plan: TablePlan, names: Columns) -> tuple[Columns, ...]:
    shared = (tuple(name for name in table if name in names) for table in plan.tables)
    return largest_tables([table for table in dict.fromkeys(shared) if table])


def refuse_unmodelled(
    plan: TablePlan, names: Columns, tables: tuple[Columns, ...], *, method: str
) -> None:
    asked, listed = " × ".join(names), ", ".join(" × ".join(table) for table in tables)
    if method != "mle":
        raise NotShown(
            f"No measured table holds {asked} together, so no estimate of it is unbiased. "
            f"method='mle' models it from the measured tables, {listed}; these can be had with "
            f"method={method!r}. Or release with tables=[{names!r}, …]."
        )
    if missing := set(names) - {name for table in tables for name in table}:
        raise NotShown(f"No measured table holds {min(missing)!r}, alone or with other columns.")
    cells = plan.cells(names)
    parts = {frozenset(part) for table in tables for part in subsets(table)}
    parameters = sum(math.prod(plan.sizes[name] - 1 for name in part) for part in parts)
    if parameters > MOST_MODEL_PARAMETERS or parameters * cells > MOST_MODELLED_ENTRIES:
        raise InvalidInput(
            f"No measured table holds {asked} together, and its model is too large: {cells:,} "
            f"cells and {parameters:,} parameters, at most {MOST_MODEL_PARAMETERS:,} and together "
            f"{MOST_MODELLED_ENTRIES:,}. Take fewer columns, or count complete records from "
            "pramble.synthesize(…), which have the same model but no intervals."
        )


def largest_entropy(
    shape: tuple[int, ...], axes: list[Axes], wanted: list[Floats], variances: list[float]
) -> Floats:
    """Return the distribution of largest entropy that has some margins, or nearly has them."""
    close = max(CLOSE * math.sqrt(min(variances)), EXACTLY)
    cells = np.full(shape, 1 / math.prod(shape))
    margins = [Margin(own, table) for own, table in zip(axes, wanted, strict=True)]
    if fit_array(cells, margins, close=close, sweeps=SWEEPS).deviation > close:
        # margins that agree two by two need not be those of any distribution
        mean = math.sqrt(sum(variances) / len(variances))
        slack = [
            np.full(one.shape, SLACK * v / mean) for one, v in zip(wanted, variances, strict=True)
        ]
        margins = [Margin(m.axes, m.wanted, own) for m, own in zip(margins, slack, strict=True)]
        cells = np.full(shape, 1 / math.prod(shape))
        fit_array(cells, margins, close=close, sweeps=SWEEPS)
    return np.asarray((cells / cells.sum()).ravel())


def total_variance(plan: TablePlan) -> float:
    return 0.0 if plan.total_is_public else 1 / plan.precision[()] + ROUNDED


def positive_total(n: float) -> float:
    if n <= 0:
        raise InvalidInput(
            f"Shares are of a positive number of records; the measured one is {n:,.0f}, so noise "
            "hides a file this small. measured.table(columns) gives its counts."
        )
    return n


def layout_of(plan: TablePlan, names: Columns) -> Layout:
    shape = plan.shape(names)
    grid = np.unravel_index(np.arange(math.prod(shape)), shape)
    categories = {name: plan.labels[name].values for name in names}
    return Layout(names, dict(zip(names, grid, strict=True)), categories, {}, NO_GROUPS)
