r"""The tables that a synthetic file is to have: estimated, shrunk and made consistent.

An estimated table :math:`\hat t` is what its smaller tables give, joined with the largest entropy,
:math:`b`, and what it says beyond them, :math:`r = C(\hat t - b)`, where C takes out the mean along
each column. Of r only noise of variance :math:`V = \operatorname{tr} C\Sigma C` is known to be
none of the original, so it is shrunk as James and Stein do,

.. math:: t = b + \left(1 - \frac{V}{\|r\|^2}\right)_+ r ,

and a table whose noise exceeds its signal goes to independence. All tables are then made consistent
(:mod:`pramble.information.consistent`), weighed by their precision. The distribution of largest
entropy whose tables fit is then that of

.. math:: \min_p \sum_k p_k \log p_k + \sum_{T, c \in T} \frac{(m_c(p) - t_c)^2}{2 s_c},
          \qquad s_c = \kappa \frac{v_c}{\bar\sigma},

with :math:`v_c` the variance of the estimated share of cell c, :math:`\bar\sigma` the root of their
mean, and :math:`\kappa` a fixed 0.3: a cell may be off by 0.3 standard errors for each unit of the
log-linear interaction that holds it there. Tables without noise are met exactly.

**Weights.** Where weighted tables were measured, every record gets a weight: all start at the mean
one, and table after table they are multiplied, by what all records of a cell share, until weighted
counts are near those tables, shrunk and made consistent in the same way. A cell approaches its
target the slower the more of it is noise.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import combinations, groupby
from typing import Any

import numpy as np

from pramble.data.labels import Label, label_keys
from pramble.data.open import open_records
from pramble.data.records import Records, scan
from pramble.errors import InvalidInput, NotIdentifiable
from pramble.estimation.draws.released import chosen_columns, possible_cells
from pramble.estimation.estimate import estimate, estimate_tables
from pramble.estimation.functionals.result import Estimate
from pramble.estimation.records.tabulate import data_and_plan
from pramble.estimation.tables.nearest import largest_tables
from pramble.information.consistent import consistent, contrasts
from pramble.information.distributions import Table, as_tables, join_tables
from pramble.information.structural_zeros import Mask, Possible, as_possible
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.plan import Plan, as_plan
from pramble.values import Floats, Integers, Reporter, frozen, names_of

# Tables that a note names.
MOST_LISTED = 12

# Cells of a table up to which the noise of an interaction is taken from the covariance.
MOST_COVARIANCE = 1000

# Sweeps over all tables in which weights of records are fitted.
SWEEPS = 30

# Variances below it are rounding errors of none.
NO_NOISE = 1e-18


@frozen(eq=False)
class Shares:
    """Estimated shares of a table's cells, their variances, and the noise of its interaction."""

    shares: Floats
    variances: Floats
    noise: float

    @property
    def possible(self) -> Mask:
        return np.asarray((self.shares != 0) | (self.variances > 0))

    @property
    def standard_error(self) -> float:
        return float(np.sqrt(self.variances.mean()))


def tables_within(tables: Any, columns: Sequence[str]) -> list[Table]:
    """Return the tables that are wanted and all smaller ones within them, small ones first.

    >>> tables_within([("b", "a")], ["a", "b", "c"])
    [('a',), ('b',), ('c',), ('a', 'b')]
    """
    count = isinstance(tables, int) and not isinstance(tables, bool)
    listed = as_tables(min(tables, len(columns)) if count else tables, columns)
    within = {
        part
        for table in listed
        for size in range(1, len(table) + 1)
        for part in combinations(table, size)
    }
    within |= {(name,) for name in columns}
    places = {name: place for place, name in enumerate(columns)}
    return sorted(within, key=lambda table: (len(table), [places[name] for name in table]))


