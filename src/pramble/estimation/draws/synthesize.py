r"""Complete records whose tables fit a release, and how far they are from the estimates.

Where an array over all cells would be too large, records are first drawn from the tree of pairs
with the most mutual information (Chow and Liu, 1968). Then one record and column after the other is
offered another value, and takes it with the probability of Metropolis and others (1953) for

.. math:: \exp\left(-\sum_{T, c \in T} \frac{(N_c - n t_c)^2}{2 n s_c}\right),

:math:`N_c` the records in cell c and :math:`s_c` its slack
(:mod:`pramble.estimation.draws.target`). Among many records nearly all files with the same tables
have the distribution of largest entropy, as the array has. Cells are held loosely at first and
tighter from pass to pass, or records could hardly get past each other.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pyarrow as pa

from pramble.data.decode import arrow_values, natural_arrow_labels
from pramble.data.recode import Reading
from pramble.errors import InvalidInput, PrambleWarning
from pramble.estimation.draws.released import refuse_no_whole
from pramble.estimation.draws.target import (
    Shares,
    draw_cells,
    fitted_tables,
    record_weights,
    target_of_records,
    target_of_tables,
)
from pramble.estimation.records.tabulate import measured_of
from pramble.information.distributions import Table, margin_of
from pramble.information.proportional import Margin, fit_array, flat, margin_over
from pramble.information.structural_zeros import Possible
from pramble.limits import MOST_SYNTHETIC_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.base import xlogx
from pramble.mechanisms.plan import Plan
from pramble.values import Floats, Integers, Reporter, Watcher, frozen

# In pass k a cell is held within at least 0.6ᵏ of the variance that it would have unheld.
PASSES, LOOSE = 20, 0.6

# Records that walk, at least; of more than are asked for, some are taken at random.
FEWEST = 200_000

# The spread of a cell that must stay empty; no record goes there.
IMPOSSIBLE = 1e-3

# The spread of a cell that is expected to have no record, though it may.
ROUGH = 0.1

# Passes over records of an array, which are near their tables from the start.
POLISHES = 4

# Records that a cell is expected to have where records of an array are moved to round better.
FILLED = 5.0


# The κ of the slack (:mod:`pramble.estimation.draws.target`), and the sweeps of a fit: noisy tables
# are met slowly and need not be met exactly.
SLACK, SWEEPS = 0.3, 60

# A fit ends when no cell of a table moves by more than this part of a standard error.
CLOSE = 0.05

# The same, as a share of all records, where there is no noise.
EXACTLY = 1e-8


def draw_codes(
    found: Mapping[Table, Shares],
    columns: Sequence[str],
    possible: Possible,
    *,
    rows: int,
    as_cells: bool,
    seed: int | None,
    reporter: Reporter,
) -> Integers:
    rng, shares = np.random.default_rng(seed), fitted_tables(found)
    variances = np.concatenate([own.variances.ravel() for own in found.values()])
    noisy = variances[variances > 0]
    error = float(np.sqrt(noisy.mean())) if noisy.size else 0.0
    scale = SLACK / error if error else 0.0
    slack = {table: scale * own.variances for table, own in found.items()}
    zeros = {
        names: mask
        for names, mask in possible.tables
        if not any(set(names) <= set(table) for table in shares)
    }
    if as_cells:
        fitting, reporter = reporter.part(0.0, 0.7), reporter.part(0.7, 0.3)
        cells = possible.mask(columns).astype(np.float64)
        cells /= cells.sum()
        margins = [
            Margin(tuple(map(columns.index, table)), own, slack[table])
            for table, own in shares.items()
        ]
        close = max(CLOSE * error, EXACTLY)
        fit_array(cells, margins, close=close, sweeps=SWEEPS, reporter=fitting)
        cells /= cells.sum()
        codes = draw_cells(cells, rows, rng)
        # cells with few records stay as drawn: there rounding better would be to favour some
        targets = {
            table: rows * margin_over(cells, tuple(map(columns.index, table)))
            for table in (*shares, *zeros)
        }
        spread = {table: np.where(own >= FILLED, 1.0, np.nan) for table, own in targets.items()}
        move_records(
            targets, spread, codes, columns=columns, greedy=True, rng=rng, reporter=reporter
        )
        return codes
    size = max(rows, FEWEST)
    codes = draw_tree(shares, columns=columns, rows=size, rng=rng)
    targets = {table: size * own for table, own in shares.items()}
    spread = {
        table: np.where(
            (own == 0) & (slack[table] == 0),
            IMPOSSIBLE,
            np.maximum(size * slack[table], np.clip(own, ROUGH, 1.0)),
        )
        for table, own in targets.items()
    }
    for table, mask in zeros.items():
        targets[table], spread[table] = np.zeros(mask.shape), np.where(mask, np.inf, IMPOSSIBLE)
    move_records(targets, spread, codes, columns=columns, greedy=False, rng=rng, reporter=reporter)
    return rng.permutation(codes)[:rows]


def move_records(
    targets: Mapping[Table, Floats],
    spread: Mapping[Table, Floats],
    codes: Integers,
    *,
    columns: Sequence[str],
    greedy: bool,
    rng: np.random.Generator,
    reporter: Reporter,
) -> None:
    """Move records, in place, so that the counts of all tables come near those wanted."""
    from pramble.information.kernels import walk

    sizes = np.array([len(targets[name,]) for name in columns])
    strides = np.zeros((len(targets), len(columns)), dtype=np.int64)
    for own, table in zip(strides, targets, strict=True):
        places = [columns.index(name) for name in table]
        own[places] = np.cumprod([1, *sizes[places][:0:-1]])[::-1]
    starts = np.cumsum([0, *(own.size for own in targets.values())])[:-1].astype(np.int64)
    holding = [np.flatnonzero(column) for column in strides.T]  # the tables of each column
    members = np.full((len(columns), max(map(len, holding))), -1, dtype=np.int64)
    for row, own in zip(members, holding, strict=True):
        row[: len(own)] = own
    wanted, width = flat(list(targets.values())), flat([spread[table] for table in targets])
    counts = np.zeros_like(wanted)
    for start, own in zip(starts, strides, strict=True):
        held = np.flatnonzero(own)
        counts += np.bincount(start + codes[:, held] @ own[held], minlength=len(wanted))
    passes = POLISHES if greedy else PASSES
    for done in range(passes):
        reporter.report("drawing", done / passes)
        soft = 0.0 if greedy else LOOSE ** (1 + done)
        tight = 1 / np.maximum(width, soft * wanted)
        walk(codes, sizes, starts, members, strides, counts, wanted, tight, greedy, rng)


def draw_tree(
    tables: Mapping[Table, Floats], *, columns: Sequence[str], rows: int, rng: np.random.Generator
) -> Integers:
    pairs: dict[Table, Floats] = {
        pair: margin_of(own, table, pair)
        for table, own in tables.items()
        for pair in combinations(table, 2)
    }
    codes = np.zeros((rows, len(columns)), dtype=np.int64)
    for name, before in spanning_order(columns, pairs):
        if before is None:
            distribution = tables[name,][None, :]
            given = np.zeros(rows, dtype=np.int64)
        else:
            distribution = pairs[before, name] if (before, name) in pairs else pairs[name, before].T
            given = codes[:, columns.index(before)]
        steps = np.cumsum(distribution, axis=1)
        level = rng.random(rows) * steps[given, -1]
        for step in steps.T[:-1]:
            codes[:, columns.index(name)] += level >= step[given]
    return codes


def spanning_order(
    columns: Sequence[str], pairs: Mapping[Table, Floats]
) -> list[tuple[str, str | None]]:
    """Return every column with the one it hangs from, along the tree with most information.

    >>> tied = np.array([[0.5, 0.0], [0.0, 0.5]])
    >>> spanning_order(["a", "b", "c"], {("a", "b"): np.full((2, 2), 0.25), ("b", "c"): tied})
    [('a', None), ('b', 'a'), ('c', 'b')]
    """
    weights = {  # the mutual information of each pair
        pair: float(xlogx(own).sum() - sum(xlogx(own.sum(axis=axis)).sum() for axis in (0, 1)))
        for pair, own in pairs.items()
    }
    found: list[tuple[str, str | None]] = []
    waiting = list(columns)
    while waiting:
        done = {name for name, _ in found}
        edges = [
            (weight, pair if pair[0] in done else pair[::-1])
            for pair, weight in weights.items()
            if (pair[0] in done) != (pair[1] in done)
        ]
        if edges:
            _, (before, name) = max(edges, key=lambda edge: edge[0])
            found.append((name, before))
        else:
            found.append((waiting[0], None))
        waiting.remove(found[-1][0])
    return found


METHODS = ("auto", "cells", "records")


@frozen(eq=False)
class TableFit:
    """How far a table of synthetic records is from the estimated one, in shares."""

    columns: Table
    cells: int
    largest: float  # The largest and the mean distance of a cell from its unbiased estimate
    mean: float
    typical: float  # the root of the mean of its square
    # That of the estimate of a cell against the file, the root of the mean of its square
    standard_error: float


@frozen(eq=False)
class Synthesis:
    """Synthetic records with what is to be known of them."""

    frame: Any
    rows: int
    fits: tuple[TableFit, ...]  # The tables that were fitted
    method: str  # "cells" or "records"
    notes: tuple[str, ...] = ()  # What was left out, and why


def synthesis(
    data: Any,
    plan: Any = None,
    *,
    rows: int | None = None,
    seed: int | None = None,
    tables: int | Sequence[Any] = 2,
    columns: Sequence[str] | None = None,
    method: str = "auto",
    possible: Any = None,
    reading: Reading | Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
) -> Synthesis:
    """Return synthetic records and how far their tables are; see :func:`synthesize`."""
    if method not in METHODS:
        raise InvalidInput(f"method is one of {', '.join(METHODS)}; found {method!r}.")
    if rows is not None:
        refuse_no_whole(rows, "rows")
    measured, reporter = measured_of(data), Reporter(progress)
    if measured is None:
        target = target_of_records(data, plan, tables, columns, reading, reporter.part(0.0, 0.6))
        reporter = reporter.part(0.6, 0.4)
    elif tables != 2 or columns is not None:
        raise InvalidInput(
            "Complete records of protected tables have all their columns and fit every table that "
            "was measured: leave tables= and columns= out, and select columns of the records."
        )
    else:
        stated = getattr(data, "manifest", {}).get("synthetic", {})
        target = target_of_tables(measured, possible or stated.get("possible"))
    cells = math.prod(map(len, target.labels.values()))
    if method == "cells" and cells > MOST_SYNTHETIC_CELLS:
        raise InvalidInput(
            f'method="cells" takes at most {MOST_SYNTHETIC_CELLS:,} cells; these columns have '
            f'{cells:,}. Take method="records", or fewer columns.'
        )
    if method == "auto":
        method = "cells" if cells <= MOST_SYNTHETIC_CELLS else "records"
    names, size = list(target.labels), target.rows if rows is None else rows
    found = {}
    for table, wanted in target.shares.items():
        mask = target.possible.mask(table)
        shares, variances = (np.where(mask, one, 0.0) for one in (wanted.shares, wanted.variances))
        found[table] = Shares(shares, variances, wanted.noise)
    seen = {name for table in found for name in table}
    sizes = {name: len(own) for name, own in target.labels.items() if name not in seen}
    equal: dict[Table, Shares] = {
        (name,): Shares(np.full(k, 1 / k), np.zeros(k), 0.0) for name, k in sizes.items()
    }
    codes = draw_codes(
        {**found, **equal},
        names,
        target.possible,
        rows=size,
        as_cells=method == "cells",
        seed=seed,
        reporter=reporter,
    )
    arrays = {}
    for place, (name, own) in enumerate(target.labels.items()):
        kind = target.types.get(name, natural_arrow_labels(own).type)
        arrays[name] = arrow_values(codes[:, place], own, like=kind)
    if measured is not None and measured.weighted is not None:
        arrays[measured.weighted.column] = pa.array(record_weights(measured, codes))
    fits = tuple(fit_of(table, codes, names, wanted) for table, wanted in found.items())
    library: Any = target.backend
    frame = nw.from_arrow(pa.table(arrays), backend=library).to_native()
    return Synthesis(frame, size, fits, method, target.notes)


def fit_of(table: Table, codes: Integers, names: Sequence[str], wanted: Shares) -> TableFit:
    cell = np.ravel_multi_index([codes[:, names.index(n)] for n in table], wanted.shares.shape)
    counts = np.bincount(cell, minlength=wanted.shares.size).reshape(wanted.shares.shape)
    away = np.abs(counts / len(codes) - wanted.shares)
    typical = float(np.sqrt((away**2).mean()))
    error = wanted.standard_error
    return TableFit(table, away.size, float(away.max()), float(away.mean()), typical, error)


def synthesize(
    data: Any,
    plan: Plan | Mapping[Any, Mechanism] | None = None,
    *,
    rows: int | None = None,
    seed: int | None = None,
    tables: int | Sequence[Any] = 2,
    columns: Sequence[str] | None = None,
    method: Literal["auto", "cells", "records"] = "auto",
    reading: Reading | Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
) -> Any:
    r"""Draw complete records whose tables fit a release.

    Their distribution is the one of largest entropy whose tables are those that the release tells,
    as nearly as it tells them:

    .. math:: \min_p \sum_k p_k \log p_k + \sum_{T, c \in T} \frac{(m_c(p) - t_c)^2}{2 s_c},

    with :math:`m_c(p)` the share of cell c of table T, :math:`t_c` what is estimated for it, and
    slack :math:`s_c` in proportion to its variance. A table of noise goes to independence
    (:mod:`pramble.estimation.draws.target`).

    It uses the release alone: synthetic records reveal nothing beyond it and are as private as it
    is. They are no better either: intervals come from `pramble.estimate`, not from counting them.

    Parameters
    ----------
    data, plan
        As in :func:`pramble.estimate`: released records with the plan that they were randomised
        with, any branches and blocks; or an opened release alone.
    rows : int, optional
        How many records to draw; as many as the release has, unless given.
    seed : int, optional
        The same seed draws the same records; without one they differ from call to call.
    tables : int or list of tuples of columns
        What is fitted: all tables of so many columns (2: all pairs), or these, and all smaller ones
        within. Those that the plan cannot give are left out with a warning. Single columns always
        fit.
    columns : sequence of str, optional
        The columns of the records. By default those of the plan and every untouched one with at
        most 200 values; others are left out with a warning. Untouched columns are columns like any
        other, whose tables are known exactly.
    method : {"auto", "cells", "records"}
        How the records are drawn. From an array of the distribution over all cells ("cells", up to
        20 million of them), with every cell's expected number rounded down or up, so that tables
        are nearer than independent draws would make them. Or ("records") along a tree of pairs,
        and then changed one by one until all tables fit
        (:mod:`pramble.estimation.draws.synthesize`).
    reading : Reading or mapping, optional
        How to read a file.
    progress : callable, optional
        Is given a `pramble.Progress` now and then.

    Returns
    -------
    frame
        In the library of the data; pyarrow otherwise. No value is blank because a record's branch
        left it out. Of protected tables with weights its last column is a weight.

    Examples
    --------
    >>> import pramble
    >>> frame = {"sex": ["f", "m"] * 100, "town": ["x"] * 60 + ["y"] * 140}
    >>> plan = {"sex": pramble.randomized_response(["f", "m"], 2.0)}
    >>> s = pramble.synthesize(frame, plan, rows=1000, seed=1)
    >>> s.num_rows, s.column_names, s["town"].to_pylist().count("x")
    (1000, ['sex', 'town'], 300)
    """
    made = synthesis(
        data,
        plan,
        rows=rows,
        seed=seed,
        tables=tables,
        columns=columns,
        method=method,
        reading=reading,
        progress=progress,
    )
    for note in made.notes:
        warnings.warn(note, PrambleWarning, stacklevel=2)
    return made.frame
