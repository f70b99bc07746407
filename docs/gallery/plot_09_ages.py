"""
Ages that stay near
===================

To release 36 for 34 is a smaller lie than 80 for 34. With a distance between categories, α holds
*per unit of distance*: two ages that are d years apart are hidden to within a factor of
:math:`e^{\\alpha d}`. What would fall beyond an end of the scale is put on it.
Near ages are hidden well, far ones less; say so to the people in the file. On a scale
:func:`pramble.geometric` carries the most information of all matrices with this promise.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

years = np.arange(96)
labels = [*(str(year) for year in years[:-1]), "95+"]
m = pramble.geometric(labels, 0.2)
print(pramble.certify(m, distance="path"))

figure, axes = plt.subplots(figsize=(7.2, 2.8), layout="constrained")
for age in (10, 34, 70):
    axes.plot(years, m.matrix[age], ".", label=f"true age {age}")
axes.set_xlabel("released age")
axes.set_ylabel("probability")
axes.set_title("Where an age is moved, α = 0.2 for a year")
axes.legend()

# %%
# The analyst gets the ages back as a distribution, with intervals. The true ages are known here,
# since the people are made up; half a year is added for where in it a person is.

pyramid = np.where(years < 60, 1 - 0.002 * years, 0.88 * np.exp((60 - years) / 14))
rng = np.random.default_rng(7)
ages = rng.choice(96, 50_000, p=pyramid / pyramid.sum())
released = pramble.perturb({"age": [labels[age] for age in ages]}, {"age": m}, key=bytes(range(32)))
estimate = pramble.estimate(released, {"age": m}, by="age")
distribution = estimate.distribution(high=96)
print(distribution)
print(f"the true mean is {ages.mean() + 0.5:.2f}")

# %%
# The share of people up to each age, and the true one behind it.

cumulative = estimate.cumulative("age")
true = np.cumsum(pyramid / pyramid.sum())
figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
axes.plot(years + 1, true, color="#D55E00", linewidth=1, label="before")
axes.vlines(years + 1, cumulative.lower, cumulative.upper, color="#0072B2", label="95 % intervals")
axes.set_xlabel("age")
axes.set_ylabel("share below")
axes.legend()
