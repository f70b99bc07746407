"""Entropy, Fisher information, distributions of records, and tables that agree."""
