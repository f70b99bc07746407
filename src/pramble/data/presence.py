"""Whether a record shows a column at all, without a look at what it shows."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.labels import Labels, label_key, object_key
from pramble.data.rows import Rows
from pramble.values import Integers, value

NULL = label_key(None)


@value
class Presence:
    """Codes a column by whether it is blank (0) or not (1).

    Attributes
    ----------
    from_text : bool
        Whether values come as text, where an empty one is a blank too.
    """

    from_text: bool = False
    labels: Labels = Labels((False, True))

    def codes(self, values: Any, rows: Rows | None = None) -> Integers:
        """Return the codes of an Arrow array, a NumPy array or a list."""
        del rows
        if not isinstance(values, pa.Array | pa.ChunkedArray):
            listed = values.tolist() if isinstance(values, np.ndarray) else values
            return np.array([object_key(one) != NULL for one in listed], dtype=np.int64)
        if isinstance(values, pa.ChunkedArray):
            parts = [self.codes(chunk) for chunk in values.chunks]
            return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        if pa.types.is_dictionary(values.type):
            table = np.append(self.codes(values.dictionary), 0)
            if table[:-1].all() and not values.null_count:
                return np.ones(len(values), dtype=np.int64)
            indices = values.indices.cast(pa.int64()).fill_null(len(table) - 1)
            return np.asarray(table[indices.to_numpy()])
        shown = pc.is_valid(values)
        if pa.types.is_floating(values.type):
            shown = pc.and_kleene(shown, pc.invert(pc.is_nan(values)))
        elif self.from_text and not pa.types.is_null(values.type):
            shown = pc.and_kleene(shown, pc.not_equal(values, ""))
        return np.asarray(shown.to_numpy(zero_copy_only=False), dtype=np.int64)
