"""Square matrices: local search, block designs, and transport to the released values."""
