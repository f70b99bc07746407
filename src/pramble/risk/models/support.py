"""The cells that a log-linear model can give a positive mean: enumerated, never a whole grid."""

import math
from collections.abc import Sequence

import numpy as np

from pramble.data.table import Crosstab, group
from pramble.errors import InvalidInput
from pramble.limits import MOST_MODEL_BYTES
from pramble.risk.models.base import Codes, Margin
from pramble.risk.models.structural_zeros import Forbidden
from pramble.values import Integers


def possible_cells(
    table: Crosstab,
    margins: Sequence[Margin],
    *,
    rules: Sequence[Forbidden] = (),
    limit: int | None = None,
) -> Codes:
    """Return the codes of all cells whose every fitted margin is positive and no rule forbids.

    Keys are joined one by one; a partial cell is dropped as soon as an observed margin over the
    keys joined so far is 0, since its fitted mean is then 0 in every extension.

    Examples
    --------
    >>> from pramble.data.crosstab import crosstab
    >>> from pramble.data.open import open_records
    >>> table = crosstab(open_records({"a": [0, 0, 1], "b": [0, 1, 1]}), ["a", "b"])
    >>> possible_cells(table, [(0, 1)])
    array([[0, 0],
           [0, 1],
           [1, 1]], dtype=int32)
    """
    if limit is None:  # 4 bytes for each key and margin, and 24 for the means
        limit = MOST_MODEL_BYTES // (4 * len(table.columns) + 4 * len(margins) + 24)
    observed = {margin: table.array(axes=margin) > 0 for margin in margins}
    cells = np.zeros((1, 0), dtype=np.int32)
    for axis, size in enumerate(table.shape):
        _refuse_too_many(len(cells) * size, table, limit=limit)
        joined = np.tile(np.arange(size, dtype=np.int32), len(cells))
        cells = np.column_stack([np.repeat(cells, size, axis=0), joined])
        keep = np.ones(len(cells), dtype=bool)
        for margin, positive in observed.items():
            if max(margin) == axis:
                keep &= positive[tuple(cells[:, list(margin)].T)]
        for rule in rules:
            if max(rule.masks) == axis:
                keep &= ~rule.holds(cells)
        cells = cells[keep]
    return np.ascontiguousarray(cells)


def locate(cells: Codes, wanted: Codes, shape: Sequence[int]) -> Integers:
    """Return where each wanted cell stands among the cells; −1 where it does not.

    >>> cells = np.array([[0, 0], [1, 1]], dtype=np.int32)
    >>> locate(cells, cells[::-1], (2, 2))
    array([1, 0])
    """
    both = np.concatenate([cells, wanted])
    member, _ = group(list(both.T), shape, rows=len(both))
    place = np.full(int(member.max(initial=0)) + 1, -1, dtype=np.int64)
    place[member[: len(cells)]] = np.arange(len(cells))
    return place[member[len(cells) :]]


def _refuse_too_many(found: int, table: Crosstab, *, limit: int) -> None:
    if found > limit:
        raise InvalidInput(
            f"The model spans more than the {limit:,} cells that memory is set aside for (of "
            f"{math.prod(table.shape):,} combinations of the key levels); use "
            'model="independence", which needs no grid, coarser levels, or fewer keys.'
        )
