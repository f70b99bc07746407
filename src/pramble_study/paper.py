"""The source paper: its objects under clear names, and the numbers it printed.

F. Ayed, M. Battiston and F. Camerlenghi, *An information theoretic approach to post randomization
methods under differential privacy* (Statistics and Computing, 2020). Its errata are mended here;
``pramble study`` reproduces and corrects every table and figure.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pramble.errors import InvalidInput
from pramble.information.distributions import as_prior
from pramble.information.measures import entropy
from pramble.mechanisms.operators.base import xlogx
from pramble.mechanisms.ratios import check_alpha, exp_below
from pramble.solvers.uniform.polytope import Corner, corners
from pramble.values import Floats, read_only

__all__ = [
    "ALPHAS",
    "REPETITIONS",
    "SAMPLE_SIZE",
    "SCENARIOS",
    "SEX_ALPHA",
    "SEX_KEEP",
    "TABLES",
    "THIRD_SEED",
    "Counts",
    "KeepLevels",
    "SymmetricOptimum",
    "draw_third",
    "keep_levels",
    "printed_counts",
    "priors",
    "privacy_constraints",
    "privacy_vertices",
    "scenario",
    "symmetric_optimum",
    "vertex_threshold",
]

# The α of section 4.
ALPHAS = (0.5, 1.0, 1.5, 2.0)

# Its simulated scenarios.
SCENARIOS = ("I", "II", "III", "IV")

# The people in each simulated file.
SAMPLE_SIZE = 10_000

# The releases of each file.
REPETITIONS = 100

# Seed of the prior shown for scenario III, which the paper drew and did not print.
THIRD_SEED = 3

# The α of Figures 5 and 6.
SEX_ALPHA = 0.05

# The six values of q of Figure 5.
SEX_KEEP = (0.4875, 0.4925, 0.4975, 0.5025, 0.5075, 0.5125)


class Counts(NamedTuple):
    """How many keep probabilities take each of the four values of Proposition 2."""

    v_alpha: int
    v_minus_alpha: int
    v_min: int
    v_max: int


# Tables 1 to 4: the vertices printed as optimal, one for each of :data:`ALPHAS`.
TABLES = {
    "I": (Counts(4, 6, 0, 0), Counts(5, 5, 0, 0), Counts(2, 8, 0, 0), Counts(0, 9, 0, 1)),
    "II": (Counts(7, 3, 0, 0), Counts(6, 4, 0, 0), Counts(6, 4, 0, 0), Counts(0, 9, 0, 1)),
    "III": (Counts(29, 0, 1, 0), Counts(29, 0, 1, 0), Counts(30, 0, 0, 0), Counts(29, 0, 1, 0)),
    "IV": (Counts(0, 29, 0, 1), Counts(30, 0, 0, 0), Counts(30, 0, 0, 0), Counts(30, 0, 0, 0)),
}


def printed_counts(name: str, alpha: float) -> Counts:
    """Return the row of a scenario's table.

    Examples
    --------
    >>> from pramble_study.paper import printed_counts
    >>> printed_counts("I", 2.0)
    Counts(v_alpha=0, v_minus_alpha=9, v_min=0, v_max=1)
    """
    return TABLES[name][ALPHAS.index(alpha)]


def scenario(name: str) -> Floats:
    """Prior of a simulated scenario of the paper (section 4): "I", "II" or "IV".

    The prior of scenario III was drawn at random and not printed.

    Parameters
    ----------
    name : str
        "I", "II" (ten categories) or "IV" (thirty).

    Returns
    -------
    ndarray
        The probabilities, read-only; they sum to one.

    Examples
    --------
    >>> from pramble_study.paper import scenario
    >>> float(scenario("I")[0]), len(scenario("IV"))
    (0.3, 30)
    """
    printed = {
        "I": [0.3, 0.1, 0.2, 0.08, 0.02, 0.04, 0.06, 0.1, 0.01, 0.09],
        "II": [0.0336, 0.1059, 0.1697, 0.0962, 0.0180, 0.0062, 0.1097, 0.0005, 0.1233, 0.3369],
        "IV": [0.05] + [0.95 / 29] * 29,
    }
    if name not in printed:
        raise InvalidInput(f'a scenario is one of "I", "II", "IV"; found {name!r}')
    return read_only(np.array(printed[name]))


def draw_third(rng: np.random.Generator, draws: int = 1) -> Floats:
    """Draw priors as scenario III describes: thirty independent gammas (1, 5), normalised.

    The second parameter cancels, whether it is a rate or a scale: these are uniform draws from the
    simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from pramble_study.paper import draw_third
    >>> draw_third(np.random.default_rng(3), draws=2).shape
    (2, 30)
    """
    gammas = rng.gamma(1.0, 1 / 5, size=(draws, 30))
    return np.asarray(gammas / gammas.sum(axis=1, keepdims=True))


@cache
def priors() -> dict[str, Floats]:
    """Return the prior of every scenario; the third is drawn with :data:`THIRD_SEED`.

    Examples
    --------
    >>> from pramble_study.paper import priors
    >>> [len(prior) for prior in priors().values()]
    [10, 10, 30, 30]
    """
    third = draw_third(np.random.default_rng(THIRD_SEED))[0]
    return {name: third if name == "III" else scenario(name) for name in SCENARIOS}


# Categories up to which all vertices are listed.
LARGEST_ENUMERATED = 10


class KeepLevels(NamedTuple):
    """The four keep probabilities of the paper's Proposition on the feasible set."""

    v_alpha: float
    v_minus_alpha: float
    v_min: float
    v_max: float