def estimated(
    records: Records, plan: Plan, wanted: Sequence[Table], *, reporter: Reporter
) -> tuple[Estimate | None, dict[Table, Shares], dict[str, tuple[Label, ...]], list[str]]:
    """Return an estimate if there is one, shares of tables, labels, and notes on what is missing.

    A column that the release does not reveal has labels, and no shares.
    """
    found: dict[Table, Shares] = {}
    labels: dict[str, tuple[Label, ...]] = {}
    left: list[str] = []
    hidden: list[str] = []
    known: dict[Table, Estimate] = {}
    for size, listed in groupby(wanted, key=len):  # small tables first
        reporter.report("estimating", size / (1 + len(wanted[-1])))
        asked = []
        for table in listed:
            parts = combinations(table, size - 1) if size > 1 else ()
            if any(part not in found for part in parts):
                continue
            if size > 1 and math.prod(len(labels[name]) for name in table) > MOST_WANTED_CELLS:
                left.append(f"{' with '.join(table)} (more than {MOST_WANTED_CELLS:,} cells)")
                continue
            asked.append(table)
        known |= estimate_tables(records, plan, asked, method="inverse")
        for table in asked:
            if table in known:
                labels |= {table[0]: tuple(known[table].cells[table[0]])} if size == 1 else {}
                found[table] = shares_from(known[table], table, labels)
            elif size > 1:
                left.append(f"{' with '.join(table)} (the plan cannot give it)")
            else:
                with suppress(NotIdentifiable):  # an error of the records is one of all columns
                    estimate(records, plan, by=list(table), method="inverse")
                labels[table[0]] = tuple(plan.column_labels()[table[0]].labels.values)
                hidden += table
    notes = note_of("Columns that the release does not reveal, drawn with equal shares", hidden)
    notes += note_of("Tables that are not fitted", left)
    return next(iter(known.values()), None), found, labels, notes


def note_of(what: str, names: Sequence[str]) -> list[str]:
    shown = "; ".join(names[:MOST_LISTED]) + ("; …" if len(names) > MOST_LISTED else "")
    return [f"{what}: {shown}."] if names else []


def shares_from(estimate: Estimate, table: Table, labels: Mapping[str, Sequence[Label]]) -> Shares:
    """Return an estimate as arrays over all cells; cells that it does not list are empty."""
    shape = tuple(len(labels[name]) for name in table)
    cells = cells_among(estimate.cells, table, labels)
    shares, variances = np.zeros(np.prod(shape)), np.zeros(np.prod(shape))
    variances[cells] = estimate.standard_errors**2
    variances[variances < NO_NOISE] = 0.0
    shares[cells] = estimate.probabilities
    shares[(variances == 0) & (np.abs(shares) < np.sqrt(NO_NOISE))] = 0.0
    noise, size = float(variances.sum()), shares.size
    if noise and len(table) > 1 and len(cells) <= MOST_COVARIANCE:
        whole = np.zeros((size, size))
        whole[np.ix_(cells, cells)] = estimate.covariance
        # C is a projection, so once from one side will do
        whole = contrasts(whole.reshape(*shape, size), axes=range(len(shape)))
        noise = float(np.trace(whole.reshape(size, size)))
    return Shares(shares.reshape(shape), variances.reshape(shape), noise)


def cells_among(
    cells: Mapping[str, Sequence[Label]], table: Table, labels: Mapping[str, Sequence[Label]]
) -> Integers:
    """Return where the cells of a table, listed by their labels, stand among all of them.

    >>> cells_among({"a": [1, 1], "b": ["x", "y"]}, ("a", "b"), {"a": [0, 1], "b": ["x", "y"]})
    array([2, 3])
    """
    codes = []
    for name in table:
        place = {key: i for i, key in enumerate(label_keys(labels[name]))}
        codes.append(np.array([place[key] for key in label_keys(cells[name])]))
    return np.asarray(np.ravel_multi_index(tuple(codes), [len(labels[name]) for name in table]))


def fitted_tables(found: Mapping[Table, Shares]) -> dict[Table, Floats]:
    shrunk: dict[Table, Floats] = {}
    for table in sorted(found, key=len):
        shrunk[table] = shrunken(table, found[table], shrunk)
    return consistent(
        shrunk,
        variances={table: float(own.variances.mean()) for table, own in found.items()},
        possible={table: own.possible for table, own in found.items()},
    )


def shrunken(table: Table, own: Shares, smaller: Mapping[Table, Floats]) -> Floats:
    """Return a table with what it says beyond smaller ones shrunk by how much of it is noise."""
    if len(table) == 1 or not own.noise:
        return own.shares
    shape, size = own.shares.shape, len(table) - 1
    parts = []
    for part in combinations(table, size):
        found = np.maximum(smaller[part], 0.0)
        # where noise left nothing, all cells alike
        parts.append((part, found if found.any() else np.full(found.shape, 1 / found.size)))
    base = join_tables(shape, table, parts, start=own.possible.astype(np.float64))
    beyond = contrasts(own.shares - base)
    signal = float((beyond**2).sum())
    signal_share = max(0.0, 1 - own.noise / signal) if signal else 0.0
    return np.where(own.possible, base + signal_share * beyond, 0.0)


