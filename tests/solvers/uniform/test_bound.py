"""The bound of every node lies above every assignment that the node holds."""

from itertools import product

import numpy as np
import pytest
from tests.solvers.brute import information, random_prior

from pramble.mechanisms.ratios import exp_below
from pramble.solvers.uniform.nodes import Anchored, full_node, kind_of
from pramble.solvers.uniform.polytope import corners
from pramble.solvers.uniform.search import Relaxation, is_vertex_choice, split

CASES = [(2, 1.0), (3, 0.5), (3, 3.0), (4, 0.5), (4, 2.0), (5, 1.0), (5, 2.5), (6, 4.0)]


def models(rng, size, alpha):
    p = np.sort(random_prior(rng, size))[::-1]
    for corner in corners(size, exp_below(alpha)):
        if size == 2 and corner.bottom == 0:
            continue
        kind = kind_of(corner, size)
        for star in kind.choices():
            yield p, Anchored(kind, star, p[1:], float(p[1:].sum()))


def assignments(model):
    for choice in product(range(4), repeat=len(model.rest)):
        levels = np.array(choice)
        allowed = set(model.kind.choices())
        if set(choice) <= allowed and is_vertex_choice(model, levels):
            yield levels


@pytest.mark.parametrize(("size", "alpha"), CASES)
def test_the_value_is_mutual_information(size, alpha):
    rng = np.random.default_rng(size)
    for p, model in models(rng, size, alpha):
        for levels in list(assignments(model))[:20]:
            corner = np.array([float(q) for q in model.kind.corner])
            q = np.concatenate([[corner[model.star]], corner[levels]])
            assert model.value(levels) == pytest.approx(information(p, q), rel=1e-8, abs=1e-15)


def holds(node, levels):
    gamma = float((node.model.rest * node.model.shifts[levels]).sum())
    allowed = node.may[levels, np.arange(len(levels))].all()
    return allowed and node.lower <= gamma <= node.upper


@pytest.mark.parametrize(("size", "alpha"), CASES)
@pytest.mark.parametrize("seed", range(3))
def test_no_assignment_beats_the_bound_of_its_node(size, alpha, seed):
    rng = np.random.default_rng(seed)
    checked = 0
    for _, model in models(rng, size, alpha):
        every = list(assignments(model))
        node = full_node(model).tighten()
        if node is None:
            assert not every
            continue
        for _ in range(4):
            inside = [levels for levels in every if holds(node, levels)]
            relaxation = Relaxation(node)
            best = max((model.value(levels) for levels in inside), default=-1.0)
            for multiplier in (0.0, *rng.normal(scale=10, size=4)):
                assert relaxation.at(multiplier).bound >= best
                checked += 1
            assert relaxation.least(0.0, 0.0).bound >= best
            children = [child.tighten() for child in split(node, ~node.decided)]
            kept = [
                levels
                for levels in inside
                if any(child is not None and holds(child, levels) for child in children)
            ]
            assert len(kept) == len(inside), "splitting lost an assignment"
            left = [child for child in children if child is not None]
            if not left:
                break
            node = left[rng.integers(len(left))]
    assert checked > 10


def test_a_wrong_multiplier_term_would_be_noticed():
    """The check above has teeth: the relaxation is tight at its best multiplier."""
    rng = np.random.default_rng(0)
    tight = 0
    for _, model in models(rng, 5, 1.0):
        node = full_node(model).tighten()
        best = max(model.value(levels) for levels in assignments(model))
        tight += Relaxation(node).least(0.0, 0.0).bound < best * 1.2
    assert tight >= 3
