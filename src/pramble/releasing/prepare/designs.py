"""From a plan and the counts of the file to a mechanism for each column, within the budget."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.bound import information_bound
from pramble.information.fisher import estimation_variance
from pramble.information.measures import entropy, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.privacy.guarantee import RecordPrivacy, float_below
from pramble.releasing.decisions.decisions import Decisions
from pramble.releasing.prepare.budget import (
    check_spent,
    split_by_weights,
    split_optimally,
)
from pramble.releasing.prepare.count import Counted
from pramble.releasing.prepare.prior import (
    Prior,
    confidential_prior,
    private_prior,
    public_prior,
    uniform_prior,
)
from pramble.releasing.prepare.rivals import variance_of
from pramble.solvers.design import design
from pramble.solvers.result import Design
from pramble.values import value

LEAST = Fraction(1, 4)
"""No column gets less than this part of an equal share in an optimal split."""

TIME_LIMIT = 60.0
"""Seconds after which a design is taken with the gap that it has; its notes say so."""

WIDE = 40
"""Above so many categories an optimal split uses closed forms instead of designs."""


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


def design_columns(
    decisions: Decisions,
    columns: Sequence[Counted],
    *,
    rows_per_person: int = 1,
    confidential_allowed: bool = False,
) -> tuple[tuple[Designed, ...], RecordPrivacy]:
    r"""Design every column within the budget.

    Private priors are drawn first, each with its part of α; what is left is split over the
    mechanisms. A person of :math:`k` rows has :math:`k` values in each column, and moves
    :math:`2k` counts of its histogram: every part is a record's, :math:`\alpha/k` in all, and what
    is spent on a person is :math:`k` times their exact sum, which is checked against the total.

    Returns the designs in the order of the columns, and what is spent on a person. A prior counted
    on the confidential file is used as it is only where that is allowed.
    """
    total = decisions.limit.alpha / rows_per_person
    base = base_shares(decisions, total)
    part = Fraction(decisions.prior_share)
    prior_parts = {
        column.name: part * base[column.name]
        if column.decision.prior == "private" and column.needs_prior
        else Fraction(0)
        for column in columns
    }
    priors = {
        column.name: prior_of(
            column, prior_parts[column.name], confidential_allowed=confidential_allowed
        )
        for column in columns
    }
    shares = mechanism_shares(decisions, columns, base=base, priors=priors, total=total)
    designs = tuple(
        designed(column, priors[column.name], alpha=float_below(shares[column.name]))
        for column in columns
    )
    parts = [*(d.prior.spent for d in designs), *(Fraction(d.alpha) for d in designs)]
    spent = RecordPrivacy(sum(parts, Fraction(0))).of_rows(rows_per_person)
    return designs, check_spent(spent, decisions.limit)


def base_shares(decisions: Decisions, total: Fraction) -> dict[str, Fraction]:
    """Return each column's part of the total, prior included; equal where it is decided later."""
    if decisions.alpha is None:
        return split_by_weights(total, {c.name: Fraction(c.alpha or 0) for c in decisions.columns})
    by_weight = decisions.split == "weights"
    weights = {c.name: Fraction(c.weight if by_weight else 1) for c in decisions.columns}
    return split_by_weights(total, weights)


def mechanism_shares(
    decisions: Decisions,
    columns: Sequence[Counted],
    *,
    base: Mapping[str, Fraction],
    priors: Mapping[str, Prior],
    total: Fraction,
) -> dict[str, Fraction]:
    """Return what is left for each mechanism when the priors are paid."""
    if decisions.split != "optimal":
        return {name: share - priors[name].spent for name, share in base.items()}
    left = total - sum((prior.spent for prior in priors.values()), Fraction(0))
    losses = {
        c.name: loss_of(c, priors[c.name], objective=decisions.split_objective) for c in columns
    }
    weights = {column.name: Fraction(column.weight) for column in decisions.columns}
    return split_optimally(left, losses, weights=weights, least=LEAST)


def prior_of(column: Counted, part: Fraction, *, confidential_allowed: bool) -> Prior:
    """Return the prior that a column's plan asks for; uniform where the design needs none."""
    decision, size = column.decision, len(column.labels)
    if decision.prior == "confidential" and column.needs_prior:
        return confidential_prior(column.counts, allowed=confidential_allowed)
    if decision.prior == "public" and decision.prior_file is not None:
        return public_prior(decision.prior_file, column.name, categories=column.labels)
    if decision.prior == "public":
        given = decision.prior_probabilities or ()
        if len(given) != size:
            raise InvalidPlan(
                f"Column {column.name!r} has {size} categories and {len(given)} probabilities."
            )
        return Prior(given, "public", Fraction(0), "Probabilities given in the plan, public.")
    return private_prior(column.counts, part) if part else uniform_prior(size)


def designed(column: Counted, prior: Prior, *, alpha: float) -> Designed:
    """Design one column at its part of α."""
    if not column.needs_prior:
        return Designed(column, prior, alpha, randomized_response(column.labels, alpha))
    best = solved(column, prior, alpha=alpha, objective=column.decision.objective)
    found = Designed(column, prior, alpha, best.mechanism, best.notes)
    if not column.decision.estimable or not math.isinf(found.variance):
        return found
    return estimable(column, prior, alpha=alpha, most=best.information)


def solved(column: Counted, prior: Prior, *, alpha: float, objective: str) -> Design:
    """Solve the design problem of a column."""
    try:
        return design(
            prior.probabilities,
            alpha,
            family="general" if column.decision.family == "general" else "uniform",
            objective=objective,
            categories=column.labels,
            invariant=column.decision.invariant,
            time_limit=TIME_LIMIT,
        )
    except InvalidInput as error:
        raise InvalidPlan(f"Column {column.name!r} has no such design: {error}") from None


def estimable(column: Counted, prior: Prior, *, alpha: float, most: float) -> Designed:
    """Return a mechanism that tells all categories apart, where the best by information does not.

    It is the design for estimation among all matrices, and randomised response in the paper's
    family.
    """
    mechanism: Mechanism = randomized_response(column.labels, alpha)
    if column.decision.family == "general":
        mechanism = solved(column, prior, alpha=alpha, objective="estimation").mechanism
    kept = mutual_information(prior.probabilities, mechanism)
    note = (
        f"The matrix with the most information ({most:.4g} nats) merges categories, so that their "
        f"frequencies could not be estimated; another one was taken ({kept:.4g} nats). Set "
        "estimable = false to have the first."
    )
    return Designed(column, prior, alpha, mechanism, (note,))


def loss_of(column: Counted, prior: Prior, *, objective: str) -> Callable[[float], float]:
    """Return what an optimal split makes small: minus the share of information, or the variance.

    Narrow columns of the paper's family are designed at every α that is tried; others stand for
    themselves by a closed form: the universal bound for the information of a general design, and
    randomised response for variances.
    """
    p, decision = prior.probabilities, column.decision
    most = entropy(p)

    def mechanism(alpha: float) -> Mechanism:
        if decision.family == "uniform" and not decision.invariant and len(p) <= WIDE:
            return designed(column, prior, alpha=alpha).mechanism
        return randomized_response(column.labels, alpha)

    def by_information(alpha: float) -> float:
        if decision.family == "general" and len(p) > 2:
            return -min(information_bound(alpha), most) / most
        return -mutual_information(p, mechanism(alpha)) / most

    def by_variance(alpha: float) -> float:
        return estimation_variance(p, randomized_response(column.labels, alpha))

    return by_information if objective == "information" else by_variance
