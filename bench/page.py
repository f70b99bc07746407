"""All that the page of benchmarks shows, each claim in a process of its own.

``python -m bench page`` measures and writes ``bench/results``; on two idle cores in less than a
quarter of an hour. ``python -m bench page engine files`` measures these two alone.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

CLAIMS = {
    "engine": {},
    "design": {},
    "estimation": {"PRAMBLE_BENCH_RUNS": "120"},
    "records": {},
    "files": {},
    "risk": {},
    "spark": {},
    "central": {},
    "counting": {},
}
"""Each benchmark, and what it is asked for here."""


def main(asked: tuple[str, ...] = ()) -> None:
    """Run the benchmarks one after the other, and say which failed."""
    failed = []
    for name, asks in CLAIMS.items():
        if asked and name not in asked:
            continue
        start = time.perf_counter()
        told = {"OPENBLAS_NUM_THREADS": "1", **asks, **os.environ}
        command = [sys.executable, "-m", "bench", name]
        ended = subprocess.run(command, env=told, cwd=Path(__file__).parents[1], check=False)
        print(f"== {name}: {time.perf_counter() - start:.0f} s\n", flush=True)
        failed += [name] if ended.returncode else []
    if failed:
        sys.exit(f"These failed, and their figures are as they were: {', '.join(failed)}.")
