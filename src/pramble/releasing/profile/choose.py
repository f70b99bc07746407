"""Which columns of a file a first plan randomises."""

import math
from collections.abc import Collection, Sequence
from itertools import combinations

from pramble.errors import InvalidInput
from pramble.information.fisher import HALF_WIDTH
from pramble.releasing.profile.looks import Look
from pramble.releasing.profile.vocabulary import KEYS, key_of

MOST_CHOSEN = 8
"""More columns than these leave little but noise at the α of one release."""

LEAST_KEYS = 3
"""Columns known by their names from which on no others are taken to fill up."""

MOST_CATEGORIES = 40
"""Categories above which a column is left for the curator to merge."""


def size_of(look: Look) -> int:
    """Return how many categories are proposed for a column."""
    return len(look.bands.edges) if look.bands is not None else len(look.labels)


def chosen_columns(looks: Sequence[Look]) -> tuple[str, ...]:
    """Return the columns to randomise, in the order of the file.

    All that can be, if they are few; else those whose names an intruder's knowledge goes by (sex,
    age, region, …: one of each first), and without enough of them the first categorical ones.
    """
    fit = [look for look in looks if look.is_fit and size_of(look) <= MOST_CATEGORIES]
    if len(fit) <= MOST_CHOSEN:
        return tuple(look.name for look in fit)
    kinds = list(KEYS)
    seen: dict[str, int] = {}
    ranked = []
    for place, look in enumerate(fit):
        key = key_of(look.name)
        if key is not None:
            seen[key] = seen.get(key, 0) + 1
            ranked.append((seen[key], kinds.index(key), place, look.name))
    known = [name for *_, name in sorted(ranked)]
    if len(known) < LEAST_KEYS:
        others = [look.name for look in fit if look.labels and look.name not in known]
        known += others[: MOST_CHOSEN - len(known)]
    best = set(known[:MOST_CHOSEN])
    return tuple(look.name for look in fit if look.name in best)


def checked_choice(looks: Sequence[Look], wanted: Collection[str]) -> tuple[str, ...]:
    """Return the columns that the curator named; refuse those for which nothing can be proposed."""
    unfit = [
        f"Column {look.name!r} cannot be randomised as it is ({look.kind}: {look.reason}). Recode "
        "it in the file first, or leave it out of --columns."
        for look in looks
        if look.name in wanted and not look.can_be_randomised
    ]
    if unfit:
        raise InvalidInput("\n".join(unfit))
    return tuple(look.name for look in looks if look.name in wanted)


def noisy_pairs(looks: Sequence[Look], *, alpha: float, rows: int) -> tuple[int, int]:
    r"""Return how many tables of two columns would be noise, roughly, and how many there are.

    Each of :math:`t` tables is told by :math:`n/t` records. A cell of m evenly filled ones has
    then the variance of randomised response, or that of the best known scheme for many cells,
    :math:`4 e^\alpha t / ((e^\alpha - 1)^2 n)`, whichever is less; the table is noise if the 95 %
    interval is wider than :math:`1/m`. The release itself computes what its plan will do.

    >>> looks = [Look(name, "categorical", "", tuple(range(3))) for name in "abc"]
    >>> noisy_pairs(looks, alpha=2.0, rows=1000), noisy_pairs(looks, alpha=2.0, rows=100_000)
    ((3, 3), (0, 3))
    """
    sizes = [size_of(look) + bool(look.empty or look.marks) for look in looks]
    cells = [one * other for one, other in combinations(sizes, 2)]
    grows = math.exp(min(alpha, 50.0))
    noisy = 0
    for m in cells:
        lie = 1 / (grows + m - 1)
        response = (1 - 1 / m) / m / (lie * (grows - 1)) ** 2
        subset = 4 * grows / (grows - 1) ** 2
        error = math.sqrt(min(response, subset) * len(cells) / max(rows, 1))
        noisy += 2 * HALF_WIDTH * error > 1 / m
    return noisy, len(cells)
