"""
Pieces, and Spark
=================

A large release is a folder of pieces. What is drawn for a row depends on the key, the plan, the
column and the row's number, on nothing else: so it does not matter who writes which piece. On a
cluster every task writes its own, byte for byte what one machine would have written. Here is a
real session, of two cores, on made-up people in four files.
"""

import os
import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow.parquet as pq

import pramble

folder = Path(tempfile.mkdtemp())
people = pramble.datasets.synthetic_new_york(400_000).select(["SEX", "MARST"])
(folder / "people").mkdir()
for number in range(4):
    part = people.slice(100_000 * number, 100_000)
    pq.write_table(part, folder / "people" / f"part-{number}.parquet")

# %%
# Workers read the files themselves. To compare, the key is fixed here, and nothing that chance
# decides enters the plan; leave the key out, and a fresh one is drawn, used and forgotten.

# sphinx_gallery_start_ignore
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
# sphinx_gallery_end_ignore
from pyspark.sql import SparkSession  # noqa: E402

session = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.log.level", "OFF")
    .getOrCreate()
)
settings = {
    "columns": {
        "SEX": {"categories": ["Female", "Male"]},
        "MARST": {"categories": ["Married", "Widowed", "Divorced", "Separated", "Never married"]},
    },
    "alpha": 2.0,
    "design": "paper",
    "prior": "uniform",
    "rows_per_file": 131_072,
    "key": bytes(range(32)),
    "ledger": False,
}
spark = pramble.release(folder / "people", folder / "on Spark", spark=session, **settings)
alone = pramble.release(folder / "people", folder / "alone", **settings)

for piece in sorted((spark.folder / "data").iterdir()):
    same = piece.read_bytes() == (alone.folder / "data" / piece.name).read_bytes()
    print(
        f"{piece.name}: {piece.stat().st_size:,} bytes; on one machine",
        "the same" if same else "others",
    )

# %%
# What would go wrong if tasks did not know the numbers of their rows? Each would repeat the draws
# of the first: people of the same true value, one in each piece, would be released alike, and
# whoever knows one would know of the other.

matrix = pramble.randomized_response(10, 1.0)
codes = np.random.default_rng(0).integers(0, 10, 200_000).astype(np.uint8)
one, two = np.split(codes, 2)
key = bytes(range(32))
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
axes.set_title("Twins in the first two pieces that are released alike")
axes.grid(visible=False, axis="y")

# %%
# A cluster, addresses of stores, and what takes how long: :doc:`/spark`.

# sphinx_gallery_start_ignore
session.stop()
# sphinx_gallery_end_ignore
