"""The bits: what they are, and that nothing else decides them."""

import hashlib
import hmac
import os
import pickle
import secrets
import subprocess
import sys

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

import pramble
from pramble.engine.keystream import KeyStream, checked_key, checked_rows

KEY = bytes(range(32))


def stated_key(purpose, column):
    """The derivation as the documentation states it, written again."""
    message = b""
    for part in (b"pramble 1", purpose, column):
        message += len(part).to_bytes(8, "big") + part
    return hmac.new(KEY, message, hashlib.sha256).digest()


def stated_block(key, number):
    encryptor = Cipher(algorithms.AES(key), modes.CTR(number.to_bytes(16, "big"))).encryptor()
    return encryptor.update(bytes(16))


@pytest.mark.parametrize("row", [0, 1, 2, 3, 4, 1001, 2**40 + 3])
def test_words_and_extras_are_those_of_the_stated_streams(row):
    stream = KeyStream(KEY, "größe")
    block = stated_block(stated_key(b"words", "größe".encode()), row // 4)
    word = int.from_bytes(block[4 * (row % 4) :][:4], "little")
    extra = int.from_bytes(stated_block(stated_key(b"extras", "größe".encode()), row)[:4], "little")
    assert stream.words(range(row, row + 1)).tolist() == [word]
    assert stream.words(np.array([row])).tolist() == [word]
    assert stream.extras(range(row, row + 1)).tolist() == [extra >> 11]
    assert stream.extras(np.array([row])).tolist() == [extra >> 11]


@given(st.integers(0, 2**40), st.integers(0, 300), st.integers(0, 300))
def test_bits_do_not_depend_on_how_rows_are_asked_for(start, before, count):
    stream = KeyStream(KEY, "a")
    whole = stream.words(range(start, start + before + count))
    part = range(start + before, start + before + count)
    assert np.array_equal(whole[before:], stream.words(part))
    shuffled = np.random.default_rng(0).permutation(np.arange(part.start, part.stop))
    assert np.array_equal(stream.words(shuffled), whole[shuffled - start])
    assert np.array_equal(stream.extras(shuffled), stream.extras(part)[shuffled - part.start])


def test_columns_keys_and_children_share_no_bits():
    streams = [
        KeyStream(KEY, "a"),
        KeyStream(KEY, "b"),
        KeyStream(KEY, ""),
        KeyStream(KEY, "a", ""),
        KeyStream(KEY, "a", "0"),
        KeyStream(KEY, "a0"),
        KeyStream(bytes(32), "a"),
    ]
    words = [set(stream.words(range(4000)).tolist()) for stream in streams]
    extras = [
        set(map(tuple, stream.extras(range(40)).reshape(-1, 4).tolist())) for stream in streams
    ]
    for i in range(len(streams)):
        for j in range(i):
            assert len(words[i] & words[j]) <= 1
            assert not extras[i] & extras[j]
    assert KeyStream(KEY, "a").child("0").words(range(9)).tolist() == (
        streams[4].words(range(9)).tolist()
    )


def test_words_of_one_stream_do_not_repeat():
    words = KeyStream(KEY, "a").words(range(1 << 20)).astype(np.uint64)
    pairs = (words[::2] << np.uint64(32)) | words[1::2]
    assert len(np.unique(pairs)) == len(pairs)


FORKING = """
import os, sys, numpy as np, pramble
m = pramble.randomized_response(256, 0.1)
release = lambda: pramble.perturb(np.zeros(64, dtype=np.uint8), m).tobytes().hex()
print(release(), flush=True)
for _ in range(3):
    if os.fork() == 0:
        print(release(), flush=True)
        os._exit(0)
    os.wait()
print(release(), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_processes_draw_different_bits():
    answer = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, check=True
    )
    releases = answer.stdout.split()
    assert len(releases) == len(set(releases)) == 5


def test_a_key_is_checked_and_never_shown():
    secret = secrets.token_bytes(32)
    stream = KeyStream(secret, "sex")
    assert secret.hex() not in repr(stream)
    assert repr(secret)[2:-1] not in repr(stream)
    assert np.array_equal(
        pickle.loads(pickle.dumps(stream)).words(range(5)), stream.words(range(5))
    )
    for wrong in (secret[:-1], secret + b"x", b""):
        with pytest.raises(pramble.InvalidInput, match="32 secret bytes") as caught:
            checked_key(wrong)
        assert repr(wrong)[2:-1] not in str(caught.value) or not wrong
    with pytest.raises(pramble.InvalidInput, match="type str"):
        checked_key("x" * 32)
    assert checked_key(bytearray(secret)) == secret
    assert len({checked_key(None) for _ in range(20)}) == 20


def test_the_key_is_in_no_repr_of_what_is_made_from_it():
    from pramble.engine.record import bound_plan

    secret = os.urandom(32)
    record = bound_plan(secret, {"a": pramble.randomized_response(3, 1.0)}, threads=1)
    shown = repr(record) + repr(record.blocks) + repr(record.branch_stream)
    assert repr(secret)[2:-1] not in shown
    assert secret.hex() not in shown


def test_row_numbers_are_checked():
    with pytest.raises(pramble.InvalidInput, match="Row numbers"):
        checked_rows(np.array([3, -1]))
    assert checked_rows(np.array([3, 1], dtype=np.uint8)).dtype == np.int64
