"""
Pieces, and Spark
=================

A large release is a folder of pieces. What is drawn for a row depends on the key, the plan, the
column and the row's number, on nothing else: so it does not matter who writes which piece. On
Spark every task writes its own, byte for byte what one machine writes. Here is a session of two
cores. The key is fixed to compare; left out, a fresh one is drawn, used and forgotten.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import pramble

folder, key = Path(tempfile.mkdtemp()), bytes(range(32))
people = pramble.datasets.synthetic_new_york(400_000).select(["SEX"])
pq.write_table(people, folder / "people.parquet")
quiet = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}
session = SparkSession.builder.master("local[2]").config(map=quiet).getOrCreate()
settings = {"columns": {"SEX": {"categories": ["Female", "Male"]}}, "alpha": 1.0, "ledger": False}
settings |= {"rows_per_file": 131_072, "key": key}
spark = pramble.release(folder / "people.parquet", folder / "spark", spark=session, **settings)
alone = pramble.release(folder / "people.parquet", folder / "alone", **settings)
for piece in sorted((spark.folder / "randomised").iterdir()):
    same = piece.read_bytes() == (alone.folder / "randomised" / piece.name).read_bytes()
    print(f"{piece.name}: {piece.stat().st_size:,} bytes; those of one machine: {same}")
session.stop()

# %%
# If tasks did not know the numbers of their rows, each would repeat the draws of the first: people
# of the same true value, one in each piece, would be released alike, and whoever knows one would
# know of the other.

matrix = pramble.randomized_response(10, 1.0)
one, two = np.random.default_rng(0).integers(0, 10, (2, 100_000)).astype(np.uint8)
first, again = (pramble.perturb(own, matrix, key=key, column="region") for own in (one, two))
right = pramble.perturb(two, matrix, key=key, column="region", first_row=len(one))
twins = one == two
shares = {
    "not numbered": np.mean((first == again)[twins]),
    "numbered": np.mean((first == right)[twins]),
    "by chance": np.sum(matrix.matrix[0] ** 2),
}
figure, axes = plt.subplots(figsize=(7.2, 2), layout="constrained")
axes.barh(list(shares), list(shares.values()), color=["#D55E00", "#0072B2", "#8a8a8a"])
axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
axes.set_xlabel("share of twins, one in each of two pieces, that are released alike")
axes.grid(visible=False, axis="y")
