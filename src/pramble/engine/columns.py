"""One column under one mechanism: encode, draw, decode."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramble.data import decode
from pramble.data.encode import Codes, Encoder, counts_up
from pramble.data.labels import Label
from pramble.data.rows import Rows
from pramble.engine.keystream import KeyStream
from pramble.engine.sampling import Sampler, code_type, sampler
from pramble.errors import InvalidData
from pramble.mechanisms.base import Mechanism
from pramble.values import value

THREADED_ABOVE = 1 << 19
"""Fewer rows than this are drawn by one thread."""


def available_threads() -> int:
    """Return how many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@value(eq=False)
class Column:
    """A named column with its mechanism and its stream of bits.

    With ``from_text`` its values come as text, as from a CSV file; missing values stand for
    ``null_label``.
    """

    name: str
    mechanism: Mechanism
    stream: KeyStream
    threads: int = 1
    from_text: bool = False
    null_label: Label = None

    @cached_property
    def encoder(self) -> Encoder:
        """The declared categories."""
        return Encoder(
            self.mechanism.labels,
            self.name,
            from_text=self.from_text,
            dtype=code_type(self.mechanism),
            null_label=self.null_label,
        )

    @cached_property
    def sampler(self) -> Sampler:
        """The mechanism's sampler."""
        return sampler(self.mechanism)

    @cached_property
    def outputs(self) -> Sequence[Label]:
        """The labels of the outputs, as a range if they count up from 0."""
        labels = self.mechanism.output_labels.values
        return range(len(labels)) if counts_up(labels) else labels

    @cached_property
    def arrow_outputs(self) -> Any:
        """The labels of the outputs as an Arrow array of their own type."""
        return decode.natural_arrow_labels(self.outputs)

    def codes(self, values: Any, rows: Rows) -> tuple[Codes, Codes]:
        """Return the codes of the true values and of the drawn ones."""
        x = self.encoder.codes(values, rows)
        return x, self.draw(x, rows)

    def labels_of(self, z: Codes) -> Any:
        """Return drawn codes as labels; texts in a dictionary that is the same for every block."""
        labels = self.arrow_outputs
        if not pa.types.is_string(labels.type):
            return labels.take(pa.array(z))
        filled = labels.is_valid().to_numpy(zero_copy_only=False)
        places = np.where(filled, np.cumsum(filled) - 1, -1).astype(np.int32)[z]
        return pa.DictionaryArray.from_arrays(pa.array(places, mask=places < 0), labels.drop_null())

    def draw(self, codes: Codes, rows: Rows) -> Codes:
        """Return the drawn output code of each row."""
        out = np.empty_like(codes)
        if self.threads < 2 or len(codes) < THREADED_ABOVE:
            self.sampler.sample(codes, self.stream, rows=rows, out=out)
            return out
        step = -(-len(codes) // self.threads)
        spans = [slice(start, start + step) for start in range(0, len(codes), step)]
        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(lambda span: self._draw_span(codes, rows, out=out, span=span), spans))
        return out

    def _draw_span(self, codes: Codes, rows: Rows, *, out: Codes, span: slice) -> None:
        self.sampler.sample(codes[span], self.stream, rows=rows[span], out=out[span])

    def arrow(self, values: Any, rows: Rows) -> Any:
        """Return a randomised Arrow array, or chunked array, of the same type."""
        codes = self.draw(self.encoder.arrow(values, rows), rows)
        if isinstance(values, pa.ChunkedArray):
            return decode.arrow_chunks(codes, self.outputs, like=values)
        return decode.arrow_values(codes, self.outputs, like=values.type)

    def numpy(self, values: NDArray[Any], rows: Rows) -> NDArray[Any]:
        """Return a randomised NumPy array of the same dtype."""
        if values.ndim != 1:
            raise InvalidData(f"One column is needed; found an array of {values.ndim} dimensions.")
        codes = self.draw(self.encoder.codes(values, rows), rows)
        return decode.numpy_values(codes, self.outputs, like=values)

    def python(self, values: Sequence[Any], rows: Rows) -> list[Label]:
        """Return a list of randomised labels."""
        drawn = self.draw(self.encoder.codes(values, rows), rows).tolist()
        outputs = self.outputs
        return [outputs[code] for code in drawn]
