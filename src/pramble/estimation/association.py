r"""How strongly two original columns depend on each other, seen through a release.

Cramér's V is :math:`\sqrt{\phi^2/(\min(S,S')-1)}` with :math:`\phi^2 = \sum p^2/(ab) - 1` over the
cells of the original table and its margins a and b. From a release :math:`\phi^2` is estimated with
unbiased squares, :math:`\hat p^2 - \hat V`. Its law is skewed and far from normal where dependence
is weak, so the interval inverts a test: for every strength t the law of the estimate is simulated
around

.. math:: p_t = ab + t\,(\hat p - ab), \qquad V(p_t) = t\,V(\hat p) ,

with normal noise of the estimated covariance, and t is kept when the estimate found is neither
among the largest nor among the smallest of its law.
"""

from collections.abc import Callable

import numpy as np

from pramble.values import Floats, Integers

DRAWS = 2000
MOST_NUMBERS = 20_000_000
LARGEST_TABLE = 2500
HALVINGS = 30
STRONGEST = 2.0**20


def cramers_v(contingency: float, shape: tuple[int, ...]) -> float:
    """Return Cramér's V of a mean square contingency, within 0 and 1."""
    return float(np.sqrt(min(max(contingency, 0.0) / max(min(shape) - 1, 1), 1.0)))


def unbiased_contingency(p: Floats, variances: Floats) -> Floats:
    r"""Return :math:`\sum (\hat p^2 - \hat V)/(a b) - 1` over cells with positive margins.

    ``p`` may hold many tables, on its first axes.
    """
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    expected = np.maximum(rows, 0)[..., :, None] * np.maximum(columns, 0)[..., None, :]
    squares = np.divide(p**2 - variances, expected, out=np.zeros_like(p), where=expected > 0)
    return np.asarray(squares.sum(axis=(-2, -1)) - 1)


def v_interval(
    p: Floats, variances: Floats, covariance: Callable[[], Floats], *, level: float
) -> tuple[float, float]:
    """Return an interval for Cramér's V of the originals; NaN for tables too large for it.

    Rows and columns are taken in the order of their shares, so that the interval does not depend
    on how levels are listed.
    """
    cells = np.arange(p.size).reshape(p.shape)
    order = cells[by_size(p)][:, by_size(p.T)]
    p, variances = p.ravel()[order], variances.ravel()[order]
    if p.size > LARGEST_TABLE or min(p.shape) < 2:
        return float("nan"), float("nan")
    found = float(unbiased_contingency(p, variances))
    margins = [np.maximum(p.sum(axis=1), 0), np.maximum(p.sum(axis=0), 0)]
    independent = np.outer(margins[0] / margins[0].sum(), margins[1] / margins[1].sum())
    draws = max(min(DRAWS, MOST_NUMBERS // p.size), 200)
    noise = noise_of(covariance()[np.ix_(order.ravel(), order.ravel())], draws=draws)
    noise = noise.reshape(-1, *p.shape)
    direction = p - independent
    used = independent > 0
    strength = float((direction[used] ** 2 / independent[used]).sum())
    if strength == 0:
        return 0.0, 0.0

    def share_below(t: float) -> float:
        tables = independent + t * direction + noise
        return float((unbiased_contingency(tables, variances) < found).mean())

    tail = (1 - level) / 2
    ends = (strongest(share_below, 1 - tail), strongest(share_below, tail))
    lower, upper = (cramers_v(t**2 * strength, p.shape) for t in ends)
    best = cramers_v(found, p.shape)
    return min(lower, best), max(upper, best)


def by_size(rows: Floats) -> Integers:
    """Return the places of rows in the order of their sums, and of their squares where those tie.

    >>> by_size(np.array([[0.3, 0.2], [0.1, 0.4], [0.0, 0.0]]))
    array([2, 0, 1])
    """
    return np.lexsort((np.round((rows**2).sum(axis=1), 12), np.round(rows.sum(axis=1), 12)))


def noise_of(covariance: Floats, *, draws: int) -> Floats:
    """Return normal draws with a covariance, the same ones for the same covariance."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    rng = np.random.default_rng(0)
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(rng.standard_normal((draws, len(values))) @ scaled.T)


def strongest(share_below: Callable[[float], float], share: float) -> float:
    """Return the largest t for which at least that share of estimates would be smaller; 0 if none.

    The share falls with t.
    """
    if share_below(0.0) < share:
        return 0.0
    low, high = 0.0, 1.0
    while share_below(high) >= share and high < STRONGEST:
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if share_below(middle) >= share:
            low = middle
        else:
            high = middle
    return low
