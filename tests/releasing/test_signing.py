"""Signed releases: whose they are is told by a key, and any change or swap is refused."""

import json
import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from tests.releasing.conftest import PLAN
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import InvalidData, InvalidInput


def write_keys(folder, name, *, key=None, passphrase=None):
    key = key or Ed25519PrivateKey.generate()
    lock = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock))
    private.chmod(0o600)
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


@pytest.fixture
def signed(people_file, tmp_path):
    private, public = write_keys(tmp_path, "ours")
    r = pramble.release(
        people_file, tmp_path / "out", plan=PLAN, sign=private, ledger=False, pages=False
    )
    return r, private, public


def test_a_signed_release_opens_with_its_key(signed):
    r, _, public = signed
    assert len((r.folder / "manifest.sig").read_bytes()) == 64
    assert pramble.open_release(r.folder, verify=public).plan == r.plan
    assert pramble.open_release(r.folder).plan == r.plan
    assert not [w for w in r.outcome.warnings if "signing key" in w]


def test_openssl_agrees(signed):
    r, _, public = signed
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    words = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(public), "-rawin"]
    files = ["-in", str(r.folder / "manifest.json"), "-sigfile", str(r.folder / "manifest.sig")]
    assert subprocess.run([*words, *files], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("name", ["manifest.json", "manifest.sig", "randomised.parquet"])
def test_any_flipped_byte_is_refused(signed, name):
    r, _, public = signed
    path = r.folder / name
    whole = path.read_bytes()
    for place in range(0, len(whole), max(len(whole) // 40, 1)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InvalidData):
            pramble.open_release(r.folder, verify=public)
    path.write_bytes(whole)
    pramble.open_release(r.folder, verify=public)


def test_other_keys_and_missing_signatures_are_refused(signed, tmp_path):
    r, _, public = signed
    _, other = write_keys(tmp_path, "theirs")
    with pytest.raises(InvalidData, match="was not signed with"):
        pramble.open_release(r.folder, verify=other)
    for content in (b"", b"x" * 63, b"x" * 65):
        (r.folder / "manifest.sig").write_bytes(content)
        with pytest.raises(InvalidData, match="was not signed with"):
            pramble.open_release(r.folder, verify=public)
    (r.folder / "manifest.sig").unlink()
    with pytest.raises(InvalidData, match="is not signed"):
        pramble.open_release(r.folder, verify=public)


def test_a_signature_of_another_release_is_refused(signed, people_file, tmp_path):
    r, private, public = signed
    second = pramble.release(
        people_file, tmp_path / "two", plan=PLAN, sign=private, ledger=False, pages=False
    )
    shutil.copy(second.folder / "manifest.sig", r.folder)
    with pytest.raises(InvalidData, match="was not signed with"):
        pramble.open_release(r.folder, verify=public)


def test_raw_data_under_a_new_hash_is_refused(signed):
    r, _, public = signed
    path = r.folder / "manifest.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document))
    pramble.open_release(r.folder)
    with pytest.raises(InvalidData, match="was not signed with"):
        pramble.open_release(r.folder, verify=public)


def test_keys_that_are_none_are_refused(signed, people_file, tmp_path):
    r, private, public = signed
    curve, curve_public = write_keys(tmp_path, "curve", key=generate_private_key(SECP256R1()))
    (tmp_path / "text.pem").write_text("no key")
    for wrong in (curve, public, tmp_path / "text.pem", tmp_path / "absent.pem", tmp_path):
        with pytest.raises(InvalidInput, match="signing key"):
            pramble.release(people_file, tmp_path / "no", plan=PLAN, sign=wrong, ledger=False)
        assert not (tmp_path / "no").exists()
    for wrong in (curve_public, private, tmp_path / "text.pem", tmp_path / "absent.pem"):
        with pytest.raises(InvalidInput, match="public key"):
            pramble.open_release(r.folder, verify=wrong)


def test_a_key_that_others_read_is_warned_of(people_file, tmp_path):
    private, _ = write_keys(tmp_path, "open")
    private.chmod(0o644)
    r = pramble.release(
        people_file, tmp_path / "out", plan=PLAN, sign=private, ledger=False, pages=False
    )
    assert "chmod 600" in r.outcome.warnings[0]


def test_a_passphrase_is_asked_for(people_file, tmp_path):
    private, public = write_keys(tmp_path, "locked", passphrase=b"open sesame")
    with pytest.raises(InvalidInput, match="needs its passphrase"):
        pramble.release(people_file, tmp_path / "out", plan=PLAN, sign=private, ledger=False)
    words = ["release", str(people_file), "--out", str(tmp_path / "out"), "--columns", "SEX"]
    words += ["--drop", "name", "--alpha", "1", "--no-ledger", "--sign", str(private)]
    wrong = CliRunner().invoke(app, words, input="guess\n")
    with pytest.raises(InvalidInput, match="has another passphrase"):
        raise wrong.exception
    assert CliRunner().invoke(app, words, input="open sesame\n").exit_code == 0
    pramble.open_release(tmp_path / "out", verify=public)


def test_commands_verify(signed, tmp_path):
    r, _, public = signed
    _, other = write_keys(tmp_path, "theirs")
    for words in (["estimate", str(r.folder), "--by", "SEX"], ["certify", str(r.folder)]):
        assert CliRunner().invoke(app, [*words, "--verify", str(public)]).exit_code == 0
        refused = CliRunner().invoke(app, [*words, "--verify", str(other)])
        with pytest.raises(InvalidData, match="was not signed with"):
            raise refused.exception
