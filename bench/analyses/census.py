"""Logistic regressions on real people, where the file is the population: errors of releasing alone.

* The adults of 48 states and DC (ACS 2024), if the file lies beside the repository: SEX, MARST and
  EDUC (four levels) by randomised response at alpha = 2 each. How far the nine coefficients of a
  release are from those of the file itself, in standard errors with ``covers="randomisation"``.
* 20,000 built-in New Yorkers, SEX and MARST at alpha = 2, 40 releases: fits that fail.
"""

import os
import time
from pathlib import Path

import numpy as np

import pramble
from pramble.datasets import synthetic_new_york

FILE = "acs2024_ten_us_exCA_exTX.parquet"
ALPHA = 2.0
KEYS = max(2, int(os.environ.get("RUNS", "120")) // 2)
FITS = 40
LIMIT = 1.5
"""Standard errors. Nine independent deviations all stay within it with a chance of 27 %."""

MODELS = {
    "on what is randomised": "WORKS ~ SEX + MARST + EDUC",
    "with AGE, untouched": "WORKS ~ SEX + MARST + AGE",
}


def census_file():
    """Return the path of the file, or None."""
    for folder in Path(__file__).resolve().parents:
        for path in (folder / "shared" / "data" / FILE, folder / "data" / FILE):
            if path.exists():
                return path
    return None


def adults(path):
    """Return the adults, with schooling in four levels as codes 6, 8 and 10 divide it."""
    import pandas as pd

    columns = ["SEX", "MARST", "EDUC", "AGE", "EMPSTAT"]
    raw = pd.read_parquet(path, columns=columns).astype(str)
    raw = raw[~raw.AGE.isin(["<15", "15", "16", "17"])].reset_index(drop=True)
    level = np.digitize(raw.EDUC.astype(int), [6, 7, 10])
    names = np.array(["1 school", "2 grade 12", "3 some college", "4 degree"])
    return raw.assign(EDUC=names[level], WORKS=(raw.EMPSTAT == "1").astype(int))


def responses(frame, names, alpha=ALPHA):
    """Return a plan of randomised response, column by column."""
    return {name: pramble.randomized_response(sorted(frame[name].unique()), alpha)
            for name in names}  # fmt: skip


def deviations(frame, plan, formula, keys):
    """Return the names, and the deviations from the file's own coefficients, (keys, q)."""
    own = pramble.estimate_regression(frame, {}, formula)
    off = []
    for run in range(keys):
        released = pramble.perturb(frame, plan, key=run.to_bytes(32, "big"))
        r = pramble.estimate_regression(released, plan, formula, covers="randomisation")
        off.append((r.coefficients - own.coefficients) / r.standard_errors)
    return own, r, np.array(off)


def told(own, last, off, formula):
    """Print a row for each coefficient, and the distribution over all releases."""
    print(f"\n{formula}; {len(off)} releases")
    print(
        f"   {'':<24} {'file':>8} {'error':>8} {'inflation':>9} {'mean':>6} {'rms':>6} {'most':>6}"
    )
    for i, name in enumerate(own.names):
        print(
            f"   {name:<24} {own.coefficients[i]:>8.4f} {last.standard_errors[i]:>8.4f}"
            f" {last.inflation[i]:>9.2f} {off[:, i].mean():>6.2f}"
            f" {np.sqrt((off[:, i] ** 2).mean()):>6.2f} {np.abs(off[:, i]).max():>6.2f}"
        )
    worst = np.abs(off).max(axis=1)
    print(
        f"   rms {np.sqrt((off**2).mean()):.2f} standard errors; within 1.96: "
        f"{100 * (np.abs(off) <= 1.96).mean():.1f} %; all within {LIMIT}: "
        f"{(worst <= LIMIT).sum()} of {len(off)} releases; the largest of a release: "
        f"{np.quantile(worst, 0.25):.2f}, {np.median(worst):.2f}, {np.quantile(worst, 0.75):.2f} "
        f"(quartiles), {worst.max():.2f} at most",
        flush=True,
    )


def us_adults():
    path = census_file()
    if path is None:
        print(f"\n{FILE} is absent: the coefficients of US adults are left out")
        return
    frame = adults(path)
    plan = responses(frame, ("SEX", "MARST", "EDUC"))
    print(f"\n{len(frame):,} US adults, alpha = {ALPHA:g} a column")
    for what, formula in MODELS.items():
        start = time.perf_counter()
        told(*deviations(frame, plan, formula, KEYS), f"{what}: {formula}")
        print(f"   {time.perf_counter() - start:.0f} s")


def new_yorkers():
    """Count fits that fail: an error, a note, or a coefficient without bound."""
    frame = synthetic_new_york(20_000).to_pandas().astype(str)
    frame["OWNS"] = (frame.OWNERSHP == "Owned").astype(int)
    plan = responses(frame, ("SEX", "MARST"))
    print(f"\n20,000 built-in New Yorkers, SEX and MARST at alpha = {ALPHA:g}, {FITS} releases")
    for formula in ("OWNS ~ SEX + MARST", "OWNS ~ SEX + MARST + AGE"):
        own, failed, off = pramble.estimate_regression(frame, {}, formula), 0, []
        for run in range(FITS):
            released = pramble.perturb(frame, plan, key=run.to_bytes(32, "big"))
            try:
                r = pramble.estimate_regression(released, plan, formula, covers="randomisation")
            except pramble.errors.PrambleError:
                failed += 1
                continue
            failed += bool(r.notes) or not np.isfinite(r.standard_errors).all()
            off.append((r.coefficients - own.coefficients) / r.standard_errors)
        off = np.array(off)
        print(
            f"   {formula}: {failed} of {FITS} failed; {len(own.names)} coefficients, mean "
            f"deviation at most {np.abs(off.mean(axis=0)).max():.2f} standard errors, rms "
            f"{np.sqrt((off**2).mean()):.2f}",
            flush=True,
        )


def main():
    us_adults()
    new_yorkers()
