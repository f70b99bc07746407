"""Coverage and convergence of the membership model on populations with sharp profiles.

Four kinds of population of 8,000 or 20,000 people, whose profiles have few of the levels each;
samples of ten or five per cent; every model run as it comes. Prints one row per sample.
"""

import sys
import time

import numpy as np

import pramble

KINDS = {
    "whole, 4 profiles": {"law": 0.1},
    "whole, 4 profiles, 6 keys": {"law": 0.15, "shape": (6, 8, 5, 7, 4, 6), "N": 20_000},
    "mixed, 4 profiles": {"law": 0.1, "mixed": 0.3},
    "whole, 8 profiles": {"law": 0.05, "profiles": 8, "shape": (8, 8, 8, 8)},
}


def population(rng, *, law, profiles=4, shape=(6, 8, 5, 7), mixed=None, N=8000):
    """Columns of codes: whole or mixed memberships in profiles with Dirichlet levels."""
    levels = [rng.dirichlet(np.full(size, law), profiles).cumsum(axis=1) for size in shape]
    weights = rng.dirichlet(np.full(profiles, 2.0))
    if mixed is None:
        z = np.repeat(rng.choice(profiles, N, p=weights)[:, None], len(shape), axis=1)
    else:
        shares = rng.dirichlet(mixed * weights + 1e-9, N).cumsum(axis=1)
        draws = [(shares > rng.random(N)[:, None]).argmax(axis=1) for _ in shape]
        z = np.stack(draws, axis=1)
    return [(one[z[:, j]] > rng.random(N)[:, None]).argmax(axis=1) for j, one in enumerate(levels)]


def main(samples: int = 10) -> None:
    """Print estimates, intervals and diagnostics beside the truth."""
    held = total = 0
    for kind, settings in KINDS.items():
        shape, N = settings.get("shape", (6, 8, 5, 7)), settings.get("N", 8000)
        for seed in range(samples):
            rng = np.random.default_rng(1000 + seed)
            columns = population(rng, **settings)
            cells = np.ravel_multi_index(columns, shape)
            chosen = rng.random(N) < 800 / N if N == 8000 else rng.random(N) < 0.05
            F, f = (np.bincount(some, minlength=np.prod(shape)) for some in (cells, cells[chosen]))
            truth = (F[f == 1] == 1).sum(), (1 / F[f == 1]).sum()
            data = {f"k{j}": column[chosen] for j, column in enumerate(columns)}
            start = time.process_time()
            a = pramble.assess(
                data, list(data), population_size=N, model="membership",
                rng=np.random.default_rng(seed),
            )  # fmt: skip
            ends = a.intervals.tau1, a.intervals.tau2
            inside = [low <= true <= high for (low, high), true in zip(ends, truth, strict=True)]
            held, total = held + sum(inside), total + 2
            print(
                f"{kind:<26} {seed:>3}  τ1 {truth[0]:>3} {a.tau1:6.1f} {inside[0]!s:<5}  "
                f"τ2 {truth[1]:6.1f} {a.tau2:6.1f} {inside[1]!s:<5}  R-hat {a.chains.r_hat:.3f}  "
                f"{a.chains.effective_size:5.0f} draws  {time.process_time() - start:5.1f} CPU-s",
                flush=True,
            )
    print(f"{held} of {total} intervals hold the truth")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
