"""
Shares that are right at face value
===================================

Readers who count released values get wrong shares, unless the matrix is *invariant*: then every
share is expected to stay what it is, pM = p, if the prior p is that of the file. Offices like such
files, since nothing has to be estimated. ``invariant=True`` looks for the most informative one.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

homes = ["owned", "rented", "shared", "hostel"]
prior = np.array([0.55, 0.30, 0.10, 0.05])
invariant = pramble.design(
    prior, 1.5, family="general", categories=homes, invariant=True, time_limit=0.5
)
print(f"largest change of a share: {abs(prior @ invariant.mechanism.matrix - prior).max():.6f}")
matrix = invariant.plot()

# %%
# What it costs in information: the left panel. What it does not do is on the right. The margin of
# the column is right; tables with other columns are not, since values still move. Here a third of
# the owners are ill and nobody else, and the illness is not randomised: at face value the link
# fades.

alphas = [0.5, 1.5, 3]
designs = [
    [pramble.design(prior, a, family="general", invariant=flag, time_limit=0.3) for a in alphas]
    for flag in (False, True)
]
ill = np.array([1 / 3, 0, 0, 0])
faces = [(prior * ill) @ d.mechanism.matrix / (prior @ d.mechanism.matrix) for d in designs[True]]

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.2), layout="constrained")
for row, name in zip(designs, ("any matrix", "invariant"), strict=True):
    left.plot(alphas, [d.value for d in row], "o-", label=name)
left.set_ylabel("information, nats")
left.set_title("What it costs")
for home, name in enumerate(homes[:2]):
    right.plot(alphas, [face[home] for face in faces], "o-", label=f"released as {name}")
right.axhline(1 / 3, color="grey", label="owners, in truth")
right.set_ylabel("share who are ill")
right.set_title("What it does not do")
for axes in (left, right):
    axes.set_xlabel("α")
    axes.legend()
