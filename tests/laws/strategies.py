"""Hypothesis strategies for every kind of mechanism, and for priors from flat to concentrated."""

import numpy as np
from hypothesis import strategies as st

import pramble
from pramble.data.labels import as_labels
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import TOTAL
from pramble.mechanisms.general import General
from pramble.mechanisms.uniform import UniformRows

seeds = st.integers(0, 2**32 - 1)
alphas = st.floats(1e-3, 12, allow_nan=False)


@st.composite
def priors(draw, size=None):
    """Probability vectors, flat to concentrated, some with zeros."""
    size = draw(st.integers(2, 8)) if size is None else size
    rng = np.random.default_rng(draw(seeds))
    concentration = draw(st.sampled_from([0.05, 0.3, 1.0, 10.0]))
    prior = rng.dirichlet(np.full(size, concentration))
    if size > 2 and draw(st.booleans()):
        prior[rng.integers(size)] = 0.0
    if not prior.sum() > 0:
        prior[0] = 1.0
    return prior / prior.sum()


@st.composite
def uniform_rows(draw, size=None):
    """The paper's matrices with arbitrary integer off weights."""
    size = draw(st.integers(2, 7)) if size is None else size
    top = TOTAL // (size - 1)
    off = draw(st.lists(st.integers(0, top), min_size=size, max_size=size))
    return UniformRows(as_labels(size), np.array(off))


@st.composite
def responses(draw):
    """Randomised response."""
    return pramble.randomized_response(draw(st.integers(2, 9)), draw(alphas))


@st.composite
def generals(draw, size=None, outputs=None):
    """General matrices, with zeros now and then."""
    size = draw(st.integers(2, 6)) if size is None else size
    outputs = draw(st.integers(1, 6)) if outputs is None else outputs
    rng = np.random.default_rng(draw(seeds))
    matrix = rng.dirichlet(np.full(outputs, draw(st.sampled_from([0.2, 1.0, 20.0]))), size=size)
    if draw(st.booleans()):
        matrix[rng.integers(size), rng.integers(outputs)] = 0.0
        matrix[matrix.sum(axis=1) == 0] = 1.0
    return pramble.Mechanism.from_matrix(matrix / matrix.sum(axis=1, keepdims=True))


@st.composite
def tiny_generals(draw):
    """General matrices with weights of a few units, where rounding and ties are rife."""
    size, outputs = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    cells = st.lists(st.integers(0, 4), min_size=outputs - 1, max_size=outputs - 1)
    rows = [draw(cells) for _ in range(size)]
    weights = np.array([[*row, TOTAL - sum(row)] for row in rows])
    return General(as_labels(size), as_labels(outputs, what="outputs"), weights)


@st.composite
def arcs(draw):
    """Arcs on a circle, square or not, from narrow to wide."""
    size, outputs = draw(st.integers(2, 7)), draw(st.integers(2, 8))
    width = draw(st.integers(1, outputs - 1))
    rng = np.random.default_rng(draw(seeds))
    return Arcs(
        as_labels(size),
        as_labels(outputs, what="outputs"),
        rng.integers(0, outputs, size),
        rng.permutation(outputs),
        width,
        draw(st.integers(1, TOTAL // outputs)),
    )


KINDS = {
    "uniform": uniform_rows(),
    "response": responses(),
    "general": generals(),
    "tiny": tiny_generals(),
    "arcs": arcs(),
}
"""Every kind of mechanism; a new kind joins here and is then under every law."""

mechanisms = st.one_of(*KINDS.values())
