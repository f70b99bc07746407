"""Codes of the cells of blocks: which label each of their columns has in a cell."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pramble.data.labels import Label, Labels, label_keys
from pramble.errors import InvalidData
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.column_labels import labels_by_column
from pramble.mechanisms.plan import Block
from pramble.values import Integers, value


def parts_of(labels: Labels, block: Block) -> Sequence[Sequence[Label]]:
    """Return the labels of each column of a block, cell by cell."""
    return list(zip(*labels.values, strict=True)) if len(block) > 1 else [labels.values]


@value(eq=False)
class Codes:
    """The labels of columns, before and after, as codes.

    Attributes
    ----------
    categories, outputs : mappings from column to Labels
        Outputs hold None last where a column may be blank.
    """

    categories: Mapping[str, Labels]
    outputs: Mapping[str, Labels]

    @staticmethod
    def of(*branches: Mapping[Block, Mechanism]) -> "Codes":
        """Return the codes of the columns of some branches."""
        found = labels_by_column(branches)
        return Codes(
            {name: own.labels for name, own in found.items()},
            {
                name: Labels((*own.outputs.values, None)) if own.blank else own.outputs
                for name, own in found.items()
            },
        )

    @cached_property
    def known(self) -> tuple[dict[str, dict[Any, int]], dict[str, dict[Any, int]]]:
        """The code of every label, of categories and of outputs."""
        before, after = (
            {
                name: dict(zip(label_keys(labels.values), range(len(labels)), strict=True))
                for name, labels in side.items()
            }
            for side in (self.categories, self.outputs)
        )
        return before, after

    def cells(self, block: Block, labels: Labels, *, side: int) -> dict[str, Integers]:
        """Return the code of each column of a block in its cells, or outputs (side 1)."""
        if len(block) == 1 and labels is (self.categories, self.outputs)[side][block[0]]:
            return {block[0]: np.arange(len(labels))}
        answer = {}
        for name, values in zip(block, parts_of(labels, block), strict=True):
            keys = map(self.known[side][name].__getitem__, label_keys(values))
            answer[name] = np.fromiter(keys, dtype=np.int64, count=len(values))
        return answer

    def keys(self, codes: Mapping[str, Integers], columns: Sequence[str], *, side: int) -> Integers:
        """Return one number for each combination of codes of some columns."""
        sizes = (self.categories, self.outputs)[side]
        answer = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
        for name in columns:
            answer = answer * len(sizes[name]) + codes[name]
        return answer

    def places(self, block: Block, labels: Labels, released: Mapping[str, Integers]) -> Integers:
        """Return which output of a block each released cell is."""
        if len(block) == 1 and labels is self.outputs[block[0]]:
            return released[block[0]]
        outputs = self.keys(self.cells(block, labels, side=1), block, side=1)
        return places_among(outputs, self.keys(released, block, side=1))


def places_among(known: Integers, wanted: Integers) -> Integers:
    """Return where each number stands among others, which hold it once; refuse others."""
    order = np.argsort(known, kind="stable")
    found = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
    place = order[found]
    if (known[place] != wanted).any():
        raise InvalidData("The data holds released values that the plan cannot release.")
    return np.asarray(place)
