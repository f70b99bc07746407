"""The verb of regressions: what the original values would have given."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pramble.data.crosstab import totals
from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.errors import NotShown
from pramble.estimation.functionals.result import Covers, Settings
from pramble.estimation.records.signed import RecordSource, patterns_of
from pramble.estimation.records.tabulate import (
    data_and_plan,
    measured_of,
    plan_for,
    stated_survey,
)
from pramble.estimation.regression.design_matrix import (
    CodedRows,
    ModelColumn,
    Response,
    refuse_collinear,
    untouched_column,
)
from pramble.estimation.regression.families import FamilyName, family_of
from pramble.estimation.regression.formula import Formula, formula_model, read_formula
from pramble.estimation.regression.result import Regression
from pramble.estimation.regression.solve import ScoreProblem, rare_classes, solve, unestimable
from pramble.estimation.survey import Survey, as_survey
from pramble.estimation.tables.cells import TableSource, notes_of, refuse_records, table_answers
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.plan import Plan
from pramble.one_thread import one_thread
from pramble.values import Integers, frozen


def estimate_regression(
    data: Any,
    plan: Plan | Mapping[Any, Mechanism] | None = None,
    formula: str | None = None,
    *,
    response: str | None = None,
    covariates: Sequence[str] | str | None = None,
    family: FamilyName = "logistic",
    success: Any = None,
    weights: Any = None,
    survey: Survey | Mapping[str, Any] | None = None,
    covers: Covers = "both",
    level: float = 0.95,
    reading: Reading | Mapping[str, Any] | None = None,
) -> Regression:
    r"""Estimate the regression that the original values would have given.

    The score of the original records is a sum over them, so it has an unbiased estimate from the
    release: with untouched values :math:`w_i`, released ones :math:`z_i` and a right inverse G of
    the randomisation, :math:`MG = I`,

    .. math:: \sum_i \sum_x G_{z_i x}\, \psi(w_i, x; \theta) = 0

    is solved: a fit with signed weights :math:`\omega(w,x) = \sum_{i: w_i = w} G_{z_i x}`. Its
    expectation over the randomisation is the score of the original file, whatever the family is
    and whether the model fits. Standard errors are sandwiches. Every plan will do, with blocks
    of several columns and records that show only some of them, if it can give the table of the
    randomised columns of the model.

    Parameters
    ----------
    data, plan
        A file or frame and its plan, or an opened release, as `pramble.estimate` takes them;
        protected tables take models of columns that lie in one measured table.
    formula : str, optional
        As in R: ``"ill ~ SEX + C(MARST) * age"``, read by formulaic (``pramble[regression]``).
        A column of labels has indicators against its first label, in the order of its
        mechanism or type; ``C(x, contr.treatment("b"))`` takes another. A randomised column
        inside an expression counts as what its labels are: ``C(MARST == "married")``,
        ``I(EDUC)``, ``I(x.map({"low": 1, "high": 4}))``. Formulas hold expressions of Python:
        take none from people you do not trust.
    response, covariates : str, and str or sequence of str, optional
        In place of a formula: an intercept and each covariate as it is.
    family : {"logistic", "linear", "multinomial", "ordinal", "poisson"}
        Ordinal is proportional odds, :math:`P(Y \le l) = F(\theta_l - \beta \cdot D)`. The response
        may be randomised.
    success : label, optional
        The value of a logistic response that counts as 1; the last one unless given.
    weights : str or array, optional
        Survey weights.
    survey : Survey or mapping, optional
        How records were sampled (`pramble.Survey`).
    covers : {"both", "randomisation"}
        What errors account for: sampling and randomisation, for what the file was sampled from; or
        randomisation alone, for what the original file would have given.
    level : float
        Confidence level of the intervals.
    reading : Reading or mapping, optional
        How to read a file.

    Returns
    -------
    Regression

    Raises
    ------
    NotIdentifiable
        When the plan does not tell the randomised columns with so many records, or covariates
        determine one another.
    NotConverged
        When the corrected score has no solution.

    Examples
    --------
    >>> import numpy as np, pramble
    >>> rng = np.random.default_rng(7)
    >>> m = pramble.randomized_response([0, 1], 1.0)
    >>> x = rng.integers(0, 2, 20_000)
    >>> y = rng.random(20_000) < np.where(x == 1, 0.7, 0.3)
    >>> z = np.where(rng.random(20_000) < m.matrix[0, 0], x, 1 - x)
    >>> right = pramble.estimate_regression({"x": z, "y": y}, {"x": m}, "y ~ x")
    >>> naive = pramble.estimate_regression({"x": z, "y": y}, {}, response="y", covariates="x")
    >>> truth = np.log(0.7 / 0.3) * 2
    >>> bool(right.lower[1] < truth < right.upper[1]), bool(naive.upper[1] < truth)
    (True, True)
    """
    asked = read_formula(formula, response=response, covariates=covariates)
    survey = stated_survey(data, survey)
    is_designed = survey is not None or weights is not None
    survey = as_survey(survey, covers=covers, weights=weights)
    settings = Settings(
        level,
        covers,
        survey.population_size,
        "inverse",
        design_effect=survey.design_effect,
        is_designed=is_designed,
    )
    measured = measured_of(data)
    if measured is not None:
        refuse_records(
            plan=plan, weights=weights, survey=None if survey.is_simple else survey, reading=reading
        )
        with one_thread():
            material = material_of_tables(measured, asked.columns, settings)
            return fit(material, asked, settings, family=family, success=success)
    data, plan = data_and_plan(data, plan)
    plan = {} if plan is None else plan

    def weighted(column: Any) -> Regression:
        material = material_of_records(
            data, plan, asked.columns, weights=column, survey=survey, reading=reading
        )
        return fit(material, asked, settings, family=family, success=success)

    with one_thread():
        found = weighted(weights)
        if not survey.replicates:
            return found
        columns = survey.replicates
        moved = np.array([weighted(one).coefficients - found.coefficients for one in columns])
    covariance = survey.scale * moved.T @ moved
    return replace(found, covariance=covariance)


@frozen(eq=False)
class Material:
    """Signed weights, what stands in groups and cells, and the number of records of groups."""

    source: RecordSource | TableSource
    groups: CodedRows
    cells: CodedRows
    numbers: Integers
    notes: tuple[str, ...]
    backend: str


def material_of_records(
    data: Any, plan: Any, columns: list[str], *, weights: Any, survey: Survey, reading: Any
) -> Material:
    records = open_records(data, reading)
    source = patterns_of(
        records,
        plan_for(plan, columns),
        by=columns,
        strata=survey.strata,
        clusters=survey.clusters,
        weights=weights,
    )
    own, codes = {}, {}
    for axis, name in enumerate(source.untouched):
        own[name], place = untouched_column(records, name, source.labels[name])
        codes[name] = place[source.groups[:, axis]]
    dropped = ", ".join(f"{number:,} of {name}" for name, number in source.dropped.items())
    return Material(
        source,
        CodedRows(len(source.groups), own, codes),
        rows_of_cells(source.cells, source.labels, source.size),
        totals(source.group, source.numbers, len(source.groups)).astype(np.int64),
        (f"Records without a value are left out: {dropped}.",) if dropped else (),
        source.backend,
    )


def rows_of_cells(
    cells: Mapping[str, Any], labels: Mapping[str, Sequence[Any]], K: int
) -> CodedRows:
    columns = {name: ModelColumn(name, tuple(labels[name]), is_randomised=True) for name in cells}
    return CodedRows(K, columns, dict(cells))


def material_of_tables(measured: Measured, columns: list[str], settings: Settings) -> Material:
    try:
        answers = table_answers(measured, columns, settings)
    except NotShown as error:
        raise NotShown(f"A regression takes a measured table of all its columns. {error}") from None
    layout = answers.layout
    return Material(
        TableSource(answers),
        CodedRows(1, {}, {}),
        rows_of_cells(layout.cells, layout.categories, layout.size),
        np.ones(1, np.int64),
        tuple(notes_of(measured, settings)),
        "pyarrow",
    )


def pose(
    material: Material, formula: Formula, *, family: str, success: Any = None
) -> tuple[ScoreProblem, Response, int]:
    groups, cells = material.groups, material.cells
    model, response = formula_model(formula, groups, cells, counts=material.numbers)
    kind, y, classes = family_of(family, response, success=success)
    source, design = material.source, model.design(groups, cells)
    refuse_collinear(design, source.counts, model.names)
    parameters = kind.parameters(model.names)
    problem = ScoreProblem(source, design, kind, parameters, y, response.is_randomised)
    return problem, response, classes


def fit(
    material: Material, formula: Formula, settings: Settings, *, family: str, success: Any
) -> Regression:
    posed, response, classes = pose(material, formula, family=family, success=success)
    problem, point, notes = solve(posed, classes=classes)
    answer, n, names = unestimable(problem, point), problem.source.n, problem.parameters.names
    bread = problem.basis.inverse(point.information)
    meat = problem.source.moments(problem.scores(point.theta), len(point.theta))
    both, added = (np.diag(bread @ one @ bread) for one in (meat.both, meat.randomisation))
    left = both - np.maximum(added, 0.0)
    inflation = np.where(left > 0, both / np.where(left > 0, left, 1.0), np.inf)
    rare = []
    if response.is_randomised and family == "multinomial":
        shares, labels = problem.averages(classes), response.labels or range(classes)
        rare = rare_classes(shares, labels, n=n, inflation=inflation)
    covariance = bread @ meat.covers(settings.sampling_share(n)) @ bread
    scale = np.sqrt(np.maximum(np.abs(np.diag(covariance)), 1e-300))
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2 / np.outer(scale, scale))
    if values.size and values[0] < 0:  # the nearest one without negative variances
        covariance = (vectors * np.maximum(values, 0.0)) @ vectors.T * np.outer(scale, scale)
    covariance[answer.lost, :] = covariance[:, answer.lost] = 0.0
    covariance[answer.lost, answer.lost] = np.inf
    return Regression(
        names=names,
        coefficients=np.where(answer.unbounded, np.nan, point.theta),
        covariance=covariance,
        n=n,
        family=family,
        inflation=np.where(answer.lost, np.nan, inflation),
        response=response.name,
        level=settings.level,
        covers=settings.covers,
        is_designed=settings.is_designed,
        notes=(*material.notes, *notes, *answer.notes(names), *rare),
        backend=material.backend,
    )
