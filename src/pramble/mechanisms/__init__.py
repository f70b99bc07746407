"""Mechanisms as values: row-stochastic matrices with exact dyadic entries."""
