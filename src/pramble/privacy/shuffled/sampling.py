r"""What is known of a file that is itself a secret random sample of a population.

*Statement.* Let n of N records be drawn without replacement, every set of n alike, and let what is
done to the sample have :math:`\delta(\varepsilon)` for samples that differ in one record. For
populations that differ in one record

.. math:: \varepsilon' = \log(1 + q(e^\varepsilon - 1)), \qquad
          \delta' = q\,\delta(\varepsilon), \qquad q = n/N

(Balle, Barthe and Gaboardi 2018, Theorem 11).

*Proof.* Let A be the law of what is released if the record that differs is not drawn, B and B' if
it is. With :math:`\beta = e^{\varepsilon' - \varepsilon}` the choice of :math:`\varepsilon'` makes
:math:`(1-q)(e^{\varepsilon'} - 1) = q e^{\varepsilon}(1 - \beta)`, so for every event E

.. math:: (1-q)A + qB - e^{\varepsilon'}\left((1-q)A + qB'\right)
          = q\left(B - e^\varepsilon\left((1-\beta)A + \beta B'\right)\right) .

B and B' come from samples that differ in that record. So do B and A: draw the other n − 1 first,
then the record itself, or one of those that are left. Both differences are at most
:math:`\delta(\varepsilon)`, and so is their average. ∎

*Several rows of a person* are several records, drawn one by one: k of them have
:math:`(k\varepsilon', \delta' \sum_{i<k} e^{i\varepsilon'})`. People drawn with all their rows are
another matter: the number of rows would tell of the sample.

*What was spent besides* on a sample is added to its file first: who was drawn is the same in both.

*From below.* If all others are w, the sample is n − 1 records w and one with the law
:math:`(1-q)M_w + qM_x`, and an attack on those rows is an attack on the population. With less q it
tells less (joint convexity), so q is rounded down there, and up above.
"""

import math
from fractions import Fraction

from pramble.errors import InvalidInput
from pramble.privacy.guarantee import float_above
from pramble.privacy.shuffled.besides import BesidesEvidence
from pramble.privacy.shuffled.evidence import Evidence, PlanEvidence
from pramble.privacy.shuffled.excess import UNIT
from pramble.privacy.shuffled.search import Curve
from pramble.values import value

STEEP = 600.0
"""Above this ε sampling is not counted: its exponential may be no float."""


@value(eq=False, repr=False)
class SampledEvidence(Evidence):
    """The bounds that are known of a population, from those of a sample.

    Attributes
    ----------
    alpha : float
        The ε with δ = 0 that the local α of a record leaves.
    rows : int
        The size n of the sample.
    sample : Evidence
        What is known of the sample.
    seen : Evidence
        The same, with attacks by a reader who does not know who is in it.
    share : float
        q, rounded up.
    """

    alpha: float
    rows: int
    sample: Evidence
    seen: Evidence
    share: float

    def delta(self, epsilon: float) -> tuple[float, str]:
        """Return the smallest proven δ at ε, and which bound it is."""
        found, method = self.sample.delta(of_sample(epsilon, self.share))
        return min(found * self.share * (1 + UNIT), 1.0), method

    def epsilon(self, allowed: Curve) -> tuple[float, str]:
        """Return the smallest ε whose δ is proven to be allowed, and which bound it is."""

        def allowed_in_sample(epsilon: float) -> float:
            return allowed(of_population(epsilon, self.share)) / self.share * (1 - UNIT)

        found, method = self.sample.epsilon(allowed_in_sample)
        return of_population(found, self.share), method

    def attack(self, epsilon: float) -> float:
        """Return a δ that no proof at ε can go below."""
        return self.seen.attack(epsilon)

    def best_attack(self, epsilon: float) -> Curve:
        """Return the attack that is best near an ε, as a function of ε."""
        return self.seen.best_attack(epsilon)


def sampled_evidence(known: PlanEvidence | BesidesEvidence, *, population: int) -> Evidence:
    """Return what is known of so many records of which the file is a secret random sample."""
    if population < known.rows:
        raise InvalidInput(
            f"A sample is no larger than its population; found {known.rows:,} rows of "
            f"{population:,}. population counts records, the sampled ones among them."
        )
    if population == known.rows:
        return known
    exact = Fraction(known.rows, population)
    above = float_above(exact)
    below = above if Fraction(above) == exact else math.nextafter(above, 0.0)
    alpha = of_population(known.alpha, above)
    return SampledEvidence(alpha, known.rows, known, known.sampled(below), above)


def of_population(epsilon: float, share: float) -> float:
    r"""Return :math:`\log(1 + q(e^\varepsilon - 1))`, rounded up.

    Examples
    --------
    >>> round(of_population(1.0, 0.1), 4), of_population(math.inf, 0.1)
    (0.1586, inf)
    """
    if epsilon > STEEP or not epsilon:
        return epsilon
    grown = share * math.expm1(epsilon) * (1 + 8 * UNIT)
    return min(math.nextafter(math.log1p(grown) * (1 + 8 * UNIT), math.inf), epsilon)


def of_sample(epsilon: float, share: float) -> float:
    r"""Return an ε of the sample, rounded down, that leaves at most this of the population.

    Examples
    --------
    >>> round(of_sample(0.1586, 0.1), 3)
    1.0
    """
    if epsilon > STEEP:
        return epsilon
    found = max(math.log1p(math.expm1(epsilon) / share) * (1 - 32 * UNIT), 0.0)
    return max(found, epsilon)
