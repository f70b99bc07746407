"""Designs of matrices, records and tables: the best at a given privacy, with a proven bound."""
