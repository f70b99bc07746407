"""The records of files."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramble.data.arrays import as_schema, is_text
from pramble.data.formats.base import Format, Wanted, unreadable
from pramble.data.labels import Label
from pramble.data.reading import Reading
from pramble.data.records import Records, Watch
from pramble.values import value

READ_ERRORS = (OSError, ValueError, EOFError, KeyError)


@value(eq=False)
class FileRecords(Records):
    """Records of one or more files of one format, read one after the other."""

    paths: tuple[Path, ...]
    format: Format
    file_schema: Any
    reading: Reading
    name: str
    root: Path
    counted: int | None = None
    backend: str = "pyarrow"

    @property
    def raw_schema(self) -> Any:
        """The Arrow schema before recoding."""
        return self.file_schema

    @property
    def typed(self) -> bool:
        """Whether values have types."""
        return self.format.typed

    @property
    def path(self) -> Path:
        """The file or folder."""
        return self.root

    @property
    def rows(self) -> int | None:
        """Number of rows, where the file tells it."""
        return self.counted

    def listed_values(self) -> Mapping[str, Mapping[Label, str]]:
        """Return the values that the first file lists for some columns, with their meanings."""
        return {} if self.format.listed is None else self.format.listed(self.paths[0])

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        """Yield batches of some columns before recoding."""
        sizes = [path.stat().st_size or 1 for path in self.paths]
        done = 0
        schema = None if len(self.paths) == 1 else self.schema_of(columns, coded)
        wanted = Wanted(self.reading, tuple(columns), coded)
        for path, size in zip(self.paths, sizes, strict=True):
            for batch, share in file_batches(path, self.format, wanted):
                if watch is not None:
                    watch(batch.num_rows, (done + share * size) / sum(sizes))
                yield batch if schema is None else as_schema(batch, schema, path)
            done += size

    def schema_of(self, columns: Sequence[str], coded: Collection[str]) -> Any:
        """Return the schema that batches of all files have, where there are several."""

        def kind(name: str) -> Any:
            own = self.raw_schema.field(name)
            as_codes = self.format.typed and name in coded and is_text(own)
            return pa.dictionary(pa.int32(), own.type) if as_codes else own.type

        return pa.schema([pa.field(name, kind(name)) for name in columns])

    def digest(self) -> str:
        """Return the SHA-256 of the file, or of the files in order, each after its length."""
        digest = hashlib.sha256()
        for path in self.paths:
            digest.update(path.stat().st_size.to_bytes(8, "big"))
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()


def file_batches(path: Path, form: Format, wanted: Wanted) -> Iterator[tuple[Any, float]]:
    """Yield the batches of a file with the share read; every failure is told in one sentence."""
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(form.read(path, wanted))
            batches = iter(opened.batches)
        except (*READ_ERRORS, pa.ArrowException) as error:
            raise unreadable(path.name, form.name, error) from None
        while True:
            try:
                batch = next(batches, None)
            except (*READ_ERRORS, pa.ArrowException) as error:
                raise unreadable(path.name, form.name, error) from None
            if batch is None:
                return
            yield batch, opened.share_read()
