"""
A regression from released records
==================================

A covariate that was randomised looks weaker than it is: its coefficient shrinks.
:func:`pramble.estimate_regression` corrects the score equations by the inverse of the matrix, so
that what it finds is what the original file would have given, up to an error that it states.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

rng = np.random.default_rng(0)
n = 20_000
sex = rng.choice(["f", "m"], n)
smokes = np.where(rng.random(n) < np.where(sex == "m", 0.35, 0.2), "yes", "no")
age = rng.uniform(20, 80, n)
logit = -3 + 0.03 * age + 0.5 * (sex == "m") + 1.0 * (smokes == "yes")
ill = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), 1, 0)
people = {"ill": ill, "age": age, "sex": sex, "smokes": smokes}

plan = {
    "ill": pramble.randomized_response([0, 1], 2.0),
    "sex": pramble.randomized_response(["f", "m"], 2.0),
    "smokes": pramble.randomized_response(["no", "yes"], 2.0),
}
released = pramble.perturb(people, plan, key=bytes(range(32)))
model = "ill ~ age + sex + smokes"
fits = {
    "original file": pramble.estimate_regression(people, {}, model),
    "released, corrected": pramble.estimate_regression(released, plan, model),
    "released, at face value": pramble.estimate_regression(released, {}, model),
}
print(fits["released, corrected"])

# %%
# Even the coefficient of age, which was not randomised, shrinks at face value, since the response
# was randomised. ``inflation`` above says how many times larger each variance is than without
# randomisation.

figure, axes = plt.subplots(figsize=(7.2, 3), layout="constrained")
names = ("ten years of age", "sex[m]", "smokes[yes]")
scale = np.array([10, 1, 1])
for number, (title, fit) in enumerate(fits.items()):
    found = fit.coefficients[1:] * scale
    reach = [found - fit.lower[1:] * scale, fit.upper[1:] * scale - found]
    axes.errorbar(found, np.arange(3) + 0.22 * (1 - number), xerr=reach, fmt="o", label=title)
axes.vlines([0.3, 0.5, 1.0], np.arange(3) - 0.35, np.arange(3) + 0.35, "black", label="truth")
axes.set_yticks(np.arange(3), names)
axes.set_xlabel("coefficient, log odds")
axes.set_title("What makes people ill, α = 2 for each of three columns")
axes.legend(loc="lower right")
