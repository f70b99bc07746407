r"""An audit of bytes: how well an attacker who sees the whole file tells two neighbours apart.

For a set :math:`E` of files, :math:`\log P(E \mid x) - \log P(E \mid x')` is at most α. The set is
chosen on one half of the runs and judged on the other, with exact binomial bounds, so what is found
is below the true α of the *bytes* with probability 1 − 2·10⁻⁶.
"""

import hashlib
import math
import os
from collections import Counter

import pyarrow as pa
import pyarrow.feather
import pytest
from scipy.stats import beta

import pramble
from tests.attacks.seams import keep_dictionaries

ALPHA = 0.5
SEX = pramble.randomized_response(["f", "a far longer label"], ALPHA)
RUNS = 300
DOUBT = 1e-6


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)


def outputs(source, target, runs):
    """The bytes of so many independent releases of a file."""
    found = []
    for _ in range(runs):
        pramble.perturb_file(source, target, {"sex": SEX}, overwrite=True)
        found.append(hashlib.sha256(target.read_bytes()).hexdigest())
    return found


def alpha_from_below(one, other):
    """A lower bound on α from outputs under two neighbours."""
    half = len(one) // 2
    first, second = Counter(one[:half]), Counter(other[:half])
    event = {output for output in first if first[output] > second[output]}
    hits, misses = (sum(o in event for o in outs[half:]) for outs in (one, other))
    n = len(one) - half
    low = beta.ppf(DOUBT, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(1 - DOUBT, misses + 1, n - misses) if misses < n else 1.0
    return math.log(low / high) if low > 0 else -math.inf


def neighbours(folder):
    """Two files of three people; the first person differs, and so does the town met first."""
    paths = []
    for name, sex in (("x", "f"), ("y", "a far longer label")):
        towns = ["b", "a", "a"] if sex == "f" else ["a", "b", "a"]
        order = list(dict.fromkeys(towns))
        town = pa.DictionaryArray.from_arrays(
            pa.array([order.index(t) for t in ["a", "b", "a"]]), order
        )
        path = folder / f"{name}.arrow"
        pa.feather.write_feather(pa.table({"sex": [sex, "f", "f"], "town": town}), path)
        paths.append(path)
    return paths


@pytest.mark.parametrize("target", ["parquet", "csv", "arrow"])
def test_bytes_tell_no_more_than_alpha(tmp_path, target):
    runs = [outputs(path, tmp_path / f"out.{target}", RUNS) for path in neighbours(tmp_path)]
    assert alpha_from_below(*runs) <= ALPHA
    assert alpha_from_below(*reversed(runs)) <= ALPHA


def test_the_audit_finds_a_container_that_tells(tmp_path, monkeypatch):
    """With the dictionary of the source kept, the bytes tell who was met first."""
    keep_dictionaries(monkeypatch)
    runs = [outputs(path, tmp_path / "out.parquet", RUNS) for path in neighbours(tmp_path)]
    assert alpha_from_below(*runs) > 2 * ALPHA


def test_the_audit_finds_a_mechanism_that_spends_more(tmp_path, monkeypatch):
    more = pramble.randomized_response(["f", "a far longer label"], 6.0)
    monkeypatch.setitem(globals(), "SEX", more)
    runs = [outputs(path, tmp_path / "out.csv", RUNS) for path in neighbours(tmp_path)]
    assert ALPHA < alpha_from_below(*runs) <= 6.0
