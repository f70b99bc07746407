"""Priors: probability vectors over the categories."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramble.errors import InvalidPrior

SUM_TOLERANCE = 1e-9


def as_prior(p: ArrayLike, *, size: int | None = None) -> NDArray[np.float64]:
    """Return a read-only probability vector; refuse what is none, naming the place.

    The sum must be 1 within 1e-9; the vector is divided by it unless it is 1 within float error.
    """
    try:
        prior = np.array(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidPrior("A prior must be a vector of numbers.") from None
    if prior.ndim != 1 or not prior.size:
        raise InvalidPrior(f"A prior must be a vector of numbers; found shape {prior.shape}.")
    bad = np.flatnonzero(~(np.isfinite(prior) & (prior >= 0)))
    if bad.size:
        raise InvalidPrior(
            f"A prior must hold probabilities; position {bad[0]} holds {prior[bad[0]]}."
        )
    total = prior.sum()
    if abs(total - 1) > SUM_TOLERANCE:
        raise InvalidPrior(
            f"A prior must sum to 1 within {SUM_TOLERANCE}; it sums to {total:.12g}. "
            "Divide counts by their total first."
        )
    if size is not None and len(prior) != size:
        raise InvalidPrior(f"The mechanism has {size} categories; the prior has {len(prior)}.")
    if abs(total - 1) > 1e-15:
        prior /= total
    prior.flags.writeable = False
    return prior
