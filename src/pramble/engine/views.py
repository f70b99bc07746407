r"""Views of a table: the same rows several times, each time a few columns in an order of its own.

Under the key k the view v with the plan P draws its order and its bits by a key of its own,

.. math:: k_v = H(H(k, \text{"view"}, v), \text{"plan"}, P),

so that neither is shared by two views. Rows are put in order before they are drawn, and the bits of
a row are those of its place in the view: nothing that a reader knows of one view's bits or places
says which of its rows is whose in another.
"""

from collections.abc import Mapping
from typing import Any

import narwhals as nw

from pramble.data.rows import number_of_rows
from pramble.engine.frames import check_names, narwhals_frame
from pramble.engine.keystream import derived_key
from pramble.engine.order import random_order
from pramble.engine.record import Record, as_record
from pramble.errors import InvalidData
from pramble.mechanisms.views import Views


def view_records(secret: bytes, views: Views, *, threads: int | None) -> dict[str, Record]:
    """Return the plan of each view bound to its own bits."""
    return {
        name: as_record(derived_key(secret, "view", name), plan, threads=threads)
        for name, plan in views.items()
    }


def perturb_views(
    data: Any, views: Views, *, secret: bytes, threads: int | None = None
) -> dict[str, Any]:
    """Return each view of a table: its columns alone, in an order of its own, randomised."""
    frame = None if isinstance(data, Mapping) else checked_frame(data)
    check_names(list(data) if frame is None else frame.columns, views.columns, None)
    rows = number_of_rows(data) if frame is None else len(frame)
    columns = {
        name: without_index(data[name] if frame is None else frame[name].to_native())
        for name in views.columns
    }
    found = {
        name: own.perturb(columns, range(rows), order=random_order(rows, key=own.key))
        for name, own in view_records(secret, views, threads=threads).items()
    }
    if frame is None:
        return found
    backend = frame.implementation
    return {name: nw.from_dict(own, backend=backend).to_native() for name, own in found.items()}


def checked_frame(data: Any) -> Any:
    """Return an eager narwhals frame; refuse anything else."""
    frame = narwhals_frame(data)
    if isinstance(frame, nw.DataFrame):
        return frame
    raise InvalidData(
        f"Views cannot be made of a {type(data).__name__}: their rows are put in random orders, "
        "which takes the whole table. They are for a frame of pandas, polars or pyarrow in memory "
        "(a lazy one can be collected), or a mapping of columns."
    )


def without_index(values: Any) -> Any:
    """Return a column without the index that a Series of pandas has: it would name its rows."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return values
    return nw.maybe_reset_index(series).to_native()
