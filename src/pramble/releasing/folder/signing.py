"""Signing a release: an Ed25519 signature over the manifest, which states the data's SHA-256."""

from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from pramble.errors import InvalidData, InvalidInput

SIGNATURE = "manifest.sig"
MOST_KEY_BYTES = 10_000


class LockedKey(InvalidInput):
    """A private key that needs a passphrase."""


def private_key(path: str | Path, passphrase: bytes | None = None) -> Ed25519PrivateKey:
    """Return the key of a PEM file, as ``openssl genpkey -algorithm ed25519`` writes it."""
    name = f"The signing key {str(path)!r}"
    content = read_key(Path(path), name)
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


def public_key(path: str | Path) -> Ed25519PublicKey:
    """Return the key of a PEM file, as ``openssl pkey -pubout`` writes it."""
    name = f"The public key {str(path)!r}"
    content = read_key(Path(path), name)
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidInput(f"{name} is no public key in PEM.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidInput(f"{name} must be an Ed25519 key.")
    return key


def read_key(path: Path, name: str) -> bytes:
    """Return the content of a key file, which is short."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_KEY_BYTES)
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror}.") from None


def key_warnings(sign: Any) -> list[str]:
    """Say so if others than its owner can read the file of a private key."""
    if not isinstance(sign, str | Path) or not Path(sign).stat().st_mode & 0o077:
        return []
    return [f"Others than its owner can read the signing key {str(sign)!r}: chmod 600 it."]


def write_signature(folder: Path, manifest: str, *, key: Ed25519PrivateKey) -> None:
    """Write the signature of the exact bytes of a manifest beside it."""
    (folder / SIGNATURE).write_bytes(key.sign(manifest.encode()))


def check_signature(folder: Path, manifest: bytes, *, key: str | Path) -> None:
    """Refuse a manifest that the holder of a key did not sign."""
    public, path = public_key(key), folder / SIGNATURE
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
