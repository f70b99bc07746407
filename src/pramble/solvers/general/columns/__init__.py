"""Mixtures of two-valued columns: the linear and convex programmes over high sets."""
