"""
Privacy against tables
======================

How much α, and which kind of promise? Two questions decide: what an intruder may learn, and how
exact the tables must be. :func:`pramble.try_release` answers both for a file, over several α and
for central promises, kept by protected tables, without releasing anything.
"""

import math

import pramble

people = pramble.datasets.synthetic_new_york(20_000).select(["SEX", "MARST"])
found = pramble.try_release(
    people, columns=["SEX", "MARST"], alphas=[0.5, 1, 2, 4], centrals=[0.5, 1], prior="uniform"
)
for one in found:
    print(
        f"{one.name:8} half sure becomes {math.ceil(100 * one.belief)} % at most   "
        f"± {100 * one.half_width:5.2f} points"
    )

# %%
# Down is more exact, left is more private. The central promises, whose numbers are ε, lie far
# below: noise is added once for everybody, not to each record. They do not hold against those who
# handle the file; :doc:`/which_alpha` says how to choose.

figure = found.plot()
