"""Records drawn from what a release tells of the original."""
