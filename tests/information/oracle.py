"""Log-linear fits by statsmodels."""

from itertools import product

import numpy as np


def without_three_way_terms(counts):
    """The means of a Poisson model with all two-way terms, by maximum likelihood."""
    import statsmodels.api as sm

    levels = np.indices(counts.shape).reshape(counts.ndim, -1)
    columns = []
    for cell in product(*(range(size) for size in counts.shape)):
        terms = [axis for axis, level in enumerate(cell) if level]
        if len(terms) <= 2:
            met = [levels[axis] == cell[axis] for axis in terms]
            columns.append(np.all([np.ones(counts.size, dtype=bool), *met], axis=0))
    design = np.stack(columns, axis=1).astype(float)
    model = sm.GLM(counts.ravel(), design, family=sm.families.Poisson())
    return model.fit(tol=1e-13).mu.reshape(counts.shape)
