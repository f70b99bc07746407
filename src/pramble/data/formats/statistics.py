"""Stata, SPSS and SAS files, through pyreadstat."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.formats.base import BATCH_ROWS, Format, Opened, Tally, Wanted, unreadable
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


def statistics(name: str, endings: tuple[str, ...], function: str) -> Format:
    """Return the format that a pyreadstat function reads."""
    return Format(name, endings, reads(name, function))


STATA = statistics("stata", (".dta",), "read_dta")
SPSS = statistics("spss", (".sav", ".zsav"), "read_sav")
SPSS_PORTABLE = statistics("spss portable", (".por",), "read_por")
SAS = statistics("sas", (".sas7bdat",), "read_sas7bdat")
SAS_TRANSPORT = statistics("sas transport", (".xpt",), "read_xport")
