"""Files at an address: ``hdfs://``, ``s3://``, ``gs://``, ``abfs://`` and ``file://``, by Arrow.

A place answers the questions that are asked of a path, so that what reads and writes files need not
know which of the two it has. It crosses to other processes as its address, and opens the store
there. What an address says of credentials (a user, a password, a query) is never shown.
"""

import shutil
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, Self, cast
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs

from pramble.errors import InvalidInput
from pramble.values import frozen

# Stores that give a folder another name in one step.
RENAMES = ("hdfs", "local")


class Size(NamedTuple):
    """What is asked of a file's state."""

    st_size: int
    st_mtime_ns: int = 0


@frozen(repr=False)
class Place:
    """A file or folder in a store: the address of the store, and a path in it."""

    address: str
    inner: str

    @cached_property
    def store(self) -> Any:
        return open_store(self.address)[0]

    def __lt__(self, other: "Place") -> bool:
        return PurePosixPath(self.inner) < PurePosixPath(other.inner)

    def __str__(self) -> str:
        parts = urlsplit(self.address)
        host = parts.netloc.rpartition("@")[2] if parts.scheme in ("hdfs", "viewfs") else ""
        return f"{parts.scheme}://{host}{self.inner}"

    def __repr__(self) -> str:
        return f"Place({str(self)!r})"

    def __truediv__(self, name: str) -> Self:
        return self.at(str(PurePosixPath(self.inner) / name))

    def at(self, inner: str) -> Self:
        found = type(self)(self.address, inner)
        if "store" in vars(self):
            vars(found)["store"] = self.store
        return found

    @property
    def name(self) -> str:
        return PurePosixPath(self.inner).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.inner).suffix

    @property
    def parent(self) -> Self:
        return self.at(str(PurePosixPath(self.inner).parent))

    @property
    def renames(self) -> bool:
        return self.store.type_name in RENAMES

    def with_name(self, name: str) -> Self:
        return self.parent / name

    def absolute(self) -> Self:
        return self

    def resolve(self) -> "Path | Place":
        """Return the path on this machine, if it lies here; else itself."""
        return Path(self.inner).resolve() if self.store.type_name == "local" else self

    def relative_to(self, folder: "Place") -> PurePosixPath:
        return PurePosixPath(self.inner).relative_to(folder.inner)

    def _kind(self) -> Any:
        return self.store.get_file_info(self.inner)

    def exists(self) -> bool:
        return bool(self._kind().type != pa.fs.FileType.NotFound)

    def is_file(self) -> bool:
        return bool(self._kind().is_file)

    def is_dir(self) -> bool:
        return bool(self._kind().type == pa.fs.FileType.Directory)

    def is_symlink(self) -> bool:
        """Whether it is a link: stores show what links lead to."""
        return False

    def stat(self) -> Size:
        found = self._kind()
        if not found.is_file:
            raise FileNotFoundError(f"There is no file {str(self)!r}.")
        return Size(int(found.size), int(found.mtime_ns or 0))

    def rglob(self, pattern: str) -> Iterator[Self]:
        yield from self._below(pattern, recursive=True)

    def glob(self, pattern: str) -> Iterator[Self]:
        """Yield what lies in this folder, or one below that a pattern names first."""
        first, _, rest = pattern.partition("/")
        if rest:
            yield from (self / first).glob(rest)
        else:
            yield from self._below(pattern, recursive=False)

    def iterdir(self) -> Iterator[Self]:
        yield from self._below("*", recursive=False)

    def _below(self, pattern: str, *, recursive: bool) -> Iterator[Self]:
        chosen = pa.fs.FileSelector(self.inner, allow_not_found=True, recursive=recursive)
        found = sorted(one.path for one in self.store.get_file_info(chosen))
        yield from (self.at(one) for one in found if fnmatch(PurePosixPath(one).name, pattern))

    def input(self) -> Any:
        return self.store.open_input_file(self.inner)

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open a file for reading or writing bytes; a file is there when it is closed."""
        found = self.input() if mode == "rb" else self.store.open_output_stream(self.inner)
        return cast("IO[bytes]", found)

    def read_bytes(self) -> bytes:
        with self.open("rb") as file:
            return file.read()

    def write_bytes(self, content: bytes) -> None:
        with self.open("wb") as file:
            file.write(content)

    def write_text(self, text: str, *, encoding: str = "utf-8", newline: str = "") -> None:
        """Write a file of text, with the ends of its lines as they are."""
        del newline
        self.write_bytes(text.encode(encoding))

    def mkdir(self, **_: Any) -> None:
        self.store.create_dir(self.inner, recursive=True)

    def replace(self, other: "Place") -> None:
        self.store.move(self.inner, other.inner)

    def unlink(self, *, missing_ok: bool = False) -> None:
        if not missing_ok or self.is_file():
            self.store.delete_file(self.inner)

    def remove_tree(self) -> None:
        if self.is_dir():
            self.store.delete_dir(self.inner)


def place_in(where: Any) -> Place | None:
    return where if isinstance(where, Place) else None


def arrow_input(path: Path) -> Any:
    place = place_in(path)
    return pa.OSFile(str(path)) if place is None else place.input()


def remove_tree(folder: Path, *, ignore_errors: bool = False) -> None:
    place = place_in(folder)
    if place is None:
        shutil.rmtree(folder, ignore_errors=ignore_errors)
        return
    with suppress(OSError) if ignore_errors else nullcontext():
        place.remove_tree()


def is_address(where: Any) -> bool:
    """Whether something is an address rather than a path.

    >>> is_address("s3://bucket/people"), is_address("/data/people")
    (True, False)
    """
    return isinstance(where, Place) or (isinstance(where, str) and "://" in where)


def shown_address(address: str) -> str:
    """Return an address without what may be a secret: a user, a password and a query.

    >>> shown_address("s3://key:secret@bucket/people?endpoint_override=host")
    's3://bucket/people'
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def open_store(address: str) -> tuple[Any, str]:
    from pyarrow import fs

    try:
        store, inner = fs.FileSystem.from_uri(address)
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise InvalidInput(
            f"The store of {shown_address(address)!r} cannot be opened ({type(error).__name__}). "
            "Addresses are hdfs://, s3://, gs://, abfs:// or file://, with what pyarrow needs for "
            "them on driver and workers."
        ) from None
    return store, str(inner).rstrip("/")


def path_or_place(where: Any) -> Path:
    """Return a path as it is, and an address as a place, which stands in for one."""
    if isinstance(where, Place):
        return cast("Path", where)
    if not is_address(where):
        return Path(where)
    store, inner = open_store(where)
    found = Place(where, inner)
    vars(found)["store"] = store
    return cast("Path", found)
