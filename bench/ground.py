"""The cost of building, certifying and measuring randomised response against S."""

import time
import tracemalloc

import numpy as np

import pramble


def measure(size: int) -> tuple[float, float]:
    """Seconds and peak megabytes for one mechanism with its certificate and information."""
    prior = np.full(size, 1 / size)
    tracemalloc.start()
    start = time.perf_counter()
    mechanism = pramble.randomized_response(size, 1.0)
    pramble.certify(mechanism)
    pramble.mutual_information(prior, mechanism)
    seconds = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, peak


def main() -> None:
    """Print one row per size."""
    print(f"{'S':>9} {'seconds':>9} {'peak MB':>9}")
    for size in (10, 10**3, 10**5, 10**6):
        seconds, peak = measure(size)
        print(f"{size:>9} {seconds:>9.4f} {peak:>9.1f}")
