"""Copies of a release with every randomised value drawn anew, for any software."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from pramble.data.decode import labels_like, with_columns
from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.data.records import Records, TableRecords
from pramble.errors import InvalidInput, PrambleWarning
from pramble.estimation.draws.chain import Chain, TableModel, chosen_model, start_distribution
from pramble.estimation.draws.released import (
    ReleasedPatterns,
    Units,
    count_patterns,
    fitting_columns,
    gathered_records,
    given_columns,
    refuse_no_whole,
    released_patterns,
    units_of,
)
from pramble.estimation.records.tabulate import data_and_plan, measured_of
from pramble.limits import MOST_IMPUTED_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan, as_plan
from pramble.values import Integers, Reporter, Watcher, frozen, names_of

# Sweeps of a chain: at least, at most, and for each record that a complete one is worth.
FEWEST_SWEEPS, MOST_SWEEPS, LONG = 30, 400, 3.0

# Steps of all chains together above which they are shorter.
WORK = 2e10


@frozen(eq=False)
class Imputation:
    """Copies of a release with every randomised value drawn, and what is to be known of them."""

    frames: tuple[Any, ...]
    rows: int
    columns: tuple[str, ...]  # The columns that were drawn
    given: tuple[str, ...]  # The untouched columns that they were drawn given
    classes: tuple[str, ...]  # Those of them that are numbers, and enter through classes
    tables: tuple[tuple[str, ...], ...]  # The tables of the model
    sweeps: int  # How often model and originals were drawn in turn, for each copy
    notes: tuple[str, ...] = ()  # What was left out, and why


def imputation(
    data: Any,
    plan: Any = None,
    *,
    copies: int = 20,
    seed: int | None = None,
    using: Sequence[str] | str | None = None,
    tables: Any = None,
    reading: Reading | Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
) -> Imputation:
    """Return filled copies of a release; see :func:`impute`."""
    refuse_no_whole(copies, "copies")
    if measured_of(data) is not None:
        raise InvalidInput(
            "Protected tables hold no records to fill in. Take the complete records of the release "
            "(synthetic.parquet, release.synthetic), or draw some with synthesize."
        )
    data, plan = data_and_plan(data, plan)
    if isinstance(plan, Mechanism):
        raise InvalidInput("A plan says which column a mechanism is for; found one mechanism.")
    plan = as_plan({} if plan is None else plan)
    if not plan.columns:
        raise InvalidInput("The plan must randomise a column; without one nothing is to be filled.")
    reporter = Reporter(progress)
    records = open_records(data, reading)
    records = gathered_records(records, records.names)
    given = given_columns(records, plan, None if using is None else names_of(using))
    counted = count_patterns(given.records, plan, given.columns)
    names, left = fitting_columns(counted, plan, given.columns)
    notes = list(given.notes)
    if left and using is not None:
        raise InvalidInput(
            f"The model must have at most {MOST_IMPUTED_CELLS:,} cells; with {', '.join(using)} it "
            "has more. Name fewer columns."
        )
    if left:
        notes.append(
            f"Left out of the model, which has at most {MOST_IMPUTED_CELLS:,} cells: "
            f"{', '.join(map(repr, left))}. What is drawn tells nothing of them; choose other "
            "columns with using=."
        )
    release = released_patterns(counted, plan, names, records=given.records)
    model = chosen_model(release, tables, reporter=reporter.part(0.0, 0.2))
    units = units_of(release)
    sweeps = sweeps_of(release, model, units, copies=copies)
    reporter, drawn = reporter.part(0.2, 0.8), []
    for done, rng in enumerate(np.random.default_rng(seed).spawn(copies)):
        reporter.report("drawing", done / copies)
        distribution = start_distribution(release, model.terms, rng=rng)
        places = np.empty(release.rows, dtype=np.int64)
        chain = Chain(release, model.terms, units, rng)
        places[release.order] = chain.run(distribution, sweeps)
        drawn.append(np.stack(np.unravel_index(places, release.shape), axis=1))
    source = source_of(data, records, reading)
    return Imputation(
        tuple(filled(source, release, codes) for codes in drawn),
        release.rows,
        tuple(release.labels),
        tuple(names),
        tuple(name for name in given.classes if name in names),
        tuple(term.table for term in model.terms if term.low.any()),
        sweeps,
        (*notes, *model.notes),
    )


def sweeps_of(release: ReleasedPatterns, model: TableModel, units: Units, *, copies: int) -> int:
    """Return how many sweeps a chain takes: as many as it needs to forget, within bounds."""
    wanted = LONG * release.rows / max(model.complete_records, 1.0)
    together = len(units) == 1
    draws = len(release.counts) * math.prod(release.shape) if together else 0
    draws += release.rows * (1 if together else len(units.moves))
    each = draws + len(model.terms) * (2 * release.cells + release.rows)
    bound = max(WORK / (each * copies), FEWEST_SWEEPS)
    return round(min(max(wanted, FEWEST_SWEEPS), MOST_SWEEPS, bound))


def source_of(data: Any, records: Records, reading: Any) -> Any:
    """Return the frame that copies are made of: the caller's own where it is in memory."""
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    known = isinstance(frame, nw.DataFrame) and reading is None
    if known and records.backend == frame.implementation.name.lower():
        return data
    if isinstance(records, TableRecords):
        library: Any = records.backend
        return nw.from_arrow(records.table, backend=library).to_native()
    raise InvalidInput(
        "A mapping must hold one type of values in each column to be filled; give a frame."
    )


