"""The confidential file: opening it, counting it, and reading it in batches.

Parquet, Arrow and CSV files (compressed ones too) and folders of them are read as Arrow batches in
order, in constant memory. Values of CSV files are taken as text, so that columns which are not
randomised come out as they went in; randomised ones get the type of their labels.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramble.errors import InvalidData
from pramble.releasing.order import Neighbours

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pramble.releasing.plan import ColumnPlan

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
BATCH_ROWS = 1 << 17


def format_of(path: Path) -> str:
    """Return the format of a file, or of the files in a folder, by their endings."""
    if not path.exists():
        raise InvalidData(f"There is no file {str(path)!r}.")
    members = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    found = set()
    for member in members:
        suffixes = [s for s in member.suffixes if s not in {".gz", ".bz2", ".zst"}]
        found.add(FORMATS.get(suffixes[-1] if suffixes else "", ""))
    if len(found) != 1 or "" in found:
        raise InvalidData(
            f"The source must be Parquet, CSV or Arrow files of one kind, with endings "
            f"{', '.join(FORMATS)}; found {path.name!r}."
        )
    return found.pop()


@dataclass(frozen=True)
class Source:
    """A confidential file that was opened; `open_source` makes one.

    Attributes
    ----------
    path : Path
    format : str
        "parquet", "csv" or "ipc".
    names : tuple of str
        Its columns, in order.
    order : array or None
        Row numbers in the order in which rows are to be read; None as they stand.
    """

    path: Path
    format: str
    names: tuple[str, ...]
    order: NDArray[np.int64] | None = None

    def dataset(self) -> Any:
        """Return the Arrow dataset."""
        return open_dataset(self.path, self.format)

    def schema(self) -> Any:
        """Return the Arrow schema."""
        return self.dataset().schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Read record batches in order, with the given columns only."""
        import pyarrow as pa

        if self.order is not None:
            table = pa.Table.from_batches(replace(self, order=None).batches(columns))
            yield from table.take(pa.array(self.order)).to_batches(max_chunksize=BATCH_ROWS)
            return
        wanted = list(self.names if columns is None else columns)
        try:
            scanner = self.dataset().scanner(columns=wanted, batch_size=BATCH_ROWS)
            yield from scanner.to_reader()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
            raise InvalidData(f"Cannot read {self.path.name!r}: {first_line(error)}") from None


def open_dataset(path: Path, kind: str) -> Any:
    """Return an Arrow dataset; every column of a CSV file is text."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyarrow.csv import ConvertOptions, ParseOptions

    try:
        found = ds.dataset(path, format=kind)
        if kind == "csv":
            text = dict.fromkeys(found.schema.names, pa.string())
            form = ds.CsvFileFormat(
                convert_options=ConvertOptions(column_types=text, strings_can_be_null=False),
                parse_options=ParseOptions(
                    newlines_in_values=True,
                    ignore_empty_lines=len(text) > 1,  # of a single column an empty line is a row
                ),
            )
            found = ds.dataset(path, format=form, schema=pa.schema(list(text.items())))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise InvalidData(f"Cannot read {path.name!r}: {first_line(error)}") from None
    return found


def first_line(error: BaseException) -> str:
    """Return the cause in the first line of an error's words, ending in a full stop.

    >>> first_line(ValueError("Could not open the file: Invalid: CSV file is empty"))
    'CSV file is empty.'
    """
    words = str(error).splitlines()[0] if str(error) else type(error).__name__
    return words.split(": Invalid: ")[-1].rstrip(".") + "."


def open_source(path: str | Path) -> Source:
    """Open a Parquet, CSV or Arrow file, or a folder of them.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Source
    """
    path = Path(path)
    kind = format_of(path)
    names = tuple(open_dataset(path, kind).schema.names)
    repeated = [name for name in names if names.count(name) > 1]
    if not names or repeated:
        what = f"{repeated[0]!r} stands twice" if repeated else "there is none"
        raise InvalidData(f"{path.name!r} must have columns with distinct names; {what}.")
    return Source(path, kind, names)


def prepared(column: Any, plan: ColumnPlan, *, csv: bool) -> Any:
    """Return a column ready for its mechanism.

    A column of a CSV file gets the type of its labels and empty text is an empty cell, unless it is
    a label; empty cells become the label that the plan states for them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = plan.labels()
    if csv and "" not in labels:
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    if csv and (kind := label_type(labels)) is not None:
        try:
            column = column.cast(kind)
        except pa.ArrowInvalid as error:
            raise InvalidData(
                f"Column {plan.name!r} must hold {kind} labels: {first_line(error)}"
            ) from None
    if plan.missing is not None and plan.missing is not True:
        column = filled(column, plan.missing)
    return column


