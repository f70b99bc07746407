"""Protection plans side by side: the risk each leaves against the information it keeps."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from pramble.data.frames import Tidy
from pramble.errors import InvalidPlan
from pramble.information.measures import entropy, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan, as_plan
from pramble.privacy.certificate import certify
from pramble.risk.after.branches import seen_branches
from pramble.risk.after.readings import shares_over
from pramble.shown import Display, Grid, number
from pramble.values import value

if TYPE_CHECKING:
    from pramble.risk.assessment import Assessment


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
