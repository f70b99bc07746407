r"""Where the probabilities come from that a design needs, and what they cost.

A design depends on its prior, so a prior counted on the confidential file would reveal something
about it that α does not cover. There are three honest priors: uniform, public (another source) and
private (noisy counts that spend a stated part of α); and the confidential counts themselves, which
only an explicit flag allows.

A private prior of records spends its part ε on m tables, :math:`\varepsilon/m` each; they are then
made consistent, which costs nothing. Which tables is decided without a look at the data: the wanted
ones if their noise is small next to the number of rows, else one-way tables, else none.

Noise is discrete Laplace, sampled exactly: integers and random bits, no floats. The bits follow
from the secret key of a release, so that an audit draws the same prior. The method is that of
Canonne, Kamath and Steinke (2020), "The discrete Gaussian for differential privacy", algorithms 1
and 2. A Bernoulli variable of probability :math:`e^{-\gamma}` with rational :math:`\gamma` comes
from von Neumann's alternating series, and the noise from it by rejection.
"""

import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.crosstab import crosstab
from pramble.data.labels import Label, places_of, texts_of
from pramble.data.open import open_records
from pramble.engine.keystream import WORD_BITS, KeyStream, derived_key
from pramble.errors import InvalidData, InvalidInput, InvalidPrior, PrivacyError
from pramble.information.consistent import consistent
from pramble.information.distributions import Table
from pramble.information.structural_zeros import Possible
from pramble.privacy.gaussian import float_above
from pramble.values import Floats, Integers, frozen

if TYPE_CHECKING:
    from pramble.releasing.spec.column import ColumnSpec

# Tables whose summed noise is expected to exceed this part of the rows do not repay their ε.
MOST_NOISE = 0.25

# So many records a cell are added to tables, evenly, so that no cell is taken for impossible.
UNIFORM = 0.5

# The part of α that private priors spend: what a prior is missing costs less than α would.
PRIOR_SHARE = Fraction(0.02)

SOURCES = ("uniform", "public", "private", "confidential")


# Categories that a public source lacks, named in a message.
MOST_LACKING = 5


# Words of a key stream that are made together.
AT_ONCE = 1 << 12

# A function that gives a uniform integer in ``range(n)``.
RandBelow = Callable[[int], int]


