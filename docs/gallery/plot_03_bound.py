"""
The universal bound
===================

However many categories there are and whatever their prior, a released value tells at most

.. math:: u - 1 - \\log u, \\qquad u = \\frac{\\alpha}{1 - e^{-\\alpha}}

nats about the true one (:func:`pramble.information_bound`). It is not only an upper bound: for
numbers in equally likely bands, arcs around a circle (:func:`pramble.circle`) come as close to it
as one likes.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

alphas = np.linspace(0.5, 6, 12)
figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
axes.plot(alphas, [pramble.information_bound(alpha) for alpha in alphas], label="bound")
for size, marker in ((4, "s"), (16, "^"), (256, "o")):
    even = np.full(size, 1 / size)
    told = [pramble.mutual_information(even, pramble.circle(size, alpha)) for alpha in alphas]
    axes.plot(alphas, told, marker, label=f"circle of {size} equally likely bands")
axes.set_xlabel("α")
axes.set_ylabel("information, nats")
axes.set_title("No matrix is above the curve")
axes.legend()

# %%
# At α = 2 the bound is less than half a nat. A fair coin tells 0.69 nats; one released value tells
# less than that about the true one. Good tables come from many records, not from single ones.

print(f"{pramble.information_bound(2.0):.4f} nats")
