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

homes = ["owned", "rented", "shared", "hostel", "ward", "street"]
prior = [0.55, 0.30, 0.07, 0.04, 0.03, 0.01]
best = pramble.design(prior, alpha=1.0, categories=homes)
print(best)

# %%
# The matrix: rows are true values, columns released ones. Most information does not mean most
# values kept: here all categories but one are released as themselves less often than as another.
# A release tells most by what it is not; ``objective="estimation"`` asks for something else.

matrix = best.plot()

# %%
# More α keeps more. The curve is the best value in the family, up to a proven gap of one part in
# a million. Randomised response keeps every category with one and the same probability; for this
# prior it is the best of the family for most values of α, but not for every one.

alphas = np.linspace(0.25, 6, 24)
family = [pramble.design(prior, alpha=alpha).value for alpha in alphas]
response = [
    pramble.mutual_information(prior, pramble.randomized_response(6, alpha)) for alpha in alphas
]

figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
axes.plot(alphas, family, label="best matrix of the family")
axes.plot(alphas, response, label="randomised response")
axes.axhline(pramble.entropy(prior), color="grey", label="entropy: what the true value tells")
axes.set_xlabel("α")
axes.set_ylabel("information, nats")
axes.set_title("How information grows with α")
axes.legend()
gain = max(best / plain for best, plain in zip(family, response, strict=True))
print(f"at most {gain:.2f} times the information of randomised response")