class SymmetricOptimum(NamedTuple):
    """The best matrix with one keep probability for all categories."""

    keep: float
    interval: tuple[float, float]
    information: float


def keep_levels(size: int, alpha: float) -> KeepLevels:
    r"""Return the paper's :math:`v_\alpha, v_{-\alpha}, v_{\min}, v_{\max}` for S categories.

    .. math:: v_x = \frac{e^x}{e^x+S-1}, \quad v_{\min} = \frac{e^{-\alpha}}{e^\alpha+S-1}, \quad
              v_{\max} = \frac{e^\alpha}{e^{-\alpha}+S-1}.

    Up to :math:`\alpha = \log(S-2)` (:func:`vertex_threshold`) every vertex of the feasible set has
    its entries among these four.

    Examples
    --------
    >>> from pramble_study.paper import keep_levels
    >>> keep_levels(10, 1.0).v_alpha
    0.23196931668...
    """
    n, shrink = check_size(size) - 1, math.exp(-check_alpha(alpha))
    return KeepLevels(
        v_alpha=1 / (1 + n * shrink),
        v_minus_alpha=shrink / (shrink + n),
        v_min=shrink * shrink / (1 + n * shrink),
        v_max=1 / (shrink * (shrink + n)),
    )


def vertex_threshold(size: int) -> float:
    r"""Return :math:`\log(S-2)`, up to which the paper's five kinds of vertices are all there are.

    The paper proves it up to :math:`\log\{(S-2+\sqrt{S(S-4)})/2\}`, which is smaller. Minus
    infinity for S = 2 and 3.

    Examples
    --------
    >>> from pramble_study.paper import vertex_threshold
    >>> round(vertex_threshold(10), 6)
    2.079442
    """
    return math.log(check_size(size) - 2) if size > 3 else -math.inf


def privacy_constraints(size: int, alpha: float) -> tuple[Floats, Floats]:
    r"""Return :math:`(C, b_\alpha)`: uniform rows are α-private iff :math:`C q \le b_\alpha`.

    Fact 1 of the paper, for every ordered pair :math:`k \ne l`:

    .. math:: (S-1) q_k + e^\alpha q_l \le e^\alpha, \qquad
              -q_k - (S-1) e^\alpha q_l \le -1, \qquad e^\alpha q_l - q_k \le e^\alpha - 1,

    with the sign of its constraint (4) corrected. The last kind compares two rows in a third column
    and is left out for S = 2.

    Examples
    --------
    >>> import pramble
    >>> from pramble_study.paper import privacy_constraints
    >>> C, b = privacy_constraints(4, 1.0)
    >>> C.shape
    (36, 4)
    >>> bool((C @ pramble.design([0.4, 0.3, 0.2, 0.1], 1.0).keep <= b + 1e-12).all())
    True
    """
    S, a = check_size(size), exp_below(check_alpha(alpha))
    rows, limits = zip(*constraint_rows(S, a), strict=True)
    return np.array(rows, dtype=np.float64), np.array(limits, dtype=np.float64)


