"""Building a release folder: complete under its name or not there at all, and signed if asked."""

import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path, PurePosixPath
from typing import Any, cast

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from pramble.data.places import Place, is_address, place_in
from pramble.data.save import sync, write_new
from pramble.errors import InvalidData, InvalidInput, PrivacyError, with_values
from pramble.outcome import Check
from pramble.releasing.folder.layout import MANIFEST

PARTIAL = "partial"
MOST_LISTED = 12


def check_target(target: Path) -> None:
    """Refuse a target that would be overwritten, or that has nowhere to lie."""
    if target.is_dir() and not target.is_symlink():
        if any(target.iterdir()):
            raise InvalidInput(
                f"The folder {str(target)!r} is not empty; a release is never overwritten. Choose "
                "another folder."
            )
    elif target.exists() or target.is_symlink():
        raise InvalidInput(f"{str(target)!r} exists and is no folder; choose another name.")


@contextmanager
def building(
    target: Path, *, publishing: Any = nullcontext, beside: Sequence[Path] = ()
) -> Iterator[Path]:
    """Give an empty folder beside the target, and move it into place when all went well.

    After any error or interrupt it is removed, with the files that were made ``beside`` it; one
    left by a killed process is removed by the next release to that target. ``publishing`` gives a
    context for the move of the folder.
    """
    check_target(target)
    what = "Nothing was released."
    store = place_in(target)
    if store is not None:
        with building_at(store, publishing=publishing, beside=beside) as place:
            yield cast("Path", place)
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # The same file system as the target, so that the move is one atomic step.
        with private_folder(target.parent, target.name) as folder:
            try:
                yield folder
                # Without this a crash after the move could leave a complete name on empty files.
                for path in (*sorted(folder.rglob("*"), reverse=True), folder):
                    sync(path)
                with publishing(folder):
                    folder.rename(target)
                what = "It stands there, and counts, but may not be safe on the disk: check it."
                sync(target.parent)
            except BaseException:
                # An interrupt after the move, or an error that hides it: what stands is complete.
                if folder.exists():
                    remove(beside)
                raise
    except OSError as error:
        # What writes a file says its passing name; what it met says why.
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        reason = (cause.strerror or str(cause)).removesuffix(what).rstrip(". ")
        raise InvalidInput(f"Cannot write the release {str(target)!r}: {reason}. {what}") from error


