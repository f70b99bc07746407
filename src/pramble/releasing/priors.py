r"""Where the probabilities come from that a design needs, and what they cost.

A design depends on its prior, so a prior counted on the confidential file would tell something
about it that α does not cover. There are three honest priors: uniform, public (another source) and
private (a noisy histogram that spends a stated part of α); and the confidential counts themselves,
which only an explicit flag allows.

Noise is sampled exactly: integers and random bits of the system, no floats. The method is that of
Canonne, Kamath and Steinke (2020), "The discrete Gaussian for differential privacy", algorithms 1
and 2. A Bernoulli variable of probability :math:`e^{-\gamma}` with rational
:math:`\gamma` comes from von Neumann's alternating series, and the noise from it by rejection.
"""

import math
import secrets
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pramble.data.crosstab import crosstab
from pramble.data.labels import Label, places_of, texts_of
from pramble.data.open import open_records
from pramble.errors import InvalidData, InvalidInput, InvalidPrior, PrivacyError
from pramble.information.consistent import nearest_on_simplex
from pramble.privacy.guarantee import float_above
from pramble.values import value

RandBelow = Callable[[int], int]
"""A function that gives a uniform integer in ``range(n)``."""


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
    sign, with "minus zero" drawn again, gives the two-sided law.

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


SOURCES = ("uniform", "public", "private", "confidential")


MOST_LACKING = 5
"""Categories that a public source lacks, named."""


@value
class Prior:
    """Probabilities over the declared categories, their source, and what they spent.

    Attributes
    ----------
    probabilities : tuple of float
        Positive, in the order of the categories; they sum to one.
    source : str
        "uniform", "public", "private" or "confidential".
    spent : Fraction
        Part of α spent on it, exactly; zero unless private.
    detail : str
        One sentence for the manifest and the report.
    """

    probabilities: tuple[float, ...]
    source: str
    spent: Fraction
    detail: str

    def __post_init__(self) -> None:
        check_origin(self.source, self.spent)
        check_law(self.probabilities)


class Origin(Protocol):
    """A prior of any kind."""

    @property
    def source(self) -> str: ...
    @property
    def spent(self) -> Fraction: ...
    @property
    def detail(self) -> str: ...


def origin(prior: Origin) -> dict[str, Any]:
    """Return where a prior comes from and what it spent, for the manifest."""
    return {
        "source": prior.source,
        "alpha": float_above(prior.spent),
        "alpha_exact": str(prior.spent),
        "detail": prior.detail,
    }


def check_origin(source: str, spent: Fraction) -> None:
    if source not in SOURCES:
        raise InvalidPrior(f"A prior is one of {', '.join(SOURCES)}; found {source!r}.")
    if spent < 0 or (spent > 0) != (source == "private"):
        raise PrivacyError("A private prior spends part of α, and no other prior does.")


def check_law(probabilities: Sequence[float]) -> None:
    if min(probabilities, default=-1.0) < 0:
        raise InvalidPrior("The probabilities of a prior must be zero or more.")
    if not math.isclose(math.fsum(probabilities), 1, abs_tol=1e-9):
        raise InvalidPrior("The probabilities of a prior must sum to 1.")


def uniform_prior(size: int) -> Prior:
    """Return equal probabilities: nothing is assumed and nothing is spent.

    >>> uniform_prior(4).probabilities
    (0.25, 0.25, 0.25, 0.25)
    """
    return Prior(
        (1 / size,) * size, "uniform", Fraction(0), "Every category counted as equally likely."
    )


def private_prior(
    counts: Sequence[int], epsilon: Fraction, *, randbelow: RandBelow = secrets.randbelow
) -> Prior:
    r"""Return probabilities from a histogram with exact discrete Laplace noise.

    The noisy histogram is ε-differentially private for replacing one record (sensitivity 2). What
    follows only post-processes it: the nearest counts that are non-negative and sum to the number
    of rows, half a record added to each so that no category is taken for impossible, and division
    by the total.

    Examples
    --------
    >>> prior = private_prior([700, 300], Fraction(1, 10))
    >>> prior.spent, prior.source
    (Fraction(1, 10), 'private')
    """
    noisy = noisy_histogram(list(counts), epsilon, randbelow=randbelow)
    counted = nearest_on_simplex(np.array(noisy, dtype=np.float64), total=float(sum(counts)))
    return Prior(
        normalised(counted + 0.5),
        "private",
        Fraction(epsilon),
        f"A histogram with discrete Laplace noise of scale {float(2 / epsilon):.6g} "
        f"(sensitivity 2), which spent {float(epsilon):.6g} of α.",
    )


def confidential_prior(counts: Sequence[int], *, allowed: bool) -> Prior:
    refuse_confidential(allowed=allowed)
    return Prior(
        normalised(np.array(counts, dtype=np.float64) + 0.5),
        "confidential",
        Fraction(0),
        "Counted on the confidential file: the privacy guarantee is conditional on these "
        "probabilities, which the mechanism may reveal.",
    )


def refuse_confidential(*, allowed: bool) -> None:
    """Refuse a prior counted on the confidential file, unless the curator said so explicitly."""
    if not allowed:
        raise PrivacyError(
            "A confidential prior makes the published plan reveal frequencies of the file, which α "
            "does not cover. Use a private, public or uniform prior, or pass "
            "confidential_prior_allowed=True (--set confidential_prior_allowed=true)."
        )


def public_prior(path: str | Path, column: str, *, categories: Sequence[Any]) -> Prior:
    """Return the frequencies of a column in a public source.

    The source is a data file (Parquet or CSV) with a column of that name, or a CSV of margins with
    the header ``category,count`` or ``column,category,count`` (counts may be probabilities). A
    category that the source lacks counts half the smallest positive count.

    Labels are compared as text.
    """
    counts = margins_of(Path(path), column)
    places = declared_places(list(counts), categories, column=column, source=Path(path))
    found = np.zeros(len(categories))
    np.add.at(found, places, list(counts.values()))
    if not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        raise InvalidPrior(
            f"The counts of column {column!r} in {Path(path).name!r} must be non-negative numbers, "
            "at least one of them positive."
        )
    lacks = [str(label) for label, count in zip(categories, found, strict=True) if not count]
    found = np.where(found > 0, found, found[found > 0].min() / 2)
    detail = f"Frequencies of {Path(path).name}, public{lacking(lacks, column)}."
    return Prior(normalised(found), "public", Fraction(0), detail)


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


def declared_places(
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


def normalised(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Return positive values divided by their sum."""
    return tuple((values / values.sum()).tolist())
