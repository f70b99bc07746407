"""The verb of the analyst: what a release says of every cell of a table of the original."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from pramble.data.recode import Reading
from pramble.data.records import Job, Records, scan
from pramble.errors import InvalidInput, PrambleError
from pramble.estimation.functionals.queries import group_estimate, query_estimate
from pramble.estimation.functionals.ratios import conditional
from pramble.estimation.functionals.result import Covers, Estimate, Method, Settings
from pramble.estimation.records.intervals import errors_within, nothing_known
from pramble.estimation.records.likelihood import FittedTable, fit_table
from pramble.estimation.records.moments import CellAnswers, SecondMoments, right_inverses
from pramble.estimation.records.tabulate import (
    Counting,
    ReleasedSums,
    as_tabulated,
    counting,
    data_and_plan,
    measured_of,
    stated_survey,
    tabulate,
)
from pramble.estimation.survey import Survey, as_survey, surveyed
from pramble.estimation.tables.cells import refuse_records, table_estimate
from pramble.information.distributions import Table
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.one_thread import one_thread
from pramble.values import names_of

# A p-value below which data and plan are said not to fit.
UNLIKELY = 1e-6

MISFIT = (
    f"The data fits its plan badly (p < {UNLIKELY:g}): is it what was released, and whole? Rows "
    "that were selected by a randomised column are not a release of their originals."
)


def cell_estimate(tabulated: ReleasedSums, settings: Settings) -> Estimate:
    layout, counts, squares = tabulated.layout, tabulated.counts, tabulated.squared_weights
    fitted = fit_table(tabulated, method=settings.method)
    inverses = right_inverses(tabulated.axes, fitted.released if settings.method == "mle" else None)
    moments = SecondMoments(
        tabulated.axes,
        inverses,
        fitted.p,
        fitted.released,
        fitted.released / tabulated.n if squares is None else squares,
        settings.sampling_share(tabulated.n),
    )
    centre = moments.invert(counts / counts.sum())
    lower, upper = moments.intervals(centre, level=settings.level)
    misfit = misfit_of(tabulated, fitted)
    p, errors = layout.flatten(fitted.p), np.sqrt(layout.flatten(moments.variances()))
    if settings.method == "mle":
        errors = errors_within(p, errors, layout.flatten(moments.noise()))
    notes = (*nothing_known(lower, upper, "cells"), *([MISFIT] if misfit < UNLIKELY else []))
    ends = layout.flatten(lower), layout.flatten(upper)
    return settings.estimate(
        p, errors, ends, **tabulated.stated, **fitted.stated, misfit=misfit, notes=notes,
        cells=layout.labels(), covariance_parts=CellAnswers(layout, moments, centre),
    )  # fmt: skip


def misfit_of(tabulated: ReleasedSums, fitted: FittedTable) -> float:
    r"""Return a bound on the p-value of :math:`2\sum_z c_z \log(\hat c_z/\hat m_z)`."""
    from scipy.special import chdtrc, xlogy

    if tabulated.weighted:
        return float("nan")
    counts = fitted.counts
    saturated = float(xlogy(counts, counts / tabulated.n).sum())
    statistic = 2 * (saturated - fitted.log_likelihood)
    # The simplex is a cone around the truth, so the statistic is at most chi-square with one degree
    # of freedom less than there are released cells.
    return float(chdtrc(max(counts.size - 1, 1), max(statistic, 0.0)))


def estimate(
    data: Any,
    plan: Plan | Mapping[Any, Mechanism] | Mechanism | None = None,
    *,
    by: Sequence[str] | str | None = None,
    given: Sequence[str] | str | None = None,
    counts: bool = False,
    method: Method = "mle",
    level: float = 0.95,
    covers: Covers = "both",
    weights: Any = None,
    survey: Survey | Mapping[str, Any] | None = None,
    query: Any = None,
    mean: str | None = None,
    total: str | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
) -> Estimate:
    r"""Estimate the original distribution from a release, with intervals.

    By maximum likelihood (the default), with counts c over the released values,

    .. math:: \hat p = \arg\max_{p \in \Delta} \sum_z c_z \log (pM)_z ,

    to a proven optimality gap (``e.gap``); or by the unbiased inverse
    :math:`\hat p = \hat c\,G`, :math:`MG = I`, which may leave the simplex. Intervals are around
    the unbiased estimate and respect the simplex: far from its boundary they are score intervals,
    at it they become one-sided (:mod:`pramble.estimation.records.intervals`).

    Parameters
    ----------
    data
        One column of released values (list, NumPy, pandas, polars or pyarrow); a vector of
        counts in the order of ``m.outputs``, with ``counts=True``; an opened release; or anything
        with named columns: a path to a file of any known format, a frame (pandas, polars eager or
        lazy, pyarrow, DuckDB, Spark), an Arrow stream, a mapping from names to columns.
    plan : Plan, Mechanism, or mapping from column to mechanism
        What the data was randomised with. Columns that are not in the plan are taken as they are.
        An opened release brings its own, and goes in place of a plan for rows selected from it.
    by : str or sequence of str, optional
        Columns to cross-classify, randomised or not. Of protected tables, columns that were not
        measured together are modelled, and marked as such (``e.rests_on``).
    given : str or sequence of str, optional
        Further columns: the shares of the table within each combination of their labels, as of
        the employed among women. Their intervals know that the size of the group is itself
        estimated (:mod:`pramble.estimation.functionals.ratios`).
    counts : bool
        Whether ``data`` holds counts.
    method : {"mle", "inverse"}
    level : float
        Confidence level of the intervals.
    covers : {"both", "randomisation"}
        What standard errors and intervals account for: sampling and randomisation, for what the
        file was sampled from; or randomisation alone, for the file itself.
    weights : str or array, optional
        Survey weights: a column of the frame, or one number per record. The likelihood becomes
        the weighted pseudo-likelihood, and the variance that of a weighted share.
    survey : Survey or mapping, optional
        How the records were sampled, where they are no simple random sample of a large population:
        strata and clusters, or replicate weights, or the size of the population
        (`pramble.Survey`).
    query : mapping, array, str, or several of them, optional
        Weights of the cells, as a mapping from label (a tuple for several columns) to weight or as
        an array; or the cells to sum, as ``"sex=f,town=x|y"``. A list or a mapping from names asks
        several. The answers :math:`w \cdot p` come back in place of the cells, also where p
        itself is not identifiable.
    mean, total : str, optional
        A numeric column of the frame that was not randomised: its mean or its total within
        each cell comes back in place of the probabilities.
    reading : Reading or mapping, optional
        How to read a file: separator, encoding, what means missing, recodings.

    Returns
    -------
    Estimate

    Raises
    ------
    NotIdentifiable
        When the mechanism maps two distributions to one: the message and ``error.directions`` say
        what is lost.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(["a", "b", "c"], 1.0)
    >>> e = pramble.estimate([500, 300, 200], m, counts=True)
    >>> e.probabilities.round(3)
    array([0.77, 0.23, 0.  ])
    >>> e.lower.round(2), e.upper.round(2)
    (array([0.71, 0.17, 0.  ]), array([0.88, 0.32, 0.04]))

    A frame of randomised and untouched columns:

    >>> frame = {"sex": ["f", "m", "f", "m"] * 50, "town": ["x"] * 80 + ["y"] * 120}
    >>> plan = {"sex": pramble.randomized_response(["f", "m"], 2.0)}
    >>> pramble.estimate(frame, plan, by=["town", "sex"]).probabilities
    array([0.2, 0.2, 0.3, 0.3])

    A query, here the difference of two shares:

    >>> q = pramble.estimate([500, 300, 200], m, counts=True, query={"a": 1, "b": -1})
    >>> q.values.round(3), q.standard_errors.round(3)
    (array([0.541]), array([0.075]))
    """
    if sum(wanted is not None for wanted in (query, mean, total, given)) > 1:
        raise InvalidInput("Ask for one of query=, mean=, total= and given= at a time.")
    if given is not None:
        by = [*names_of(given), *names_of(by or ())]
    population_size, design = None, None
    survey = stated_survey(data, survey)
    if survey is not None:
        survey = as_survey(survey, covers=covers, weights=weights)
        population_size, design = survey.population_size, None if survey.is_simple else survey
    settings = Settings(
        level,
        covers,
        population_size,
        method,
        design_effect=1.0 if survey is None else survey.design_effect,
        is_designed=survey is not None or weights is not None,
    )
    measure = mean if mean is not None else total
    if design is not None and not (query is None and measure is None):
        raise InvalidInput(
            "survey= with strata, clusters or replicates goes with tables, given= and what follows "
            "from them; for means and other functions take estimate_regression, or e.function."
        )
    measured, titles = measured_of(data), getattr(data, "titles", {})
    if measured is not None:
        refuse_records(
            plan=plan,
            counts=counts,
            mean=mean,
            total=total,
            survey=design,
            reading=reading,
        )
        if weights is None and measured.weighted is not None:
            # what is not weighted is not for the population
            settings = replace(settings, is_designed=False)
        with one_thread():
            table = table_estimate(measured, settings, by=by, query=query, weights=weights)
            table = replace(table, titles=titles)
            return table if given is None else conditional(table, names_of(given))
    data, plan = data_and_plan(data, plan)
    with one_thread():
        tabulated = tabulate(
            data,
            plan,
            by=by,
            counts=counts,
            weights=weights,
            measure=measure,
            partial=query is not None,
            reading=reading,
        )
        if query is not None:
            return query_estimate(tabulated, settings, query=query)
        if measure is not None:
            return group_estimate(tabulated, settings, kind="total" if mean is None else "mean")
        table = replace(cell_estimate(tabulated, settings), titles=titles)
        if design is not None:
            table = surveyed(table, data, plan, survey=design, weights=weights, reading=reading)
        return table if given is None else conditional(table, names_of(given))


def estimate_tables(
    records: Records,
    plan: Plan,
    tables: Sequence[Table],
    *,
    method: Method = "mle",
    beside: Sequence[Job] = (),
) -> dict[Table, Estimate]:
    """Return each of some tables that can be estimated, of the file itself.

    The randomised records are read once, for all tables and for the jobs ``beside``.
    """
    settings = Settings(0.95, "randomisation", None, method)
    asked: dict[Table, Counting] = {}
    found: dict[Table, Estimate] = {}
    for table in tables:
        with suppress(PrambleError):
            asked[table] = counting(plan, table)
    jobs = {table: own.job(records) for table, own in asked.items()}
    scan(records, [*jobs.values(), *beside])
    with one_thread():
        for table, own in asked.items():
            with suppress(PrambleError):
                cells = own.cells(jobs[table].result(), records)
                found[table] = cell_estimate(as_tabulated(cells, backend=records.backend), settings)
    return found
