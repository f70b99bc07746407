"""Drawing from codes in memory, beside what a careful NumPy user writes and what peers do.

Peers are used if they can be imported; set PRAMBLE_PEERS to a site-packages folder that has them.
"""

import os
import subprocess
import sys
import time
import warnings

import numpy as np

import pramble
from bench._figures import Claim

ROWS = int(os.environ.get("PRAMBLE_BENCH_CODES", "10000000"))
KEY = bytes(range(32))


def cpu_seconds(work, repeats=9):
    """The least processor time of some runs, after one that loads what is needed."""
    work()
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def wall_seconds(work, repeats=3):
    work()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def numpy_response(codes, S, q, rng, chunk=1 << 16):
    """Randomised response as a careful NumPy user writes it: small types, chunks in cache."""
    out = np.empty_like(codes)
    for start in range(0, len(codes), chunk):
        x = codes[start : start + chunk]
        keep = rng.random(len(x), dtype=np.float32) < q
        other = rng.integers(0, S - 1, len(x), dtype=codes.dtype)
        other += other >= x
        out[start : start + chunk] = np.where(keep, x, other)
    return out


def numpy_general(codes, matrix, rng, chunk=1 << 18):
    """Any matrix: one search in the cumulative rows laid end to end."""
    S, T = matrix.shape
    ends = (np.cumsum(matrix, axis=1) + np.arange(S)[:, None]).ravel()
    out = np.empty_like(codes)
    for start in range(0, len(codes), chunk):
        x = codes[start : start + chunk]
        found = np.searchsorted(ends, x + rng.random(len(x)), side="right")
        out[start : start + chunk] = np.minimum(found - x * np.int64(T), T - 1)
    return out


