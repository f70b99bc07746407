"""
Information against estimation
==============================

What is a matrix for? The one that tells most about each *value* is not the one from which the
*shares* of the categories are estimated best. :func:`pramble.pareto_curve` gives matrices between
the two: for each share of the most information, a matrix of small variance that keeps it.
"""

import pramble

prior = [0.4, 0.3, 0.2, 0.1]
curve = pramble.pareto_curve(prior, alpha=1.0, shares=[0.99, 0.95, 0.9])
for information, variance in zip(curve.information, curve.variance, strict=True):
    print(f"{information:.4f} nats   n × variance of the shares {variance:8.2f}")

# %%
# The first line keeps 99 % of the most information, the last is the matrix for estimation. The
# former nearly merges categories, so that their shares can hardly be estimated. n is the number of
# records: with 10,000 of them the standard error of a share is the root of its part of the
# variance, divided by 100.

figure = curve.plot()
