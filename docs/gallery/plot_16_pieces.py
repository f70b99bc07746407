"""
Pieces, and Spark
=================

A large release is a folder of pieces. What is drawn for a row depends on the key, the plan, the
column and the row's number, on nothing else: so it does not matter who writes which piece. On a
cluster every task writes its own, byte for byte what one machine would have written. The call is

.. code-block:: python

   pramble.release("people/", "release", plan="plan.toml", rows_per_file=1_048_576, spark=session)

Java is not at hand where these pages are built, so two workers of this process stand for two
machines.
"""

from concurrent.futures import ThreadPoolExecutor

import matplotlib.pyplot as plt
import numpy as np

import pramble

rows, size, key = 400_000, 100_000, bytes(range(32))
matrix = pramble.randomized_response(10, 1.0)
codes = np.random.default_rng(0).integers(0, 10, rows).astype(np.uint8)
whole = pramble.perturb(codes, matrix, key=key, column="region")


def piece(first):
    """What one worker draws: it sees its own rows and knows the number of the first."""
    own = codes[first : first + size]
    return pramble.perturb(own, matrix, key=key, column="region", first_row=first)


with ThreadPoolExecutor(2) as workers:
    pieces = list(workers.map(piece, range(0, rows, size)))
print("the same bytes:", b"".join(one.tobytes() for one in pieces) == whole.tobytes())

# %%
# Without its number a worker would repeat the draws of the first piece: people of the same true
# value, one in each piece, would be released alike, and whoever knows one would know of the other.

again = pramble.perturb(codes[size : 2 * size], matrix, key=key, column="region")
twins = codes[:size] == codes[size : 2 * size]
shares = {
    "not numbered": np.mean((pieces[0] == again)[twins]),
    "numbered": np.mean((pieces[0] == pieces[1])[twins]),
    "by chance": np.sum(matrix.matrix[0] ** 2),
}
figure, axes = plt.subplots(figsize=(7.2, 2), layout="constrained")
axes.barh(list(shares), list(shares.values()), color=["#D55E00", "#0072B2", "#8a8a8a"])
axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
axes.set_title("Twins in the first two pieces that are released alike")
axes.grid(visible=False, axis="y")
