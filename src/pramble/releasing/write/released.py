"""Writing the released file: batches of the source through the engine, with a tally of both."""

import io
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pramble.data.arrays import is_text, sorted_dictionary
from pramble.data.decode import natural_arrow_labels
from pramble.data.encode import Codes
from pramble.data.even import even_batches
from pramble.data.formats.registry import format_of
from pramble.data.records import Records
from pramble.data.save import writing
from pramble.engine.keystream import KeyStream
from pramble.engine.sampling import code_type, sampler
from pramble.engine.streaming import ahead
from pramble.mechanisms.base import Mechanism
from pramble.releasing.decisions.decisions import ColumnDecision
from pramble.releasing.prepare.count import encoder_of
from pramble.releasing.prepare.prepare import Prepared
from pramble.releasing.write.check import BLOCK_ROWS, Tally
from pramble.values import Clock

PASSES = 2
"""Writing takes about this many times as long as one pass: writing, and reading again."""


class Randomiser:
    """One column: its encoder, its sampler and its labels, bound to its bits."""

    def __init__(
        self, decision: ColumnDecision, mechanism: Mechanism, *, key: bytes, typed: bool
    ) -> None:
        self.name, self.mechanism = decision.name, mechanism
        self.encoder = encoder_of(decision, mechanism.labels.values, typed=typed)
        self.dtype = code_type(mechanism)
        self.sampler = sampler(mechanism)
        self.stream = KeyStream(key, decision.name)
        whole = natural_arrow_labels(mechanism.output_labels.values)
        self.labels = whole.drop_null()
        filled = whole.is_valid().to_numpy(zero_copy_only=False)
        self.places = np.where(filled, np.cumsum(filled) - 1, -1).astype(np.int32)

    def codes(self, values: Any, rows: range) -> tuple[Codes, Codes]:
        """Return the codes of the true values and of the drawn ones."""
        x = self.encoder.codes(values, rows).astype(self.dtype, copy=False)
        z = np.empty_like(x)
        self.sampler.sample(x, self.stream, rows=rows, out=z)
        return x, z

    def values(self, z: Codes) -> Any:
        """Return drawn codes as their labels, in a dictionary that is the same for every block."""
        places = self.places[z]
        indices = pa.array(places, mask=places < 0)
        return pa.DictionaryArray.from_arrays(indices, self.labels)


class Randomisation:
    """A prepared release bound to its key: batches in, released batches out."""

    def __init__(self, job: Prepared, records: Records, *, key: bytes) -> None:
        self.names = job.names
        decisions = {column.name: column for column in job.decisions.columns}
        self.columns = {
            name: Randomiser(decisions[name], mechanism, key=key, typed=records.typed)
            for name, mechanism in job.plan.single_columns(what="release").items()
        }
        kinds = {field.name: plain_type(field.type) for field in records.schema}
        self.coded = [
            name
            for name in self.names
            if name not in self.columns and is_coded_text(records.schema.field(name).type)
        ]
        kinds |= {name: column.labels.type for name, column in self.columns.items()}
        self.schema = pa.schema([pa.field(name, kinds[name]) for name in self.names])

    def source_batches(self, records: Records) -> Iterator[Any]:
        """Yield the batches to release, of one size."""
        return even_batches(records.batches(self.names, coded=tuple(self.columns)), BLOCK_ROWS)

    def released(self, batch: Any, rows: range, *, tally: Tally, pool: ThreadPoolExecutor) -> Any:
        """Return the released batch, after telling the tally of it."""

        def column(name: str) -> Any:
            values = batch[name]
            if name in self.columns:
                x, z = self.columns[name].codes(values, rows)
                tally.draw(name, x, z)
                return self.columns[name].values(z)
            kind = self.schema.field(name).type
            if name in self.coded:
                values = sorted_dictionary(values)
            elif values.type != kind:
                values = values.cast(kind)
            tally.keep(name, values)
            return values

        return pa.RecordBatch.from_arrays(list(pool.map(column, self.names)), names=self.names)


def write_release(
    job: Prepared, records: Records, path: Path, *, key: bytes, clock: Clock
) -> Tally:
    """Randomise the records into a file; return what was counted on the way.

    The records are those of the job, or its rows in another order.
    """
    work = Randomisation(job, records, key=key)
    tally = Tally(job.plan, work.names, coded=work.coded, as_text=job.is_text)
    with (
        writing(path, format_of(path), work.schema) as writer,
        ThreadPoolExecutor(len(work.names)) as pool,
    ):
        for batch in ahead(work.source_batches(records)):
            rows = range(tally.rows, tally.rows + batch.num_rows)
            writer.write(work.released(batch, rows, tally=tally, pool=pool))
            tally.rows = rows.stop
            clock.tell("randomising", tally.rows / max(job.rows, 1), rows=batch.num_rows)
    return tally


def rehearse(job: Prepared) -> tuple[int, float]:
    """Return about how large the file will be and how many seconds writing will take.

    The first batch is randomised into memory, with a key that is thrown away.
    """
    work = Randomisation(job, job.records, key=secrets.token_bytes(32))
    first = next(work.source_batches(job.records))
    rows, form = range(first.num_rows), format_of(Path(job.decisions.data_file))
    sink = io.BytesIO()
    with ThreadPoolExecutor(1) as pool:
        started = time.perf_counter()
        tally = Tally(job.plan, work.names, coded=work.coded, as_text=job.is_text)
        released = work.released(first, rows, tally=tally, pool=pool)
        assert form.write is not None, "an output is a written format"
        with form.write(sink, work.schema) as writer:
            writer.write(released)
    scale = job.rows / max(first.num_rows, 1)
    return int(len(sink.getvalue()) * scale), (time.perf_counter() - started) * scale * PASSES


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
