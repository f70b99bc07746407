"""Mechanisms as values: row-stochastic matrices with exact dyadic entries.

Every kind is loaded here, so that documents and `Mechanism.from_matrix` find it by its name.
"""

from pramble.mechanisms import arcs, general, product, uniform

__all__ = ["arcs", "general", "product", "uniform"]
