r"""Originals and their distribution drawn in turn: data augmentation (Tanner and Wong, 1987).

Given the distribution, the original of a record that shows z has :math:`P(x \mid z, w) \propto
p(w, x) \prod_B M_B[x_B, z_B]`. Given all originals, the distribution is drawn from its posterior.
The two steps in turn have the joint posterior of both as their stationary distribution.

Given the untouched columns it is log-linear: with cells (g, k) of groups g of records with equal
untouched values and combinations k of the randomised columns, and one factor for each cell of every
table T of the model,

.. math:: m_{gk} \propto \prod_T \lambda_T[T(g, k)] .

With Poisson counts and a prior :math:`\lambda^{a-1}` a factor given all others scales its sum to a
draw from :math:`\Gamma(N_T + a)`, with the records counted there. Doing so table after table is the
Bayesian twin of iterative proportional fitting (Gelman and others; Schafer, 1997).

With the table of all columns nothing is assumed, but each of its cells must be estimable: where the
release is worth few complete records, the edge of the simplex and the prior bend every group alike.
All pairs have far fewer cells, and fit every regression without interactions.

Every chain starts where the release leaves it open: the records are weighed at random, as in the
Bayesian bootstrap (Rubin, 1981), and the distribution is fitted to their unbiased tables. Chains
forget where they started in about :math:`n / n_\text{eff}` sweeps; what a release hardly shows they
forget slowly, and it is there that the start must already be spread as the posterior is.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.errors import InvalidInput, NotIdentifiable
from pramble.estimation.draws.released import ReleasedPatterns, Units
from pramble.estimation.draws.target import cells_among, note_of, tables_within
from pramble.estimation.estimate import estimate
from pramble.estimation.records.likelihood import fit_table
from pramble.estimation.records.tabulate import tabulate
from pramble.information.consistent import nearest_on_simplex
from pramble.information.distributions import Table
from pramble.information.proportional import square_margin
from pramble.limits import MOST_WANTED_CELLS
from pramble.values import Floats, Integers, Reporter, frozen

# The a of one table of all columns: a flat prior over all distributions.
FLAT = 1.0

# The a of several tables, by measured coverage. A rare category has a factor in each of them,
# and the more of them a small one may leave, the more distributions there are with less of it.
PRIOR = 2.0


@frozen(eq=False)
class ModelTerm:
    """A table of the model: the place of cell (g, k) in it is ``high[g] + low[k]``.

    The ``whole`` one has the cells of all groups that occur, and no others.
    """

    table: Table
    high: Integers
    low: Integers
    size: int
    prior: float = PRIOR
    whole: bool = False

    def counts(self, groups: Integers, places: Integers) -> Floats:
        found = np.bincount(self.high[groups] + self.low[places], minlength=self.size)
        return np.asarray(found, dtype=np.float64)

    def scale(self, distribution: Floats, wanted: Floats) -> None:
        """Scale the sums of a distribution to those wanted, in place."""
        from pramble.information.kernels import scale_margin

        sums = square_margin(distribution, self.high, self.low, self.size)
        factors = np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
        scale_margin(distribution, self.high, self.low, factors)


def terms_of(release: ReleasedPatterns, tables: Sequence[Table]) -> list[ModelTerm]:
    """Return the terms of tables that lie in no other one, and of the groups, which are known."""
    groups = len(release.groups)
    nowhere = np.zeros(math.prod(release.shape), dtype=np.int64)
    everyone = ModelTerm(tuple(release.given), np.arange(groups), nowhere, groups, prior=0.0)
    within = {table for table in tables for other in tables if set(table) < set(other)}
    return [everyone, *(term_of(release, table) for table in tables if table not in within)]


def whole_term(release: ReleasedPatterns) -> ModelTerm:
    groups, combinations = len(release.groups), math.prod(release.shape)
    return ModelTerm(
        (*release.given, *release.labels),
        combinations * np.arange(groups),
        np.arange(combinations),
        release.cells,
        prior=FLAT,
        whole=True,
    )


def term_of(release: ReleasedPatterns, table: Table) -> ModelTerm:
    shape = table_sizes(release, table)
    strides = dict(zip(table, np.cumprod([1, *shape[:0:-1]])[::-1].tolist(), strict=True))
    high = np.zeros(len(release.groups), dtype=np.int64)
    for codes, name in zip(release.groups.T, release.given, strict=True):
        high += strides.get(name, 0) * codes
    low = np.zeros(release.shape, dtype=np.int64)
    for axis, name in enumerate(release.labels):
        codes = np.arange(release.shape[axis])
        others = [i for i in range(len(release.shape)) if i != axis]
        low += strides.get(name, 0) * np.expand_dims(codes, others)
    return ModelTerm(table, high, low.reshape(-1), math.prod(shape))


def table_sizes(release: ReleasedPatterns, table: Table) -> list[int]:
    labels: Mapping[str, Sequence[object]] = {**release.given, **release.labels}
    return [len(labels[name]) for name in table]


# Passes over several units, from one cell for all records, before a distribution is drawn.
WARM = 10

# The chance that stands for none where several units must find a way to what is possible.
UNSEEN = 1e-12


class Chain:
    """A distribution and the originals of all records, which are by pattern."""

    def __init__(
        self,
        release: ReleasedPatterns,
        terms: Sequence[ModelTerm],
        units: Units,
        rng: np.random.Generator,
    ) -> None:
        self.release, self.terms, self.units, self.rng = release, terms, units, rng
        self.groups = np.repeat(release.group_of, release.counts)
        self.touched = units.touched(release.factors)
        entries = release.factors.entries
        self.entries = np.maximum(entries, UNSEEN) if len(units) > 1 else entries

    def run(self, distribution: Floats, sweeps: int) -> Integers:
        places = np.full(
            self.release.rows, int(np.argmax(distribution.sum(axis=0))), dtype=np.int64
        )
        for _ in range(WARM if len(self.units) > 1 else 0):
            self.draw(distribution, places)
        for _ in range(sweeps):
            self.draw(distribution, places)
            self.renew(distribution, places)
        self.draw(distribution, places)
        return places

    def draw(self, distribution: Floats, places: Integers) -> None:
        from pramble.information.kernels import draw_originals

        own, factors, units = self.release, self.release.factors, self.units
        levels = self.rng.random((own.rows, len(units)))
        draw_originals(
            distribution, own.group_of, own.counts, self.entries, factors.starts, factors.sizes,
            factors.onto, factors.shown, factors.outputs, units.moves, units.ends,
            units.strides, units.widths, self.touched, levels, places,
        )  # fmt: skip

    def renew(self, distribution: Floats, places: Integers) -> None:
        """Draw the distribution given the originals, in place."""
        for term in self.terms:
            counts = term.counts(self.groups, places)
            term.scale(distribution, self.rng.standard_gamma(counts + term.prior))


# Sweeps of fitting a start: it need not be exact, for the chain moves on from it.
SWEEPS = 12


def start_distribution(
    release: ReleasedPatterns, terms: Sequence[ModelTerm], *, rng: np.random.Generator
) -> Floats:
    weights = rng.standard_exponential(release.rows)
    distribution = np.outer(
        np.bincount(release.group_of, release.counts),
        release.possible.mask(list(release.labels)).reshape(-1),
    ).astype(np.float64)
    targets = [
        (term, weighed(release, term, weights))
        for term in terms
        if term.low.any()  # of groups alone all is known
    ]
    for _ in range(SWEEPS if len(targets) > 1 else 1):
        for term, wanted in targets:
            term.scale(distribution, wanted)
    return distribution


def weighed(release: ReleasedPatterns, term: ModelTerm, weights: Floats) -> Floats:
    """Return the expected records in the cells of a table, by weighed records, none quite zero."""
    tabulated = tabulate(release.records, release.plan, by=list(term.table), weights=weights)
    p, layout = fit_table(tabulated, method="inverse").p, tabulated.layout
    shares = np.zeros(term.size)
    if term.whole:  # both have the groups that occur, in one order
        own = {
            name: [layout.categories[name][code] for code in codes]
            for name, codes in layout.cells.items()
        }
        place = cells_among(own, tuple(release.labels), release.labels)
        shares.reshape(len(release.groups), -1)[:, place] = p.reshape(len(release.groups), -1)
    else:
        labels = {**release.given, **release.labels}
        shares[cells_among(layout.labels(), term.table, labels)] = layout.flatten(p)
    return np.asarray(release.rows * nearest_on_simplex(shares) + term.prior)


# Cells of a table of all columns up to which it is taken, where it is told.
MOST_WHOLE = 20_000

# For each of those cells the prior has one record, which pulls rare categories up; it is felt less
# than chance is, if the root of what the release is worth is so much larger than their number.
PER_CELL = 2

# Complete records for each cell of a table below which a note says that it is hardly told.
HARDLY = 1.0

# Of a table with one cell alone, so that it counts as told.
LEAST = 1e-6


@frozen(eq=False)
class TableModel:
    """The terms of a distribution, what the release is worth for the poorest of them, and notes."""

    terms: tuple[ModelTerm, ...]
    complete_records: float
    notes: tuple[str, ...] = ()


def chosen_model(release: ReleasedPatterns, tables: Any, *, reporter: Reporter) -> TableModel:
    """Return the model: as asked for, or all columns together where they are told, else pairs."""
    whole = (*release.given, *release.labels)
    cells = release.cells
    if tables == "all" or (tables is None and cells <= MOST_WHOLE):
        value = complete_records(release, whole)
        if tables == "all" and not value:
            raise NotIdentifiable(
                "The plan cannot give the table of all columns; leave tables= to find out which."
            )
        if tables == "all" or value >= (PER_CELL * cells) ** 2:
            return TableModel((whole_term(release),), value)
    wanted = [
        table
        for table in tables_within(2 if tables is None else tables, list(whole))
        if set(table) & set(release.labels)
    ]
    found, notes = estimable_tables(wanted, release, reporter=reporter)
    return TableModel(tuple(terms_of(release, list(found))), min(found.values()), tuple(notes))


def estimable_tables(
    wanted: Sequence[Table], release: ReleasedPatterns, *, reporter: Reporter
) -> tuple[dict[Table, float], list[str]]:
    found: dict[Table, float] = {}
    left: list[str] = []
    poor: list[str] = []
    for done, table in enumerate(wanted):
        reporter.report("estimating", done / len(wanted))
        cells, name = math.prod(table_sizes(release, table)), " with ".join(table)
        if cells > MOST_WANTED_CELLS:
            left.append(f"{name} (more than {MOST_WANTED_CELLS:,} cells)")
            continue
        value = complete_records(release, table)
        if not value and len(table) == 1:
            # raises, and says what is not told
            estimate(release.records, release.plan, by=list(table), method="inverse")
        if value:
            found[table] = value
        else:
            left.append(f"{name} (the plan cannot give it)")
        if 0 < value < HARDLY * cells:
            poor.append(name)
    return found, [
        *note_of("Tables that are taken to hold nothing beyond smaller ones", left),
        *note_of(
            "Tables of which the release tells less than one complete record for each cell would, "
            "so that what is drawn of them rests on the flat prior",
            poor,
        ),
    ]


def complete_records(release: ReleasedPatterns, table: Table) -> float:
    r"""Return how many complete records would tell as much of a table as the release does.

    That is :math:`(1 - \sum p^2)` by the summed variance of the estimated shares; zero where the
    plan cannot give the table.
    """
    try:
        found = estimate(release.records, release.plan, by=list(table), method="inverse")
    except (NotIdentifiable, InvalidInput):
        return 0.0
    p = nearest_on_simplex(found.probabilities)
    spread = float((found.standard_errors**2).sum())
    return float(max(1 - (p**2).sum(), LEAST) / spread) if spread else float(found.n)
