"""
From a risk to an α
===================

How private is private enough? An office may say it as a *risk*: an intruder who knows some columns
of everybody (the *keys*) looks for people who stand alone in the file, and guesses who they are. τ2
is the number of right guesses to expect. :func:`pramble.calibrate` finds the α up to which it is at
most a target.
"""

import pramble

people = pramble.datasets.synthetic_new_york(5_000)  # a sample of a town of 50,000
keys = ["SEX", "AGE", "MARST", "EDUC"]
before = pramble.assess(people, keys=keys, population_size=50_000, model="independence")
print(f"{before.sample_uniques} people stand alone; τ2 = {before.tau2:.1f} right guesses to expect")

# %%
# At most three are wanted, by randomising education alone.

k = pramble.calibrate(
    people,
    keys=keys,
    population_size=50_000,
    model="independence",
    column="EDUC",
    measure="tau2",
    at_most=3.0,
)
print(k)

# %%
# On the left the risk over α, on the right what it costs: the part of what a value tells (its
# entropy) that is kept. The notes above are to be taken seriously: calibrate on a public file.

figure = k.plot()
