"""Regressions on original values that were randomised."""
