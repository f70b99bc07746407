r"""The table without negative cells that is nearest to an unbiased one.

.. math:: \min_{p \ge 0,\; \sum p = t} (p - \hat p)^\top V^{-1} (p - \hat p)

with the covariance V of the unbiased estimate: minimum chi-square, which is efficient as maximum
likelihood is, and needs no law of columns that the table leaves out.
"""

import numpy as np

from pramble.information.consistent import nearest_on_simplex
from pramble.values import Floats

MOST_WEIGHED = 600
"""Cells above which nearness is plain distance: the weighted problem takes their cube."""

TOLD, HEAVY = 1e-9, 1e4


def nearest_inside(p: Floats, covariance: Floats) -> Floats:
    """Return the nearest cells without negative ones, with the same sum.

    >>> nearest_inside(np.array([0.7, 0.4, -0.1]), np.diag([1e-4, 1e-2, 1e-4])).round(3)
    array([0.699, 0.301, 0.   ])
    """
    from scipy.optimize import nnls

    total = float(p.sum())
    if (p >= 0).all() or total <= 0:
        return np.asarray(np.maximum(p, 0.0))
    if len(p) > MOST_WEIGHED:
        return nearest_on_simplex(p, total=total)
    values, vectors = np.linalg.eigh(covariance)
    kept = values > TOLD * values[-1]
    if not kept.any():
        return nearest_on_simplex(p, total=total)
    A = vectors[:, kept].T / np.sqrt(values[kept])[:, None]
    heavy = HEAVY * np.sqrt(1 / values[kept].min())
    rows = np.vstack([A, np.full(len(p), heavy)])
    try:
        found, _ = nnls(rows, np.append(A @ p, heavy * total))
    except RuntimeError:  # it did not end within its number of steps
        return nearest_on_simplex(p, total=total)
    return np.asarray(found * (total / found.sum()))
