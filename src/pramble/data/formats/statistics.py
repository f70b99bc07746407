"""Stata, SPSS and SAS files, through pyreadstat."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.formats.base import BATCH_ROWS, Format, Opened, Tally, Wanted, unreadable
from pramble.data.labels import object_key
from pramble.errors import InvalidData


def reads(name: str, function: str) -> Any:
    """Return what opens a file of a format by the pyreadstat function of that name."""

    @contextmanager
    def read(path: Path, wanted: Wanted) -> Iterator[Opened]:
        try:
            import pyreadstat
        except ImportError:
            raise InvalidData(
                f"{path.name} is read through pyreadstat: pip install pramble[statfiles]."
            ) from None

        def chunks(columns: list[str]) -> Iterator[Any]:
            run = getattr(pyreadstat, function)
            options = {"chunksize": BATCH_ROWS, "usecols": columns}
            for frame, _ in pyreadstat.read_file_in_chunks(run, str(path), **options):
                if len(frame):
                    yield frame

        try:
            _, about = getattr(pyreadstat, function)(str(path), metadataonly=True)
            columns = wanted.among(about.column_names)
            kinds = {name: about.readstat_variable_types[name] for name in columns}
            schema = schema_of(kinds, next(chunks(columns), None), chunks)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
            raise unreadable(path.name, name, error) from None
        tally = Tally(about.number_rows)
        yield Opened(schema, tally(batches(chunks(columns), schema)), tally.share, tally.total)

    return read


def schema_of(kinds: Mapping[str, str], first: Any, chunks: Callable[[list[str]], Any]) -> Any:
    """Return the Arrow schema: integers, doubles and texts as the file says, and dates.

    Dates are doubles in the file; the first one that is not missing tells which kind they are.
    """

    def type_of(name: str) -> Any:
        if kinds[name] == "string":
            return pa.string()
        if kinds[name].startswith("int"):
            return pa.int64()
        found = None if first is None else first[name]
        if found is not None and found.dtype == object and found.isna().all():
            filled = (chunk[name] for chunk in chunks([name]) if chunk[name].notna().any())
            found = next(filled, None)
        if found is None or found.dtype.kind == "f":
            return pa.float64()
        return pa.Array.from_pandas(found).type

    return pa.schema([pa.field(name, type_of(name)) for name in kinds])


def batches(frames: Iterable[Any], schema: Any) -> Iterator[Any]:
    """Yield chunks as batches of one schema; a blank text is how these formats write missing."""

    def kept(column: Any) -> Any:
        texts = pa.types.is_string(column.type)
        none = pa.scalar(None, column.type)
        return pc.if_else(pc.equal(column, ""), none, column) if texts else column

    for frame in frames:
        batch = pa.RecordBatch.from_pandas(frame, schema=schema, preserve_index=False)
        yield pa.RecordBatch.from_arrays(list(map(kept, batch.columns)), schema=schema)


def lists(function: str) -> Any:
    """Return what gives the values that a file labels, with their labels, in order.

    Values that it declares as missing are none; nor are labels of a few special values, if others
    than those occur, a list of all: that is for the caller to see.
    """

    def listed(path: Path) -> dict[str, dict[Any, str]]:
        import pyreadstat

        _, about = getattr(pyreadstat, function)(str(path), metadataonly=True)
        missing = getattr(about, "missing_ranges", None) or {}
        return {
            name: {
                plain: str(label)
                for plain, label in sorted_labels(labels)
                if not any(lies_in(plain, part) for part in missing.get(name, ()))
            }
            for name, labels in about.variable_value_labels.items()
        }

    return listed


def sorted_labels(labels: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Return values and their labels in order; whole numbers as integers, others left out."""
    plain = [(object_key(one)[-1], label) for one, label in labels.items()]
    kinds = {type(one) for one, _ in plain}
    return sorted(plain, key=lambda pair: pair[0]) if kinds in ({int}, {str}) else []


def lies_in(label: Any, part: Mapping[str, Any]) -> bool:
    """Whether a value lies in a range of values that are declared as missing."""
    try:
        return bool(part["lo"] <= label <= part["hi"])
    except TypeError:
        return False


def statistics(name: str, endings: tuple[str, ...], function: str) -> Format:
    """Return the format that a pyreadstat function reads."""
    return Format(name, endings, reads(name, function), listed=lists(function))


STATA = statistics("stata", (".dta",), "read_dta")
SPSS = statistics("spss", (".sav", ".zsav"), "read_sav")
SPSS_PORTABLE = statistics("spss portable", (".por",), "read_por")
SAS = statistics("sas", (".sas7bdat",), "read_sas7bdat")
SAS_TRANSPORT = statistics("sas transport", (".xpt",), "read_xport")
