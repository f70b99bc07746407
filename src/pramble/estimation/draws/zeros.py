"""What a plan says cannot occur: cells that the mechanism of a block does not have."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.labels import Label
from pramble.data.order import places_of
from pramble.information.distributions import Table
from pramble.information.structural_zeros import Mask, Possible
from pramble.limits import MOST_CELLS
from pramble.mechanisms.plan import as_plan


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
    channel = as_plan(plan).channel(list(labels))
    tables: list[tuple[Table, Mask]] = []
    for block, mask in channel.structural_zeros(most=MOST_CELLS).items():
        if set(block) <= set(labels):
            known = [channel.coding.categories[name].values for name in block]
            own = [places_of(ours, labels[n]) for ours, n in zip(known, block, strict=True)]
            tables.append((block, mask[np.ix_(*own)]))
    return Possible(sizes, tuple(tables))


def wider_zeros(possible: Possible, fitted: Mapping[Table, Any]) -> dict[Table, Mask]:
    return {
        names: mask
        for names, mask in possible.tables
        if not any(set(names) <= set(table) for table in fitted)
    }
