"""The paper's matrix: keep a value with its own probability, else move to any other value alike."""

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramble.data.labels import Label, Labels, as_labels
from pramble.errors import InvalidMechanism, PrivacyError
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.general import least_mixing, within
from pramble.mechanisms.json_form import integers, labels_from_json, labels_to_json
from pramble.mechanisms.operators.uniform import UniformOperator
from pramble.mechanisms.ratios import (
    Ratio,
    ceiling_of_share,
    check_alpha,
    exp_below,
    largest_uniform_ratio,
    ratio_at_extremes,
    ratio_within,
    two_smallest,
)
from pramble.values import frozen, read_only


@frozen(eq=False, repr=False)
class UniformRows(Mechanism, kind="uniform"):
    r"""Row x keeps its value with weight ``keep[x]`` and moves to each other value with ``off[x]``.

    .. math:: \mathrm{keep}_x + (S-1)\,\mathrm{off}_x = 2^{53}.

    One integer per category is stored; the S × S matrix is built only when asked for.
    """

    labels: Labels
    off: NDArray[np.int64]

    def __post_init__(self) -> None:
        S = len(self.labels)
        off = np.array(self.off, dtype=np.int64)
        if off.shape != (S,):
            raise InvalidMechanism(f"{S} categories need {S} off weights; found shape {off.shape}.")
        bad = np.flatnonzero((off < 0) | (off > TOTAL // (S - 1)))
        if bad.size:
            raise InvalidMechanism(
                f"Off weights must lie in 0..2**53 // {S - 1}; row {bad[0]} holds {off[bad[0]]}."
            )
        object.__setattr__(self, "off", off)

    @property
    def output_labels(self) -> Labels:
        return self.labels

    @cached_property
    def keep(self) -> NDArray[np.int64]:
        return read_only(TOTAL - (len(self.off) - 1) * self.off)

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        weights = np.repeat(self.off[:, None], len(self.off), axis=1)
        np.fill_diagonal(weights, self.keep)
        return read_only(weights)

    def largest_ratio(self) -> Ratio:
        """Return the largest ratio of two weights of one column, in O(S)."""
        return largest_uniform_ratio(self.off, TOTAL)

    def row(self, x: int) -> NDArray[np.int64]:
        row = np.full(len(self.off), self.off[x])
        row[x] = self.keep[x]
        return row

    @cached_property
    def operator(self) -> UniformOperator:
        return UniformOperator(self)

    def to_body(self) -> dict[str, Any]:
        constant = bool((self.off == self.off[0]).all())
        off = int(self.off[0]) if constant else self.off.tolist()
        return {"categories": labels_to_json(self.labels), "off": off}

    @classmethod
    def from_body(cls, *, categories: Any, off: Any) -> "UniformRows":
        labels, values = labels_from_json(categories), integers(off)
        return cls(labels, np.full(len(labels), values) if values.ndim == 0 else values)

    def same_weights(self, other: Mechanism) -> bool:
        if isinstance(other, UniformRows):
            return bool(np.array_equal(self.off, other.off))
        return Mechanism.same_weights(self, other)


def randomized_response(categories: int | Iterable[Label], alpha: float) -> UniformRows:
    r"""Return k-ary randomised response: the paper's "all :math:`v_\alpha`".

    A value is kept with probability :math:`v_\alpha = e^\alpha/(S-1+e^\alpha)` and otherwise
    replaced by any other value alike. The off weight is :math:`\lceil 2^{53}/(S-1+e^\alpha)
    \rceil`, computed exactly, and the diagonal gets the rest, so the result satisfies α and no
    smaller off weight would.

    Parameters
    ----------
    categories : int or iterable of labels
        The labels in order, or their number S for 0, 1, …, S−1.
    alpha : float
        The privacy parameter α (the ε of most of the literature), positive.

    Returns
    -------
    Mechanism

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> m.matrix.round(4)
    array([[0.7311, 0.2689],
           [0.2689, 0.7311]])
    >>> pramble.certify(m).satisfies(1.0)
    True
    """
    labels, alpha = as_labels(categories), check_alpha(alpha)
    others = len(labels) - 1
    off = ceiling_of_share(TOTAL, others, alpha)
    mechanism = UniformRows(labels, np.full(len(labels), off))
    ratio = mechanism.largest_ratio()
    if not ratio_within(ratio.numerator, ratio.denominator, alpha):
        raise PrivacyError(
            f"alpha = {alpha!r} is too small for weights over 2**53 with {len(labels)} categories; "
            "use a larger alpha."
        )
    return mechanism


def keep_probabilities(
    q: ArrayLike, categories: int | Iterable[Label] | None = None, *, alpha: float | None = None
) -> UniformRows:
    r"""Return the paper's matrix: keep k with probability :math:`q_k`, else any other alike.

    .. math:: M_{kk} = q_k, \qquad M_{kl} = (1-q_k)/(S-1) \quad (l \ne k)

    (equation "matrix_form" of the paper). Weights are rounded towards the flat row 1/S; if that is
    less private than the exact ``q`` (or than ``alpha``, when given), the rows are mixed with the
    flat row by the least power of two that mends it, compared in integers. The flattest matrix of
    this kind still has a ratio of up to :math:`1 + S^2/2^{53}`; nothing flatter can be had.

    Parameters
    ----------
    q : (S,) array_like
        Keep probabilities.
    categories : int or iterable of labels, optional
        Labels; 0, 1, …, S−1 unless given.
    alpha : float, optional
        Round so that the result satisfies this α.

    Returns
    -------
    Mechanism

    Examples
    --------
    >>> import pramble
    >>> m = pramble.keep_probabilities([0.5, 0.5, 0.25], categories=["a", "b", "c"])
    >>> m.matrix
    array([[0.5  , 0.25 , 0.25 ],
           [0.25 , 0.5  , 0.25 ],
           [0.375, 0.375, 0.25 ]])
    """
    keep = checked_keep(q)
    labels = as_labels(len(keep) if categories is None else categories)
    if len(labels) != len(keep):
        raise InvalidMechanism(f"{len(labels)} categories do not fit {len(keep)} probabilities.")
    S = len(labels)
    exact = (1 - keep) / (S - 1) * TOTAL
    flat = TOTAL / S

    def rounded(delta: float) -> NDArray[np.int64]:
        mixed = (1 - delta) * exact + delta * flat
        flatter = np.where(mixed < flat, np.ceil(mixed), np.floor(mixed))
        return np.asarray(np.minimum(flatter, TOTAL // (S - 1)), dtype=np.int64)

    def ratio_of(off: NDArray[np.int64]) -> Ratio:
        return largest_uniform_ratio(off, TOTAL)

    if alpha is None:
        exact_limit, flattest = own_limit(keep), ratio_of(rounded(1.0))
        limit = exact_limit and max(exact_limit, Fraction(*flattest[:2]))
    else:
        limit = exp_below(check_alpha(alpha))
    private = None if limit is None else lambda off: within(ratio_of(off), limit)
    off = least_mixing(rounded, private)
    return UniformRows(labels, off)


def checked_keep(q: ArrayLike) -> NDArray[np.float64]:
    keep = np.array(q, dtype=np.float64)
    if keep.ndim != 1 or len(keep) < 2:
        raise InvalidMechanism(
            f"Keep probabilities must be a vector of two or more; found shape {keep.shape}."
        )
    bad = np.flatnonzero(~((keep >= 0) & (keep <= 1)))
    if bad.size:
        raise InvalidMechanism(
            f"Keep probabilities must lie in [0, 1]; position {bad[0]} holds {keep[bad[0]]}."
        )
    return keep


def own_limit(keep: NDArray[np.float64]) -> Fraction | None:
    """Return the exact largest ratio for float keep probabilities; None if it is infinite."""
    others = len(keep) - 1
    lows, highs = two_smallest(-keep), two_smallest(keep)
    exact = {i: Fraction(float(keep[i])) for i in {*lows, *highs}}
    scale = max(value.denominator for value in exact.values())
    ratio = ratio_at_extremes(
        lows,
        highs,
        off={i: int((1 - value) * scale) for i, value in exact.items()},
        keep={i: int(others * value * scale) for i, value in exact.items()},
        size=others + 1,
    )
    return Fraction(ratio.numerator, ratio.denominator) if ratio.denominator else None
