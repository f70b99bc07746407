"""
What an intruder learns
=======================

An intruder knows everything about a person but one value, and sees what was released for it. What
was likely before is then more or less likely: odds between any two values change by a factor of
at most :math:`e^\\alpha`, whatever the intruder believed. That is the whole promise, and it holds
for each record.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble
from pramble.numbers import sure

labels = ["never", "married", "separated", "divorced", "widowed"]
prior = np.array([0.40, 0.36, 0.02, 0.14, 0.08])
matrix = pramble.design(prior, alpha=1.0, family="general", categories=labels).mechanism.matrix

# %%
# Each point is one true value and one released value: the belief before, and the belief after by
# Bayes' rule. No matrix that satisfies α can put a point outside the solid curves.

after = prior[:, None] * matrix / (prior @ matrix)
before = np.linspace(0, 1, 200)
figure, axes = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
for alpha, style in ((1.0, "-"), (3.0, ":")):
    for sign in (1, -1):
        factor = np.exp(sign * alpha)
        bound = before * factor / (1 - before + before * factor)
        name = f"most and least, α = {alpha:g}" if sign == 1 else None
        axes.plot(before, bound, style, color="grey", label=name)
for x, label in enumerate(labels):
    axes.plot(np.full(len(labels), prior[x]), after[x], "o", label=label, alpha=0.8)
axes.set_xlabel("belief before the release")
axes.set_ylabel("belief after it")
axes.set_title("What one released value does to a belief, α = 1")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))

# %%
# How sure an intruder can be at most who was half sure before; and the largest factor between two
# true values, over all that can be released, which is what is certified.

for alpha in (1.0, 3.0, 6.0):
    print(f"α = {alpha:g}: from 50 % to at most {sure(1 / (1 + np.exp(-alpha)))}")
ratio = (matrix.max(axis=0) / matrix.min(axis=0)).max()
print(f"largest factor of this matrix {ratio:.6f}; e^α = {np.e:.6f}")
