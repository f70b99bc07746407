"""A block: columns that one mechanism randomises together.

Codes of columns become one code among the mechanism's categories, an output is drawn, and its code
becomes codes of columns again. For a single column whose labels stand as the mechanism's do, both
steps are nothing.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from pramble.data import decode
from pramble.data.arrays import Rows, picked
from pramble.data.encode import SHOWN, Codes, Encoder, counts_up
from pramble.data.labels import Label, Labels
from pramble.engine.keystream import KeyStream
from pramble.engine.sampling import WordSampler, code_type, draw_rows, sampler
from pramble.errors import InvalidData, InvalidPlan, with_values
from pramble.limits import MOST_COMBINATIONS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.column_labels import Coding, ColumnLabels, places_if_among
from pramble.values import Integers, frozen


@frozen(eq=False)
class PlanColumn:
    """A named column with the labels that it may hold before and after.

    With ``from_text`` its values come as text, as from a CSV file; missing values stand for
    ``null_label``.
    """

    name: str
    declared: ColumnLabels
    from_text: bool = False
    null_label: Label = None

    @property
    def labels(self) -> Labels:
        return self.declared.labels

    @cached_property
    def outputs(self) -> Sequence[Label]:
        """The labels of the outputs, as a range if they count up from 0; a blank is None, last."""
        labels = self.declared.released.values
        return range(len(labels)) if counts_up(labels) else labels

    @cached_property
    def dtype(self) -> Any:
        """The dtype in which codes of categories and of outputs are held."""
        return code_type(len(self.labels), len(self.outputs))

    @cached_property
    def encoder(self) -> Encoder:
        return Encoder(
            self.labels,
            self.name,
            from_text=self.from_text,
            dtype=self.dtype,
            null_label=self.null_label,
        )

    @cached_property
    def arrow_outputs(self) -> Any:
        return decode.natural_arrow_labels(self.outputs)

    def labels_of(self, codes: Codes) -> Any:
        """Return drawn codes as Arrow labels of their own type; texts in one dictionary."""
        labels = self.arrow_outputs
        if pa.types.is_string(labels.type):
            return decode.arrow_dictionary(codes, labels)
        return labels.take(pa.array(codes))


def encode_container(values: Any, column: PlanColumn, rows: Rows) -> Codes:
    """Return the codes of the values that a container holds; refuse an undeclared one."""
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InvalidData(f"One column is needed; found an array of {values.ndim} dimensions.")
    if isinstance(values, list | tuple | np.ndarray | pa.Array | pa.ChunkedArray):
        return column.encoder.codes(values, rows)
    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        raise unknown_container(values, "one mechanism")
    plain = isinstance(values.dtype, np.dtype) and values.dtype.kind in "iuO"
    return column.encoder.codes(values.to_numpy() if plain else series.to_arrow(), rows)


def unknown_container(data: Any, plan: str) -> InvalidData:
    return InvalidData(
        f"{plan.capitalize()} cannot be applied to a {type(data).__name__}. One mechanism is for a "
        "list, NumPy array, Series or Arrow array; a mapping from column names to mechanisms for "
        "a frame of pandas, polars, pyarrow, DuckDB or Spark, or a mapping of columns. Files are "
        "for perturb_file."
    )


# Fewer combinations of labels than this are looked up in a table, more by a sorted search.
DIRECT_CELLS = 1 << 22


@frozen(eq=False)
class ColumnBlock:
    """Columns with their mechanism and their stream of bits."""

    columns: tuple[PlanColumn, ...]
    mechanism: Mechanism
    stream: KeyStream
    threads: int = 1

    def __post_init__(self) -> None:
        combinations = math.prod(self.sizes)
        if combinations > MOST_COMBINATIONS:
            raise InvalidPlan(
                f"A block may have {MOST_COMBINATIONS:.1e} combinations of labels, possible or not;"
                f" that of {', '.join(self.names)} has {combinations:.1e}. Split it."
            )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def sampler(self) -> WordSampler:
        # a plan may have thousands of blocks of several columns
        return sampler(self.mechanism, slim=len(self.columns) > 1)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(column.labels) for column in self.columns)

    @cached_property
    def has_gaps(self) -> bool:
        """Whether some combination of the columns' categories is impossible."""
        return math.prod(self.sizes) > self.mechanism.shape[0]

    @cached_property
    def coding(self) -> Coding:
        return Coding({column.name: column.declared for column in self.columns})

    @cached_property
    def keys(self) -> Integers | None:
        """The key of each category of the mechanism; None where it is the column's code."""
        if len(self.columns) == 1 and self.columns[0].labels == self.mechanism.labels:
            return None
        return self.coding.keys(
            self.coding.of_labels(self.names, self.mechanism.labels), self.names
        )

    @cached_property
    def category_of_key(self) -> Codes | None:
        """The mechanism's code of each key, −1 for none; None where keys are too many."""
        combinations = math.prod(self.sizes)
        if self.keys is None or combinations > DIRECT_CELLS:
            return None
        table = np.full(combinations, -1, dtype=np.int32)
        table[self.keys] = np.arange(len(self.keys))
        return table

    @cached_property
    def outputs(self) -> list[Codes] | None:
        """The codes of each column at each output; None where they are the output's."""
        if (
            len(self.columns) == 1
            and self.columns[0].declared.outputs == self.mechanism.output_labels
        ):
            return None
        codes = self.coding.of_labels(self.names, self.mechanism.output_labels, released=True)
        return [codes[column.name].astype(column.dtype) for column in self.columns]

    def cells(self, codes: Mapping[str, Codes], rows: Rows) -> Codes:
        """Return the mechanism's code of each row; refuse an impossible combination."""
        dtype = code_type(*self.mechanism.shape)
        if self.keys is None:
            return codes[self.names[0]].astype(dtype, copy=False)
        wanted, table = self.coding.keys(codes, self.names), self.category_of_key
        found = places_if_among(self.keys, wanted) if table is None else table[wanted]
        if self.has_gaps and len(found) and found.min() < 0:
            bad = np.flatnonzero(found < 0)
            held = [
                [column.labels.values[codes[column.name][i]] for column in self.columns]
                for i in bad[:SHOWN]
            ]
            raise impossible(self.names, picked(rows, bad), held)
        return found.astype(dtype, copy=False)

    def draw(self, codes: Codes, rows: Rows) -> Codes:
        return draw_rows(self.sampler, codes, stream=self.stream, rows=rows, threads=self.threads)

    def split(self, drawn: Codes) -> Sequence[Codes]:
        return [drawn] if self.outputs is None else [own[drawn] for own in self.outputs]


def impossible(names: tuple[str, ...], rows: Integers, values: list[Any]) -> InvalidData:
    shown = ", ".join(f"row {row}" for row in rows[:SHOWN]) + (", …" if len(rows) > SHOWN else "")
    error = InvalidData(
        f"Columns {', '.join(map(repr, names))} must hold a possible combination of their "
        f"categories; {len(rows)} {'row does' if len(rows) == 1 else 'rows do'} not ({shown}). "
        "Correct them, or declare the combination as possible."
    )
    return with_values(error, values)
