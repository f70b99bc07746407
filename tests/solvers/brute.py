"""Slow and plain oracles for the clever solver."""

import numpy as np


def dense_matrix(q):
    S = len(q)
    M = np.repeat(((1 - q) / (S - 1))[:, None], S, axis=1)
    np.fill_diagonal(M, q)
    return M


def information(p, q):
    """Mutual information of a uniform-row matrix, from its definition, with 60 spare bits."""
    M = dense_matrix(np.asarray(q, dtype=np.longdouble))
    p = normalised(p)
    m = p @ M
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where((M > 0) & (m > 0), M * np.log(M / np.where(m > 0, m, 1)), 0)
    return float(p @ terms.sum(axis=1))


def informations(p, points):
    """The same for many keep vectors (rows), as an array."""
    S = len(p)
    q = np.asarray(points, dtype=np.longdouble)
    p = normalised(p)
    off = (1 - q) / (S - 1)
    m = (off @ p)[:, None] + p * (q - off)
    return (xlogx(q) @ p + (S - 1) * (xlogx(off) @ p) - xlogx(m).sum(axis=1)).astype(float)


def normalised(p):
    p = np.asarray(p, dtype=np.longdouble)
    return p / p.sum()


def xlogx(values):
    return values * np.log(np.where(values > 0, values, 1))


def random_prior(rng, size):
    """From one dominant value to flat, with ties and zeros now and then."""
    p = rng.dirichlet(np.full(size, 10 ** rng.uniform(-1.3, 1.3)))
    style = rng.integers(6)
    if style == 0:
        p = np.round(p * 20) + (p > 0.2)
    elif style == 1:
        p[rng.integers(size)] = 0.0
    elif style == 2:
        p = p * 1e-4
        p[rng.integers(size)] = 1.0
    total = p.sum()
    return p / total if total > 0 else np.full(size, 1 / size)