def keyed_below(key: bytes, *bound: str) -> RandBelow:
    """Return a source of uniform integers that depends on a key and what it is bound to alone.

    >>> one, same = (keyed_below(bytes(32), "a") for _ in range(2))
    >>> [one(10) for _ in range(9)] == [same(10) for _ in range(9)]
    True
    """
    stream = KeyStream(derived_key(key, *bound), "below")
    pieces = (stream.words(range(start, start + AT_ONCE)) for start in count(0, AT_ONCE))
    words = (word for piece in pieces for word in piece.tolist())

    def below(n: int) -> int:
        bits = (n - 1).bit_length()
        while True:
            found = 0
            for _ in range(-(-bits // WORD_BITS)):
                found = found << WORD_BITS | next(words)
            found >>= -bits % WORD_BITS
            if found < n:  # what is not is drawn again, so that all are equally likely
                return found

    return below


def bernoulli_exp(gamma: Fraction, randbelow: RandBelow = secrets.randbelow) -> bool:
    r"""Return True with probability exactly :math:`e^{-\gamma}`, for rational :math:`\gamma \ge 0`.

    For :math:`\gamma \le 1` let :math:`A_k` be independent with :math:`P(A_k = 1) = \gamma/k` and
    :math:`K` the first :math:`k` with :math:`A_k = 0`; then
    :math:`P(K > k) = \gamma^k / k!` and
    :math:`P(K \text{ odd}) = \sum_k (-\gamma)^k / k! = e^{-\gamma}`.

    >>> bernoulli_exp(Fraction(0))
    True
    """
    while gamma > 1:
        if not bernoulli_exp(Fraction(1), randbelow):
            return False
        gamma -= 1
    k = 1
    while randbelow(gamma.denominator * k) < gamma.numerator:
        k += 1
    return k % 2 == 1


def discrete_laplace(rate: Fraction, randbelow: RandBelow = secrets.randbelow) -> int:
    r"""Return an integer :math:`x` with probability proportional to :math:`e^{-\text{rate}\,|x|}`.

    Write the rate as :math:`s/t`. :math:`U` uniform below :math:`t`, kept with probability
    :math:`e^{-U/t}`, plus :math:`t` times a geometric number, is geometric with ratio
    :math:`e^{-1/t}`; its quotient by :math:`s` is geometric with ratio :math:`e^{-s/t}`. A random
    sign, with "minus zero" drawn again, gives the two-sided distribution.

    The rate is ε divided by the sensitivity; ``randbelow`` is the system's secure generator.

    Examples
    --------
    >>> isinstance(discrete_laplace(Fraction(1, 3)), int)
    True
    """
    if rate <= 0:
        raise InvalidInput(f"The rate of discrete Laplace noise must be positive; found {rate}.")
    s, t = rate.numerator, rate.denominator
    while True:
        below = randbelow(t)
        if not bernoulli_exp(Fraction(below, t), randbelow):
            continue
        above = 0
        while bernoulli_exp(Fraction(1), randbelow):
            above += 1
        size = (below + t * above) // s
        negative = randbelow(2) == 1
        # Zero would have twice its probability if both signs of it counted.
        if not (negative and size == 0):
            return -size if negative else size


def noisy_histogram(
    counts: list[int], epsilon: Fraction, *, randbelow: RandBelow = secrets.randbelow
) -> list[int]:
    r"""Return the counts plus independent discrete Laplace noise, ε-differentially private.

    Neighbouring files differ in one record's value, as in the paper: one count goes down by one
    and another up by one, so the :math:`\ell_1` sensitivity is 2 and the noise has rate
    :math:`\varepsilon/2`. (Were neighbours to differ by a record added or removed, the sensitivity
    would be 1 and the same noise would spend ε/2; the number of rows would then be secret too.)

    Examples
    --------
    >>> len(noisy_histogram([10, 0, 5], Fraction(1, 50)))
    3
    """
    rate = Fraction(epsilon) / 2
    return [int(count) + discrete_laplace(rate, randbelow) for count in counts]


@frozen(eq=False)
class Prior:
    """Tables that a distribution of records is made from; that of a column is one table.

    Of no tables it is uniform.
    """

    tables: Mapping[Table, Floats]
    source: str  # "uniform", "public", "private" or "confidential"
    spent: Fraction  # the part of α spent on it, exactly; zero unless private
    detail: str  # one sentence for the manifest and the report

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise InvalidPrior(f"A prior is one of {', '.join(SOURCES)}; found {self.source!r}.")
        if self.spent < 0 or (self.spent > 0) != (self.source == "private"):
            raise PrivacyError("A private prior spends part of α, and no other prior does.")
        for table in self.tables.values():
            if min(table.flat, default=-1.0) < 0:
                raise InvalidPrior("The probabilities of a prior must be zero or more.")
            if not math.isclose(math.fsum(table.flat), 1, abs_tol=1e-9):
                raise InvalidPrior("The probabilities of a prior must sum to 1.")

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Those of the categories of a column, in their order."""
        (table,) = self.tables.values()
        return tuple(table.tolist())

    def origin(self) -> dict[str, Any]:
        """Return where it comes from and what it spent, for the manifest."""
        return {
            "source": self.source,
            "alpha": float_above(self.spent),
            "alpha_exact": str(self.spent),
            "detail": self.detail,
        }


EVEN = Prior({}, "uniform", Fraction(0), "Every record counted as equally likely.")


def private_prior(
    counts: Mapping[Table, Integers],
    epsilon: Fraction,
    *,
    rows: int,
    possible: Possible,
    randbelow: RandBelow = secrets.randbelow,
) -> Prior:
    """Return consistent tables from counts with exact discrete Laplace noise, ε in all."""
    # Noisy tables are ε-differentially private for replacing one record (sensitivity 2). What
    # follows only post-processes them: the nearest tables that agree and are distributions, and a
    # little added everywhere so that no cell is taken for impossible.
    part, several = epsilon / len(counts), len(counts) > 1
    noisy = {
        table: np.array(
            noisy_histogram(found.reshape(-1).tolist(), part, randbelow=randbelow), dtype=np.float64
        ).reshape(found.shape)
        / rows
        for table, found in counts.items()
    }
    return Prior(
        with_some_everywhere(consistent(noisy), possible, rows=rows),
        "private",
        epsilon,
        f"{f'{len(counts)} tables' if several else 'A histogram'} with discrete Laplace noise of "
        f"scale {float(2 / part):.6g} (sensitivity 2), which spent {float(epsilon):.6g} of "
        f"α{' together' if several else ''}.",
    )


def draws_of(
    key: bytes | None,
    counts: Mapping[Table, Integers],
    epsilon: Fraction,
    labels: Mapping[str, Sequence[Any]],
) -> RandBelow:
    """Return the random integers of a private prior: those of a key, or else of the system."""
    if key is None:
        return secrets.randbelow
    # Two priors of the same noise subtract to exact counts: a prior of anything else draws others.
    made_of = [([(n, *labels[n]) for n in table], own.tolist()) for table, own in counts.items()]
    return keyed_below(key, str(epsilon), repr(made_of))


def confidential_prior(
    counts: Mapping[Table, Integers], *, rows: int, possible: Possible, allowed: bool
) -> Prior:
    """Return the counts as they are; refused unless the curator said so explicitly."""
    if not allowed:
        raise PrivacyError(
            "A confidential prior makes the published plan reveal frequencies of the file, which α "
            "does not cover. Use a private, public or uniform prior, or pass "
            "confidential_prior_allowed=True (--set confidential_prior_allowed=true)."
        )
    shares = {table: found / rows for table, found in counts.items()}
    return Prior(
        with_some_everywhere(shares, possible, rows=rows),
        "confidential",
        Fraction(0),
        "Counted on the confidential file: the privacy guarantee is conditional on these "
        "probabilities, which the plan may reveal.",
    )


def public_prior(path: str | Path, column: str, *, categories: Sequence[Any]) -> Prior:
    """Return the frequencies of a column in a public source.

    The source is a data file (Parquet or CSV) with a column of that name, or a CSV of margins with
    the header ``category,count`` or ``column,category,count`` (counts may be probabilities). A
    category that the source lacks counts half the smallest positive count.

    Labels are compared as text.
    """
    counts = margins_of(Path(path), column)
    places = places_in_source(list(counts), categories, column=column, source=Path(path))
    found = np.zeros(len(categories))
    np.add.at(found, places, list(counts.values()))
    if not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        raise InvalidPrior(
            f"The counts of column {column!r} in {Path(path).name!r} must be non-negative numbers, "
            "at least one of them positive."
        )
    lacks = [str(label) for label, count in zip(categories, found, strict=True) if not count]
    # A category of probability 0 would be merged with others by the best matrix.
    found = np.where(found > 0, found, found[found > 0].min() / 2)
    detail = f"Frequencies of {Path(path).name}, public{lacking(lacks, column)}."
    return Prior({(column,): found / found.sum()}, "public", Fraction(0), detail)


def lacking(labels: Sequence[str], column: str) -> str:
    """Say which categories a public source lacks, and what they were taken for.

    >>> lacking([], "sex"), lacking(["m"], "sex")
    ('', "; it lacks m of 'sex', counted as half of its rarest value")
    """
    if not labels:
        return ""
    names = ", ".join(labels[:MOST_LACKING])
    more = f" and {len(labels) - MOST_LACKING} more" if len(labels) > MOST_LACKING else ""
    each = "each counted" if len(labels) > 1 else "counted"
    return f"; it lacks {names}{more} of {column!r}, {each} as half of its rarest value"


def places_in_source(
    values: Sequence[Label], categories: Sequence[Any], *, column: str, source: Path
) -> list[int]:
    """Return where values of a public source stand among the categories, compared as text."""
    places = places_of(
        [texts_of(label)[0] for label in categories], [texts_of(value)[0] for value in values]
    )
    unknown = [str(value) for value, place in zip(values, places, strict=True) if place is None]
    if unknown:
        raise InvalidPrior(
            f"The public source {source.name!r} has values of column {column!r} that are not "
            f"declared categories: {sorted(unknown)[:5]}. Declare or recode them."
        )
    return [place for place in places if place is not None]


def margins_of(path: Path, column: str) -> dict[str | None, float]:
    """Return the count of each value (as text) of a column in a public file."""
    try:
        records = open_records(path)
        names = list(records.names)
        if column in names:
            table = crosstab(records, [column])
            return by_text(zip(table.levels[0], table.array(), strict=True))
        if names[-2:] != ["category", "count"] or names[:-2] not in ([], ["column"]):
            raise InvalidPrior(
                f"{path.name!r} must have a column {column!r}, or be margins with the header "
                f"category,count or column,category,count; its columns are {names}."
            )
        keys = names[:-1]
        table = crosstab(records, keys, measure="count", powers=[(0, 1)])
    except InvalidData as error:
        raise InvalidPrior(f"Cannot read the public source {path.name!r}: {error}") from None
    rows = zip(map(table.labels_of, range(len(table.counts))), table.sums[0, 1], strict=True)
    mine = {key[-1]: count for key, count in rows if str(([column, *key])[-2]) == column}
    if not mine:
        raise InvalidPrior(f"{path.name!r} has no margins of column {column!r}.")
    return by_text(mine.items())


def by_text(counts: Iterable[tuple[Label, float]]) -> dict[str | None, float]:
    return {texts_of(label)[0]: float(count) for label, count in counts}


def precise_tables(
    wanted: Sequence[Table], sizes: Mapping[str, int], epsilon: Fraction, *, rows: int
) -> tuple[Table, ...]:
    """Return the tables whose noisy counts say something: the wanted ones, one-way ones, or none.

    >>> sizes = {"a": 4, "b": 5}
    >>> precise_tables([("a", "b")], sizes, Fraction(1, 25), rows=100_000)
    (('a', 'b'),)
    >>> precise_tables([("a", "b")], sizes, Fraction(1, 25), rows=2_500)
    (('a',), ('b',))
    >>> precise_tables([("a", "b")], sizes, Fraction(1, 25), rows=100)
    ()
    """
    singles = tuple((name,) for name in sizes)
    for tables in (tuple(wanted), singles):
        cells = sum(int(np.prod([sizes[name] for name in table])) for table in tables)
        # Each of m tables has noise of scale 2m/ε in a cell, whatever the data are.
        noise = float(2 * len(tables) / epsilon) * cells / len(tables)
        if noise <= MOST_NOISE * rows:
            return tables
    return ()


def public_tables(
    columns: Sequence["ColumnSpec"],
    labels: Mapping[str, Sequence[Any]],
    wanted: Sequence[Table],
    *,
    possible: Possible,
) -> Prior:
    """Return tables of a public source: the wanted ones, or those of single columns."""
    paths = {column.prior_file for column in columns}
    path = next(iter(paths)) if len(paths) == 1 else None
    if path is not None and set(labels) <= set(open_records(Path(path)).names):
        found = {table: public_table(Path(path), table, labels) for table in wanted}
        return Prior(
            with_some_everywhere(found, possible),
            "public",
            Fraction(0),
            f"Tables of {Path(path).name}, public.",
        )
    singles: dict[Table, Floats] = {}
    lacks = []
    for column in columns:
        if column.prior_file is not None:
            source = public_prior(column.prior_file, column.name, categories=labels[column.name])
            prior = source.probabilities
            lacks += [source.detail] if "lacks" in source.detail else []
        else:
            prior = column.prior
        if len(prior) != len(labels[column.name]):
            raise InvalidPrior(
                f"Column {column.name!r} has {len(labels[column.name])} categories and "
                f"{len(prior)} probabilities."
            )
        singles[column.name,] = np.array(prior)
    detail = " ".join(["Frequencies of single columns, public.", *lacks])
    return Prior(singles, "public", Fraction(0), detail)


def public_table(path: Path, table: Table, labels: Mapping[str, Sequence[Any]]) -> Floats:
    counted = crosstab(open_records(path), list(table))
    places = [
        np.array(places_in_source(levels, labels[name], column=name, source=path), dtype=np.int64)
        for name, levels in zip(table, counted.levels, strict=True)
    ]
    cells = np.zeros(tuple(len(labels[name]) for name in table))
    np.add.at(cells, np.ix_(*places), counted.array())
    return np.asarray(cells / cells.sum())


def with_some_everywhere(
    tables: Mapping[Table, Floats], possible: Possible, *, rows: int = 1000
) -> dict[Table, Floats]:
    """Return tables in which every possible cell has some probability, and no other."""
    if not tables:
        return {}
    most = max(table.size for table in tables.values())
    # A tenth at most, lest a small file be designed for as if nothing were known of it.
    part = min(0.1, UNIFORM * most / rows)
    return restricted(
        {names: (1 - part) * table + part / table.size for names, table in tables.items()}, possible
    )


def restricted(tables: Mapping[Table, Floats], possible: Possible) -> dict[Table, Floats]:
    left = {names: np.where(possible.mask(names), own, 0.0) for names, own in tables.items()}
    return {names: own / own.sum() for names, own in left.items()}
