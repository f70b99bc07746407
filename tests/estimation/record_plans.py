"""People and plans of branches and blocks, for tests of records."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa

import pramble

COLUMNS = {"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1, 2]}
CELLS = list(product(*COLUMNS.values()))
SINGLE = {name: pramble.randomized_response(labels, 1.5) for name, labels in COLUMNS.items()}


def cells_of(names):
    labels = list(product(*(COLUMNS[name] for name in names)))
    return labels if len(names) > 1 else [x for (x,) in labels]


def response(names, alpha):
    return pramble.randomized_response(cells_of(names), alpha)


def rough(names, alpha, seed, extra=0):
    """A matrix that is alike for no two cells, with more outputs than cells if asked."""
    labels = cells_of(names)
    rng = np.random.default_rng(seed)
    M = np.exp(alpha * rng.random((len(labels), len(labels) + extra)))
    M[np.arange(len(labels)), np.arange(len(labels))] *= np.exp(alpha)
    outputs = [*labels, *((f"+{i}",) * len(names) for i in range(extra))]
    M /= M.sum(axis=1, keepdims=True)
    return pramble.Mechanism.from_matrix(M, labels, outputs=outputs)


def people(n, rng, law=None):
    law = np.random.default_rng(3).dirichlet(np.full(18, 2.0)) if law is None else law
    picked = rng.choice(18, n, p=law)
    columns = {
        name: pa.array([CELLS[i][j] for i in picked.tolist()]) for j, name in enumerate(COLUMNS)
    }
    rank = np.arange(n) % 3
    weight = 1 + rank + 0.5 * (picked % 2)
    return pa.table(columns | {
        "town": pa.array(np.where(rng.random(n) < 0.3, "s", "t")),
        "weight": pa.array(weight),
        "income": pa.array(10.0 + 5 * (picked % 3) + rng.normal(size=n)),
    })  # fmt: skip


SAMPLED = pramble.Plan(branches=[
    pramble.Branch(Fraction(1, 4), {pair: response(pair, 2.0)})
    for pair in combinations(COLUMNS, 2)
] + [pramble.Branch(Fraction(1, 4), {"c": SINGLE["c"]})])  # fmt: skip
ROUGH = pramble.Plan(
    branches=[
        pramble.Branch(Fraction(1, 2), {("b", "a"): rough("ba", 2.0, 1, extra=3)}),
        pramble.Branch(Fraction(1, 3), {("a", "b", "c"): rough("abc", 3.0, 2)}),
        pramble.Branch(Fraction(1, 6), {"a": SINGLE["a"], "c": SINGLE["c"]}),
    ]
)
PLANS = {"sampled": SAMPLED, "rough": ROUGH}


def can_give(plan, by, file=None):
    """Whether a plan can give a table, by a release of it."""
    file = people(2000, np.random.default_rng(2)) if file is None else file
    try:
        pramble.estimate(pramble.perturb(file, plan), plan, by=by, method="inverse")
    except pramble.NotIdentifiable:
        return False
    return True
