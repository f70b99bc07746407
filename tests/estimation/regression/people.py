"""People with three covariates and responses of every kind, and plans for them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd

import pramble

TRUTH = np.array([-0.3, 0.8, -0.9, 0.5, 0.4])
NAMES = ("intercept", "x[b]", "x[c]", "sex[m]", "age")

X = pramble.randomized_response(list("abc"), 2.0)
SEX = pramble.randomized_response(["f", "m"], 2.0)
JOINT = pramble.randomized_response(list(product("abc", "fm")), 3.0)
PLANS = {
    "columns": pramble.Plan({"x": X, "sex": SEX}),
    "a joint block": pramble.Plan({("x", "sex"): JOINT}),
    "sampled branches": pramble.Plan(
        branches=[
            pramble.Branch(Fraction(1, 2), {("x", "sex"): JOINT}),
            pramble.Branch(Fraction(1, 4), {"x": X}),
            pramble.Branch(Fraction(1, 4), {"sex": SEX}),
        ]
    ),
    "the response too": pramble.Plan(
        {"x": X, "sex": SEX, "y": pramble.randomized_response([0, 1], 2.0)}
    ),
}


def people(rng, n):
    """Three covariates, one of three labels that depends on the others, and responses."""
    sex = rng.integers(0, 2, n)
    age = rng.normal(0, 1, n)
    score = np.column_stack([np.zeros(n), 0.5 * sex + 0.3 * age, -0.4 + 0.8 * sex])
    chance = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    x = (rng.random(n)[:, None] > chance.cumsum(axis=1)).sum(axis=1)
    eta = -0.3 + 0.8 * (x == 1) - 0.9 * (x == 2) + 0.5 * sex + 0.4 * age
    noise = np.log(1 / rng.random(n) - 1)
    return pd.DataFrame(
        {
            "x": np.array(list("abc"))[x],
            "sex": np.where(sex == 1, "m", "f"),
            "age": age,
            "y": (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int),
            "line": eta + rng.standard_exponential(n) - 1,
            "count": rng.poisson(np.exp(eta)),
            "grade": np.digitize(eta + noise, [-1.0, 0.5, 2.0]),
            "w": rng.uniform(0.5, 3, n),
            "house": rng.integers(0, n // 4 + 1, n),
            "region": rng.integers(0, 5, n),
        }
    )


def raw_design(frame):
    columns = [np.ones(len(frame)), frame.x == "b", frame.x == "c", frame.sex == "m", frame.age]
    return np.column_stack(columns).astype(float)
