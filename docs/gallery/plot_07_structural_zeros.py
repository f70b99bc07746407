"""
Records that cannot occur
=========================

Nobody is married at ten, and everybody knows it. A released record that says so is either a visible
mistake or, worse, taken for true. ``possible`` names the cells that can occur; all others are never
released, and a source file that holds one is refused.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

columns = {"age": ["0-14", "15-39", "40+"], "married": ["never", "yes", "no longer"]}
possible = np.array([[True, False, False], [True, True, True], [True, True, True]])
prior = np.where(possible, [[0.16, 0, 0], [0.22, 0.10, 0.02], [0.12, 0.28, 0.10]], 0)

free = pramble.design_record(
    columns, 2.0, prior=prior, tables=[("age", "married")], whole=True, time_limit=0.5
)
zeros = pramble.design_record(
    columns,
    2.0,
    prior=prior,
    tables=[("age", "married")],
    possible=possible,
    whole=True,
    time_limit=0.5,
)
print(f"n × variance: {free.value:.2f} with impossible records, {zeros.value:.2f} without")

# %%
# What comes out, for 20,000 people.

rng = np.random.default_rng(1)
cells = rng.choice(9, 20_000, p=prior.ravel())
people = {
    "age": np.array(columns["age"])[cells // 3],
    "married": np.array(columns["married"])[cells % 3],
}

figure, panels = plt.subplots(1, 2, figsize=(7.2, 2.8), layout="constrained", sharey=True)
for axes, design, title in zip(panels, (free, zeros), ("without rules", "with rules"), strict=True):
    out = pramble.perturb(people, design.plan, key=bytes(range(32)))
    counts = [
        [np.sum((out["age"] == a) & (out["married"] == m)) for m in columns["married"]]
        for a in columns["age"]
    ]
    axes.imshow(counts, cmap="Blues", vmin=0, vmax=4500, aspect="auto")
    axes.grid(visible=False)
    axes.set_xticks(range(3), columns["married"])
    axes.set_yticks(range(3), columns["age"])
    axes.set_xlabel("married")
    axes.set_title(f"Released {title}")
    for i in range(3):
        for j in range(3):
            colour = "white" if counts[i][j] > 3000 else "black"
            axes.text(j, i, f"{counts[i][j]:,}", ha="center", va="center", color=colour)
