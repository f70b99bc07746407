"""The best of all matrices: column generation, estimation designs, invariant designs."""