def import_peer(name):
    if os.environ.get("PRAMBLE_PEERS") and os.environ["PRAMBLE_PEERS"] not in sys.path:
        sys.path.append(os.environ["PRAMBLE_PEERS"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return __import__(name, fromlist=["*"])
        except ImportError:
            return None


def multi_freq_rate(S, alpha):
    grr = import_peer("multi_freq_ldpy.pure_frequency_oracles.GRR")
    if grr is None:
        return None
    values = np.random.default_rng(0).integers(0, S, 50_000).tolist()
    seconds = cpu_seconds(lambda: [grr.GRR_Client(value, S, alpha) for value in values], 1)
    return len(values) / seconds


def opendp_rate(S, alpha):
    prelude = import_peer("opendp.prelude")
    if prelude is None:
        return None
    prelude.enable_features("contrib")
    prob = np.exp(alpha) / (S - 1 + np.exp(alpha))
    measure = prelude.m.make_randomized_response(list(range(S)), prob=float(prob))
    values = np.random.default_rng(0).integers(0, S, 3000).tolist()
    seconds = cpu_seconds(lambda: [measure(value) for value in values], 1)
    return len(values) / seconds


def pure_ldp_rate(S, alpha):
    direct = import_peer("pure_ldp.frequency_oracles.direct_encoding")
    if direct is None:
        return None
    client = direct.DEClient(epsilon=alpha, d=S)
    values = (np.random.default_rng(0).integers(0, S, 50_000) + 1).tolist()
    seconds = cpu_seconds(lambda: [client.privatise(value) for value in values], 1)
    return len(values) / seconds


def line(claim, case, name, rate, ours):
    if rate is None:
        print(f"  {name:<44} not installed")
    else:
        claim.add(case, name, rate / 1e6)
        print(f"  {name:<44} {rate / 1e6:>10.3f} M/CPU-s   pramble is {ours / rate:8.1f} times it")


def response_table(claim, S, alpha, dtype):
    case = f"randomised response, S = {S:,}"
    print(f"\nRandomised response, S = {S}, {ROWS:,} codes of {np.dtype(dtype).name}")
    codes = np.random.default_rng(0).integers(0, S, ROWS).astype(dtype)
    m = pramble.randomized_response(S, alpha)
    q, rng = m.matrix[0, 0] if S < 5000 else m.keep[0] / 2**53, np.random.default_rng(1)
    ours = ROWS / cpu_seconds(lambda: pramble.perturb(codes, m, key=KEY, column="x", threads=1))
    line(claim, case, "pramble", ours, ours)
    theirs = ROWS / cpu_seconds(lambda: numpy_response(codes, S, q, rng), 2)
    line(claim, case, "NumPy, chunked", theirs, ours)
    if S == 10:
        line(claim, case, "multi-freq-ldpy", multi_freq_rate(S, alpha), ours)
        line(claim, case, "pure-ldp", pure_ldp_rate(S, alpha), ours)
        line(claim, case, "OpenDP", opendp_rate(S, alpha), ours)
    return codes, m


def general_table(claim, S):
    case = f"general matrix, S = {S:,}"
    print(f"\nGeneral matrix, S = {S}, {ROWS:,} codes of int32")
    rng = np.random.default_rng(2)
    m = pramble.Mechanism.from_matrix(rng.dirichlet(np.ones(S), size=S))
    codes = rng.integers(0, S, ROWS).astype(np.int32)
    ours = ROWS / cpu_seconds(lambda: pramble.perturb(codes, m, key=KEY, column="x", threads=1))
    line(claim, case, "pramble", ours, ours)
    theirs = ROWS / cpu_seconds(lambda: numpy_general(codes, m.matrix, rng), 1)
    line(claim, case, "NumPy, chunked", theirs, ours)


def threads_table(claim, codes, m):
    print("\nThreads, wall clock, S = 10")
    single, points = None, []
    for threads in (1, 2, 4):
        if threads > (os.cpu_count() or 1):
            break
        rate = ROWS / wall_seconds(
            lambda n=threads: pramble.perturb(codes, m, key=KEY, column="x", threads=n), 5
        )
        single = single or rate
        points.append((threads, rate / 1e6))
        print(f"  {threads} threads {rate / 1e6:>10.0f} M/s   {rate / single:.2f} times one thread")
    claim.curve("Threads", "threads", "million values a second", {"pramble": points})


def growth(claim):
    """Processor seconds against the number of values, and against the number of categories."""
    m, rng = pramble.randomized_response(10, 1.0), np.random.default_rng(1)
    q, ours, theirs = m.matrix[0, 0], [], []
    for n in (10**3, 10**4, 10**5, 10**6, ROWS):
        codes = rng.integers(0, 10, n).astype(np.uint8)
        repeats = max(1, 10**6 // n)
        ours.append((n, repeated(lambda c=codes: drawn(c, m), repeats)))
        theirs.append((n, repeated(lambda c=codes: numpy_response(c, 10, q, rng), repeats)))
    lines = {"pramble": ours, "NumPy, chunked": theirs}
    claim.curve("Randomised response, ten categories", "values", "CPU seconds", lines)
    rates = []
    for size in (2, 10, 100, 1000, 10**4, 10**5, 10**6):
        wide = rng.integers(0, size, 10**6).astype(np.int32)
        own = pramble.randomized_response(size, 8.0)
        rates.append((size, cpu_seconds(lambda c=wide, m=own: drawn(c, m), 1)))
    lines = {"pramble": rates}
    claim.curve("Randomised response, a million values", "categories", "CPU seconds", lines)


def drawn(codes, m):
    return pramble.perturb(codes, m, key=KEY, column="x", threads=1)


def repeated(work, repeats):
    return cpu_seconds(lambda: [work() for _ in range(repeats)], 2) / repeats


def billion_table(codes, m):
    print("\n10^9 codes in chunks of 10^7, one after the other under one key")
    start, cpu = time.perf_counter(), time.process_time()
    for part in range(100):
        pramble.perturb(codes, m, key=KEY, column="x", first_row=part * ROWS)
    print(f"  {time.perf_counter() - start:.1f} s, {time.process_time() - cpu:.1f} CPU-s")


FIRST = """
import time; start = time.perf_counter()
import pramble; imported = time.perf_counter()
m = pramble.randomized_response(["a", "b"], 1.0)
pramble.perturb(["a"] * {n}, m); done = time.perf_counter()
print(f"import {{imported - start:.2f}} s, first release {{done - imported:.2f}} s")
"""


def first_call_table():
    print("\nA fresh process")
    for n in (1000, 1_000_000):
        code = FIRST.format(n=n)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        print(f"  {n:>9,} values: {answer.stdout.decode().strip()}")


def main():
    peers = ("opendp", "multi-freq-ldpy", "pure-ldp")
    claim = Claim("randomising", "Randomising", "python -m bench engine", peers)
    note = f"{ROWS:,} codes in memory on one thread; peers that take one value at a time fewer."
    claim.table("Values a processor second", "million values", "more", note)
    codes, m = response_table(claim, 10, 1.0, np.uint8)
    general_table(claim, 1000)
    response_table(claim, 100_000, 8.0, np.int32)
    threads_table(claim, codes, m)
    growth(claim)
    claim.write()
    billion_table(codes, m)
    first_call_table()


if __name__ == "__main__":
    main()
