"""Batches of one size, whatever sizes they come in."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa


class Pile:
    """Gathers batches into piles of so many rows each; what is left waits."""

    def __init__(self, rows: int) -> None:
        self.rows, self.waiting, self.held = rows, list[Any](), 0

    def add(self, batch: Any) -> Iterator[list[Any]]:
        """Take a batch; yield every pile that it completes."""
        while self.held + batch.num_rows >= self.rows:
            room = self.rows - self.held
            full, self.waiting, self.held = [*self.waiting, batch.slice(0, room)], [], 0
            yield full
            batch = batch.slice(room)
        if batch.num_rows:
            self.waiting.append(batch)
            self.held += batch.num_rows


def even_batches(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Cut batches into ones of so many rows each, the last one shorter.

    Batches as they come follow the files and blocks of the source, which what is written must not.
    """
    pile = Pile(rows)
    for batch in batches:
        yield from map(joined, pile.add(batch))
    if pile.waiting:
        yield joined(pile.waiting)


def joined(pile: list[Any]) -> Any:
    """Return a pile as one batch."""
    return pile[0] if len(pile) == 1 else pa.concat_batches(pile)
