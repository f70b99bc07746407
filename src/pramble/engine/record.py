r"""A record under a plan: every column encoded, drawn with its block, and decoded.

A public coin picks the branch of each record. It never looks at the record, so privacy does not
hang on it. It is drawn like every other value, from weights over :math:`2^{53}`: exactly by shares
that are multiples of :math:`2^{-53}`, and otherwise by the nearest weights with the same sum, each
within one unit of its share. Each block of the branch is drawn by its mechanism, and the columns
that the branch leaves out are blank: null in the outcome of every library. A column that some
branch leaves out can therefore hold nulls whatever the data are, and its type follows from the plan
alone.

No two draws share bits. Under the plan's own key, a simple plan has a stream for each column by its
name; in any other the coin has one, and each block one by the number of its branch and the names of
its columns.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from pramble.data.arrays import Rows, picked
from pramble.data.decode import labels_like
from pramble.data.encode import Codes
from pramble.data.labels import Label
from pramble.engine.block import ColumnBlock, PlanColumn, encode_container
from pramble.engine.keystream import KeyStream, derived_key
from pramble.engine.sampling import AliasSampler, Each, available_threads, code_type, draw_rows
from pramble.errors import InvalidInput
from pramble.mechanisms.base import TOTAL
from pramble.mechanisms.plan import Plan, as_plan
from pramble.values import Integers, frozen

# Where some of the rows at hand stand: all of them as a slice, or an array of places.
Positions = slice | Integers


@frozen(eq=False, repr=False)
class BoundPlan:
    """A plan bound to a key: what every door draws with."""

    plan: Plan
    key: bytes  # the plan's own key
    threads: int = 1  # how many threads draw
    from_text: bool = False  # whether values come as text, as from a CSV file
    # the label that a missing value of a column stands for
    null_labels: Mapping[str, Label] | None = None
    # draw these columns only; all that share a block with one of them are among them
    names: tuple[str, ...] | None = None

    @cached_property
    def columns(self) -> dict[str, PlanColumn]:
        missing = self.null_labels or {}
        return {
            name: PlanColumn(name, labels, from_text=self.from_text, null_label=missing.get(name))
            for name, labels in self.plan.column_labels().items()
            if self.names is None or name in self.names
        }

    @cached_property
    def parts(self) -> tuple["BoundPlan", ...]:
        """Records that together are this one, of the columns that must be drawn together."""
        if len(self.plan.branches) > 1:
            return (self,)
        return tuple(replace(self, names=block) for block in self.plan.branches[0].blocks)

    @cached_property
    def branch_stream(self) -> KeyStream:
        """The bits that pick the branch, which nothing else is drawn from."""
        # the name is bound into every release ever made with branches, so it stays
        return KeyStream(self.key, "coin")

    @cached_property
    def branch_sampler(self) -> AliasSampler:
        """The sampler of the branch: one row of shares, the same for every record."""
        return AliasSampler.of(share_weights([b.share for b in self.plan.branches])[None, :])

    def branch_positions(self, rows: Rows) -> list[Positions]:
        """Return for each branch where its rows stand, in order."""
        many = len(self.plan.branches)
        if many == 1:
            return [slice(None)]
        none = np.zeros(len(rows), dtype=code_type(many))
        drawn = draw_rows(
            self.branch_sampler, none, stream=self.branch_stream, rows=rows, threads=self.threads
        )
        ends = np.bincount(drawn, minlength=many).cumsum()
        return list(np.split(np.argsort(drawn, kind="stable"), ends[:-1]))

    @cached_property
    def blocks(self) -> tuple[tuple[ColumnBlock, ...], ...]:
        """The blocks of each branch."""
        return tuple(
            tuple(self._blocks_of(number, branch.blocks))
            for number, branch in enumerate(self.plan.branches)
        )

    def _blocks_of(
        self, number: int, blocks: Mapping[tuple[str, ...], Any]
    ) -> Iterable[ColumnBlock]:
        for names, mechanism in blocks.items():
            if names[0] not in self.columns:
                continue
            path = names if self.plan.is_simple else ("branch", str(number), *names)
            columns = tuple(self.columns[name] for name in names)
            yield ColumnBlock(columns, mechanism, KeyStream(self.key, *path), self.threads)

    def perturb(self, values: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
        codes = {
            name: encode_container(values[name], own, rows) for name, own in self.columns.items()
        }
        drawn = self.draw(codes, rows)
        return {
            name: labels_like(drawn[name], self.columns[name].outputs, like=values[name])
            for name in drawn
        }

    def draw(
        self,
        codes: Mapping[str, Codes],
        rows: Rows,
        *,
        each: Each = map,
        observe: Callable[[ColumnBlock, Codes, Codes], object] | None = None,
    ) -> dict[str, Codes]:
        """Return the drawn codes of every column; ``each`` maps over blocks.

        ``observe`` gets the mechanism's codes of each block before and after.

        A combination that a block does not know is refused in whichever branch its record is, so
        that it does not depend on the key.
        """
        out = {name: self._blank(name, len(rows)) for name in self.columns}

        def draw(task: tuple[ColumnBlock, Positions]) -> None:
            block, at = task
            own = rows[at] if isinstance(at, slice) else picked(rows, at)
            if block.has_gaps:
                cells = block.cells(codes, rows)[at]
            else:
                cells = block.cells({name: codes[name][at] for name in block.names}, own)
            drawn = block.draw(cells, own)
            if observe is not None:
                observe(block, cells, drawn)
            for name, found in zip(block.names, block.split(drawn), strict=True):
                out[name][at] = found

        places = self.branch_positions(rows)
        tasks = zip(self.blocks, places, strict=True)
        list(each(draw, [(block, at) for blocks, at in tasks for block in blocks]))
        return out

    def _blank(self, name: str, rows: int) -> Codes:
        column = self.columns[name]
        return np.full(rows, len(column.outputs) - 1, dtype=column.dtype)


def bound_plan(secret: bytes, plan: Any, *, threads: int | None) -> BoundPlan:
    """Return a plan bound to its bits.

    Bits are drawn under a key of the plan's own: with another mechanism, or other columns beside
    it, a column has independent bits, so that what two releases spend adds up.
    """
    workers = available_threads() if threads is None else threads
    if workers < 1:
        raise InvalidInput(f"threads must be at least 1; found {threads}.")
    whole = as_plan(plan)
    own = derived_key(secret, "plan", json.dumps(whole.to_json(), sort_keys=True))
    return BoundPlan(whole, own, workers)


def share_weights(shares: Sequence[Fraction]) -> Integers:
    """Return shares as integer weights with sum ``2**53``, rounded by largest remainders."""
    scaled = [share * TOTAL for share in shares]
    weights = np.array([int(exact) for exact in scaled], dtype=np.int64)
    remainders = [exact - int(exact) for exact in scaled]
    largest = sorted(range(len(shares)), key=lambda b: remainders[b], reverse=True)
    weights[largest[: TOTAL - int(weights.sum())]] += 1
    return weights
