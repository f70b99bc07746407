"""From a plan and the counts of the file to a mechanism for each column, within the budget."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from pramble.privacy.guarantee import RecordPrivacy, float_below
from pramble.releasing.prepare.budget import (
    split_by_weights,
    split_optimally,
)
from pramble.releasing.prepare.column import Designed, designed
from pramble.releasing.prepare.count import Counted
from pramble.releasing.prepare.curves import curve_of
from pramble.releasing.prepare.prior import (
    Prior,
    confidential_prior,
    private_prior,
    public_prior,
    uniform_prior,
)
from pramble.releasing.spec.spec import ReleaseSpec

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
