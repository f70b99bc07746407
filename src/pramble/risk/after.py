r"""Risk that remains after randomisation, exactly under the Poisson model.

An intruder who knows the plan reads each released record as original keys
(:mod:`pramble.risk.readings`), takes those whose reading nobody else in the release has, and links
each to the population members whose true keys are the ones read. M is the plan's matrix over the
cells, followed by the reading: the product over the columns.

Given the counts f of the classes, the expected number of records of class j that stay on j while no
other record lands there is

.. math:: f_j M_{jj} (1-M_{jj})^{f_j-1} \prod_{k \ne j} (1-M_{kj})^{f_k}.

M is a Kronecker product over the keys, the identity on those that are not randomised, so only
classes that agree on the latter, a block, can reach each other.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pramble.data.crosstab import Crosstab, group
from pramble.errors import InvalidInput
from pramble.limits import MOST_PAIRS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.base import apply_axes
from pramble.mechanisms.operators.uniform import UniformAlgebra
from pramble.mechanisms.plan import Plan, as_plan
from pramble.risk.cells import by_record, record_array, rows_each
from pramble.risk.models import CellMeans, Operators
from pramble.risk.readings import LABELS, key_readings, keys_by_branch
from pramble.shown import Display, Facts, number
from pramble.values import Floats, Integers, frozen

# Cells of a grid that is filled at once: 240 MB of floats.
LARGEST_GRID = 30_000_000
# A comparison of two classes takes about a tenth of the time of a cell in a term of the series.
SPEED = 10
# What the rest of the series may add to the logarithm of a chance.
PRECISION = 1e-10


@frozen(eq=False, repr=False)
class RiskAfter(Display):
    r"""The risk left once a plan has been applied.

    The intruder knows the plan, the keys of everyone, and how frequent values are. Each output is
    read as one value; by its label where the mechanism keeps its labels, else by the best of three
    readings (:mod:`pramble.risk.readings`). With :math:`M_{kj}` the chance that keys k are
    read as keys j, for a record whose keys are cell j, were it to be alone on the reading j,

    .. math::
        \tilde r_{1j} = \frac{\lambda_j M_{jj}}{\tilde\lambda_j} e^{-v_j}, \qquad
        \tilde r_{2j} = \frac{\lambda_j M_{jj}}{\tilde\lambda_j} \frac{1-e^{-v_j}}{v_j}, \qquad
        v_j = \lambda_j(1-\pi M_{jj}), \quad \tilde\lambda_j = \sum_k \lambda_k M_{kj}.

    In a plan of several branches what is released of a record is its branch and the outputs there:
    the keys of a block are one key, blank keys tell nothing, and only records of the same branch
    can be taken for it. With the share w of a branch, :math:`wM` stands for M in what follows and
    in v, over the cells of the keys that are shown, and risks are summed over the branches; those
    of a record are weighted by w.

    τ̃1 and τ̃2 are, given the file, the expected numbers of records alone on a reading that is right
    and unique in the population, and of right matches: the formula of this module with
    :math:`P(F_j = 1 \mid f_j)`, or :math:`E(1/F_j \mid f_j)`. With no randomisation they are τ1 and
    τ2.

    - ``tau1``, ``tau2``: Expected over the randomisation.
    - ``records``: ``r1``, ``r2`` and ``posterior``, the intruder's chance that a reading j is
      right, for each row of the file; of a Spark frame for each class, with its number of
      ``rows``.
    - ``reading``: ``"labels"``, or the reading that leaves the largest τ̃2 where labels are not
      kept.
    """

    tau1: float
    tau2: float
    records: Any
    reading: str = LABELS

    def shown(self) -> Facts:
        """Return the figures of the whole file."""
        return Facts(
            "Disclosure risk after randomisation",
            [
                ("τ1", f"{number(self.tau1)} expected alone on a right reading, and unique"),
                ("τ2", f"{number(self.tau2)} expected right matches"),
                ("worst record", f"r2 = {number(self.worst, 3)}"),
                ("read by", self.reading),
            ],
        )

    @property
    def worst(self) -> float:
        """The largest r̃2 of any record."""
        return float(self.records["r2"].max())

    def share_above(self, level: float) -> float:
        """Return the share of records whose r̃2 is above a level."""
        return float(np.average(self.records["r2"] > level, weights=rows_each(self.records)))

    def summary(self) -> dict[str, Any]:
        """Return the figures of the whole file as plain data for JSON."""
        return {name: getattr(self, name) for name in ("tau1", "tau2", "worst", "reading")}


def risk_after(
    table: Crosstab, fit: CellMeans, *, fraction: Floats, plan: Plan | Mapping[Any, Mechanism]
) -> RiskAfter:
    """Return the risk left by the readings that serve an intruder best, branch by branch."""
    figures = {name: np.zeros(len(table.counts)) for name in ("r1", "r2", "posterior")}
    tau1 = tau2 = 0.0
    readings: dict[str, None] = {}
    for shown in keys_by_branch(as_plan(plan), table):
        own, fractions = shown.fit(fit), shown.fractions(table, fraction)
        tried = {
            name: risk_of_reading(shown.table, own, fractions, operators, share=shown.share)
            for name, operators in key_readings(shown.mechanisms, shown.table).items()
        }
        best = max(tried, key=lambda name: round(tried[name][1], 9))  # ties go to the first
        readings[best] = None
        left1, left2, classes = tried[best]
        tau1, tau2 = tau1 + left1, tau2 + left2
        for name, values in classes.items():
            figures[name] += shown.share * values[shown.class_of]
    records = record_array(by_record(table, figures))
    return RiskAfter(tau1, tau2, records, ", ".join(readings) or LABELS)


def risk_of_reading(
    table: Crosstab, fit: CellMeans, fraction: Floats, operators: Operators, *, share: float = 1.0
) -> tuple[float, float, Mapping[str, Floats]]:
    """Return τ̃1, τ̃2 and figures of the classes when a share of the records moves as given.

    ``fraction`` is the sampling fraction of each class.
    """
    stay = np.ones(len(table.cells))
    for axis, operator in operators.items():
        stay *= operator.diagonal[table.cells[:, axis]]
    means = fit.means(table.cells)
    released = fit.released_means(table.cells, operators)
    posterior = np.where(released > 0, means * stay / np.where(released > 0, released, 1.0), 0.0)
    unchanged = share * stay
    counts = table.counts
    first = np.where(counts == 1, 1.0, (1 - unchanged) ** np.maximum(counts - 1, 1))
    alone = counts * unchanged * first
    moving = dict(operators)
    if share != 1 and moving:
        first_axis = next(iter(moving))
        moving[first_axis] = moving[first_axis].entrywise(lambda m: np.asarray(share * m))
    alone *= chance_of_no_other(table, moving)
    one = np.ones(len(stay))
    r1, r2 = fit.risks(table.cells, one.astype(np.int64), fraction=fraction, stay=unchanged)
    before1, before2 = fit.risks(table.cells, table.counts, fraction=fraction, stay=one)
    classes = {"r1": posterior * r1, "r2": posterior * r2, "posterior": posterior}
    return float(alone @ before1), float(alone @ before2), classes


def chance_of_no_other(table: Crosstab, operators: Operators) -> Floats:
    """Return, per class, the chance that no record of another class lands on it."""
    if not operators:
        return np.ones(len(table.counts))
    still = [axis for axis in range(len(table.columns)) if axis not in operators]
    sizes = [table.shape[axis] for axis in still]
    block, _ = group(list(table.cells[:, still].T), sizes, rows=len(table.cells))
    pairs = float((np.bincount(block).astype(np.float64) ** 2).sum()) * len(operators)
    grid = (int(block.max()) + 1) * math.prod(table.shape[axis] for axis in operators)
    if grid <= LARGEST_GRID and SPEED * grid * series_length(table.n, operators) < pairs:
        return by_series(table, operators, block)
    if pairs > MOST_PAIRS:
        raise InvalidInput(
            f"The risk left needs {pairs:,.0f} comparisons of classes, more than {MOST_PAIRS:,}; "
            "randomise fewer keys at a time, or assess a sample of the file."
        )
    return by_pairs(table, operators, block)


def by_pairs(table: Crosstab, operators: Operators, block: Integers) -> Floats:
    """Compare the classes of each block two by two, with no grid."""
    from pramble.risk.kernels import chance_missed

    uniform = sorted(a for a, one in operators.items() if isinstance(one, UniformAlgebra))
    others = sorted(operators.keys() - set(uniform))
    order = np.argsort(block, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(block))])
    codes = np.ascontiguousarray(table.cells[order][:, [*uniform, *others]])
    stays = pad([operators[axis].diagonal for axis in uniform])
    moves = pad([operators[axis].largest_moves() for axis in uniform])
    matrices = pad([operators[axis].dense() for axis in others], dimension=2)
    chance = np.empty(len(order))
    found = np.empty(len(order))
    chance_missed(codes, table.counts[order], bounds, (stays, moves, matrices), found)
    chance[order] = found
    return chance


def pad(arrays: list[Floats], *, dimension: int = 1) -> Floats:
    width = max((len(array) for array in arrays), default=0)
    stack = np.zeros((len(arrays), *[width] * dimension))
    for place, array in enumerate(arrays):
        stack[place][tuple(slice(size) for size in array.shape)] = array
    return stack


def by_series(table: Crosstab, operators: Operators, block: Integers) -> Floats:
    r"""Sum a series of products over the grid of each block.

    .. math:: \sum_{k\ne j} f_k \log(1-M_{kj}) = -\sum_{r \ge 1} \frac1r
        \Bigl( \sum_k f_k M_{kj}^r - f_j M_{jj}^r \Bigr),

    and the entrywise powers of a Kronecker product are Kronecker products.
    """
    moving = sorted(operators)
    place = (block, *table.cells[:, moving].T)
    grid = np.zeros((int(block.max()) + 1, *(table.shape[axis] for axis in moving)))
    grid[place] = table.counts
    total = np.zeros(len(block))
    for r in range(1, series_length(table.n, operators) + 1):
        powers = [
            operators[axis].entrywise(lambda m, r=r: np.asarray(m**r, np.float64))  # type: ignore[misc]
            for axis in moving
        ]
        own = table.counts.astype(np.float64)
        for axis, power in zip(moving, powers, strict=True):
            own *= power.diagonal[table.cells[:, axis]]
        total -= (apply_axes(powers, grid)[place] - own) / r
    return np.exp(np.minimum(total, 0.0))


def series_length(n: int, operators: Operators) -> int:
    """Return how many terms bring the rest of the series below the precision."""
    move = {axis: float(one.largest_moves().max()) for axis, one in operators.items()}
    largest = {axis: max(move[axis], float(operators[axis].diagonal.max())) for axis in operators}
    q = max(
        move[axis] * math.prod(most for other, most in largest.items() if other != axis)
        for axis in operators
    )
    if q == 0:
        return 1
    if q >= 1:
        return 10**9  # the series does not converge: compare classes two by two
    return max(1, math.ceil(math.log(PRECISION * (1 - q) / n) / math.log(q)))
