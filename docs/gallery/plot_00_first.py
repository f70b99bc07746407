"""
Before, released, estimated
===========================

What happens to a column. Every value is changed at random with a matrix that everybody may know.
The released values by themselves are wrong, by design; but since the matrix is known, the shares of
the original can be estimated, with intervals that include the error of the randomisation.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

people = pramble.datasets.synthetic_new_york(20_000).select(["MARST"])
labels = people["MARST"].combine_chunks().dictionary.to_pylist()
matrix = pramble.randomized_response(labels, alpha=1.5)
released = pramble.perturb(people, {"MARST": matrix}, key=bytes(range(32)))
estimate = pramble.estimate(released, {"MARST": matrix}, by="MARST")


def shares(table):
    """Share of each label in a table."""
    values = table["MARST"].to_pylist()
    return np.array([values.count(label) / len(values) for label in labels])


# %%
# The key is fixed here so that the page stays the same; a release draws a secret one.

places = np.arange(len(labels))
figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
axes.bar(places - 0.27, shares(people), 0.25, label="before", color="#8a8a8a")
axes.bar(places, shares(released), 0.25, label="released", color="#E69F00")
axes.bar(places + 0.27, estimate.probabilities, 0.25, label="estimated, with 95 % intervals")
reach = [estimate.probabilities - estimate.lower, estimate.upper - estimate.probabilities]
axes.errorbar(places + 0.27, estimate.probabilities, reach, fmt="none", color="black", capsize=3)
axes.set_xticks(places, [label.split(",")[0] for label in labels])
axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
axes.set_ylabel("share of 20,000 people")
axes.set_title("Marital status, randomised at α = 1.5")
axes.grid(visible=False, axis="x")
axes.legend()
