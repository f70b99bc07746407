"""
What shuffling adds
===================

α holds for each record alone, against everybody. A reader of the *whole file in random order*
cannot tell which record is whose, and every person hides in the crowd.
:func:`pramble.central_guarantee` proves how much that adds: the (ε, δ) against a reader of the file
who knows everybody else in it. It needs every released column to be randomised.
"""

import textwrap

import matplotlib.pyplot as plt

import pramble

rows = [1_000, 10_000, 100_000, 1_000_000]
figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
for alpha, marker in ((1.0, "o"), (2.0, "s"), (4.0, "^")):
    m = pramble.randomized_response(10, alpha)
    found = [pramble.central_guarantee(m, rows=n, delta=1e-6).epsilon for n in rows]
    axes.loglog(rows, found, marker=marker, label=f"each record has α = {alpha:g}")
axes.set_xlabel("rows of the file")
axes.set_ylabel("ε, proven, at δ = 10⁻⁶")
axes.set_title("Ten categories, randomised response, rows in random order")
axes.legend()

# %%
# In words:

m = pramble.randomized_response(10, 4.0)
print(textwrap.fill(pramble.central_guarantee(m, rows=100_000, delta=1e-6).sentence(), 88))
