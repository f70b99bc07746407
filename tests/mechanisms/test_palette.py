"""Matrices of few weights, written as a palette."""

import json

import numpy as np
import pytest

import pramble
from pramble.errors import InvalidMechanism


def few_weights(size, kinds, seed=0):
    """A mechanism of some size whose rows are shuffles of the same few weights."""
    rng = np.random.default_rng(seed)
    row = rng.integers(1, kinds + 1, size).astype(float)
    rows = np.array([rng.permutation(row) for _ in range(size)])
    return pramble.Mechanism.from_matrix(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("size", "kinds"), [(20, 2), (40, 5), (100, 30)])
def test_there_and_back(size, kinds):
    m = few_weights(size, kinds)
    document = json.dumps(m.to_json())
    assert pramble.Mechanism.from_json(document) == m
    if "palette" in json.loads(document):
        assert len(document) < 4 * size * size


def test_small_and_varied_matrices_stay_numbers():
    assert "weights" in few_weights(5, 2).to_json()
    rng = np.random.default_rng(1)
    varied = pramble.Mechanism.from_matrix(rng.dirichlet(np.ones(30), 30))
    assert "weights" in varied.to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"palette": []},
        {"palette": [1] * 65},
        {"palette": [1.5, 2]},
        {"palette": "12"},
        {"palette": None},
        {"rows": None},
        {"rows": ["01"]},
        {"rows": [1, 2]},
        {"rows": ["0" * 40] * 39 + ["1"]},
        {"rows": ["~" * 40] * 40},
        {"rows": ["é" * 40] * 40},
        {"weights": [[1]]},
    ],
)
def test_anything_else_is_refused(change):
    body = few_weights(40, 3).to_json()
    assert "palette" in body
    with pytest.raises(InvalidMechanism):
        pramble.Mechanism.from_json({**body, **change})
