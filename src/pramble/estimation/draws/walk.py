r"""Records whose tables fit, where an array over all cells would be too large.

They are first drawn from the tree of pairs with the most mutual information (Chow and Liu, 1968).
Then one record and column after the other is offered another value, and takes it with
the probability of Metropolis and others (1953) for

.. math:: \exp\left(-\sum_{T, c \in T} \frac{(N_c - n t_c)^2}{2 n s_c}\right),

:math:`N_c` the records in cell c and :math:`s_c` its slack
(:mod:`pramble.estimation.draws.distribution`). All files with the same tables are equally likely in
it, and among many records nearly all such files have the law of largest entropy: in the limit it is
the law that the array would have. Cells are held loosely at first and tighter from pass to pass, or
records could hardly get past each other.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from pramble.estimation.draws.distribution import pair_margins
from pramble.information.distributions import Table
from pramble.information.proportional import flat, sums_over
from pramble.information.structural_zeros import Mask
from pramble.mechanisms.operators.base import xlogx
from pramble.values import Clock, Floats, Integers

PASSES, LOOSE = 20, 0.6
"""In pass k a cell is held within at least 0.6ᵏ of the variance that it would have unheld."""

FEWEST = 200_000
"""Records that walk, at least; of more than are asked for, some are taken at random."""

IMPOSSIBLE = 1e-3
"""The spread of a cell that must stay empty; no record goes there."""

ROUGH = 0.1
"""The spread of a cell that is expected to have no record, though it may."""

POLISHES = 4
FILLED = 5.0
"""Records that a cell is expected to have where records of an array are moved to round better."""


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
        table: len(codes) * sums_over(law, tuple(map(columns.index, table))) for table in tables
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
    strides, starts = layout_of(list(targets), sizes, columns)
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


def layout_of(
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
    """Return the codes of records drawn along a tree of pairs."""
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
    """Return a code for each record from its row of a table, rows in proportion."""
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