@contextmanager
def private_folder(parent: Path, name: str) -> Iterator[Path]:
    """Give an empty folder of its owner alone; it is removed at the end, unless it was moved.

    One left by a killed process is removed by the next of its name.
    """
    for abandoned in parent.glob(f".{name}.{PARTIAL}-*"):
        with suppress(OSError):  # what killed processes left; others are at work still
            old = locked(abandoned)
            if old is not None:
                shutil.rmtree(abandoned, ignore_errors=True)
                os.close(old)
    folder = parent / f".{name}.{PARTIAL}-{secrets.token_hex(4)}"
    # Nobody else reads what is not complete.
    folder.mkdir(mode=0o700)
    lock = locked(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove(files: Sequence[Path]) -> None:
    for path in files:
        with suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def building_at(target: Place, *, publishing: Any, beside: Sequence[Path]) -> Iterator[Place]:
    """Give a place beside the target in its store, and move what is there when all went well.

    After any error nothing is left; what a killed process left beside the target stays, hidden.
    """
    folder = target.with_name(f".{target.name}.{PARTIAL}-{secrets.token_hex(4)}")
    moving = False
    try:
        folder.mkdir()
        yield folder
        check_target(cast("Path", target))
        moving = True
        with publishing(folder):
            move_at(folder, target)
    except BaseException as error:
        remove(beside)
        with suppress(OSError):
            folder.remove_tree()
        if moving and not folder.renames:
            with suppress(OSError):
                target.remove_tree()
        if not isinstance(error, OSError):
            raise
        raise with_values(
            InvalidInput(
                f"Cannot write the release {str(target)!r} ({type(error).__name__}). Nothing was "
                "released."
            ),
            str(error),
        ) from None


def move_at(folder: Place, target: Place) -> None:
    if folder.renames:
        target.remove_tree()
        folder.replace(target)
        return
    # Where a folder cannot be renamed, its files are moved one by one, the manifest last: a folder
    # without one is no release.
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in sorted(files, key=lambda path: path.name == MANIFEST):
        path.replace(target / str(path.relative_to(folder)))
    folder.remove_tree()


def check_contents(folder: Path, published: Collection[str]) -> Check:
    """Refuse a folder that holds anything but plain files that may be published.

    They are named by their paths in it; folders are those of such files.
    """
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    folders = {parent.as_posix() for name in published for parent in PurePosixPath(name).parents}
    strange = [
        name
        for name in found
        if (folder / name).is_symlink()
        or name not in (folders if (folder / name).is_dir() else published)
    ]
    if strange:
        raise PrivacyError(
            f"The release folder must hold only what may be published; it also holds "
            f"{', '.join(strange)}. Nothing was released."
        )
    files = [name for name in found if (folder / name).is_file()]
    names = ", ".join(files[:MOST_LISTED]) + (", …" if len(files) > MOST_LISTED else "")
    return Check("folder", passed=True, detail=f"It holds what may be published alone: {names}.")


def locked(folder: Path) -> int | None:
    """Lock a folder for as long as this process lives; None if another one holds it."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows: an abandoned folder stays
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def report_path(target: Path) -> Path:
    """Return where the curator's report lies: beside the release folder, never in it.

    That of a release at an address lies in the current folder.
    """
    name = f"{target.name}-report.html"
    return Path.cwd() / name if is_address(target) else target.with_name(name)


def write_private(path: Path, text: str) -> Path:
    partial = path.with_name(f".{path.name}.{PARTIAL}")
    partial.unlink(missing_ok=True)
    try:
        write_new(partial, text.encode())
        partial.replace(path)
    finally:  # what is the curator's alone does not stay beside the release on a full disk
        partial.unlink(missing_ok=True)
    return path


def write_key(path: Path, key: bytes, *, release: Path) -> Path:
    """Write the key to a new file that only its owner reads, outside the release folder."""
    if release.resolve() in path.resolve().parents:
        raise InvalidInput("The key must not lie in the release folder; choose another place.")
    try:
        write_new(path, key)
    except OSError as error:
        raise InvalidInput(f"Cannot write the key to {str(path)!r}: {error.strerror}.") from None
    return path


SIGNATURE = "manifest.sig"
MOST_KEY_BYTES = 10_000


class LockedKey(InvalidInput):
    """A private key that needs a passphrase."""


def private_key(path: str | Path, passphrase: bytes | None = None) -> Ed25519PrivateKey:
    """Return the key of a PEM file, as ``openssl genpkey -algorithm ed25519`` writes it."""
    name = f"The signing key {str(path)!r}"
    content = read_key(path, name)
    try:
        key = load_pem_private_key(content, passphrase)
    except TypeError:
        raise LockedKey(f"{name} needs its passphrase; the command line asks for it.") from None
    except (ValueError, UnsupportedAlgorithm):
        wrong = "is no private key in PEM" if passphrase is None else "has another passphrase"
        raise InvalidInput(f"{name} {wrong}.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput(f"{name} must be an Ed25519 key: openssl genpkey -algorithm ed25519.")
    return key


def read_key(path: str | Path, name: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(MOST_KEY_BYTES)
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror}.") from None


def key_warnings(sign: Any) -> list[str]:
    """Say so if others than its owner can read the file of a private key."""
    if not isinstance(sign, str | Path) or not Path(sign).stat().st_mode & 0o077:
        return []
    return [f"Others than its owner can read the signing key {str(sign)!r}: chmod 600 it."]


def check_signature(folder: Path, manifest: bytes, *, key: str | Path) -> None:
    """Refuse a manifest that the holder of a key did not sign.

    The key is a PEM file, as ``openssl pkey -pubout`` writes it.
    """
    name = f"The public key {str(key)!r}"
    content, path = read_key(key, name), folder / SIGNATURE
    try:
        public = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidInput(f"{name} is no public key in PEM.") from None
    if not isinstance(public, Ed25519PublicKey):
        raise InvalidInput(f"{name} must be an Ed25519 key.")
    if path.is_symlink() or not path.is_file():
        raise InvalidData(f"The release is not signed: it has no {SIGNATURE}.")
    try:
        with path.open("rb") as file:
            public.verify(file.read(MOST_KEY_BYTES), manifest)
    except InvalidSignature:
        raise InvalidData(
            f"The release was not signed with the private part of {str(key)!r}, or was changed "
            "since. Do not use it."
        ) from None
