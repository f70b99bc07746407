"""
Releases add up
===============

Every release of the same people tells a little more. Whoever has all of them can put them together,
and is bounded by the sum of their α, not by the largest. A *ledger* keeps count, and refuses what
would go beyond a budget.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import pramble

people = pramble.datasets.synthetic_new_york(5_000).select(["SEX"])
folder = Path(tempfile.mkdtemp())
book = folder / "ledger.sqlite"
column = {"SEX": {"categories": ["Male", "Female"]}}
spent = []
for number in range(4):
    try:
        pramble.release(
            people,
            folder / f"release {number}",
            columns=column,
            alpha=1.0,
            ledger=book,
            people="New York",
            budget=3.0,
            pages=False,
        )
    except pramble.PrivacyError as refused:
        print(refused)
    else:
        spent.append(1.0)

# %%
# Why it must be so: the odds for one person's true value after k releases of it at α = 1. Each line
# is a person, shifted a little to be seen; further releases pull the odds towards the truth on
# average.

rng = np.random.default_rng(2)
matrix = pramble.randomized_response(2, 1.0).matrix
draws = np.where(rng.random((40, 8)) < matrix[0, 0], 1.0, -1.0)
odds = np.hstack([np.zeros((40, 1)), np.cumsum(draws, axis=1)])

figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
axes.plot(odds.T + rng.uniform(-0.3, 0, (1, 40)), "-", color="lightgrey")
axes.plot(odds.mean(axis=0), "o-", label="mean of forty people")
axes.plot(np.arange(9), "k--", label="the sum of α, which none exceeds")
axes.axvline(len(spent), color="grey", linestyle=":", label="the ledger stops here")
axes.set_xlabel("releases of the same value")
axes.set_ylabel("log of the odds for the truth")
axes.set_title("The same value released again and again, α = 1 each")
axes.legend()
