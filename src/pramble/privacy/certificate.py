"""The privacy certificate: how private exactly what is sampled is."""

import math
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import Any

from pramble.errors import InvalidInput, PrivacyError
from pramble.limits import MOST_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance, as_distance
from pramble.mechanisms.exponential import ratio_within, smallest_alpha
from pramble.mechanisms.extremes import Ratio
from pramble.mechanisms.steepest import alpha_between, steepest
from pramble.privacy.guarantee import RecordPrivacy, float_above, float_below
from pramble.values import Floats, value

MOST_SHOWN = 80
"""Characters of a label that a certificate shows."""


@value
class Certificate:
    r"""The largest ratio :math:`M_{xz}/M_{x'z}` of a mechanism, and where it stands.

    Attributes
    ----------
    numerator, denominator : int
        The two weights; their ratio is :math:`e^\alpha` for the smallest α. A zero denominator: no
        finite α.
    witness : tuple
        Labels (x, x', z): the released value z tells x from x' best.
    besides : Fraction
        What was spent on the same record besides, as on a private prior.
    rows : int
        The most rows of one person, each of which spends as much.
    length : Fraction
        How far apart the two true values of the witness are: 1 unless there is a distance.
    distance : Distance, optional
        Where α is per unit of distance.
    mechanism : Mechanism, optional
        What was certified by distance.

    Examples
    --------
    >>> import pramble
    >>> c = pramble.certify(pramble.randomized_response(["no", "yes"], 1.0))
    >>> round(c.alpha, 9), c.satisfies(1.0), c.satisfies(0.99)
    (1.0, True, False)
    """

    numerator: int
    denominator: int
    witness: tuple[Any, Any, Any]
    besides: Fraction = Fraction(0)
    rows: int = 1
    length: Fraction = Fraction(1)
    distance: Distance | None = None
    mechanism: Mechanism | None = None

    @property
    def alpha(self) -> float:
        """The smallest α, as a float rounded up; infinite if a column mixes zero and non-zero.

        Per unit of distance where there is one.
        """
        sampled = smallest_alpha(self.numerator, self.denominator, self.length)
        if math.isinf(sampled):
            return sampled
        return float_above((Fraction(sampled) + self.besides) * self.rows)

    def satisfies(self, alpha: float) -> bool:
        """Whether the mechanism is α-differentially private, decided in integers."""
        level = float(alpha)
        if math.isnan(level):
            raise InvalidInput("alpha must be a number; found NaN.")
        if level < 0:
            return False
        if math.isinf(level):
            return True
        left = Fraction(level) / self.rows - self.besides
        if left < 0:
            return False
        exponent = Fraction(float_below(left)) * self.length
        return ratio_within(self.numerator, self.denominator, exponent)

    @property
    def guarantee(self) -> RecordPrivacy:
        """The promise that this certificate bears; refused where there is no finite α."""
        if not self.denominator:
            raise PrivacyError(f"There is {self}.")
        if self.distance is not None:
            raise PrivacyError(
                "This certificate is per unit of distance; certify without one for the promise "
                "that holds for any two values."
            )
        return RecordPrivacy(Fraction(self.alpha), self.rows)

    @cached_property
    def between(self) -> Floats:
        """The α at which any two categories are hidden from each other, rounded up: (S, S)."""
        if self.mechanism is None:
            raise InvalidInput("Certify a mechanism with a distance to see α between categories.")
        return alpha_between(self.mechanism.weights)

    def __str__(self) -> str:
        x, x_prime, z = map(label_text, self.witness)
        if not self.denominator:
            return f"no finite α: {z} is possible from {x} and impossible from {x_prime}"
        unit = "" if self.distance is None else f" per {self.distance.unit}"
        found = f"α = {self.alpha:.9g}{unit}, attained by releasing {z} for {x} against {x_prime}"
        if self.besides:
            found += f", with {float_above(self.besides):.6g} of a record spent on priors"
        if self.rows > 1:
            found += f", for a person of {self.rows} rows"
        return found


def label_text(label: Any) -> str:
    """Return a label as it is written, or its beginning.

    >>> label_text("f"), label_text((("f", "old"),)), len(label_text(tuple(range(500)))) < 100
    ("'f'", "('f', 'old')", True)
    """
    while isinstance(label, tuple) and len(label) == 1:
        (label,) = label
    text = repr(label)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


@singledispatch
def certify(mechanism: Any, *, distance: Any = None) -> Certificate:
    r"""Return the smallest α for which a mechanism is α-differentially private, with a witness.

    .. math:: e^{\alpha} = \max_{z, x, x'} M_{xz} / M_{x'z}

    is found in integers: closed forms for structured mechanisms, the whole matrix otherwise. A plan
    (a mapping from columns to mechanisms) is certified for the whole record, over which the
    columns' α add up, and a release for a person: with what private priors spent, times the rows of
    a person.

    Parameters
    ----------
    mechanism : Mechanism, Plan, mapping from column to Mechanism, or Release
    distance : "path", (S, S) array_like or Distance, optional
        Certify α per unit of distance between categories instead,
        :math:`M_{xz} \le e^{\alpha d(x,x')} M_{x'z}`: near values are hidden better than far ones.
        For a plan, a mapping from columns to distances: any two values of the others are one unit
        apart, and distances add up over the columns of a record.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import pramble
    >>> m = pramble.keep_probabilities([0.5, 0.5, 0.25], categories=["a", "b", "c"])
    >>> print(pramble.certify(m))
    α = 0.693147181, attained by releasing 'a' for 'a' against 'b'
    >>> pramble.certify({"one": m, "two": m}).alpha
    1.3862943611198908
    >>> print(pramble.certify(pramble.geometric(["low", "middle", "high"], 0.5), distance="path"))
    α = 0.5 per step, attained by releasing ...'middle'...
    """
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput(
            f"certify takes a mechanism or a plan; found {type(mechanism).__name__}."
        )
    if distance is not None:
        return certify_by(mechanism, as_distance(distance, mechanism.labels))
    ratio = mechanism.largest_ratio()
    return Certificate(ratio.numerator, ratio.denominator, witness_of(mechanism, ratio))


def certify_by(mechanism: Mechanism, distance: Distance) -> Certificate:
    """Return the certificate of α per unit of distance."""
    if math.prod(mechanism.shape) > MOST_CELLS:
        raise InvalidInput(
            f"Certificates by distance are for matrices of at most {MOST_CELLS:,} entries; found "
            f"{math.prod(mechanism.shape):,}."
        )
    found = steepest(mechanism.weights, distance)
    return Certificate(
        found.ratio.numerator,
        found.ratio.denominator,
        witness_of(mechanism, found.ratio),
        length=found.length,
        distance=distance,
        mechanism=mechanism,
    )


def witness_of(mechanism: Mechanism, ratio: Ratio) -> tuple[Any, Any, Any]:
    """Return the labels at which a ratio stands."""
    labels, outputs = mechanism.labels.values, mechanism.output_labels.values
    return labels[ratio.x], labels[ratio.x_prime], outputs[ratio.z]
