"""
All matrices against the paper's family
=======================================

The matrices of Ayed, Battiston and Camerlenghi (2020) have *uniform rows*: they move a value to any
other category alike. Nothing in the promise asks for that.
``family="general"`` looks for the best of *all* matrices that satisfy α, and proves how close it
comes. The smaller α, the more it gains.
"""

import pramble

work = ["office", "sales", "craft", "care", "farm", "army", "arts"]
prior = [0.30, 0.22, 0.18, 0.12, 0.08, 0.06, 0.04]
uniform = pramble.design(prior, alpha=0.5)
general = pramble.design(prior, alpha=0.5, family="general", categories=work)
print(f"the paper's family  {uniform.value:.5f} nats")
print(f"all matrices        {general.value:.5f} nats, at most {general.bound:.5f} is possible")

# %%
# A released label is likelier for some true values and less likely for all others, by a factor of
# :math:`e^\alpha`, so it stands for a group of them. The groups overlap, and together they tell
# values apart.

figure = general.plot()
