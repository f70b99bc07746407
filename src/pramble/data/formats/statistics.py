"""Stata, SPSS and SAS files, through pyreadstat."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from pramble.data.formats.base import BATCH_ROWS, Format, Opened, Tally, Wanted
from pramble.errors import InvalidData


def reads(function: str) -> Any:
    """Return what opens a file by the pyreadstat function of that name."""

    @contextmanager
    def read(path: Path, wanted: Wanted) -> Iterator[Opened]:
        try:
            import pyreadstat
        except ImportError:
            raise InvalidData(
                f"{path.name} is read through pyreadstat: pip install pramble[statfiles]."
            ) from None
        run = getattr(pyreadstat, function)
        try:
            _, about = run(str(path), metadataonly=True)
            columns = wanted.among(about.column_names)
            chunks = pyreadstat.read_file_in_chunks(
                run, str(path), chunksize=BATCH_ROWS, usecols=columns
            )
            frames = (frame for frame, _ in chunks if len(frame))
            first = next(frames, None)
        except pyreadstat.ReadstatError as error:
            raise InvalidData(f"{path.name} cannot be read: {error}.") from None
        if first is None:
            yield Opened(text_schema(columns), [], lambda: 1.0, 0)
            return
        tally, schema = Tally(about.number_rows or len(first)), schema_of(first, columns)
        yield Opened(schema, tally(batches(first, frames, schema)), tally.share, about.number_rows)

    return read


def text_schema(columns: Iterable[str]) -> Any:
    """Return the schema of a file without rows."""
    import pyarrow as pa

    return pa.schema([pa.field(name, pa.string()) for name in columns])


def schema_of(frame: Any, columns: list[str]) -> Any:
    """Return the Arrow schema of a chunk; columns without any value are text."""
    import pyarrow as pa

    schema = pa.Schema.from_pandas(frame[columns], preserve_index=False).remove_metadata()
    fields = [f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in schema]
    return pa.schema(fields)


def batches(first: Any, others: Iterable[Any], schema: Any) -> Iterator[Any]:
    """Yield chunks as batches of one schema; a blank text is how these formats write missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def kept(column: Any) -> Any:
        texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        none = pa.scalar(None, column.type)
        return pc.if_else(pc.equal(column, ""), none, column) if texts else column

    for frame in chain([first], others):
        batch = pa.RecordBatch.from_pandas(frame, schema=schema, preserve_index=False)
        yield pa.RecordBatch.from_arrays(list(map(kept, batch.columns)), schema=schema)


def statistics(name: str, endings: tuple[str, ...], function: str) -> Format:
    """Return the format that a pyreadstat function reads."""
    return Format(name, endings, reads(function))


STATA = statistics("stata", (".dta",), "read_dta")
SPSS = statistics("spss", (".sav", ".zsav"), "read_sav")
SPSS_PORTABLE = statistics("spss portable", (".por",), "read_por")
SAS = statistics("sas", (".sas7bdat",), "read_sas7bdat")
SAS_TRANSPORT = statistics("sas transport", (".xpt",), "read_xport")