def filled(source: Any, release: ReleasedPatterns, codes: Integers) -> Any:
    columns = {}
    for place, (name, labels) in enumerate(release.labels.items()):
        column = source[name]
        kind = getattr(getattr(column, "dtype", None), "kind", "")
        if kind == "f" and all(type(label) is int for label in labels):
            column = column.fillna(0).astype("int64")  # pandas has floats where blanks were
        columns[name] = labels_like(codes[:, place], labels, like=column)
    return with_columns(source, columns)


def impute(
    data: Any,
    plan: Plan | Mapping[Any, Mechanism] | None = None,
    *,
    copies: int = 20,
    seed: int | None = None,
    using: Sequence[str] | str | None = None,
    tables: int | str | Sequence[Any] | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
) -> list[Any]:
    r"""Draw what the original records may have been, several times: multiple imputations.

    Each copy has its own distribution p, drawn from the posterior given the release. From it the
    original x of a record that shows z, with untouched values w, is drawn with

    .. math:: P(x \mid z, w) \propto p(w, x) \prod_B M_B[x_B, z_B]

    over the blocks B of the record's branch (:mod:`pramble.estimation.draws.chain`). Do with each
    copy whatever you would do with the original file, and put the answers together with
    :func:`pramble.combine`. Its intervals know of the randomisation, since the copies differ by as
    much as the release leaves open.

    It uses the release alone: the copies reveal nothing beyond it and cost no privacy.

    Parameters
    ----------
    data, plan
        As in :func:`pramble.estimate`: released records with the plan that they were randomised
        with, any branches and blocks; or an opened release alone.
    copies : int
        How many copies; 20 are enough for most purposes.
    seed : int, optional
        The same seed draws the same copies, and with more copies the same first ones; without
        one they differ from call to call.
    using : str or sequence of str, optional
        The untouched columns that originals are drawn given. **All that you will relate to a
        randomised column must be among them**, or the relation is attenuated. By default all
        columns of numbers and all with at most 50 categories; others are left out with a warning.
        Columns of more than ten numbers enter through eight classes.
    tables : int, "all", or list of tuples of columns, optional
        What the model may hold: all tables of so many columns (2: all pairs, so no interactions of
        three columns), or these, or the one of "all" columns. By default all columns together
        where they have few cells and the release tells them well, else pairs. Those that the plan
        cannot give are left out with a warning.
    reading : Reading or mapping, optional
        How to read a file.
    progress : callable, optional
        Is given a `pramble.Progress` now and then.

    Returns
    -------
    list of frames
        In the library of the data (pyarrow for files and mappings), the rows in their order.
        Randomised columns hold categories of the plan, and no blanks; all others are as they were.

    Examples
    --------
    >>> import pramble
    >>> frame = {"sex": ["f", "m"] * 100, "town": ["x"] * 60 + ["y"] * 140}
    >>> plan = {"sex": pramble.randomized_response(["f", "m"], 2.0)}
    >>> filled = pramble.impute(frame, plan, copies=5, seed=1)
    >>> len(filled), filled[0].column_names, filled[0]["town"].to_pylist() == frame["town"]
    (5, ['sex', 'town'], True)
    >>> shares = [one["sex"].to_pylist().count("f") / 200 for one in filled]
    >>> c = pramble.combine(shares, [p * (1 - p) / 200 for p in shares])
    >>> c.estimate.round(3), c.standard_errors.round(3)
    (array([0.5]), array([0.046]))
    """
    made = imputation(
        data,
        plan,
        copies=copies,
        seed=seed,
        using=using,
        tables=tables,
        reading=reading,
        progress=progress,
    )
    for note in made.notes:
        warnings.warn(note, PrambleWarning, stacklevel=2)
    return list(made.frames)
