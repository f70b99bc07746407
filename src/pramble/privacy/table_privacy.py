r"""The promise of protected tables: what a release of noisy tables reveals of one person at most.

One person has at most k rows. In place of another they move the parts of the tables by at most

.. math:: \mu^2 = k^2 \max\left(G,\; H + u_\emptyset\right)

squared standard deviations, with G the largest shift of one record for another
(:mod:`pramble.privacy.largest_shift`) and :math:`H = \sum_A u_A \prod_{j\in A} b_j` that of one
record for none (:doc:`/proofs`). Where every person has one row, the number of records is public
and :math:`\mu^2 = G`.

Where tables are chosen from the file (:mod:`pramble.mechanisms.table_plan`), what is stated is a
bound for every choice, :math:`k^2 \max(G, H + u_\emptyset) + 4 k^2 m u_0`. The measured plan is
held against it again. Where noisy counts of people decided on k, they spend
:math:`2 u_{\text{people}}` in addition.

**Weights** from zero to W units move weighted tables by at most W times as much as rows move
counts, one for another or for none, and the sum of their squares by W of its units. So weighted
parts of precision v and squares of precision :math:`v_2` spend, in addition,
:math:`k^2 W^2 \left(\max(G_v,\; H_v + v_\emptyset) + v_2\right)`.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pramble.errors import InvalidInput, InvalidPlan
from pramble.mechanisms.table_plan import Columns, TablePlan, TableWeights
from pramble.numbers import alpha_text, tiny
from pramble.one_thread import one_thread
from pramble.privacy.certificate import certify, once
from pramble.privacy.gaussian import delta_above, epsilon_above, stated_number
from pramble.privacy.largest_shift import LargestShift, exchangeable, largest_shift
from pramble.privacy.promise import CentralPromise
from pramble.shown import Display, Facts
from pramble.values import frozen


@frozen(eq=False, repr=False)
class TableGuarantee(Display):
    r"""Central (ε, δ) of protected tables, proven; the whole is μ-Gaussian private too.

    - ``epsilon``, ``delta``: Proven, rounded up.
    - ``mu_squared``: The square of the largest shift of one person, in standard deviations of
      the noise.
    - ``worst``: Two people who differ in these columns are told apart best, as far as is known.
      Empty where that is somebody with all rows from somebody with none.
    - ``attained``: Whether they are exactly that far apart: no smaller ε then holds.

    Examples
    --------
    >>> import pramble
    >>> d = pramble.design_tables({"sex": 2, "age": 5}, 1.0, 1e-6, tables=2)
    >>> d.guarantee.epsilon <= 1.0, d.guarantee.attained
    (True, True)
    """

    epsilon: float
    delta: float
    mu_squared: Fraction
    worst: tuple[str, ...]
    attained: bool
    rows_per_person: int = 1

    def curve(self, epsilon: float) -> float:
        """Return the proven δ at another ε, rounded up."""
        return delta_above(epsilon, self.mu_squared)

    @property
    def promise(self) -> CentralPromise:
        return CentralPromise(
            Fraction(self.epsilon), Fraction(self.delta), self.rows_per_person, self.mu_squared
        )

    def shown(self) -> Facts:
        people = f", up to {self.rows_per_person} rows a person" if self.rows_per_person > 1 else ""
        tight = "exactly" if self.attained else "at most"
        best = (
            f"people who differ in {', '.join(self.worst)}"
            if self.worst
            else f"a person with {self.rows_per_person} rows from one with none"
        )
        return Facts(
            f"Central guarantee of protected tables{people}",
            [
                ("proven ε", f"{alpha_text(self.epsilon)} at δ = {tiny(self.delta)}"),
                ("Gaussian", f"μ = {math.sqrt(self.mu_squared):.6g}, {tight}"),
                ("told apart best", best),
            ],
        )

    def sentence(self) -> str:
        return self.promise.sentence()

    __str__ = sentence


def table_guarantee(plan: TablePlan, *, delta: float | None = None) -> TableGuarantee:
    largest, k = shift_of_rows(plan), plan.rows_per_person
    mu_squared = k * k * largest.bound
    if plan.choice is not None:
        stated = Fraction(plan.choice.mu_squared)
        if mu_squared + k**2 * plan.choice.scores_squared > stated:
            raise InvalidPlan(
                "The tables and the choice of them spend more than their plan states."
            )
        mu_squared = stated
    mu_squared += plan.people_squared + weights_squared(plan)
    asked = plan.delta if delta is None else delta
    target = stated_number(asked, "delta", most=1.0, is_positive=True)
    proven = epsilon_above(target, mu_squared)
    others = (plan.choice, plan.people_precision, plan.weights)
    attained = largest.attained and others == (None, None, None)
    return TableGuarantee(proven, target, mu_squared, largest.columns, attained, k)


@once
def weights_squared(plan: TablePlan) -> Fraction:
    """Return what weighted tables and the sum of squared weights spend on a person."""
    return spent_on_weights(plan.sizes, plan.weights, plan.rows_per_person)


def spent_on_weights(sizes: Mapping[str, int], weights: TableWeights | None, rows: int) -> Fraction:
    if weights is None:
        return Fraction(0)
    own = row_shift(sizes, weights.precision).bound + Fraction(weights.squares)
    return (rows * weights.most) ** 2 * own


@once
def shift_of_rows(plan: TablePlan) -> LargestShift:
    return row_shift(plan.sizes, plan.precision)


def row_shift(sizes: Mapping[str, int], precision: Mapping[Columns, float]) -> LargestShift:
    """Return the largest squared shift of one row for another, or for none."""
    largest = shift_of(sizes, precision)
    if () not in precision:  # the number of rows is public, and stays as it is
        return largest
    alone = Fraction(precision[()]) + presence(sizes, precision)
    return LargestShift(alone, (), attained=True) if alone > largest.bound else largest


def shift_of(sizes: Mapping[str, int], precision: Mapping[Columns, float]) -> LargestShift:
    """Return the largest squared shift of one record for another, proven; the total apart."""
    measured = {part: own for part, own in precision.items() if part}
    parts = exchangeable(sizes, measured)
    with one_thread():
        return largest_shift(parts, [measured[members[0]] for members in parts.members])


def presence(sizes: Mapping[str, int], precision: Mapping[Columns, float]) -> Fraction:
    """Return the squared shift that one record alone gives to all parts but the total."""
    inside = {name: Fraction(size - 1, size) for name, size in sizes.items()}
    return sum(
        (
            Fraction(own) * math.prod((inside[name] for name in part), start=Fraction(1))
            for part, own in precision.items()
            if part
        ),
        Fraction(0),
    )


@certify.register
def _(plan: TablePlan, *, distance: Any = None) -> Any:
    if distance is not None:
        raise InvalidInput("Protected tables have no certificate by distance.")
    return table_guarantee(plan)
