"""Designs of columns one by one: a mechanism for each, within the budget.

An optimal split asks for hundreds of designs, and a design takes a moment. So columns of general
matrices are designed at a few α only, spread evenly in log α over what a column may get, with a
loose tolerance; between them the logarithm of information, or of variance, is interpolated as a
monotone cubic function of log α (Fritsch and Carlson 1980). A mechanism for a smaller α is one for
a larger, so what the points say is made monotone first.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.fisher import estimation_variance
from pramble.information.measures import entropy, information_bound, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.uniform import randomized_response
from pramble.privacy.guarantee import RecordPrivacy, float_below
from pramble.releasing.baselines import variance_of
from pramble.releasing.budget import (
    split_by_weights,
    split_optimally,
)
from pramble.releasing.distances import alpha_per_unit, distance_of_column
from pramble.releasing.priors import (
    Prior,
    confidential_prior,
    private_prior,
    public_prior,
    uniform_prior,
)
from pramble.releasing.scan import Counted
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.solvers.design import design
from pramble.solvers.general.arcs import circle
from pramble.solvers.problem import ObjectiveName
from pramble.solvers.result import Design
from pramble.values import Floats, value


@value
class Effort:
    """How near to its bound a design is brought, and the seconds after which it is taken as it is.

    Its notes say what gap is left.
    """

    tolerance: float = 1e-6
    seconds: float = 60.0


FULL = Effort()

LOOSE = 0.1
"""The part of the records that makes a design of least loss estimable."""


@value(eq=False)
class Designed:
    """A counted column with its prior, its part of α and its mechanism."""

    column: Counted
    prior: Prior
    alpha: float
    mechanism: Mechanism
    notes: tuple[str, ...] = ()
    distance: Distance | None = None

    @property
    def per_unit(self) -> float:
        """α per unit of distance: the column's α is that of the categories farthest apart."""
        assert self.distance is not None, "asked of columns with one"
        return alpha_per_unit(self.alpha, self.distance)

    @property
    def variance(self) -> float:
        """The estimation variance; infinite if the mechanism merges categories."""
        return variance_of(self.prior.probabilities, self.mechanism)


def designed(column: Counted, prior: Prior, *, alpha: float, effort: Effort = FULL) -> Designed:
    """Design one column at its part of α."""
    if column.spec.family == "circle" and len(column.labels) > 2:
        return Designed(column, prior, alpha, circle(column.labels, alpha))
    if not column.needs_prior:
        return Designed(column, prior, alpha, randomized_response(column.labels, alpha))
    objective = column.spec.objective
    best = solved(column, prior, alpha=alpha, objective=objective, effort=effort)
    found = Designed(column, prior, alpha, best.mechanism, best.notes, best.distance)
    if not math.isinf(found.variance):
        return found
    if objective == "loss":
        return loosened(found)
    return estimable(column, prior, alpha=alpha, most=best.information, effort=effort)


def loosened(found: Designed) -> Designed:
    """Return a design whose categories can be told apart: some records by randomised response."""
    alpha, labels = found.alpha, found.column.labels
    plain = randomized_response(labels, alpha)
    mixed = (1 - LOOSE) * found.mechanism.matrix + LOOSE * plain.matrix
    note = (
        f"The matrix of least loss merges categories, so that their frequencies could not be "
        f"estimated; {LOOSE:.0%} of the records are randomised by another one."
    )
    mechanism = Mechanism.from_matrix(mixed, labels, alpha=alpha)
    return Designed(found.column, found.prior, alpha, mechanism, (*found.notes, note))


