"""Fitting the probabilities of a table: maximum likelihood with a proven gap, or the inverse."""
