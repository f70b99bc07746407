"""Every limit that a user can meet, in one place; a message that refuses names its own."""

SMALLEST_ALPHA = 2.0**-52
"""Weights over 2**53 cannot tell a smaller α from zero."""

LARGEST_ALPHA = 25.0
"""Above it general designs are closed forms: e^α is beyond what a linear programme resolves."""

LARGEST_UNIFORM_ALPHA = 44.0
"""The same for the paper's family, whose search holds further."""

MOST_LABELS = 10**8
"""Labels that a document of a few bytes may ask for as a range."""

MOST_NESTED = 20
"""How deep products may be nested in a document."""

MOST_CATEGORIES_SEEN = 10_000
"""Distinct values above which a column without declared categories is not randomised."""

MOST_CELLS = 50_000_000
"""Cells of a table that is held as one array."""

MOST_PAIRS = 20_000_000_000
"""Pairs of classes that are compared for the risk left by several randomised keys."""

MOST_MODEL_BYTES = 2_000_000_000
"""Memory for the cells of a log-linear model."""

MOST_CELLS_IN_CSV = 10**8
"""Entries of a mechanism that is written as CSV."""

MOST_CELLS_DRAWN = 80
"""Cells of an estimate that is drawn."""
