"""Writing the released file, in its order, under its key, and checking it."""
