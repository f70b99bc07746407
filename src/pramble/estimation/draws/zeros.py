"""What a plan says cannot occur: cells that the mechanism of a block does not have."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.labels import Label, label_keys
from pramble.information.distributions import Table
from pramble.information.structural_zeros import Mask, Possible
from pramble.limits import MOST_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Block, as_plan


def possible_cells(plan: Any, labels: Mapping[str, Sequence[Label]]) -> Possible:
    """Return what is possible by all blocks of a plan whose columns have labels.

    >>> import pramble
    >>> m = pramble.randomized_response([(0, "no"), (1, "no"), (1, "yes")], 1.0)
    >>> found = possible_cells({("age", "job"): m}, {"age": [0, 1], "job": ["no", "yes"]})
    >>> found.mask(["job", "age"])
    array([[ True,  True],
           [False,  True]])
    """
    sizes = {name: len(own) for name, own in labels.items()}
    places = {
        name: {key: place for place, key in enumerate(label_keys(own))}
        for name, own in labels.items()
    }
    tables: dict[Table, Mask] = {}
    for block, mechanism in blocks_of(plan):
        shape = [sizes.get(name, 0) for name in block]
        if not mechanism.shape[0] < math.prod(shape) <= MOST_CELLS:
            continue
        cells = [
            tuple(places[name][key] for name, key in zip(block, label_keys(label), strict=True))
            for label in mechanism.labels.values
        ]
        mask = np.zeros(shape, dtype=np.bool_)
        mask[tuple(np.array(cells).T)] = True
        tables[block] = tables.get(block, True) & mask
    return Possible(sizes, tuple(tables.items()))


def blocks_of(plan: Any) -> Iterator[tuple[Block, Mechanism]]:
    """Yield all blocks of several columns, of every branch."""
    for branch in as_plan(plan).branches:
        yield from ((block, m) for block, m in branch.blocks.items() if len(block) > 1)


def wider_zeros(possible: Possible, fitted: Mapping[Table, Any]) -> dict[Table, Mask]:
    """Return the tables of what is possible that no fitted table holds."""
    return {
        names: mask
        for names, mask in possible.tables
        if not any(set(names) <= set(table) for table in fitted)
    }
