"""The closed form of the largest ratio against every pair, on thousands of uniform-row matrices."""

import numpy as np
import pytest

import pramble

TOTAL = 2**53


def made(kind, size, **fields):
    document = {"schema": "pramble/mechanism/1", "kind": kind, "categories": {"range": size}}
    return pramble.Mechanism.from_json({**document, **fields})


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_closed_form_for_uniform_rows(size):
    rng = np.random.default_rng(size)
    places = set()
    for _ in range(1500):
        spread = rng.choice([0.2, 1.0])
        centre = TOTAL / size
        off = (centre + spread * (rng.random(size) * TOTAL / (size - 1) - centre)).astype(np.int64)
        mechanism = made("uniform", size, off=off.tolist())
        stored = made("general", size, weights=mechanism.weights.tolist())
        closed, generic = pramble.certify(mechanism), pramble.certify(stored)
        assert closed.numerator * generic.denominator == generic.numerator * closed.denominator
        x, x_prime, z = closed.witness
        assert mechanism.weights[x, z] == closed.numerator
        assert mechanism.weights[x_prime, z] == closed.denominator
        places.add((x == z, x_prime == z))
    kinds = {(True, False), (False, True)} | ({(False, False)} if size >= 3 else set())
    assert places == kinds
