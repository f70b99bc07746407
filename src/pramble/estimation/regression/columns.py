"""The columns of a regression: numbers or labels, and rows of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from pramble.data.crosstab import crosstab
from pramble.data.labels import Label, places_of
from pramble.data.open import open_records
from pramble.data.records import Records
from pramble.errors import InvalidInput
from pramble.values import Floats, Integers, value

DECIMAL = re.compile(r"-?((0|[1-9]\d*)(\.\d+)?|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)


@value(eq=False)
class Column:
    """A column of a model.

    Attributes
    ----------
    name : str
    labels : tuple
        Numbers, or categories in their order.
    is_numeric : bool
        Whether it enters as a number.
    is_randomised : bool
    """

    name: str
    labels: tuple[Label, ...]
    is_numeric: bool = False
    is_randomised: bool = False

    def numbers(self) -> Floats:
        """Return the labels as numbers; refuse others."""
        if not all(map(is_number, self.labels)):
            raise InvalidInput(f"Column {self.name!r} must hold numbers; it does not.")
        return np.array([float(one) for one in self.labels])


def is_number(label: Label) -> bool:
    return not isinstance(label, bool | str | tuple | None) and hasattr(label, "__float__")


@value(eq=False)
class Rows:
    """Rows of values: for every column the code of its label."""

    size: int
    columns: Mapping[str, Column]
    codes: Mapping[str, Integers]

    def numbers(self, name: str) -> Floats:
        """Return the numbers of a column."""
        return np.asarray(self.columns[name].numbers()[self.codes[name]])

    def repeated(self, times: Integers) -> "Rows":
        codes = {name: np.repeat(own, times) for name, own in self.codes.items()}
        return Rows(int(times.sum()), self.columns, codes)

    def at(self, name: str, code: int) -> "Rows":
        """Return the rows with one label for all of them in a column."""
        return replace(self, codes={**self.codes, name: np.full(self.size, code)})

    def moved(self, name: str, step: float) -> "Rows":
        """Return the rows with a step added to a column of numbers."""
        column = self.columns[name]
        labels = tuple((column.numbers() + step).tolist())
        return replace(self, columns={**self.columns, name: replace(column, labels=labels)})


def untouched_column(
    records: Records, name: str, labels: Sequence[Label]
) -> tuple[Column, Integers]:
    """Return an untouched column, and the new place of each label that was found."""
    declared = categories_of(records, name)
    if declared is None:
        values = as_decimals(labels, records)
        is_numeric = all(is_number(one) for one in values)
        return Column(name, tuple(values), is_numeric), np.arange(len(labels))
    known = [place for place in places_of(labels, declared) if place is not None]
    order = list(dict.fromkeys([*known, *range(len(labels))]))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Column(name, tuple(labels[i] for i in order)), place


def categories_of(records: Records, name: str) -> Sequence[Label] | None:
    """Return the categories that a column declares, if it is one of categories; maybe none.

    Those of pandas have an order, be they ordered or not; others come in natural order then.
    """
    declared = records.declared(name)
    kind = records.schema.field(name).type
    if declared is not None or not pa.types.is_dictionary(kind):
        return declared
    table = getattr(records, "table", None)
    if records.backend != "pandas" or table is None or not table.num_rows:
        return ()
    return tuple(table.column(name).unify_dictionaries().chunk(0).dictionary.to_pylist())


def as_decimals(labels: Sequence[Label], records: Records) -> Sequence[Label]:
    """Return texts of a file without types as the numbers they are, if every one is a number."""
    if records.typed or not all(isinstance(label, str) for label in labels):
        return labels
    texts = [label.replace(records.reading.decimal or ".", ".") for label in labels]
    return list(map(float, texts)) if all(map(DECIMAL.fullmatch, texts)) else labels


def rows_of(data: Any, columns: Mapping[str, Column]) -> Rows:
    """Return the rows of new data, whose categories must be those of the columns."""
    records = open_records(data)
    if not columns:
        table = crosstab(records, [], keep_rows=True)
        return Rows(table.n, {}, {})
    table = crosstab(records, list(columns), keep_rows=True)
    assert table.cell_of is not None, "rows were asked for"
    own, codes = {}, {}
    for (name, column), levels, cells in zip(
        columns.items(), table.levels, table.cells.T, strict=True
    ):
        found = cells[table.cell_of]
        if column.is_numeric:
            values = as_decimals(levels, records)
            own[name] = replace(column, labels=tuple(values))
            own[name].numbers()
            codes[name] = found
            continue
        places = places_of(column.labels, levels)
        strange = [levels[i] for i, place in enumerate(places) if place is None]
        if strange:
            raise InvalidInput(
                f"Column {name!r} must hold categories of the model: "
                f"{', '.join(map(repr, column.labels[:12]))}; found {strange[0]!r}."
            )
        own[name], codes[name] = column, np.array(places, dtype=np.int64)[found]
    return Rows(len(table.cell_of), own, codes)
