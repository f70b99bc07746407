"""The types of a released file: of the values alone, never of how the source held them."""

from typing import Any

import pyarrow as pa

from pramble.data.arrays import is_text


def plain_type(kind: Any) -> Any:
    """Return a type with every dictionary in it replaced by the type of its values.

    A dictionary lists values in the order in which the source met them, and may list values of
    records that are no longer in the file.
    """

    def plain(field: Any) -> Any:
        return field.with_type(plain_type(field.type))

    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([plain(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain(kind.value_field), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(plain(kind.value_field))
    return pa.list_(plain(kind.value_field)) if pa.types.is_list(kind) else kind


def is_coded_text(kind: Any) -> bool:
    """Whether a type is a dictionary of texts."""
    return bool(pa.types.is_dictionary(kind)) and is_text(pa.field("", kind))
