"""
The best matrix for a prior
===========================

A category is kept with a probability of its own, or moved to any other category alike: the family
of matrices of Ayed, Battiston and Camerlenghi (2020). :func:`pramble.design` finds the member of
the family that keeps the most information at privacy α, for a *prior*: the shares of the categories
that one expects.

*Information* is how much the released value tells about the true one, in nats (one nat is 1.44
bits). At most it is the entropy of the prior, which is what the true value itself tells.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

prior = [0.48, 0.35, 0.12, 0.05]
jobs = ["employed", "inactive", "student", "unemployed"]
best = pramble.design(prior, alpha=1.5, categories=jobs)
print(best)

# %%
# The matrix: rows are true values, columns released ones.

matrix = best.plot()

# %%
# More α keeps more. The curve is the best possible value in the family, up to a proven gap of one
# part in a million; the dashed line is the entropy, where nothing is changed.

alphas = np.linspace(0.25, 6, 24)
kept = [pramble.design(prior, alpha=alpha).value for alpha in alphas]
response = [
    pramble.mutual_information(prior, pramble.randomized_response(4, alpha)) for alpha in alphas
]

figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
axes.plot(alphas, kept, label="best matrix of the family")
axes.plot(alphas, response, ":", label="randomised response")
axes.axhline(pramble.entropy(prior), color="grey", linestyle="--", label="entropy of the prior")
axes.set_xlabel("α")
axes.set_ylabel("information, nats")
axes.set_title("How information grows with α")
axes.legend()
