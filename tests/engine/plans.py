"""A small plan of every feature, and the exact law of any plan, written without the engine."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa

import pramble

KEY = bytes(range(32))
SEX, JOB, AREA, ILL = ["f", "m"], [1, 2, 3], ["n", "s"], [False, True]
CELLS = [cell for cell in product(SEX, JOB) if cell != ("m", 3)]
"""A man in the third job is impossible."""

JOINT = pramble.Mechanism.from_matrix(
    [[0.6 if x == z else 0.1 for z in range(5)] for x in range(5)], categories=CELLS
)
WIDE = pramble.Mechanism.from_matrix(
    [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]],
    categories=[3, 1, 2],
    outputs=[0, 3, 1],
)
"""Another order of the categories, and another output, 0."""

PLAN = pramble.Plan(
    branches=[
        pramble.Branch(
            Fraction(5, 8),
            {("sex", "job"): JOINT, "area": pramble.randomized_response(AREA, 1.0)},
        ),
        pramble.Branch(
            Fraction(3, 8),
            {
                "job": WIDE,
                "ill": pramble.randomized_response(ILL, 0.5),
                "sex": pramble.randomized_response(SEX, 1.5),
            },
        ),
    ]
)

N = 3000
RNG = np.random.default_rng(8)
CELL = RNG.integers(0, len(CELLS), N)
TABLE = pa.table(
    {
        "id": np.arange(N),
        "sex": [CELLS[i][0] for i in CELL],
        "job": pa.array([CELLS[i][1] for i in CELL], pa.int16()),
        "area": pa.array(RNG.choice(AREA, N)).dictionary_encode(),
        "ill": RNG.integers(0, 2, N).astype(bool),
        "kept": RNG.random(N),
    }
)


def law_of(plan, record):
    """The exact law of the released record: from outputs, with None for blanks, to probability."""
    law = Counter()
    for branch in plan.branches:
        found = {(None,) * len(plan.columns): float(branch.share)}
        for block, mechanism in branch.blocks.items():
            true = tuple(record[name] for name in block)
            row = mechanism.matrix[mechanism.categories.index(true if len(block) > 1 else true[0])]
            found = {
                placed(plan, outputs, block, label): weight * float(p)
                for outputs, weight in found.items()
                for label, p in zip(mechanism.outputs, row, strict=True)
            }
        for outputs, weight in found.items():
            law[outputs] += weight
    return law


def placed(plan, outputs, block, label):
    """Outputs with the label, or labels, of a block put in."""
    new = dict(zip(block, label if len(block) > 1 else [label], strict=True))
    return tuple(new.get(name, old) for name, old in zip(plan.columns, outputs, strict=True))


def columns_of(plan, frame):
    """The released values of a plan's columns as plain lists, NaN and NA as None."""
    return {name: [plain(value) for value in listed(frame[name])] for name in plan.columns}


def listed(values):
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            return getattr(values, method)()
    return list(values)


def plain(value):
    if value is None or type(value).__name__ == "NAType" or value != value:
        return None
    return int(value) if isinstance(value, float) else value
