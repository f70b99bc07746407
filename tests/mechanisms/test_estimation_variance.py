"""The variance that a mechanism leaves, against exact rationals, at its edges."""

import math
from fractions import Fraction

import numpy as np
import pytest

import pramble


def exact_variance(p, weights):
    """Trace of the inverse Fisher information in rationals, by Gauss and Jordan."""
    law = [Fraction(share) for share in p]
    M = [[Fraction(int(w), 2**53) for w in row] for row in weights.tolist()]
    S, T = weights.shape
    released = [sum(law[x] * M[x][z] for x in range(S)) / sum(law) for z in range(T)]
    D = [[M[x][z] - M[-1][z] for z in range(T)] for x in range(S - 1)]
    n = S - 1
    A = [
        [sum(u * v / m for u, v, m in zip(D[x], D[y], released, strict=True)) for y in range(n)]
        + [Fraction(int(x == y)) for y in range(n)]
        for x in range(n)
    ]
    for c in range(n):
        pivot = max(range(c, n), key=lambda r: abs(A[r][c]))
        A[c], A[pivot] = A[pivot], A[c]
        A[c] = [v / A[c][c] for v in A[c]]
        for r in set(range(n)) - {c}:
            A[r] = [u - A[r][c] * v for u, v in zip(A[r], A[c], strict=True)]
    inverse = [row[n:] for row in A]
    return float(sum(inverse[x][x] for x in range(n)) + sum(map(sum, inverse)))


def cases():
    rng = np.random.default_rng(2)
    for _ in range(12):
        S = int(rng.integers(2, 7))
        p = rng.dirichlet(np.full(S, rng.choice([0.3, 3.0])))
        q = rng.random(S)
        q[rng.integers(S)] = 1 / S + 10 ** rng.uniform(-15, -2) * rng.choice([-1, 1])
        yield p, pramble.keep_probabilities(q)
        e = 10 ** rng.uniform(-15, -1)
        dominated = np.append(1 - e, rng.dirichlet(np.ones(S)) * e)
        yield dominated, pramble.randomized_response(S + 1, float(rng.uniform(0.1, 20)))
        yield p, pramble.randomized_response(S, float(10 ** rng.uniform(-9, -3)))
        yield p, pramble.keep_probabilities(rng.random(S))


@pytest.mark.parametrize(("p", "m"), list(cases()))
def test_every_path_is_exact(p, m):
    exact = exact_variance(p, m.weights)
    stored = pramble.Mechanism.from_json({
        "schema": "pramble/mechanism/1", "kind": "general", "categories": list(m.categories),
        "weights": m.weights.tolist(),
    })  # fmt: skip
    for path in (m, stored):
        assert pramble.estimation_variance(p, path) == pytest.approx(exact, rel=1e-11)


def test_a_flat_row_costs_nothing_extra():
    """A row at 1/S leaves p identifiable; the closed form divided by its difference."""
    p = [0.4, 0.3, 0.2, 0.1]
    flat = pramble.keep_probabilities([0.7, 0.25, 0.6, 0.5])
    nearly = pramble.keep_probabilities([0.7, 0.25 + 1e-12, 0.6, 0.5])
    variance = pramble.estimation_variance(p, flat)
    assert variance == pytest.approx(exact_variance(p, flat.weights), rel=1e-12)
    assert pramble.estimation_variance(p, nearly) == pytest.approx(variance, rel=1e-9)
    two = pramble.keep_probabilities([0.7, 0.25, 0.25, 0.5])
    assert math.isinf(pramble.estimation_variance(p, two))


def test_tiny_alpha_keeps_the_digits_of_arcs():
    arcs = pramble.design(np.full(7, 1 / 7), 1e-6, family="general").mechanism
    expected = exact_variance(np.full(7, 1 / 7), arcs.weights)
    assert pramble.estimation_variance(np.full(7, 1 / 7), arcs) == pytest.approx(expected, rel=1e-6)
