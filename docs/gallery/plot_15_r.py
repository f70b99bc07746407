"""
Reading a release in R
======================

Every release holds a program for readers, ``analysis.R``. It has the plan as R code and the
estimator in base R, so nothing has to be installed where the data is a text file:
``Rscript analysis.R MARST`` prints the table of a column.
"""

import tempfile
from pathlib import Path

import pramble

people = pramble.datasets.synthetic_new_york(20_000).select(["MARST"])
folder = tempfile.TemporaryDirectory()
release = pramble.release(
    people,
    Path(folder.name, "release"),
    columns={
        "MARST": {"categories": sorted(set(people["MARST"].to_pylist())), "family": "response"}
    },
    alpha=1.5,
    design="columns",
    key=bytes(range(32)),
    ledger=False,
    pages=False,
)
program = (release.folder / "analysis.R").read_text()

# %%
# The part of the program that this release wrote, out of so many lines; the others read the file
# and estimate, and are the same in all releases.

start, end = program.index("# What each randomised"), program.index("# ---- Reading")
print(len(program.splitlines()), "lines, of which\n")
print(program[start:end])

# %%
# The program does what Python does with ``method="inverse"``: the estimates and errors below are
# those that it prints. R is not run while these pages are built; a test compares the two.

estimate = pramble.estimate(pramble.open_release(release.folder), by="MARST", method="inverse")
print(estimate)
figure = estimate.plot()
folder.cleanup()
