r"""Survey designs: the variance of sampling by strata and clusters, or by replicate weights.

With clusters c in strata h and :math:`U_{hc}` the sum of their records, a sum over records has the
variance

.. math:: \sum_h \frac{m_h}{m_h - 1} \sum_c (U_{hc} - \bar U_h)(U_{hc} - \bar U_h)^\top ,

where without clusters every record is one. A stratum with one cluster counts about zero. In a table
a record that was released as z moves the estimate of cell x by :math:`w_i (G_{zx} - p_x)/W`. With
replicate weights the table is estimated again with each of them, and

.. math:: V = c \sum_r (\hat p_r - \hat p)(\hat p_r - \hat p)^\top .

Both hold what randomisation adds: it is independent from record to record, and so from cluster to
cluster.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from pramble.data.open import open_records
from pramble.errors import InvalidInput
from pramble.estimation.functionals.result import Estimate
from pramble.estimation.records.intervals import errors_within
from pramble.estimation.records.likelihood import by_inverse
from pramble.estimation.records.moments import CellAnswers
from pramble.estimation.records.signed import patterns_of
from pramble.estimation.records.tabulate import plan_for, tabulate
from pramble.values import Floats, frozen, names_of

ReplicateMethod = Literal["acs", "brr", "jackknife"]
# What squared differences of replicates are multiplied by: successive differences as those of the
# American Community Survey, balanced halves, and one cluster left out at a time.
SCALES = {
    "acs": lambda many: 4 / many,
    "brr": lambda many: 1 / many,
    "jackknife": lambda many: (many - 1) / many,
}


@frozen
class Survey:
    r"""How the records were sampled: the ``survey=`` of estimates and regressions.

    Attributes
    ----------
    strata, clusters : str, optional
        Columns of the sampling design, not randomised: errors are then those between clusters
        within strata.
    replicates : sequence of str
        Columns of replicate weights instead, which go with ``weights=``.
    replicate_method : {"acs", "brr", "jackknife"} or float
        How they were made: successive differences as those of the American Community Survey, which
        has 80; balanced halves; one cluster left out at a time; or the factor of the sum of squared
        differences itself, as :math:`1/(R(1-k)^2)` for Fay's.
    population_size : float, optional
        Size N of the finite population that the n records are a simple random sample of. The
        sampling variance is then multiplied by (N − n)/(N − 1).
    design_effect : float
        How many times the sampling variance is that of records drawn on their own, with their
        weights where these are given: what strata and clusters make of it, where they are not in
        the data. 1 states a simple random sample.

    Examples
    --------
    >>> import pramble
    >>> frame = {"x": ["a", "b"] * 20, "block": [i // 4 for i in range(40)]}
    >>> e = pramble.estimate(frame, {}, by="x", survey=pramble.Survey(clusters="block"))
    >>> e.values, e.standard_errors
    (array([0.5, 0.5]), array([0., 0.]))
    """

    strata: str | None = None
    clusters: str | None = None
    replicates: Sequence[str] = ()
    replicate_method: ReplicateMethod | float = "acs"
    population_size: float | None = None
    design_effect: float = 1.0

    def __post_init__(self) -> None:
        effect = self.design_effect
        is_number = isinstance(effect, int | float) and not isinstance(effect, bool)
        if not is_number or not 0 < effect < math.inf:
            raise InvalidInput(f"design_effect must be a positive number; found {effect!r}.")
        object.__setattr__(self, "replicates", tuple(names_of(self.replicates or ())))
        if self.replicates and self.columns:
            raise InvalidInput("Give strata and clusters, or replicates: they hold both.")
        if isinstance(self.replicate_method, str) and self.replicate_method not in SCALES:
            raise InvalidInput(
                f"replicate_method is one of {', '.join(SCALES)}, or a factor; found "
                f"{self.replicate_method!r}."
            )
        if self.replicates and len(self.replicates) < 2:
            raise InvalidInput("replicates names two or more columns of weights.")
        if effect != 1 and not self.is_simple:
            raise InvalidInput(
                "Give strata and clusters, or replicates, or the design effect that they make."
            )

    @property
    def columns(self) -> list[str]:
        """The columns of strata and clusters."""
        return [name for name in (self.strata, self.clusters) if name is not None]

    @property
    def is_simple(self) -> bool:
        """Whether records were drawn on their own."""
        return not self.columns and not self.replicates

    @property
    def scale(self) -> float:
        """What squared differences of replicates are multiplied by."""
        if isinstance(self.replicate_method, str):
            return float(SCALES[self.replicate_method](len(self.replicates)))
        return float(self.replicate_method)


def as_survey(given: Survey | Mapping[str, Any] | None, *, covers: str, weights: Any) -> Survey:
    """Return a survey design, from one or from its fields; refuse what does not go with it."""
    if given is not None and not isinstance(given, Survey | Mapping):
        raise InvalidInput(f"survey must be a Survey or a mapping; found {type(given).__name__}.")
    if isinstance(given, Mapping):
        known = Survey.__dataclass_fields__
        unknown = [name for name in given if name not in known]
        if unknown:
            raise InvalidInput(f"survey has no {unknown[0]!r}; it has {', '.join(known)}.")
        given = Survey(**given)
    survey = Survey() if given is None else given
    if not survey.is_simple and covers != "both":
        raise InvalidInput(
            "strata, clusters and replicates are of sampling; covers must be 'both'."
        )
    if survey.replicates and weights is None:
        raise InvalidInput("replicates goes with weights=, the weight that they replace.")
    return survey


# Cells of a table with the variance of a survey design.
MOST_CELLS = 1500


@frozen(eq=False)
class SurveyAnswers(CellAnswers):
    """What a table answers under a survey design, whose covariance holds sampling too."""

    matrix: Floats

    @property
    def sampling(self) -> float:
        return 0.0

    @property
    def width(self) -> int:
        return len(self.matrix)

    def randomised(self, w: Floats) -> Floats:
        return np.asarray(w @ self.matrix @ w.T)

    def products(self, w: Floats, other: Floats) -> Floats:
        return np.asarray(((w @ self.matrix) * other).sum(axis=1))

    def covariance(self) -> Floats:
        return self.matrix


def surveyed(
    e: Estimate, data: Any, plan: Any, *, survey: Survey, weights: Any, reading: Any
) -> Estimate:
    answers = e.covariance_parts
    if not isinstance(answers, CellAnswers) or len(e.values) > MOST_CELLS:
        raise InvalidInput(
            f"strata, clusters and replicates take tables of records with at most {MOST_CELLS:,} "
            "cells."
        )
    layout, moments = answers.layout, answers.moments
    if survey.replicates:
        moved = []
        for column in survey.replicates:
            again = tabulate(data, plan, by=layout.by, weights=column, reading=reading)
            moved.append(layout.flatten(by_inverse(again.axes, again.counts).p) - answers.unbiased)
        V = np.asarray(survey.scale * np.array(moved).T @ np.array(moved))
    else:
        V = design_covariance(data, plan, answers, survey=survey, weights=weights, reading=reading)
    variances = layout.unflatten(np.diag(V).copy())
    lower, upper = moments.intervals(answers.centre, level=e.level, variances=variances)
    errors = np.sqrt(np.maximum(np.diag(V), 0.0))
    if e.method == "mle":
        errors = errors_within(e.values, errors, layout.flatten(moments.noise()))
    return replace(
        e,
        standard_errors=errors,
        lower=layout.flatten(lower),
        upper=layout.flatten(upper),
        covariance_parts=SurveyAnswers(layout, moments, answers.centre, V),
    )


def design_covariance(
    data: Any, plan: Any, answers: CellAnswers, *, survey: Survey, weights: Any, reading: Any
) -> Floats:
    by, order = answers.layout.by, answers.layout.order
    source = patterns_of(
        open_records(data, reading),
        plan_for(plan, by),
        by=by,
        strata=survey.strata,
        clusters=survey.clusters,
        weights=weights,
        missing=True,
    )
    p, size = answers.centre.reshape(-1), source.size
    assert len(p) == len(source.groups) * size, "both have the same cells"

    def deviations(some: slice) -> Floats:
        found = np.broadcast_to(-p, (some.stop - some.start, size, len(p))).copy()
        for g in range(some.start, some.stop):
            found[g - some.start, :, g * size : (g + 1) * size] += np.eye(size)
        return found

    whole = source.moments(deviations, len(p)).both / source.n**2
    return np.asarray(whole[np.ix_(order, order)])
