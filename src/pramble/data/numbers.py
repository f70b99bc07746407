"""Numbers out of columns."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text
from pramble.errors import InvalidData
from pramble.values import Floats


def as_numbers(
    values: Any, what: str, *, rows: range | None = None, decimal: str | None = None
) -> Floats:
    """Return a column as finite numbers; refuse others, naming the row and never the value.

    >>> as_numbers(pa.array(["1,5", "2"]), "income", decimal=",")
    array([1.5, 2. ])
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if is_text(values):
            values = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
            values = pc.replace_substring(values, ",", ".") if decimal == "," else values
        try:
            exact = not pa.types.is_integer(values.type)  # large integers are rounded
            values = values.cast(pa.float64(), safe=exact)
            found = np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError):
            raise InvalidData(
                f"Column {what!r} must hold numbers; it holds other values."
            ) from None
    else:
        try:
            found = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidData(f"Column {what!r} must hold numbers.") from None
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        row = int(bad[0]) + (rows.start if rows else 0)
        raise InvalidData(f"Column {what!r} must hold finite numbers; row {row} holds none.")
    return found