def privacy_vertices(size: int, alpha: float) -> Floats:
    r"""Return all vertices of the feasible set :math:`\{q : Cq \le b_\alpha\}`, one per row.

    Between the paper's threshold and :math:`\log(S-2)` there are exactly :math:`2^S`. Found
    from the vertices of the polytope of the largest two and smallest two entries, in exact rational
    arithmetic, for S up to 10.

    Examples
    --------
    >>> from pramble_study.paper import privacy_vertices
    >>> privacy_vertices(5, 1.0).shape
    (32, 5)
    """
    S, a = check_size(size), exp_below(check_alpha(alpha))
    if S > LARGEST_ENUMERATED:
        raise InvalidInput(
            f"There are at least 2**S vertices; ask for at most {LARGEST_ENUMERATED} categories, "
            f"not {S}. design() needs no list of them."
        )
    points = {q for corner in corners(S, a) for q in arrangements(corner, S)}
    found = [q for q in points if is_vertex(q, a)]
    return np.array(sorted(([float(entry) for entry in q] for q in found), reverse=True))


def symmetric_optimum(prior: ArrayLike, alpha: float) -> SymmetricOptimum:
    r"""Return the best symmetric matrix (all :math:`q_k = q`) in closed form.

    The feasible interval is :math:`[v_{-\alpha}, v_\alpha]` and information is convex in q, so the
    better end is optimal:

    .. math:: I(q) = H(pM) + q \log q + (1-q) \log\frac{1-q}{S-1}.

    For two categories (the paper's binary key variable) both ends of
    :math:`[1/(1+e^\alpha),\, e^\alpha/(1+e^\alpha)]` carry the same information, whatever the
    prior, and they are optimal among all 2 × 2 matrices of the family.

    Examples
    --------
    >>> from pramble_study.paper import symmetric_optimum
    >>> best = symmetric_optimum([0.5, 0.5], 1.0)
    >>> round(best.keep, 6), round(best.information, 6)
    (0.731059, 0.110944)
    """
    p = as_prior(prior)
    n = check_size(len(p)) - 1
    levels = keep_levels(len(p), alpha)
    ends = (levels.v_minus_alpha, levels.v_alpha)

    def information(q: float) -> float:
        off = (1 - q) / n
        released = off + p * (q - off)
        row = xlogx(np.array([q, off]))
        return entropy(released / released.sum()) + float(row[0] + n * row[1])

    values = [information(q) for q in ends]
    keep = ends[0] if values[0] > values[1] and n > 1 else ends[1]
    return SymmetricOptimum(keep, ends, max(values))


def pair_constraints(size: int, a: Fraction) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return the coefficients of q_k and q_l and the limit, the same for every ordered pair."""
    one, n = Fraction(1), Fraction(size - 1)
    rows = [(n, a, a), (-one, -n * a, -one), (-one, a, a - 1)]
    return rows if size > 2 else rows[:2]


def constraint_rows(size: int, a: Fraction) -> Iterator[tuple[list[Fraction], Fraction]]:
    """Yield the coefficients of q and the limit of every constraint."""
    for on_k, on_l, limit in pair_constraints(size, a):
        for k, l in permutations(range(size), 2):  # noqa: E741  # the paper's indices
            row = [Fraction(0)] * size
            row[k], row[l] = on_k, on_l
            yield row, limit


def arrangements(corner: Corner, size: int) -> Iterator[tuple[Fraction, ...]]:
    """Yield every vector whose largest two and smallest two entries are those of a corner."""
    alone = [corner.top] * (corner.top != corner.high) + [corner.bottom] * (
        corner.bottom != corner.low
    )
    between = tuple(dict.fromkeys((corner.high, corner.low)))
    for places in permutations(range(size), len(alone)):
        others = [x for x in range(size) if x not in places]
        for values in product(between, repeat=len(others)):
            named = {
                **dict(zip(places, alone, strict=True)),
                **dict(zip(others, values, strict=True)),
            }
            ordered = sorted(named.values(), reverse=True)
            if (ordered[0], ordered[1], ordered[-2], ordered[-1]) == corner:
                yield tuple(named[x] for x in range(size))


def is_vertex(q: tuple[Fraction, ...], a: Fraction) -> bool:
    """Whether the constraints that hold with equality at q determine it."""
    active = [
        np.array(row, dtype=np.float64)
        for row, limit in constraint_rows(len(q), a)
        if sum(map(mul, row, q)) == limit
    ]
    if len(active) < len(q):
        return False
    scaled = [row / np.abs(row).max() for row in active]
    return int(np.linalg.matrix_rank(np.array(scaled))) == len(q)


def check_size(size: int) -> int:
    """Return the number of categories; refuse fewer than two."""
    if size < 2:
        raise InvalidInput(f"At least two categories are needed; found {size}.")
    return int(size)
