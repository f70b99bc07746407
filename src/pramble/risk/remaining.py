r"""Risk that remains after randomisation, exactly under the Poisson model.

An intruder who knows the plan reads each released record as original keys
(:mod:`pramble.risk.released_keys`), takes those whose reading nobody else in the release has, and
links each to the population members whose true keys are the ones read. M is the plan's matrix over
the cells, followed by the reading: the product over the columns.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.frames import Tidy
from pramble.data.table import Crosstab
from pramble.errors import InvalidPlan
from pramble.information.measures import entropy, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan, as_plan
from pramble.privacy.certificate import certify
from pramble.risk.cells import by_record, record_array, rows_each
from pramble.risk.left_alone import expected_alone
from pramble.risk.models.base import CellMeans, Operators
from pramble.risk.released_keys import KEPT, key_readings, seen_branches, shares_over
from pramble.shown import Display, Facts, Grid, number
from pramble.values import Floats, value

if TYPE_CHECKING:
    from pramble.risk.assessment import Assessment


@value(eq=False, repr=False)
class RiskAfter(Display):
    r"""The risk left once a plan has been applied.

    The intruder knows the plan, the keys of everyone, and how frequent values are. Each output is
    read as one value; by its label where the mechanism keeps its labels, else by the best of three
    readings (:mod:`pramble.risk.released_keys`). With :math:`M_{kj}` the chance that keys k are
    read as keys j, for a record whose keys are cell j, were it to be alone on the reading j,

    .. math::
        \tilde r_{1j} = \frac{\lambda_j M_{jj}}{\tilde\lambda_j} e^{-v_j}, \qquad
        \tilde r_{2j} = \frac{\lambda_j M_{jj}}{\tilde\lambda_j} \frac{1-e^{-v_j}}{v_j}, \qquad
        v_j = \lambda_j(1-\pi M_{jj}), \quad \tilde\lambda_j = \sum_k \lambda_k M_{kj}.

    In a plan of several branches what is released of a record is its branch and the outputs there:
    the keys of a block are one key, blank keys tell nothing, and only records of the same branch
    can be taken for it. With the share w of a branch, :math:`wM` stands for M in what follows and
    in v, over the cells of the keys that are shown, and risks are summed over the branches; those
    of a record are weighted by w.

    τ̃1 and τ̃2 are, given the file, the expected numbers of records alone on a reading that is right
    and unique in the population, and of right matches:

    .. math:: \tilde\tau_2 = \sum_j f_j M_{jj}(1-M_{jj})^{f_j-1}
        \prod_{k\ne j}(1-M_{kj})^{f_k}\; E(1/F_j \mid f_j),

    and likewise τ̃1 with :math:`P(F_j = 1 \mid f_j)`. With no randomisation they are τ1 and τ2.

    Attributes
    ----------
    tau1, tau2 : float
        Expected over the randomisation.
    records : (n,) record array
        ``r1``, ``r2`` and ``posterior``, the intruder's chance that a reading j is right, for each
        row of the file; of a Spark frame for each class, with its number of ``rows``.
    reading : str
        ``"labels"``, or the reading that leaves the largest τ̃2 where labels are not kept.
    """

    tau1: float
    tau2: float
    records: Any
    reading: str = KEPT

    def shown(self) -> Facts:
        """Return the figures of the whole file."""
        return Facts(
            "Disclosure risk after randomisation",
            [
                ("τ1", f"{number(self.tau1)} expected alone on a right reading, and unique"),
                ("τ2", f"{number(self.tau2)} expected right matches"),
                ("worst record", f"r2 = {number(self.worst, 3)}"),
                ("read by", self.reading),
            ],
        )

    @property
    def worst(self) -> float:
        """The largest r̃2 of any record."""
        return float(self.records["r2"].max())

    def share_above(self, level: float) -> float:
        """Return the share of records whose r̃2 is above a level."""
        return float(np.average(self.records["r2"] > level, weights=rows_each(self.records)))


def risk_after(
    table: Crosstab, fit: CellMeans, *, fraction: Floats, plan: Plan | Mapping[Any, Mechanism]
) -> RiskAfter:
    """Return the risk left by the readings that serve an intruder best, branch by branch."""
    figures = {name: np.zeros(len(table.counts)) for name in ("r1", "r2", "posterior")}
    tau1 = tau2 = 0.0
    readings: dict[str, None] = {}
    for seen in seen_branches(as_plan(plan), table):
        own, fractions = seen.fit(fit), seen.fractions(table, fraction)
        left = max(
            (
                risk_of_reading(
                    seen.table,
                    own,
                    fraction=fractions,
                    operators=operators,
                    share=seen.share,
                    reading=name,
                )
                for name, operators in key_readings(seen.mechanisms, seen.table).items()
            ),
            key=lambda risk: round(risk.tau2, 9),
        )
        tau1, tau2 = tau1 + left.tau1, tau2 + left.tau2
        readings[left.reading] = None
        for name, values in left.classes.items():
            figures[name] += seen.share * values[seen.class_of]
    records = record_array(by_record(table, figures))
    return RiskAfter(tau1, tau2, records, ", ".join(readings) or KEPT)


@value(eq=False)
class ReadingRisk:
    """The risk that one reading leaves in one branch: sums, and figures of its classes."""

    tau1: float
    tau2: float
    classes: Mapping[str, Floats]
    reading: str = KEPT


def risk_of_reading(
    table: Crosstab,
    fit: CellMeans,
    *,
    fraction: Floats,
    operators: Operators,
    share: float = 1.0,
    reading: str = KEPT,
) -> ReadingRisk:
    """Return the risk left when the keys of a share of the records move by the given operators.

    ``fraction`` is the sampling fraction of each class.
    """
    stay = np.ones(len(table.cells))
    for axis, operator in operators.items():
        stay *= operator.diagonal[table.cells[:, axis]]
    means = fit.means(table.cells)
    released = fit.released_means(table.cells, operators)
    posterior = np.where(released > 0, means * stay / np.where(released > 0, released, 1.0), 0.0)
    seen = share * stay
    alone = expected_alone(table, with_share(operators, share), stay=seen)
    one = np.ones(len(stay))
    r1, r2 = fit.risks(table.cells, one.astype(np.int64), fraction=fraction, stay=seen)
    before1, before2 = fit.risks(table.cells, table.counts, fraction=fraction, stay=one)
    per_class = {"r1": posterior * r1, "r2": posterior * r2, "posterior": posterior}
    return ReadingRisk(float(alone @ before1), float(alone @ before2), per_class, reading)


def with_share(operators: Operators, share: float) -> Operators:
    """Return the operators of records of which only a share is in the branch."""
    if share == 1 or not operators:
        return operators
    first, *others = operators
    scaled = operators[first].entrywise(lambda m: np.asarray(share * m))
    return {first: scaled, **{axis: operators[axis] for axis in others}}


@value
class PlanFigures:
    """What one plan leaves and keeps.

    Attributes
    ----------
    name : str
    alpha : float
        Over all of the plan's columns; infinite for a plan that is no protection by itself.
    tau1, tau2, worst, share : float
        Risk left: τ̃1, τ̃2, the largest r̃2, and the share of records with r̃2 above the level.
    information, kept : float
        Mutual information over the keys that the plan randomises, in nats, and as a share of the
        sum of their entropies in the file. What a block tells of its keys together counts once.
    """

    name: str
    alpha: float
    tau1: float
    tau2: float
    worst: float
    share: float
    information: float
    kept: float


@value(repr=False)
class PlanComparison(Display, Tidy):
    """Plans side by side, beside the file as it is.

    Examples
    --------
    >>> import pramble
    >>> people = {"age": [20, 20, 40, 60], "sex": ["f", "f", "m", "f"]}
    >>> a = pramble.assess(people, ["age", "sex"], population_size=12, model="independence")
    >>> plans = {name: {"age": pramble.randomized_response([20, 40, 60], alpha)}
    ...          for name, alpha in [("mild", 3.0), ("strong", 1.0)]}
    >>> mild, strong = a.compare(plans)
    >>> mild.tau2 > strong.tau2, mild.kept > strong.kept
    (True, True)
    >>> print(a.compare(plans).verdict)
    strong leaves the least risk (τ2 0.726 of 1.3); mild keeps the most information (66 %).
    """

    before_tau1: float
    before_tau2: float
    level: float
    plans: tuple[PlanFigures, ...]

    def __iter__(self) -> Iterator[PlanFigures]:
        return iter(self.plans)

    def __getitem__(self, name: str) -> PlanFigures:
        return next(plan for plan in self.plans if plan.name == name)

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as plain lists."""
        names = [field.name for field in fields(PlanFigures)]
        return {name: [getattr(plan, name) for plan in self.plans] for name in names}

    def shown(self) -> Grid:
        """Return a line for each plan, after the file as it is."""
        rows = [
            [plan.name, *(number(own, 3) for own in (plan.alpha, plan.tau1, plan.tau2, plan.worst)),
             f"{plan.kept:.1%}"]
            for plan in self.plans
        ]  # fmt: skip
        now = ["as it is", "", number(self.before_tau1, 3), number(self.before_tau2, 3), "", "100%"]
        head = ["plan", "α", "τ1", "τ2", "worst r2", "information kept"]
        return Grid("Risk left and information kept", head, [now, *rows], below=self.verdict)

    @property
    def verdict(self) -> str:
        """One sentence on which plan is better by τ2 left and information kept."""
        safest = min(self.plans, key=lambda plan: (plan.tau2, -plan.kept))
        richest = max(self.plans, key=lambda plan: (plan.kept, -plan.tau2))
        link = " and" if safest is richest else f"; {richest.name}"
        return (
            f"{safest.name} leaves the least risk (τ2 {safest.tau2:.3g} of {self.before_tau2:.3g})"
            f"{link} keeps the most information ({100 * richest.kept:.0f} %)."
        )

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON."""
        return {
            "before": {"tau1": self.before_tau1, "tau2": self.before_tau2},
            "level": self.level,
            "plans": [asdict(plan) for plan in self.plans],
            "verdict": self.verdict,
        }


def compare_plans(
    assessment: "Assessment",
    plans: Mapping[str, Plan | Mapping[Any, Mechanism]],
    *,
    level: float = 0.1,
) -> PlanComparison:
    """Return what each plan leaves of the risk and keeps of the information."""
    if not plans:
        raise InvalidPlan("A comparison needs at least one plan; found none.")
    figures = (
        plan_figures(assessment, name, as_plan(plan), level=level) for name, plan in plans.items()
    )
    return PlanComparison(assessment.tau1, assessment.tau2, level, tuple(figures))


def plan_figures(assessment: "Assessment", name: str, plan: Plan, *, level: float) -> PlanFigures:
    """Return what one plan leaves and keeps."""
    left = assessment.after(plan)
    table = assessment.table
    information = sum(
        seen.share * mutual_information(shares_over(seen.table, name, m.labels.values), m)
        for seen in seen_branches(plan, table)
        for name, m in seen.mechanisms.items()
    )
    randomised = [axis for axis, key in enumerate(table.columns) if key in plan.columns]
    whole = sum(entropy(table.array(axes=[axis]) / table.n) for axis in randomised)
    return PlanFigures(
        name,
        certify(plan).alpha if plan else float("inf"),
        left.tau1,
        left.tau2,
        left.worst,
        left.share_above(level),
        information,
        information / whole if whole else 1.0,
    )
