"""Exact laws of shuffled files, by brute force over histograms."""

import itertools
import math

import numpy as np


def times(histograms, row):
    """The law of a histogram after one more record with this row; axes are counts of outputs."""
    grown = np.zeros_like(histograms)
    for z, probability in enumerate(row):
        grown += probability * np.roll(histograms, 1, axis=z)
    return grown


def exact_delta(M, rows, epsilons):
    """The largest P(E) − e^ε P'(E) over events, neighbouring files and both directions."""
    M = np.asarray(M)
    empty = np.zeros((rows + 1,) * M.shape[1])
    empty[(0,) * M.shape[1]] = 1.0
    worst = np.zeros(len(epsilons))
    factors = np.exp(epsilons)
    for others in itertools.combinations_with_replacement(range(len(M)), rows - 1):
        law = empty
        for w in others:
            law = times(law, M[w])
        laws = np.array([times(law, row).ravel() for row in M])
        laws = laws[:, laws.any(axis=0)]
        for k, factor in enumerate(factors):
            gaps = np.maximum(laws[:, None] - factor * laws, 0).sum(axis=-1)
            worst[k] = max(worst[k], gaps.max())
    return worst


def exact_excess(values, probabilities, trials):
    """E[S]₊ / n by going through all counts of all values, zero being the last."""
    values = [*values, 0.0]
    probabilities = [*probabilities, max(1 - sum(probabilities), 0.0)]
    total = 0.0
    for counts in compositions(trials, len(values)):
        excess = sum(c * v for c, v in zip(counts, values, strict=True))
        if excess > 0:
            ways = math.factorial(trials)
            for c in counts:
                ways //= math.factorial(c)
            chances = zip(probabilities, counts, strict=True)
            total += excess * ways * math.prod(p**c for p, c in chances)
    return total / trials


def compositions(total, parts):
    """All ways to write a total as an ordered sum of so many counts."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def random_matrix(rng, *, zeros):
    """A random row-stochastic matrix of two to four rows and two or three columns."""
    S, T = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    M = rng.dirichlet(np.full(T, rng.choice([0.5, 2.0, 20.0])), size=S)
    if zeros:
        M[rng.random(M.shape) < 0.2] = 0.0
        M[M.sum(axis=1) == 0] = 1 / T
    return M / M.sum(axis=1, keepdims=True)


def exact_sampled_delta(matrices, rows, population, epsilons, *, changed=1):
    """The same for a random sample of a population, of which up to so many records are changed."""
    matrices = [np.asarray(M) for M in matrices]
    people = list(itertools.combinations_with_replacement(range(len(matrices[0])), population))
    laws = np.array([sampled_law(matrices, one, rows) for one in people])
    worst = np.zeros(len(epsilons))
    for i, j in itertools.permutations(range(len(people)), 2):
        if apart(people[i], people[j]) <= changed:
            for k, factor in enumerate(np.exp(epsilons)):
                worst[k] = max(worst[k], np.maximum(laws[i] - factor * laws[j], 0).sum())
    return worst


def sampled_law(matrices, people, rows):
    """The law of all files of a random sample, each shuffled."""
    samples = list(itertools.combinations(people, rows))
    return sum(files_law(matrices, sample) for sample in samples) / len(samples)


def files_law(matrices, records):
    """The law of the histograms of several files of the same records."""
    law = np.ones(1)
    for M in matrices:
        histograms = np.zeros((len(records) + 1,) * M.shape[1])
        histograms[(0,) * M.shape[1]] = 1.0
        for x in records:
            histograms = times(histograms, M[x])
        law = np.multiply.outer(law, histograms.ravel()).ravel()
    return law


def apart(one, other):
    """In how many records two populations differ at least."""
    return len(one) - sum(min(one.count(x), other.count(x)) for x in set(one))
