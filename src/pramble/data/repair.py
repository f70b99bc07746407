"""Records that break a rule of what is possible, and their repair, batch by batch.

A repair gives the record labels that the rule allows, from the record alone, before anything is
counted or drawn; what α promises for a record is promised for the repaired one too.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramble.data.arrays import without_dictionary
from pramble.data.bands import is_finite_number
from pramble.data.labels import Label, as_whole, place_of, texts_of, typed_texts

Mask = NDArray[np.bool_]
Rule = Mapping[str, Any]


def rule_columns(rule: Rule) -> set[str]:
    """Return the columns that a rule of what is possible looks at or repairs."""
    parts = (part for part in rule.values() if isinstance(part, Mapping))
    return {name for part in parts for name in part}


def broken(rule: Rule, batch: Any, *, typed: bool) -> Mask:
    """Return the rows of a batch that break a rule."""

    def meets(part: Mapping[str, Any]) -> Mask:
        found = np.ones(batch.num_rows, dtype=np.bool_)
        for name, wanted in part.items():
            found &= meets_condition(batch[name], wanted, typed=typed)
        return found

    return meets(rule["never"]) if "never" in rule else meets(rule["if"]) & ~meets(rule["then"])


def meets_condition(values: Any, wanted: Any, *, typed: bool) -> Mask:
    """Return which values of a column meet a condition of a rule."""
    coded = pc.dictionary_encode(without_dictionary(values))
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    occurring = coded.dictionary.to_pylist()
    # The last entry is for missing values, which meet no condition.
    met = np.array([*(met_by(one, wanted, typed=typed) for one in occurring), False])
    place = coded.indices.cast(pa.int64()).fill_null(len(occurring))
    return np.asarray(met[place.to_numpy(zero_copy_only=False)])


def met_by(found: Label, wanted: Any, *, typed: bool) -> bool:
    """Whether a value meets a condition; in a text file by what its text stands for."""
    if isinstance(wanted, Mapping):
        number = found if typed else typed_texts([found])[0]
        low, high = wanted.get("from", -np.inf), wanted.get("below", np.inf)
        return is_finite_number(number) and bool(low <= number < high)
    listed = wanted if isinstance(wanted, list | tuple) else [wanted]
    whole = as_whole(found) if isinstance(found, float) else found
    return place_of(listed, whole) is not None


def repaired(batch: Any, rule: Rule, *, typed: bool) -> Any:
    """Return a batch in which records that break a rule are repaired."""
    wrong = broken(rule, batch, typed=typed)
    if wrong.any():
        for name, label in rule["repair"].items():
            place = batch.schema.get_field_index(name)
            values = without_dictionary(batch.column(place))
            text = texts_of(label)[0] if not typed else label
            fixed = pc.if_else(pa.array(wrong), pa.scalar(text, values.type), values)
            if pa.types.is_dictionary(batch.schema.field(place).type):
                fixed = fixed.dictionary_encode()
            batch = batch.set_column(place, pa.field(name, fixed.type), fixed)
    return batch
