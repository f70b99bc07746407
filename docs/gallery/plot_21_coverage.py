"""
Intervals that cover
====================

A 95 % interval that holds the truth in 80 % of all releases is worse than none. For a share
within a group both the share and the size of the group are estimated, and the interval must know
it. Here the same small file is released sixty times, and each time the share of the ill among
women is estimated.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

rng = np.random.default_rng(3)
n = 1_500
sex = rng.choice(["f", "m"], n)
ill = np.where(rng.random(n) < np.where(sex == "f", 0.25, 0.1), "yes", "no")
people = {"sex": sex, "ill": ill}
truth = np.mean(ill[sex == "f"] == "yes")
plan = {
    "sex": pramble.randomized_response(["f", "m"], 1.5),
    "ill": pramble.randomized_response(["no", "yes"], 1.5),
}
found = []
for number in range(60):
    released = pramble.perturb(people, plan, key=number.to_bytes(32))
    e = pramble.estimate(released, plan, by="ill", given="sex", covers="randomisation")
    found.append((e.lower[1], e.values[1], e.upper[1]))
lower, middle, upper = np.array(found)[np.argsort([one[1] for one in found])].T

# %%
# Sorted by the estimate. The intervals are not alike in length, and never leave 0 to 1. What they
# are to hold is the share in the file, hence ``covers="randomisation"``. Sixty releases say the
# coverage to within about five points: more are in the :doc:`tables of all analyses </coverage>`.

holds = (lower <= truth) & (truth <= upper)
print(f"{holds.sum()} of {len(holds)} intervals hold the truth")
figure, axes = plt.subplots(figsize=(7.2, 3), layout="constrained")
for inside, colour, name in ((True, "#0072B2", "hold it"), (False, "#D55E00", "do not")):
    at = np.flatnonzero(holds == inside)
    axes.vlines(at, lower[at], upper[at], color=colour, label=f"{len(at)} {name}")
axes.plot(middle, ".", color="black")
axes.axhline(truth, color="grey", label="the truth in the file")
axes.set_xticks([])
axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
axes.set_xlabel("sixty releases")
axes.set_ylabel("share of women who are ill")
axes.set_title("1,500 people, sex and illness at α = 1.5 each")
axes.legend(loc="upper left")
