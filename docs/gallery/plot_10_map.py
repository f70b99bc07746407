"""
A map
=====

A column may say where people live. :class:`pramble.Areas` knows which areas are neighbours, so α
can hold for a step from neighbour to neighbour: near areas are hidden from each other better than
far ones. The island and its people are synthetic.
"""

import numpy as np

import pramble

areas = pramble.datasets.synthetic_island()
shares = pramble.datasets.synthetic_island_shares()
people = areas.plot(shares, label="share of the people")

# %%
# Where is a person of Quillby released? α = 1.5 for a step: mostly in Quillby or next to it.

distance = pramble.Distance.from_matrix(areas.hops(), unit="step")
design = pramble.design(
    list(shares.values()), 1.5, family="general", distance=distance, categories=list(shares)
)
row = design.mechanism.matrix[list(shares).index("Quillby")]
moves = areas.plot(dict(zip(shares, row, strict=True)), label="probability of being released here")

# %%
# What 20,000 released people say about the map.

distribution = np.array(list(shares.values())) @ design.mechanism.matrix
released = np.random.default_rng(1).multinomial(20_000, distribution)
estimate = pramble.estimate(released, design.mechanism, counts=True)
found = dict(zip(shares, estimate.probabilities, strict=True))
figure = areas.plot(found, label="estimated share of the people")
