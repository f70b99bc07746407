"""The privacy certificate: how private exactly what is sampled is.

Of the blocks and branches of a record ratios multiply, so α adds up over blocks, and the worst
branch counts.
"""

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, singledispatch, wraps
from itertools import product
from typing import Any, TypeVar

import numpy as np

from pramble.data.labels import Labels, label_key, label_keys
from pramble.errors import InvalidInput, PrivacyError
from pramble.limits import MOST_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.column_labels import labels_at
from pramble.mechanisms.distance import Distance, as_distance
from pramble.mechanisms.plan import Plan, as_plan
from pramble.mechanisms.ratios import Ratio, ratio_of, ratio_within, smallest_alpha, steepest
from pramble.numbers import alpha_text
from pramble.privacy.gaussian import float_above, float_below
from pramble.privacy.promise import LocalPromise
from pramble.values import frozen

T = TypeVar("T")
R = TypeVar("R")

# Characters of a label that a certificate shows.
MOST_SHOWN = 80


@frozen
class Certificate:
    r"""The largest ratio :math:`M_{xz}/M_{x'z}` of a mechanism, and where it stands.

    Attributes
    ----------
    numerator, denominator : int
        The two weights; their ratio is :math:`e^\alpha` for the smallest α. A zero denominator: no
        finite α.
    witness : tuple
        Labels (x, x', z): the released value z tells x from x' best.
    additional : Fraction
        What was spent on the same record in addition, as on a private prior.
    rows : int
        The most rows of one person, each of which spends as much.
    length : Fraction
        How far apart the two true values of the witness are: 1 unless there is a distance.
    distance : Distance, optional
        Where α is per unit of distance.

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
    additional: Fraction = Fraction(0)
    rows: int = 1
    length: Fraction = Fraction(1)
    distance: Distance | None = None

    @cached_property
    def alpha(self) -> float:
        """The smallest α, as a float rounded up; infinite if a column mixes zero and non-zero.

        Per unit of distance where there is one.
        """
        sampled = smallest_alpha(self.numerator, self.denominator, self.length)
        if math.isinf(sampled):
            return sampled
        return float_above((Fraction(sampled) + self.additional) * self.rows)

    def satisfies(self, alpha: float) -> bool:
        """Whether the mechanism is α-differentially private, decided in integers."""
        level = float(alpha)
        if math.isnan(level):
            raise InvalidInput("alpha must be a number; found NaN.")
        if level < 0:
            return False
        if math.isinf(level):
            return True
        left = Fraction(level) / self.rows - self.additional
        if left < 0:
            return False
        exponent = Fraction(float_below(left)) * self.length
        return ratio_within(self.numerator, self.denominator, exponent)

    @property
    def promise(self) -> LocalPromise:
        """The promise that this certificate bears; refused where there is no finite α."""
        if not self.denominator:
            raise PrivacyError(f"There is {self}.")
        if self.distance is not None:
            raise PrivacyError(
                "This certificate is per unit of distance; certify without one for the promise "
                "that holds for any two values."
            )
        return LocalPromise(Fraction(self.alpha), self.rows)

    def __str__(self) -> str:
        x, x_prime, z = map(short_label, self.witness)
        if not self.denominator:
            return f"no finite α: {z} is possible from {x} and impossible from {x_prime}"
        unit = "" if self.distance is None else f" per {self.distance.unit}"
        found = f"α = {alpha_text(self.alpha)}{unit}, attained by releasing {z} for {x} against "
        found += str(x_prime)
        if self.additional:
            found += f", with {float_above(self.additional):.6g} of a record spent on priors"
        if self.rows > 1:
            found += f", for a person of {self.rows} rows"
        return found


def short_label(label: Any) -> str:
    """Return a label as it is written, or its beginning."""
    while isinstance(label, tuple) and len(label) == 1:
        (label,) = label
    text = repr(label)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def once(function: Callable[[T], R]) -> Callable[[T], R]:
    """Return a function of one frozen value that computes once for each, while the value lives.

    By identity: to compare mechanisms, or to hash their labels, can take as long as to certify.
    """
    known: dict[int, tuple[weakref.ref[T], R]] = {}

    @wraps(function)
    def recalled(given: T) -> R:
        place = id(given)
        found = known.get(place)
        if found is None or found[0]() is not given:
            answer = function(given)
            found = weakref.ref(given, lambda _: known.pop(place, None)), answer
            known[place] = found
        return found[1]

    return recalled


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
    α = 0.6932, attained by releasing 'a' for 'a' against 'b'
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
    return _certify_mechanism(mechanism)


@once
def _certify_mechanism(mechanism: Mechanism) -> Certificate:
    ratio = mechanism.largest_ratio()
    return Certificate(ratio.numerator, ratio.denominator, witness_of(mechanism, ratio))


def certify_by(mechanism: Mechanism, distance: Distance) -> Certificate:
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
    )


def witness_of(mechanism: Mechanism, ratio: Ratio) -> tuple[Any, Any, Any]:
    labels, outputs = mechanism.labels.values, mechanism.output_labels.values
    return labels[ratio.x], labels[ratio.x_prime], outputs[ratio.z]


@certify.register(Mapping)
def _(plan: Mapping[Any, Any], *, distance: Any = None) -> Certificate:
    """Certify a record: blocks of a branch multiply, and the worst branch counts.

    By distance only one column changes along an edge: the worst block counts.
    """
    if distance is not None:
        return certify_record_by(as_plan(plan), distance)
    return _certify_plan(as_plan(plan))


@once
def _certify_plan(plan: Plan) -> Certificate:
    # The largest ratio of blocks side by side is the product of theirs, attained where each attains
    # its own, so α is exactly the sum.
    branches = []
    for view in plan.channel().views:
        parts = [_certify_mechanism(mechanism) for mechanism in view.mechanisms]
        x, x_prime, z = (tuple(part.witness[k] for part in parts) for k in range(3))
        numerator = math.prod(part.numerator for part in parts)
        denominator = math.prod(part.denominator for part in parts)
        branches.append(Certificate(numerator, denominator, (x, x_prime, z)))
    return max(branches, key=lambda one: ratio_of(one.numerator, one.denominator))


def certify_record_by(plan: Plan, distances: Any) -> Certificate:
    if not isinstance(distances, Mapping):
        raise InvalidInput("The distances of a plan are a mapping from columns to distances.")
    unknown = sorted(set(distances) - set(plan.columns))
    if unknown:
        raise InvalidInput(f"A distance is given for {unknown[0]!r}, which is in no block.")
    found = [
        certify_by(mechanism, distance_of_block(block, mechanism, distances))
        for block, mechanism in plan.mechanisms()
    ]
    return max(found, key=lambda one: one.alpha)


def distance_of_block(
    block: tuple[str, ...], mechanism: Mechanism, distances: Mapping[str, Any]
) -> Distance:
    columns = [labels_at(mechanism, k, columns=len(block)).labels for k in range(len(block))]
    # Any two values of a column without a distance are one unit apart.
    parts = [
        Distance.equal(len(own))
        if distances.get(name) is None
        else as_distance(distances[name], own)
        for name, own in zip(block, columns, strict=True)
    ]
    complete = math.prod(map(len, columns)) == len(mechanism.labels)
    for name in () if complete else block:
        given = distances.get(name)
        if given is not None and getattr(given, "labels", None) is None:
            raise InvalidInput(
                f"Some cells of {', '.join(block)} cannot occur, so that the order of the "
                f"categories of {name!r} is not known; name them, as in "
                "Distance.path(3).named([...])."
            )
    return distance_of_cells(mechanism.labels, columns, parts)


def distance_of_cells(
    cells: Labels, columns: Sequence[Labels], parts: Sequence[Distance]
) -> Distance:
    if len(columns) == 1:
        return parts[0].in_order_of(cells)
    if Labels(tuple(product(*(labels.values for labels in columns)))) == cells:
        return Distance.together(parts)
    sums = np.zeros((len(cells),) * 2)
    for k, (labels, part) in enumerate(zip(columns, parts, strict=True)):
        code = {key: i for i, key in enumerate(label_keys(labels))}
        at = [code[label_key(cell[k])] for cell in cells.values]
        sums += part.matrix[np.ix_(at, at)]
    return Distance.from_matrix(sums)


def distance_sentence(distance: Distance, alpha: float) -> str:
    """Say how well values are hidden that are near to each other, and those farthest apart.

    >>> print(distance_sentence(Distance.path(9), 0.25))
    Values 1 step apart are hidden from each other as well as at α = 0.25, and the two that are
    farthest apart (8 steps) as well as at α = 2.
    """

    def length(level: float) -> str:
        plural = "" if level == 1 or distance.unit == "km" else "s"
        return f"{level:.3g} {distance.unit}{plural}"

    near, far = distance.matrix[distance.matrix > 0].min(), distance.diameter
    hidden = f"{length(near)} apart are hidden from each other as well as at α = {alpha * near:.3g}"
    if near == far:
        return f"Any two values {hidden}."
    return (
        f"Values {hidden}, and the two that are farthest apart ({length(far)}) as well as at "
        f"α = {alpha * far:.3g}."
    )
