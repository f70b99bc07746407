import math

import numpy as np
import pytest

import pramble
from pramble_study import paper


@pytest.mark.parametrize(("size", "alpha"), [(2, 1.0), (3, 0.5), (4, 1.5), (5, 1.0), (6, 2.5)])
def test_constraints_say_what_the_certificate_says(size, alpha):
    rng = np.random.default_rng(size)
    C, b = paper.privacy_constraints(size, alpha)
    vertices = paper.privacy_vertices(size, alpha)
    verdicts = set()
    for _ in range(200):
        inside = rng.dirichlet(np.full(len(vertices), 0.02)) @ vertices
        q = 1 / size + (inside - 1 / size) * rng.choice([0.9, 1.2, 1.5])
        if not ((q >= 0) & (q <= 1)).all():
            continue
        linear = bool((C @ q <= b).all())
        certificate = pramble.certify(pramble.keep_probabilities(q))
        assert certificate.satisfies(alpha) == linear
        verdicts.add(linear)
    assert verdicts == {True, False}


def test_the_sign_that_the_paper_prints_would_be_wrong():
    alpha, S = 1.0, 4
    C, b = paper.privacy_constraints(S, alpha)
    q = np.full(S, paper.keep_levels(S, alpha).v_minus_alpha * 0.9)
    assert not (C @ q <= b).all()
    printed = -(S - 1) * math.exp(alpha) * q[0] + q[1]
    assert printed > -1
    flat = np.full(S, 1 / S)
    assert (C @ flat <= b).all()


def test_constraint_counts():
    assert paper.privacy_constraints(2, 1.0)[0].shape == (4, 2)
    C, b = paper.privacy_constraints(5, 1.0)
    assert C.shape == (60, 5)
    assert b.shape == (60,)


def test_levels_are_attained_as_the_paper_says():
    S, alpha = 6, 1.0
    levels = paper.keep_levels(S, alpha)
    for q in (
        [levels.v_alpha] * S,
        [levels.v_minus_alpha] * S,
        [levels.v_max] + [levels.v_minus_alpha] * (S - 1),
        [levels.v_min] + [levels.v_alpha] * (S - 1),
    ):
        certified = pramble.certify(pramble.keep_probabilities(q)).alpha
        assert certified == pytest.approx(alpha, rel=1e-12)


def test_the_new_york_interval_of_the_paper():
    """Its q = 0.5125 is just outside: the upper end is 0.5124974."""
    best = paper.symmetric_optimum([0.5, 0.5], 0.05)
    assert best.interval[1] == pytest.approx(0.5124974, abs=5e-8)
    assert best.interval[0] == pytest.approx(1 - best.interval[1], abs=1e-15)


@pytest.mark.parametrize("p", [0.5, 0.2, 0.01])
@pytest.mark.parametrize("alpha", [0.1, 1.0, 5.0])
def test_binary_closed_form_is_the_optimum_of_the_whole_family(p, alpha):
    best = paper.symmetric_optimum([p, 1 - p], alpha)
    design = pramble.design([p, 1 - p], alpha)
    assert design.value == pytest.approx(best.information, rel=1e-9)
    assert best.keep == pytest.approx(math.exp(alpha) / (1 + math.exp(alpha)), rel=1e-14)


def test_symmetric_closed_form_is_the_symmetric_design():
    p = [0.6, 0.2, 0.1, 0.1]
    for alpha in (0.2, 1.0, 3.0):
        best = paper.symmetric_optimum(p, alpha)
        design = pramble.design(p, alpha, symmetric=True)
        assert design.value == pytest.approx(best.information, rel=1e-9)
        np.testing.assert_allclose(design.keep, best.keep, rtol=1e-12)


def test_errors_name_the_count():
    with pytest.raises(pramble.InvalidInput, match="two categories"):
        paper.keep_levels(1, 1.0)
    with pytest.raises(pramble.InvalidInput, match="at most 10"):
        paper.privacy_vertices(40, 1.0)
    assert paper.vertex_threshold(3) == -math.inf
