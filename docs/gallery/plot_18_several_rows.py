"""
Several rows per person
=======================

A patient with five visits has five rows. Were each randomised at α, five draws together would tell
of the patient what 5α allows. ``person`` names the column that says whose row it is: every row then
gets α divided by the most rows of one person that are used, and the promise is for people.
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
whose = np.repeat(np.arange(patients), visits)
people = pa.table({"patient": whose, "ill": np.where(ill, "yes", "no")})


def released(folder, **settings):
    return pramble.release(
        people,
        Path(folder, "release"),
        columns={"ill": {"categories": ["no", "yes"]}},
        alpha=3.0,
        person="patient",
        drop=["patient"],
        ledger=False,
        pages=False,
        **settings,
    )


with tempfile.TemporaryDirectory() as folder:
    print(pramble.certify(released(folder)))

# %%
# So a person with many rows makes everybody's rows noisier. ``rows_per_person`` uses at most so
# many of each, drawn at random: few rows with little noise beat many with much.

most = np.arange(1, 6)
error = []
for k in most:
    with tempfile.TemporaryDirectory() as folder:
        few = released(folder, rows_per_person=int(k))
        estimate = pramble.estimate(few, by=["ill"], covers="randomisation")
        error.append(196 * estimate.standard_errors[0])
figure, axes = plt.subplots(figsize=(7.2, 3), layout="constrained")
axes.bar(most, error)
axes.set(xlabel="visits of a patient that are used, at most", ylabel="± percentage points")
axes.set_title("What randomisation adds to the interval of the share who are ill")
axes.grid(visible=False, axis="x")
