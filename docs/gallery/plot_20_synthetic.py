"""
Synthetic records
=================

Software that wants plain records, classrooms and people who try out code are served by records that
nobody ever had. :func:`pramble.synthesize` draws them so that their tables are those which the
release tells. They are made from the release alone, and cost no privacy.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

names = ["SEX", "MARST", "EMPSTAT"]
people = pramble.datasets.synthetic_new_york(20_000).select(names)
columns = {name: people[name].combine_chunks().dictionary.to_pylist() for name in names}
plan = pramble.design_record(columns, alpha=3.0, tables=2, time_limit=0.8).plan
released = pramble.perturb(people, plan, key=bytes(range(32)))
synthetic = pramble.synthesize(released, plan, seed=1)

# %%
# Every cell of the three tables of two columns: its share in the original against its share in
# the synthetic records. All pairs were fitted, so the synthetic records know them. The table of
# all three columns they do not know beyond its pairs, and counting them gives no intervals: those
# come from :func:`pramble.estimate`.


def shares(table, wanted):
    """Share of each combination of labels."""
    rows = list(zip(*(table[name].to_pylist() for name in wanted), strict=True))
    cells = np.stack(np.meshgrid(*(columns[name] for name in wanted), indexing="ij"), -1)
    counts = dict.fromkeys(map(tuple, cells.reshape(-1, len(wanted))), 0)
    for row in rows:
        counts[row] += 1
    return np.array(list(counts.values())) / len(rows)


figure, axes = plt.subplots(figsize=(5.4, 4), layout="constrained")
for pair in (names[:2], names[1:], names[::2]):
    axes.plot(shares(people, pair), shares(synthetic, pair), "o", label=" × ".join(pair), alpha=0.7)
axes.plot([0, 0.3], [0, 0.3], "-", color="grey")
axes.set_xlabel("share in the original")
axes.set_ylabel("share in the synthetic records")
axes.set_title("Cells of three tables, α = 3")
axes.legend()
