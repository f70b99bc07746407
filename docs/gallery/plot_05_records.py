"""
Records, not columns
====================

α protects a whole record. Columns that are randomised one by one must share it: three columns at
α = 1 get a third each, and tables of two columns drown in noise. A *plan* for records treats the
columns together: a public coin decides which columns a record shows, and those are randomised by
one matrix at the full α.
"""

import matplotlib.pyplot as plt
import numpy as np

import pramble

columns = {
    "sex": ["f", "m"],
    "married": ["never", "yes", "no longer"],
    "work": ["yes", "no", "seeking"],
}
alphas = [0.5, 1, 2, 3]
together = [pramble.design_record(columns, alpha, tables=2, time_limit=0.8) for alpha in alphas]

# %%
# The same tables from columns that share α. The joint law of two columns is randomised by the
# product of their matrices; its variance is that of the estimated cells.


def split_cost(alpha):
    """Sum of n times the variance of the cells of all two-way tables, at a uniform prior."""
    alone = {name: pramble.randomized_response(v, alpha / 3) for name, v in columns.items()}
    pairs = [(a, b) for a in alone for b in alone if a < b]
    blocks = [
        pramble.Mechanism.from_matrix(np.kron(alone[a].matrix, alone[b].matrix)) for a, b in pairs
    ]
    return sum(pramble.estimation_variance(np.full(m.shape[0], 1 / m.shape[0]), m) for m in blocks)


figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
axes.semilogy(alphas, [split_cost(alpha) for alpha in alphas], "s--", label="columns share α")
axes.semilogy(alphas, [d.value for d in together], "o-", label="records together")
axes.semilogy(alphas, [d.bound for d in together], "k:", label="no mechanism is below")
axes.set_xlabel("α of a record")
axes.set_ylabel("n × variance, three two-way tables")
axes.set_title("Three columns, all tables of two")
axes.legend()
