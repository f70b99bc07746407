r"""Complete records whose tables fit a release, and how far they are from the estimates.

Where an array over all cells would be too large, records are first drawn from the tree of pairs
with the most mutual information (Chow and Liu, 1968). Then one record and column after the other is
offered another value, and takes it with the probability of Metropolis and others (1953) for

.. math:: \exp\left(-\sum_{T, c \in T} \frac{(N_c - n t_c)^2}{2 n s_c}\right),

:math:`N_c` the records in cell c and :math:`s_c` its slack
(:mod:`pramble.estimation.draws.distribution`). All files with the same tables are equally likely in
it, and among many records nearly all such files have the law of largest entropy: in the limit it is
the law that the array would have. Cells are held loosely at first and tighter from pass to pass, or
records could hardly get past each other.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pyarrow as pa

from pramble.data.decode import arrow_values, natural_arrow_labels
from pramble.data.labels import Label
from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.errors import InvalidInput, PrambleWarning
from pramble.estimation.draws.distribution import (
    Shares,
    draw_cells,
    estimated,
    fit_law,
    fitted_tables,
    named_columns,
    pair_margins,
    slack_of,
    wanted_tables,
    without_zeros,
)
from pramble.estimation.draws.released import (
    chosen_columns,
    in_memory,
    possible_cells,
    refuse_no_whole,
    wider_zeros,
)
from pramble.estimation.inverse.tabulate import data_and_plan, measured_of
from pramble.information.distributions import Table
from pramble.information.proportional import flat, margin_over
from pramble.information.structural_zeros import Mask, Possible, as_possible
from pramble.limits import MOST_SYNTHETIC_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.operators.base import xlogx
from pramble.mechanisms.plan import Plan, as_plan
from pramble.values import Clock, Floats, Integers, Watcher, value

# In pass k a cell is held within at least 0.6ᵏ of the variance that it would have unheld.
PASSES, LOOSE = 20, 0.6

# Records that walk, at least; of more than are asked for, some are taken at random.
FEWEST = 200_000

# The spread of a cell that must stay empty; no record goes there.
IMPOSSIBLE = 1e-3

# The spread of a cell that is expected to have no record, though it may.
ROUGH = 0.1

POLISHES = 4
# Records that a cell is expected to have where records of an array are moved to round better.
FILLED = 5.0


def draw_records(
    tables: Mapping[Table, Floats],
    slack: Mapping[Table, Floats],
    *,
    columns: Sequence[str],
    zeros: Mapping[Table, Mask],
    rows: int,
    rng: np.random.Generator,
    clock: Clock,
) -> Integers:
    """Return the codes of records, one column for each of the columns.

    ``zeros`` are tables of what is possible, beside those that are fitted.
    """
    size = max(rows, FEWEST)
    codes = draw_tree(tables, columns=columns, rows=size, rng=rng)
    targets = {table: size * own for table, own in tables.items()}
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
    step_towards(
        targets, spread, codes, columns=columns, passes=PASSES, greedy=False, rng=rng, clock=clock
    )
    return rng.permutation(codes)[:rows]


def polish(
    law: Floats,
    tables: Sequence[Table],
    codes: Integers,
    *,
    columns: Sequence[str],
    rng: np.random.Generator,
    clock: Clock,
) -> None:
    """Move records drawn from an array, in place, so that its tables are met within a few records.

    Cells with few records stay as they were drawn: there rounding better would be to favour some.
    """
    expected = {
        table: len(codes) * margin_over(law, tuple(map(columns.index, table))) for table in tables
    }
    spread = {table: np.where(own >= FILLED, 1.0, np.nan) for table, own in expected.items()}
    step_towards(
        expected, spread, codes, columns=columns, passes=POLISHES, greedy=True, rng=rng, clock=clock
    )


def step_towards(
    targets: Mapping[Table, Floats],
    spread: Mapping[Table, Floats],
    codes: Integers,
    *,
    columns: Sequence[str],
    passes: int,
    greedy: bool,
    rng: np.random.Generator,
    clock: Clock,
) -> None:
    """Move records, in place, towards wanted counts of all tables."""
    from pramble.estimation.draws.kernels import walk

    sizes = np.array([len(targets[name,]) for name in columns])
    strides, starts = strides_of(list(targets), sizes, columns)
    members, wanted = members_of(strides), flat(list(targets.values()))
    width = flat([spread[table] for table in targets])
    counts = np.zeros_like(wanted)
    for start, own in zip(starts, strides, strict=True):
        held = np.flatnonzero(own)
        counts += np.bincount(start + codes[:, held] @ own[held], minlength=len(wanted))
    for done in range(passes):
        clock.tell("drawing", done / passes)
        soft = 0.0 if greedy else LOOSE ** (1 + done)
        tight = 1 / np.maximum(width, soft * wanted)
        walk(codes, sizes, starts, members, strides, counts, wanted, tight, greedy, rng)


def strides_of(
    tables: Sequence[Table], sizes: Integers, columns: Sequence[str]
) -> tuple[Integers, Integers]:
    """Return the stride of every column in every table, and where each table starts."""
    strides = np.zeros((len(tables), len(columns)), dtype=np.int64)
    starts = np.zeros(len(tables), dtype=np.int64)
    total = 0
    for t, table in enumerate(tables):
        starts[t], step = total, 1
        for name in reversed(table):
            place = columns.index(name)
            strides[t, place] = step
            step *= int(sizes[place])
        total += step
    return strides, starts


def members_of(strides: Integers) -> Integers:
    """Return the tables of each column, and −1 after them."""
    lists = [np.flatnonzero(column) for column in strides.T]
    found = np.full((len(lists), max(map(len, lists))), -1, dtype=np.int64)
    for own, filled in zip(lists, found, strict=True):
        filled[: len(own)] = own
    return found


def draw_tree(
    tables: Mapping[Table, Floats],
    *,
    columns: Sequence[str],
    rows: int,
    rng: np.random.Generator,
) -> Integers:
    pairs = pair_margins(tables)
    codes = np.zeros((rows, len(columns)), dtype=np.int64)
    for name, before in spanning_order(columns, pairs):
        if before is None:
            law = tables[name,][None, :]
            given = np.zeros(rows, dtype=np.int64)
        else:
            law = pairs[before, name] if (before, name) in pairs else pairs[name, before].T
            given = codes[:, columns.index(before)]
        codes[:, columns.index(name)] = draw_given(law, given, rng)
    return codes


def draw_given(law: Floats, given: Integers, rng: np.random.Generator) -> Integers:
    steps = np.cumsum(law, axis=1)
    level = rng.random(len(given)) * steps[given, -1]
    found = np.zeros(len(given), dtype=np.int64)
    for step in steps.T[:-1]:
        found += level >= step[given]
    return found


def spanning_order(
    columns: Sequence[str], pairs: Mapping[Table, Floats]
) -> list[tuple[str, str | None]]:
    """Return every column with the one it hangs from, along the tree with most information.

    >>> tied = np.array([[0.5, 0.0], [0.0, 0.5]])
    >>> spanning_order(["a", "b", "c"], {("a", "b"): np.full((2, 2), 0.25), ("b", "c"): tied})
    [('a', None), ('b', 'a'), ('c', 'b')]
    """
    weights = {pair: shared_information(own) for pair, own in pairs.items()}
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


def shared_information(table: Floats) -> float:
    margins = xlogx(table.sum(axis=0)).sum() + xlogx(table.sum(axis=1)).sum()
    return float(xlogx(table).sum() - margins)


METHODS = ("auto", "cells", "records")


@value(eq=False)
class TableFit:
    """How far a table of synthetic records is from the estimated one, in shares."""

    columns: Table
    cells: int
    largest: float  # The largest and the mean distance of a cell from its unbiased estimate
    mean: float
    # That of the estimate of a cell against the file, the root of the mean of its square
    standard_error: float


@value(eq=False)
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
    refuse_settings(rows, method)
    measured = measured_of(data)
    if measured is not None:
        if tables != 2 or columns is not None:
            raise InvalidInput(
                "Complete records of protected tables have all their columns and fit every table "
                "that was measured: leave tables= and columns= out, and select columns of the "
                "records."
            )
        return from_measured(
            measured, rows=rows, seed=seed, method=method, possible=possible, clock=Clock(progress)
        )
    data, plan = data_and_plan(data, plan)
    data, names, types, notes = opened(data, plan, columns, named_columns(tables), reading)
    clock, plan = Clock(progress), {} if plan is None else plan
    wanted = wanted_tables(tables, names)
    first, found, labels, left = estimated(data, plan, wanted, clock=clock.part(0.0, 0.6))
    return drawn_from(
        found,
        {name: labels[name] for name in names},
        possible_cells(plan, {name: labels[name] for name in names}),
        rows=round(first.n) if rows is None else rows,
        method=method,
        seed=seed,
        types=types,
        backend=first.backend,
        notes=(*notes, *left),
        clock=clock.part(0.6, 0.4),
    )


def from_measured(
    measured: Measured,
    *,
    rows: int | None,
    seed: int | None,
    method: str,
    possible: Any,
    clock: Clock,
) -> Synthesis:
    plan, total = measured.plan, max(measured.total, 1)
    labels = {name: own.as_tuple() for name, own in plan.labels.items()}
    found = {}
    for part in plan.parts:
        degrees = math.prod(plan.sizes[name] - 1 for name in part)
        variances = np.full(plan.shape(part), plan.cell_variance(part) / total**2)
        noise = degrees / (plan.precision[part] * total**2)
        found[part] = Shares(measured.table(part) / total, variances, noise)
    return drawn_from(
        found,
        labels,
        as_possible(possible, labels),
        rows=total if rows is None else rows,
        method=method,
        seed=seed,
        types={},
        backend="pyarrow",
        notes=(),
        clock=clock,
    )


def drawn_from(
    found: Mapping[Table, Shares],
    labels: Mapping[str, Sequence[Label]],
    possible: Possible,
    *,
    rows: int,
    method: str,
    seed: int | None,
    types: Mapping[str, Any],
    backend: str,
    notes: tuple[str, ...],
    clock: Clock,
) -> Synthesis:
    names = list(labels)
    how = chosen_method(method, [len(own) for own in labels.values()])
    found = {table: without_zeros(own, possible.mask(table)) for table, own in found.items()}
    codes = drawn(found, names, possible, rows=rows, how=how, seed=seed, clock=clock)
    frame = frame_of_codes(codes, labels, types, backend=backend)
    fits = tuple(fit_of(table, own, names, codes) for table, own in found.items())
    return Synthesis(frame, rows, fits, how, notes)


def refuse_settings(rows: Any, method: str) -> None:
    if method not in METHODS:
        raise InvalidInput(f"method is one of {', '.join(METHODS)}; found {method!r}.")
    if rows is not None:
        refuse_no_whole(rows, "rows")


def opened(
    data: Any,
    plan: Any,
    named: Sequence[str] | None,
    needed: Sequence[str],
    reading: Reading | Mapping[str, Any] | None,
) -> tuple[Any, list[str], dict[str, Any], list[str]]:
    if isinstance(named, str):
        named = [named]
    if isinstance(plan, Mechanism):
        raise InvalidInput("A plan says which column a mechanism is for; found one mechanism.")
    records = open_records(data, reading)
    names, notes = chosen_columns(records, as_plan(plan or {}), named, needed)
    types = {name: records.schema.field(name).type for name in names} if records.typed else {}
    blanks = [name for name in as_plan(plan or {}).columns if name in records.names]
    return in_memory(records, list(dict.fromkeys([*names, *blanks]))), names, types, notes


def chosen_method(method: str, sizes: Sequence[int]) -> str:
    """Return how records are drawn; refuse an array that would be too large."""
    cells = math.prod(sizes)
    if method == "cells" and cells > MOST_SYNTHETIC_CELLS:
        raise InvalidInput(
            f'method="cells" takes at most {MOST_SYNTHETIC_CELLS:,} cells; these columns have '
            f'{cells:,}. Take method="records", or fewer columns.'
        )
    return ("cells" if cells <= MOST_SYNTHETIC_CELLS else "records") if method == "auto" else method


def drawn(
    found: Mapping[Table, Shares],
    columns: Sequence[str],
    possible: Possible,
    *,
    rows: int,
    how: str,
    seed: int | None,
    clock: Clock,
) -> Integers:
    rng, laws = np.random.default_rng(seed), fitted_tables(found)
    slack, error = slack_of(found)
    zeros = wider_zeros(possible, laws)
    if how == "records":
        return draw_records(
            laws, slack, columns=columns, zeros=zeros, rows=rows, rng=rng, clock=clock
        )
    fitting, clock = clock.part(0.0, 0.7), clock.part(0.7, 0.3)
    law = fit_law(laws, slack, columns=columns, possible=possible, error=error, clock=fitting)
    codes = draw_cells(law, rows, rng)
    polish(law, [*laws, *zeros], codes, columns=columns, rng=rng, clock=clock)
    return codes


def frame_of_codes(
    codes: Integers,
    labels: Mapping[str, Sequence[Label]],
    types: Mapping[str, Any],
    *,
    backend: str,
) -> Any:
    """Return codes as a frame of labels, in the types of the released columns where they hold."""
    arrays = {}
    for place, (name, own) in enumerate(labels.items()):
        kind = types.get(name, natural_arrow_labels(own).type)
        arrays[name] = arrow_values(codes[:, place], own, like=kind)
    library: Any = backend
    return nw.from_arrow(pa.table(arrays), backend=library).to_native()


def fit_of(table: Table, own: Shares, columns: Sequence[str], codes: Integers) -> TableFit:
    shape = own.shares.shape
    place = np.ravel_multi_index([codes[:, columns.index(name)] for name in table], shape)
    counts = np.bincount(place, minlength=own.shares.size).reshape(shape)
    distance = np.abs(counts / len(codes) - own.shares)
    return TableFit(
        table, own.shares.size, float(distance.max()), float(distance.mean()), own.standard_error
    )


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

    The law of the records is the one of largest entropy whose tables are those that the release
    tells, as nearly as it tells them:

    .. math:: \min_p \sum_k p_k \log p_k + \sum_{T, c \in T} \frac{(m_c(p) - t_c)^2}{2 s_c},

    with :math:`m_c(p)` the share of cell c of table T, :math:`t_c` what is estimated for it, and
    slack :math:`s_c` in proportion to its variance, none for tables that are known exactly. What a
    table says beyond its columns alone is first shrunk by how much of it is noise
    (:mod:`pramble.estimation.draws.distribution`), so that a table of noise goes to independence.

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
        How the records are drawn. From an array of the law over all cells ("cells", up to
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
        left it out.

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
