"""One column of a plan: values to codes, and codes back to values."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from pramble.data import decode
from pramble.data.encode import Codes, Encoder, counts_up
from pramble.data.labels import Label, Labels
from pramble.engine.sampling import code_type
from pramble.mechanisms.column_labels import ColumnLabels
from pramble.values import value


@value(eq=False)
class Column:
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
        """The categories."""
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
        """The declared categories."""
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

    def labels_of(self, codes: Codes) -> Any:
        """Return drawn codes as Arrow labels of their own type; texts in one dictionary."""
        labels = self.arrow_outputs
        if pa.types.is_string(labels.type):
            return decode.arrow_dictionary(codes, labels)
        return labels.take(pa.array(codes))
