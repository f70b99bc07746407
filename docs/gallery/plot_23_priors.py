"""
Where the prior comes from
==========================

A design is made for a prior. Counted on the confidential file it would make the published matrix
tell of that file. So a release counts with noise: each count gets discrete Laplace noise, and what
that costs is part of α. How much noise does a prior bear before the design is worse for it?
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

rng = np.random.default_rng(1)
truth = np.array([0.5, 0.2, 0.12, 0.08, 0.06, 0.04])
alpha, share = 1.0, 0.02


def noisy(rows):
    """Shares of a file of so many rows, counted with two per cent of α: sensitivity 2."""
    keep = np.exp(-share * alpha / 2)
    noise = rng.geometric(1 - keep, (2, len(truth))) - 1
    counts = np.maximum(rng.multinomial(rows, truth) + noise[0] - noise[1], 1)
    return counts / counts.sum()


def kept(prior, part):
    """Information of the design for a prior, at the truth."""
    made = pramble.design(prior, alpha * part, family="general")
    return pramble.mutual_information(truth, made.mechanism)


# %%
# Grey is the design that knows the truth for nothing, orange the design for equal shares, which
# costs nothing. Each dot is one noisy count, whose price is already taken off: from about a
# thousand rows on it is worth its price, and below that equal shares are safer.

sizes = [300, 1_000, 3_000, 10_000, 100_000]
figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
for rows in sizes:
    dots = [kept(noisy(rows), 1 - share) for _ in range(3)]
    name = "noisy counts" if rows == sizes[0] else None
    axes.plot([rows] * 3, dots, "o", color="#0072B2", label=name)
axes.axhline(kept(truth, 1), color="grey", label="the true shares, at no cost")
axes.axhline(kept(np.full(6, 1 / 6), 1), color="#E69F00", label="equal shares")
axes.set_xscale("log")
axes.set_xlabel("rows of the file")
axes.set_ylabel("information, nats")
axes.set_title("Six categories at α = 1, two per cent of it for the prior")
axes.legend(loc="lower right")
