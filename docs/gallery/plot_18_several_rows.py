"""
Several rows per person
=======================

A patient with five visits has five rows. Were each randomised at α, five draws together would tell
of the patient what 5α allows. ``person`` names the column that says whose row it is: every row then
gets α divided by the most rows of one person, and the promise is for people.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

import pramble

rng = np.random.default_rng(0)
patients = 4_000
visits = rng.integers(1, 6, patients)  # one to five
ill = np.repeat(rng.random(patients) < 0.3, visits)
people = pa.table(
    {
        "patient": np.repeat(np.arange(patients), visits),
        "ill": np.where(ill, "yes", "no"),
    }
)
with tempfile.TemporaryDirectory() as folder:
    release = pramble.release(
        people,
        Path(folder, "release"),
        columns={"ill": {"categories": ["no", "yes"]}},
        alpha=3.0,
        person="patient",
        drop=["patient"],
        ledger=False,
        pages=False,
    )
    print(pramble.certify(release))

# %%
# So a person with many rows makes everybody's rows noisier. Keep fewer: of at most k visits each,
# chosen at random before the release, a row gets α/k. Few rows with little noise beat many with
# much.

most = np.arange(1, 6)
rows = [np.minimum(visits, k).sum() for k in most]
keep = [pramble.randomized_response(2, 3.0 / k).matrix[0, 0] for k in most]
error = [np.sqrt(q * (1 - q) / n) / (2 * q - 1) for q, n in zip(keep, rows, strict=True)]
figure, axes = plt.subplots(figsize=(7.2, 3), layout="constrained")
axes.bar(most, 196 * np.array(error))
axes.set_xlabel("visits of a patient that are kept, at most")
axes.set_ylabel("± percentage points")
axes.set_title("What randomisation adds to the interval of the share who are ill")
axes.grid(visible=False, axis="x")
