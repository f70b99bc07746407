"""Which matrix is best at a given privacy: one solver per file behind one verb."""
