r"""The geometric mechanism: neighbours on a scale are likelier than the far end."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from pramble.data.labels import Label, as_labels
from pramble.mechanisms import general  # noqa: F401 (what a matrix becomes)
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.ratios import check_alpha
from pramble.values import Floats, Integers

# What falls off farther than this is as good as zero, and a float would make it that.
FARTHEST = 600.0


def geometric(
    categories: int | Iterable[Label], alpha: float, *, lengths: ArrayLike | None = None
) -> Mechanism:
    r"""Return the truncated geometric mechanism for ordered categories, with exact weights.

    .. math:: M_{xz} = \theta_z\, r^{|x - z|}, \qquad r = e^{-\alpha}, \quad
              \theta_z = \tfrac{1-r}{1+r}\ (\tfrac{1}{1+r} \text{ at both ends}).

    Values d steps apart differ by a factor of at most :math:`e^{\alpha d}` in every output: α is
    per step, and the two ends of the scale are protected by :math:`\alpha (S-1)` only. No matrix
    that promises as much carries more information.

    Parameters
    ----------
    categories : int or iterable of labels
        In their order.
    alpha : float
        α per step (per unit of length).
    lengths : (S − 1,) array_like, optional
        How far each category is from the next; one step each unless given.

    Returns
    -------
    Mechanism

    Examples
    --------
    >>> import pramble
    >>> m = pramble.geometric(["low", "middle", "high"], 1.0)
    >>> m.matrix.round(4)
    array([[0.7311, 0.17  , 0.0989],
           [0.2689, 0.4621, 0.2689],
           [0.0989, 0.17  , 0.7311]])
    >>> pramble.certify(m, distance="path").satisfies(1.0)
    True
    """
    labels = as_labels(categories)
    level = check_alpha(alpha)
    distance = Distance.path(len(labels), lengths)
    matrix = geometric_matrix(level * distance.lengths)
    return Mechanism.from_matrix(matrix, labels.values, alpha=level, distance=distance)


def geometric_matrix(steps: Floats) -> Floats:
    r"""Return the float matrix for steps :math:`\alpha l_i` on the scale."""
    place = np.concatenate([[0.0], np.cumsum(steps)])
    first = np.arange(len(steps))
    theta = peak_weights(len(place), np.column_stack([first, first + 1]), steps)
    kernel: Floats = np.exp(-np.minimum(np.abs(place[:, None] - place), FARTHEST))
    matrix = kernel * theta
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def peak_weights(size: int, pairs: Integers, steps: Floats) -> Floats:
    r"""Return θ with :math:`\sum_z \theta_z e^{-\alpha d(x,z)} = 1` for every x of a tree.

    .. math:: \theta_z = 1 - \sum_{e \ni z} \frac{r_e}{1+r_e}
              = 1 - \tfrac12\deg(z) + \tfrac12 \sum_{e \ni z} \tanh\frac{s_e}2,
              \qquad r_e = e^{-s_e},

    with the steps :math:`s_e = \alpha l_e` of its edges. On a path all are positive.
    """
    theta = 1 - np.bincount(pairs.ravel(), minlength=size) / 2
    for ends in pairs.T:
        np.add.at(theta, ends, np.tanh(steps / 2) / 2)
    return np.asarray(theta)
