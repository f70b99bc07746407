"""What Python does for a release on Spark: it draws codes, and sees no column that is left alone.

Columns of few texts come to Python as codes in words (:mod:`pramble.engine.spark_words`), go back
so, and become texts again where the rows have found their partition. Any other randomised column
comes and goes as its values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pramble.data.arrays import Rows
from pramble.data.decode import labels_like
from pramble.data.spark_chunks import moved
from pramble.data.spark_workers import current_partition
from pramble.engine.columns import codes_in
from pramble.engine.frames import column_rows
from pramble.engine.record import Record
from pramble.engine.spark_spans import Span
from pramble.engine.spark_words import Word, codes_of, with_codes
from pramble.values import value


@value(eq=False)
class Draws:
    """Draws the columns of a plan, batch by batch: a function of columns for Spark.

    It gets the row numbers where a column has them, the words, and the other columns of the plan;
    it yields words and other columns, side by side unless there is one alone.
    """

    record: Record  # what draws
    words: tuple[Word, ...]  # where the columns lie that come and go as codes
    number: str | None = None  # the column of row numbers
    # the rows that were counted, where rows are numbered as they stand
    spans: Mapping[int, Span] | None = None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield what is drawn of each batch, a tuple of columns or one column alone."""
        given = (batch if isinstance(batch, tuple) else (batch,) for batch in batches)
        if self.number is not None:
            for own, *rest in given:
                yield self.drawn(column_rows(own, self.number), rest)
            return
        assert self.spans is not None, "rows are numbered as they were counted"
        partition = current_partition()
        first, expected = self.spans.get(partition, Span(0, 0))
        met = 0
        for columns in given:
            start, met = met, met + len(columns[0])
            if met > expected:
                break
            yield self.drawn(range(first + start, first + met), columns)
        if met != expected:
            raise moved(partition, expected, met)

    @property
    def others(self) -> list[str]:
        """The columns that come and go as their values."""
        return [n for n in self.record.columns if not any(n in word.shifts for word in self.words)]

    def drawn(self, rows: Rows, values: Sequence[Any]) -> Any:
        columns, count = self.record.columns, len(self.words)
        found = [one.to_numpy() for one in values[:count]]
        given = dict(zip(self.others, values[count:], strict=True))
        codes = {name: codes_in(own, columns[name], rows) for name, own in given.items()}
        for word, own in zip(self.words, found, strict=True):
            for name, shift in word.shifts.items():
                codes[name] = codes_of(own, shift, columns[name])
        drawn = self.record.draw(codes, rows)
        made = [
            pa.array(with_codes(own, word, drawn))
            for word, own in zip(self.words, found, strict=True)
        ]
        made += [
            labels_like(drawn[name], columns[name].outputs, like=own) for name, own in given.items()
        ]
        if len(made) == 1:
            return made[0]
        return pa.StructArray.from_arrays(made, names=list(map(str, range(len(made)))))
