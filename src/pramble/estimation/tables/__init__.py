"""Estimates from protected tables."""
