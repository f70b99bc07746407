"""One column of a plan: values in any container to codes, and codes back to values."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from pramble.data import decode
from pramble.data.arrays import Rows
from pramble.data.bands import Points
from pramble.data.encode import Codes, Encoder, counts_up
from pramble.data.labels import Label, Labels
from pramble.engine.keystream import KeyStream
from pramble.engine.sampling import code_type
from pramble.errors import InvalidData
from pramble.mechanisms.column_labels import ColumnLabels
from pramble.values import Integers, value


@value(eq=False)
class Column:
    """A named column with the labels that it may hold before and after.

    With ``from_text`` its values come as text, as from a CSV file; missing values stand for
    ``null_label``. With ``points`` bands are written as numbers, which are drawn from ``stream``.
    """

    name: str
    declared: ColumnLabels
    from_text: bool = False
    null_label: Label = None
    points: Points | None = None
    stream: KeyStream | None = None

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
        """The labels of the outputs as an Arrow array of their own type."""
        return decode.natural_arrow_labels(self.outputs)

    @property
    def written_type(self) -> Any:
        return self.arrow_outputs.type if self.points is None else self.points.arrow_type

    @cached_property
    def band_of_output(self) -> Integers:
        """Which band each output is; −1 if it is none."""
        assert self.points is not None, "asked of columns with points"
        place: dict[Label, int] = {label: i for i, label in enumerate(self.points.labels)}
        return np.array([place.get(label, -1) for label in self.outputs], dtype=np.int64)

    def written(self, codes: Codes, rows: Rows) -> Any:
        """Return what is written of drawn codes: their labels, or numbers in place of bands."""
        if self.points is None:
            return self.labels_of(codes)
        share = None
        if self.points.kind == "point":
            assert self.stream is not None, "points are drawn"
            high = self.stream.words(rows).astype(np.float64)
            share = (high * 2.0**21 + self.stream.extras(rows)) / 2.0**53
        return self.points.numbers(self.band_of_output[codes], share)

    def labels_of(self, codes: Codes) -> Any:
        """Return drawn codes as Arrow labels of their own type; texts in one dictionary."""
        labels = self.arrow_outputs
        if pa.types.is_string(labels.type):
            return decode.arrow_dictionary(codes, labels)
        return labels.take(pa.array(codes))


def codes_in(values: Any, column: Column, rows: Rows) -> Codes:
    """Return the codes of the values that a container holds; refuse an undeclared one."""
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InvalidData(f"One column is needed; found an array of {values.ndim} dimensions.")
    if isinstance(values, list | tuple | np.ndarray | pa.Array | pa.ChunkedArray):
        return column.encoder.codes(values, rows)
    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        raise unknown(values, "one mechanism")
    plain = isinstance(values.dtype, np.dtype) and values.dtype.kind in "iuO"
    return column.encoder.codes(values.to_numpy() if plain else series.to_arrow(), rows)


def unknown(data: Any, plan: str) -> InvalidData:
    """Return the error for a type that no door is made for."""
    return InvalidData(
        f"{plan.capitalize()} cannot be applied to a {type(data).__name__}. One mechanism is for a "
        "list, NumPy array, Series or Arrow array; a mapping from column names to mechanisms for "
        "a frame of pandas, polars, pyarrow, DuckDB or Spark, or a mapping of columns. Files are "
        "for perturb_file, or for perturb with spark=."
    )