def solved(
    column: Counted, prior: Prior, *, alpha: float, objective: ObjectiveName, effort: Effort
) -> Design:
    spec, apart = column.spec, None
    stated = spec.distance if spec.loss is None else spec.loss
    if stated is not None:
        apart = distance_of_column(spec, column.labels)
    by_distance = apart if spec.loss is None else None
    for_loss = apart if objective == "loss" else None
    try:
        return design(
            prior.probabilities,
            alpha if by_distance is None else alpha_per_unit(alpha, by_distance),
            distance=by_distance,
            loss=None if for_loss is None else for_loss.matrix,
            family="general" if column.spec.family == "general" else "uniform",
            objective=objective,
            categories=column.labels,
            invariant=column.spec.invariant,
            tolerance=effort.tolerance,
            effort=effort.seconds,
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
    distance = None
    if column.spec.family == "general":
        best = solved(column, prior, alpha=alpha, objective="estimation", effort=effort)
        mechanism, distance = best.mechanism, best.distance
    kept = mutual_information(prior.probabilities, mechanism)
    note = (
        f"The matrix with the most information ({most:.4g} nats) merges categories, so that their "
        f"frequencies could not be estimated; another one was taken ({kept:.4g} nats). Set "
        "estimable = false to have the first."
    )
    return Designed(column, prior, alpha, mechanism, (note,), distance)


WIDE = 40
"""Above so many categories an optimal split uses closed forms instead of designs."""

POINTS = 8
ROUGH = Effort(tolerance=1e-3, seconds=2.0)

Loss = Callable[[float], float]


@value(eq=False)
class Curve:
    """What a split makes small as a function of a column's α, and what is to be said of it."""

    loss: Loss
    notes: tuple[str, ...] = ()


def curve_of(
    column: Counted, prior: Prior, *, objective: ObjectiveName, reach: tuple[float, float]
) -> Curve:
    """Return minus the share of information, or the variance, of what would be released.

    ``reach`` is the least and the most α that the column may get.
    """
    p, spec = prior.probabilities, column.spec
    by_information = objective == "information"
    most = entropy(p)

    def worth(found: Designed) -> float:
        if by_information:
            return -mutual_information(p, found.mechanism) / most if most else 0.0
        return variance_of(p, found.mechanism)

    if len(p) > WIDE and column.needs_prior:
        return closed_form(column, prior, by_information=by_information)
    if not column.needs_prior or (spec.family == "uniform" and not spec.invariant):
        curve = Curve(lambda alpha: worth(designed(column, prior, alpha=alpha)))
    else:
        alphas = np.geomspace(*reach, POINTS)
        curve = interpolated(
            alphas, [worth(designed(column, prior, alpha=a, effort=ROUGH)) for a in alphas.tolist()]
        )
    if np.isinf(curve.loss(reach[1])):
        return closed_form(column, prior, by_information=by_information)
    return curve


def interpolated(alphas: Floats, values: list[float]) -> Curve:
    """Return the monotone curve through some points; infinite before the first finite one."""
    from scipy.interpolate import PchipInterpolator

    falling = np.minimum.accumulate(values)
    finite = np.isfinite(falling) & (falling != 0)
    if finite.sum() < 2:
        return Curve(lambda _: float(falling[-1]))
    x, y = np.log(alphas[finite]), falling[finite]
    sign = np.sign(y[-1])
    smooth = PchipInterpolator(x, np.log(np.abs(y)))
    first, last = float(x[0]), float(x[-1])

    def loss(alpha: float) -> float:
        at = float(np.log(alpha))
        if at < first - 1e-9:
            return np.inf
        return float(sign * np.exp(smooth(min(max(at, first), last))))

    return Curve(loss)


def closed_form(column: Counted, prior: Prior, *, by_information: bool) -> Curve:
    """Return what stands for a design that is too wide: a bound, or randomised response."""
    p, most = prior.probabilities, entropy(prior.probabilities)
    general = column.spec.family == "general"

    def share(alpha: float) -> float:
        if general:
            return -min(information_bound(alpha), most) / most
        return -mutual_information(p, randomized_response(column.labels, alpha)) / most

    def variance(alpha: float) -> float:
        return estimation_variance(p, randomized_response(column.labels, alpha))

    used = "the universal bound" if by_information and general else "randomised response"
    note = (
        f"Its part of α was found with {used} in place of its design, "
        f"which has {len(p)} categories or cannot be estimated from."
    )
    return Curve(share if by_information else variance, (note,))


LEAST = Fraction(1, 4)
"""No column gets less than this part of an equal share in an optimal split."""


def design_columns(
    spec: ReleaseSpec,
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
    total = spec.local_limit.alpha / rows_per_person
    base = base_shares(spec, total)
    part = Fraction(spec.prior_share)
    prior_parts = {
        column.name: part * base[column.name]
        if column.spec.prior == "private" and column.needs_prior
        else Fraction(0)
        for column in columns
    }
    priors = {
        column.name: prior_of(
            column, prior_parts[column.name], confidential_allowed=confidential_allowed
        )
        for column in columns
    }
    shares, notes = mechanism_shares(spec, columns, base=base, priors=priors, total=total)
    designs = tuple(
        noted(
            designed(column, priors[column.name], alpha=float_below(shares[column.name])),
            notes.get(column.name, ()),
        )
        for column in columns
    )
    parts = [*(d.prior.spent for d in designs), *(Fraction(d.alpha) for d in designs)]
    spent = RecordPrivacy(sum(parts, Fraction(0))).of_rows(rows_per_person)
    return designs, spent


def base_shares(spec: ReleaseSpec, total: Fraction) -> dict[str, Fraction]:
    """Return each column's part of the total, prior included; equal where it is decided later."""
    if spec.alpha is None:
        return split_by_weights(total, {c.name: Fraction(c.alpha or 0) for c in spec.columns})
    by_weight = spec.split == "weights"
    weights = {c.name: Fraction(c.weight if by_weight else 1) for c in spec.columns}
    return split_by_weights(total, weights)


def mechanism_shares(
    spec: ReleaseSpec,
    columns: Sequence[Counted],
    *,
    base: Mapping[str, Fraction],
    priors: Mapping[str, Prior],
    total: Fraction,
) -> tuple[dict[str, Fraction], dict[str, tuple[str, ...]]]:
    """Return what is left for each mechanism when the priors are paid, and notes on how."""
    if spec.split != "optimal":
        return {name: share - priors[name].spent for name, share in base.items()}, {}
    left = total - sum((prior.spent for prior in priors.values()), Fraction(0))
    if len(columns) == 1:
        return {columns[0].name: left}, {}
    least = LEAST * left / len(columns)
    reach = float_below(least), float_below(left - (len(columns) - 1) * least)
    asked = {c.spec.objective for c in columns}
    objective = asked.pop() if len(asked) == 1 else "information"
    curves = {
        c.name: curve_of(c, priors[c.name], objective=objective, reach=reach) for c in columns
    }
    weights = {column.name: Fraction(column.weight) for column in spec.columns}
    losses = {name: curve.loss for name, curve in curves.items()}
    shares = split_optimally(left, losses, weights=weights, least=LEAST)
    return shares, {name: curve.notes for name, curve in curves.items()}


def noted(found: Designed, notes: tuple[str, ...]) -> Designed:
    return replace(found, notes=(*found.notes, *notes))


def prior_of(column: Counted, part: Fraction, *, confidential_allowed: bool) -> Prior:
    """Return the prior that a column's plan asks for; uniform where the design needs none."""
    spec, size = column.spec, len(column.labels)
    if spec.noisy is not None:
        return spec.noisy
    if spec.prior == "confidential" and column.needs_prior:
        return confidential_prior(column.counts, allowed=confidential_allowed)
    if spec.prior_file is not None:
        return public_prior(spec.prior_file, column.name, categories=column.labels)
    if spec.prior_source == "public":
        return Prior(spec.prior, "public", Fraction(0), "Probabilities given in the plan, public.")
    return private_prior(column.counts, part) if part else uniform_prior(size)
