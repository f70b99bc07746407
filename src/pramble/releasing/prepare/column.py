"""One column with its prior at its part of α: the design that is released."""

import math

from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.measures import mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.releasing.prepare.count import Counted
from pramble.releasing.prepare.prior import Prior
from pramble.releasing.prepare.rivals import variance_of
from pramble.solvers.design import design
from pramble.solvers.problem import ObjectiveName
from pramble.solvers.result import Design
from pramble.values import value


@value
class Effort:
    """How near to its bound a design is brought, and the seconds after which it is taken as it is.

    Its notes say what gap is left.
    """

    tolerance: float = 1e-6
    seconds: float = 60.0


FULL = Effort()


@value(eq=False)
class Designed:
    """A counted column with its prior, its part of α and its mechanism."""

    column: Counted
    prior: Prior
    alpha: float
    mechanism: Mechanism
    notes: tuple[str, ...] = ()

    @property
    def variance(self) -> float:
        """The estimation variance; infinite if the mechanism merges categories."""
        return variance_of(self.prior.probabilities, self.mechanism)


def designed(column: Counted, prior: Prior, *, alpha: float, effort: Effort = FULL) -> Designed:
    """Design one column at its part of α."""
    if not column.needs_prior:
        return Designed(column, prior, alpha, randomized_response(column.labels, alpha))
    objective = column.decision.objective
    best = solved(column, prior, alpha=alpha, objective=objective, effort=effort)
    found = Designed(column, prior, alpha, best.mechanism, best.notes)
    if not column.decision.estimable or not math.isinf(found.variance):
        return found
    return estimable(column, prior, alpha=alpha, most=best.information, effort=effort)


def solved(
    column: Counted, prior: Prior, *, alpha: float, objective: ObjectiveName, effort: Effort
) -> Design:
    """Solve the design problem of a column."""
    try:
        return design(
            prior.probabilities,
            alpha,
            family="general" if column.decision.family == "general" else "uniform",
            objective=objective,
            categories=column.labels,
            invariant=column.decision.invariant,
            tolerance=effort.tolerance,
            time_limit=effort.seconds,
        )
    except InvalidInput as error:
        raise InvalidPlan(f"Column {column.name!r} has no such design: {error}") from None


def estimable(
    column: Counted, prior: Prior, *, alpha: float, most: float, effort: Effort
) -> Designed:
    """Return a mechanism that tells all categories apart, where the best by information does not.

    It is the design for estimation among all matrices, and randomised response in the paper's
    family.
    """
    mechanism: Mechanism = randomized_response(column.labels, alpha)
    if column.decision.family == "general":
        best = solved(column, prior, alpha=alpha, objective="estimation", effort=effort)
        mechanism = best.mechanism
    kept = mutual_information(prior.probabilities, mechanism)
    note = (
        f"The matrix with the most information ({most:.4g} nats) merges categories, so that their "
        f"frequencies could not be estimated; another one was taken ({kept:.4g} nats). Set "
        "estimable = false to have the first."
    )
    return Designed(column, prior, alpha, mechanism, (note,))
