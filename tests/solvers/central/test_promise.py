"""The search for the largest scale: proven, near the limit, and in few steps."""

import math

import pytest

from pramble.solvers.record.central import largest_scale

LAWS = {
    "root": math.sqrt,
    "linear": lambda scale: scale,
    "steeper": lambda scale: scale**1.6,
    "levelling off": lambda scale: 5 * scale / (1 + scale),
    "jump": lambda scale: scale**0.5 if scale < 3 else math.inf,
    "nothing at first": lambda scale: max(scale - 1, 0.0),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("limit", [0.01, 0.9, 2.0, 4.5])
def test_near_the_limit_in_few_steps(name, limit):
    law, tried = LAWS[name], []

    def proven(scale):
        tried.append(scale)
        return law(scale)

    found = largest_scale(proven, limit, start=1.0, high=1e9)
    assert found in tried
    assert law(found) <= limit
    assert law(found * (1 + 4e-3)) > limit * (1 - 2e-3)
    assert len(tried) <= 24


def test_the_highest_scale_may_do_and_none_may_do():
    assert largest_scale(lambda scale: 0.1, 1.0, start=1.0, high=50.0) == 50.0
    assert largest_scale(lambda scale: 2.0, 1.0, start=1.0, high=50.0) == 0.0
