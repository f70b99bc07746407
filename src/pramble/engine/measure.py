"""The verb: count tables wherever the data live, and add the noise of a design once."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.data.records import Records
from pramble.data.remote import spark_source
from pramble.engine.keystream import checked_key
from pramble.engine.table_counts import TableCounter, count_by_person, count_everywhere
from pramble.engine.table_noise import measured_tables
from pramble.errors import InvalidInput, PrambleWarning
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.table_plan import TablePlan
from pramble.values import Reporter, Watcher, names_of


def measure(
    data: Any,
    design: Any,
    *,
    key: bytes | None = None,
    person: str | Sequence[str] | None = None,
    weights: str | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
    spark: Any = None,
    progress: Watcher | None = None,
) -> Measured:
    r"""Count the tables of a design and add its noise, exactly and once.

    For every set A of columns within a wanted table the release holds

    .. math:: r_A = P_A (M_A + \eta_A), \qquad
              \eta_A \sim \operatorname{round}_{\mathbb Z / N}\left(N(0, 1/u_A)\right), \qquad
              N = \prod_{j \in A} n_j,

    where :math:`M_A` is the table of A and :math:`P_A` subtracts the mean along every axis. Noise
    that is rounded to this lattice keeps exactly the promise of the real Gaussian, and every bit of
    it is drawn without rounding errors. Rows are counted where they are; only tables come here.

    Parameters
    ----------
    data : path, frame, stream or mapping
        Whatever holds the records: a file or folder of any known format; a frame of pandas, polars
        (eager or lazy), pyarrow, DuckDB or Spark; a table in a database, as an ``ibis.Table``; a
        mapping from names to columns. Every value must be a declared category of its column.
    design : TableDesign or TablePlan
        What :func:`~pramble.design_tables` returns.
    key : bytes, optional
        32 secret bytes; None draws fresh ones. The same rows, design and key give the same release,
        whatever engine counts; a change in any of them gives independent noise. Key and release
        together give the exact tables: keep the key like the file.
    person : str or list of str, optional
        The columns that say whose a row is. At most ``rows_per_person`` rows of each person are
        counted: random ones, by the key. Without it rows are taken to keep to the limit.
    weights : str, optional
        The column of survey weights, for a design with ``largest_weight``: weighted tables are
        measured too. You are warned where weights are cut; that is for you alone.
    reading : Reading or mapping, optional
        How to read the data, with recodings.
    spark : SparkSession, optional
        Next to a path: the tasks of this session read the Parquet files and count.
    progress : callable, optional
        Is called with a :class:`~pramble.Progress` now and then.

    Returns
    -------
    Measured
        Protected tables: all of it may be published. ``table(columns)`` gives unbiased counts.

    Raises
    ------
    InvalidData
        If a column is missing, a value is no declared category, or a weight is missing or negative.

    Examples
    --------
    >>> import pramble
    >>> d = pramble.design_tables({"sex": ["f", "m"], "ill": ["no", "yes"]}, 1.0, 1e-6)
    >>> people = {"sex": ["f", "m", "m"] * 1000, "ill": ["no", "no", "yes"] * 1000}
    >>> m = pramble.measure(people, d, key=bytes(32))  # an example; keep yours secret
    >>> m
    Protected tables of 3,000 records
      columns  sex, ill
      tables   1, and all that lie within them
      noise    ± 5.17 people a cell
    >>> m.table(["sex", "ill"]).round().tolist()
    [[999.0, -6.0], [1010.0, 997.0]]
    """
    plan = design if isinstance(design, TablePlan) else getattr(design, "plan", None)
    if not isinstance(plan, TablePlan):
        raise InvalidInput(
            "Tables are measured by a design of design_tables, or its plan; found "
            f"{type(design).__name__}."
        )
    reporter = Reporter(progress)
    records = open_records(spark_source(data, spark), reading)
    measured = measure_records(
        records, plan, key=checked_key(key), person=person, weights=weights, reporter=reporter
    )
    reporter.report("done", 1.0)
    return measured


def measure_records(
    records: Records,
    plan: TablePlan,
    *,
    key: bytes,
    person: str | Sequence[str] | None = None,
    weights: str | None = None,
    nulls: Mapping[str, Any] | None = None,
    reporter: Reporter,
) -> Measured:
    """Count the tables of opened records and add noise; ``nulls`` say what empty cells count as."""
    people = [] if person is None else names_of(person)

    def watch(rows: int, share: float) -> None:
        reporter.report("counting", 0.9 * share, rows=rows)

    refuse_weights(plan, weights, people)
    of_weights = None if weights is None or plan.weights is None else (weights, plan.weights)
    wanted = plan.tables if plan.choice is None else (*plan.tables, *plan.choice.candidates)
    job = TableCounter(
        wanted,
        plan.labels,
        typed=records.typed,
        nulls=nulls,
        weights=of_weights,
        decimal=records.reading.decimal,
    )
    records.refuse_missing([*job.columns, *people])
    if people:
        count_by_person(records, job, people, most=plan.rows_per_person, secret=key, watch=watch)
    else:
        count_everywhere(records, job, watch=watch)
    job.refuse_undeclared()
    if job.cut and plan.weights is not None:
        warnings.warn(
            f"{job.cut:,} rows weigh more than {plan.weights.largest:g}, the largest weight that "
            "was stated, and count with that. How many they are is not protected: do not publish "
            "it, and do not choose a largest weight by it.",
            PrambleWarning,
            stacklevel=3,
        )
    return measured_tables(plan, job, secret=key, reporter=reporter.part(0.9, 0.1))


def refuse_weights(plan: TablePlan, weights: str | None, people: Sequence[str]) -> None:
    if weights is None and plan.weights is not None:
        raise InvalidInput(
            "This design measures weighted tables, for which it keeps half of the promise: name "
            "the column with weights=. Or design without largest_weight."
        )
    if weights is not None and plan.weights is None:
        raise InvalidInput(
            "Weighted tables need the most that one row can weigh. State it from public knowledge, "
            "such as the sampling design, and never off the file: design_tables(…, "
            "largest_weight=…). Or leave weights= out."
        )
    if weights is not None and (weights in plan.columns or weights in people):
        raise InvalidInput(
            f"weights= must be a column of its own; {weights!r} is "
            f"{'one of the tables' if weights in plan.columns else 'that of person='}."
        )