@frozen(eq=False)
class SyntheticTarget:
    """The tables that records are to have, with their labels and what is possible."""

    shares: Mapping[Table, Shares]
    labels: Mapping[str, Sequence[Label]]
    possible: Possible
    rows: int
    types: Mapping[str, Any]  # Of the released columns, as Arrow has them
    backend: str = "pyarrow"
    notes: tuple[str, ...] = ()


def target_of_tables(measured: Measured, possible: Any) -> SyntheticTarget:
    plan, total = measured.plan, max(measured.total, 1)
    labels = {name: own.as_tuple() for name, own in plan.labels.items()}
    found = {}
    for part in plan.parts:
        degrees = math.prod(plan.sizes[name] - 1 for name in part)
        variances = np.full(plan.shape(part), plan.cell_variance(part) / total**2)
        noise = degrees / (plan.precision[part] * total**2)
        found[part] = Shares(measured.table(part) / total, variances, noise)
    return SyntheticTarget(found, labels, as_possible(possible, labels), total, {})


def record_weights(measured: Measured, codes: Integers) -> Floats:
    """Return a weight for each record, by its codes: positive, and at most the largest."""
    weighted = measured.weighted
    assert weighted is not None, "asked for where there are weights"
    weights = weighted.weights
    plan, names = weighted.sums.plan, list(measured.columns)
    target = target_of_tables(weighted.sums, None)
    wanted, scale = fitted_tables(target.shares), len(codes) / max(measured.total, 1)
    total = target.rows * scale
    found = np.full(len(codes), np.clip(total / max(len(codes), 1), 1.0, weights.most))
    steps = []
    for table in largest_tables(list(wanted)):
        place = np.ravel_multi_index([codes[:, names.index(n)] for n in table], plan.shape(table))
        noise = math.sqrt(plan.cell_variance(table)) * scale
        steps.append((place, np.maximum(wanted[table].ravel() * total, 0.0), noise))
    for _ in range(SWEEPS):
        for place, aim, noise in steps:
            have = np.bincount(place, found, minlength=len(aim))
            found *= ((aim + noise) / (have + noise))[place]
            np.clip(found, 1.0, weights.most, out=found)
    return np.asarray(np.rint(found) * float(weights.unit))


def target_of_records(
    data: Any, plan: Any, tables: Any, columns: Any, reading: Any, reporter: Reporter
) -> SyntheticTarget:
    data, plan = data_and_plan(data, plan)
    if isinstance(plan, Mechanism):
        raise InvalidInput("A plan says which column a mechanism is for; found one mechanism.")
    plan, records = as_plan({} if plan is None else plan), open_records(data, reading)
    chosen = None if columns is None else names_of(columns)
    listed = [] if isinstance(tables, str) or not isinstance(tables, Sequence) else tables
    needed = list(dict.fromkeys(name for table in listed for name in names_of(table)))
    names, notes = chosen_columns(records, plan, chosen, needed)
    types = {name: records.schema.field(name).type for name in names} if records.typed else {}
    first, found, known, left = estimated(
        records, plan, tables_within(tables, names), reporter=reporter
    )
    labels = {name: known[name] for name in names}
    possible = possible_cells(plan, labels)
    rows = scan(records, ()) if first is None else round(first.n)
    return SyntheticTarget(found, labels, possible, rows, types, records.backend, (*notes, *left))


def draw_cells(cells: Floats, rows: int, rng: np.random.Generator) -> Integers:
    """Return the codes of records, one column for each axis, by systematic sampling.

    Every cell gets its expected number rounded down or up, in a random order of the rows.

    >>> shares = np.array([[0.5, 0.25], [0.25, 0.0]])
    >>> codes = draw_cells(shares, 8, np.random.default_rng(1))
    >>> np.bincount(2 * codes[:, 0] + codes[:, 1], minlength=4)
    array([4, 2, 2, 0])
    """
    # cells lie end to end, each as long as its expected number; one is taken at every unit
    ends = cells.ravel() * rows
    np.cumsum(ends, out=ends)
    places = np.searchsorted(ends, rng.random() + np.arange(rows), side="right")
    places = np.minimum(places, np.flatnonzero(cells)[-1])  # rounding of the last end
    places = rng.permutation(places)
    return np.stack(np.unravel_index(places, cells.shape), axis=1).astype(np.int64)
