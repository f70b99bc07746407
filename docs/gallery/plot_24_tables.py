"""
Protected tables
================

An office that is trusted with its file publishes tables with exact noise, and complete records
drawn from them. :func:`pramble.design_tables` says how noisy each table will be, before anything is
counted; :doc:`/tables` says why no linear mechanism with Gaussian noise has less.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

names = ["SEX", "AGE", "MARST", "EDUC", "EMPSTAT"]
people = pramble.datasets.synthetic_new_york(20_000).select(names)
columns = {name: people[name].combine_chunks().dictionary.to_pylist() for name in names}
design = pramble.design_tables(columns, epsilon=1.0, delta=1e-6, tables=2)
print(design.guarantee)
noise_figure = design.plot()

# %%
# The tables are measured once. (The key is fixed for this page; a curator keeps it secret.) An
# estimate has intervals; ``covers="randomisation"`` leaves the error of sampling people out.

measured = pramble.measure(people, design, key=bytes(range(32)))
status = pramble.estimate(measured, by=["SEX", "MARST"], covers="randomisation")
estimate_figure = status.plot()

# %%
# Complete records follow from the tables alone. Below each cell of a table of two columns, which
# was measured, and each cell of one of three, which was not: it is modelled, without interactions
# of three columns, and lies further from the file.

records = pramble.synthesize(measured, seed=1)


def counts(frame, wanted):
    """Number of records in every combination of labels."""
    codes = [[columns[name].index(value) for value in frame[name].to_pylist()] for name in wanted]
    shape = [len(columns[name]) for name in wanted]
    return np.bincount(np.ravel_multi_index(codes, shape), minlength=np.prod(shape))


figure, both = plt.subplots(1, 2, figsize=(7.2, 3.4), layout="constrained", sharey=True)
for axes, wanted in zip(both, [["MARST", "EMPSTAT"], ["SEX", "MARST", "EMPSTAT"]], strict=True):
    true, drawn = counts(people, wanted), counts(records, wanted)
    axes.plot(true, drawn - true, "o", alpha=0.7)
    axes.axhline(0, color="grey")
    axes.set_title(" × ".join(wanted), loc="left")
    axes.set_xlabel("people in the file")
both[0].set_ylabel("records drawn, less people")