def without_unused(column: Any) -> Any:
    """Return a dictionary column whose dictionary holds only values that occur in it.

    A dictionary may list values of records that are no longer in the file; they must not be
    released with it. Dictionaries within lists and structures are written out.
    """
    import numpy as np
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        kind = decoded(column.type)
        return column if kind == column.type else column.cast(kind)
    used = np.unique(column.indices.drop_null().to_numpy(zero_copy_only=False))
    if len(used) == len(column.dictionary):
        return column
    place = np.zeros(len(column.dictionary) + 1, dtype=np.int64)
    place[used] = np.arange(len(used))
    codes = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
    indices = pa.array(place[codes], column.type.index_type, mask=np.array(column.is_null()))
    values = column.dictionary.take(pa.array(used))
    return pa.DictionaryArray.from_arrays(indices, values, ordered=column.type.ordered)


def decoded(kind: Any) -> Any:
    """Return a type with every dictionary in it replaced by the type of its values."""
    import pyarrow as pa

    def plain(field: Any) -> Any:
        return field.with_type(decoded(field.type))

    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_struct(kind):
        return pa.struct([plain(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain(kind.value_field), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(plain(kind.value_field))
    return pa.list_(plain(kind.value_field)) if pa.types.is_list(kind) else kind


def filled(column: Any, label: Any) -> Any:
    """Return a column with its empty cells replaced by a label."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return pc.fill_null(column, pa.scalar(label, type=column.type))
    except (pa.ArrowInvalid, TypeError):
        raise InvalidData(
            f"Empty cells of a column of type {column.type} cannot become {label!r}."
        ) from None


def label_type(labels: Sequence[Any]) -> Any:
    """Return the Arrow type that text must be cast to for these labels; None for text."""
    import pyarrow as pa

    kinds = {type(label) for label in labels if label is not None}
    if kinds == {bool}:
        return pa.bool_()
    return pa.int64() if kinds == {int} else None


def count_values(
    source: Source, columns: Sequence[ColumnPlan]
) -> tuple[int, dict[str, Counter[Any]], dict[str, Neighbours]]:
    """Count rows, the values of each column as its mechanism will see them, and like neighbours."""
    counts: dict[str, Counter[Any]] = {column.name: Counter() for column in columns}
    neighbours = {column.name: Neighbours() for column in columns}
    rows = 0
    for batch in source.batches([column.name for column in columns]):
        rows += batch.num_rows
        for plan, values in zip(columns, batch.columns, strict=True):
            ready = prepared(values, plan, csv=source.format == "csv")
            for pair in ready.value_counts().to_pylist():
                counts[plan.name][pair["values"]] += pair["counts"]
            neighbours[plan.name].add(ready)
    return rows, counts, neighbours


def seen_labels(name: str, counts: Mapping[Any, int], *, most: int = 10_000) -> tuple[Any, ...]:
    """Return the values that occur, sorted; refuse what is no set of labels."""
    labels = [label for label in counts if label is not None]
    odd = [label for label in labels if not isinstance(label, str | int)]
    if odd:
        raise InvalidData(
            f"Column {name!r} must hold labels (texts, whole numbers or booleans); found "
            f"{type(odd[0]).__name__} values. Group them into labels first, or do not randomise it."
        )
    if not 2 <= len(labels) <= most:
        raise InvalidData(
            f"Column {name!r} has {len(labels)} distinct values; a column to randomise has between "
            f"2 and {most:,}, or declared categories."
        )
    return tuple(sorted(labels, key=lambda label: (isinstance(label, str), label)))


def check_declared(name: str, counts: Mapping[Any, int], labels: Sequence[Any]) -> None:
    """Refuse values that are not declared categories, naming them and how many there are."""
    from pramble.data.labels import label_key

    declared = {label_key(label) for label in labels}
    strange = {label: n for label, n in counts.items() if label_key(label) not in declared}
    if not strange:
        return
    rows = sum(strange.values())
    if set(strange) == {None}:
        raise InvalidData(
            f"Column {name!r} has {rows} empty cells. State what they are to become: missing = "
            "true for a category of its own, or a label."
        )
    shown = ", ".join(repr(label) for label in list(strange)[:5])
    raise InvalidData(
        f"Column {name!r} must hold declared categories only; {rows} rows hold others: {shown}. "
        "Declare them, or recode the file."
    )
