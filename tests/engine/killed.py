"""Run a release over and over, kill it at random moments, and look at what is left."""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pramble

KEY = bytes(range(32))
PLAN = {name: pramble.randomized_response(["a", "b", "c"], 1.0) for name in "xyz"}
ROWS = 200_000


def release(folder, target):
    pramble.perturb_file(folder / "in.parquet", target, PLAN, key=KEY, overwrite=True)


def timed(folder, target):
    """Run one release in a child of its own and return how long it took."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        release(folder, target)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    return time.monotonic() - start


def main():
    folder, times = Path(sys.argv[1]), int(sys.argv[2])
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.choice(["a", "b", "c"], ROWS) for name in "xyz"})
    pq.write_table(table, folder / "in.parquet")
    target = folder / "out.parquet"
    codes = np.zeros(100_000, dtype=np.uint8)  # loads the compiled kernels, for every child
    pramble.perturb(codes, pramble.randomized_response(3, 1.0), threads=1)
    usual = timed(folder, target)
    expected = target.read_bytes()
    target.unlink()
    left = {"nothing": 0, "complete": 0}
    delays = random.Random(0)
    for _ in range(times):
        child = os.fork()
        if child == 0:
            release(folder, target)
            os._exit(0)
        time.sleep(delays.uniform(0, 1.1 * usual))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if target.exists():
            assert target.read_bytes() == expected, "a file that is not the release"
            target.unlink()
            left["complete"] += 1
        else:
            left["nothing"] += 1
        for partial in folder.glob(".out.parquet.*.partial"):
            partial.unlink()
    assert [path.name for path in folder.iterdir()] == ["in.parquet"]
    print(*(f"{name}={count}" for name, count in left.items()))


if __name__ == "__main__":
    main()
