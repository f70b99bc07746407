"""The limits that several areas share, in one place; a message that refuses names its own."""

# Weights over 2**53 cannot tell a smaller α from zero.
SMALLEST_ALPHA = 2.0**-52

# Above it general designs are closed forms: e^α is beyond what a linear programme resolves.
LARGEST_ALPHA = 25.0

# The same for the paper's family, whose search holds further.
LARGEST_UNIFORM_ALPHA = 44.0

# An α that no plan and no document states: weights over 2**53 end at 36.8 a column.
LARGEST_TOTAL = 10.0**6

# Categories, or outputs, of a mechanism that is read from a document, products included.
MOST_LABELS = 10**6

# Categories and outputs of all mechanisms of a document together.
MOST_LABELS_TOGETHER = 4 * 10**6

# Size of a manifest, plan or mechanism in JSON that is read.
MOST_DOCUMENT_BYTES = 2**26

# Cells of a table that a plan for records is to be best for.
MOST_WANTED_CELLS = 3000

# Cells of all protected tables of a release together.
MOST_MEASURED_CELLS = 5 * 10**7

# Cells of all tables that may be chosen from a file together: each is counted.
MOST_CANDIDATE_CELLS = 2 * 10**7

# Tables that are chosen from a file.
MOST_CHOSEN_TABLES = 100

# Cells of protected tables, times the parts of each, that are made non-negative together.
MOST_NEAREST_ENTRIES = 5 * 10**7

# Entries of a matrix that is written as a palette of weights and rows of text.
MOST_PALETTE_ENTRIES = 10**7

# Categories of a design for a loss, which is a matrix of as many rows and columns.
MOST_LOSS_CATEGORIES = 5000

# Distinct values above which a column without declared categories is not randomised.
MOST_CATEGORIES_SEEN = 10_000

# Rows below which a value that was seen in a file is shown to the curator: of so few people it may
# be known whose it is. A usual threshold of statistical offices.
LEAST_ROWS_OF_A_VALUE = 10

# Cells of a table that is held as one array.
MOST_CELLS = 50_000_000

# Cells of the distribution of synthetic records, held as one array; of more, records are drawn.
MOST_SYNTHETIC_CELLS = 20_000_000

# Parameters of the model of a table whose columns were not measured together.
MOST_MODEL_PARAMETERS = 5000

# Its cells times its parameters.
MOST_MODELLED_ENTRIES = 2 * 10**8

# Cells of the distribution that records are filled from, which is drawn again many times.
MOST_IMPUTED_CELLS = 5_000_000

# Complete records of a release, which are drawn on one machine; a larger file is sampled.
MOST_SYNTHETIC_ROWS = 5_000_000

# Values of an untouched column that synthetic records take for categories.
MOST_SYNTHETIC_VALUES = 200

# Combinations of the labels of the columns of a block, possible or not.
MOST_COMBINATIONS = 2**62

# Pairs of classes that are compared for the risk left by several randomised keys.
MOST_PAIRS = 20_000_000_000

# Memory for the cells of a log-linear model.
MOST_MODEL_BYTES = 2_000_000_000

# Entries of a mechanism that is written as CSV.
MOST_CELLS_IN_CSV = 10**8

# Cells of an estimate that is drawn.
MOST_CELLS_DRAWN = 80

# Values that are brought into a random order at once: with the order and a copy, a quarter of a
# gigabyte as numbers. Larger tables are dealt into files without a name first.
MOST_CELLS_SHUFFLED = 10_000_000

# Pieces of a released file, which are named by five digits.
MOST_PIECES = 100_000
