r"""Risk that remains after randomisation, exactly under the Poisson model.

An intruder who knows the plan reads each released record as original keys
(:mod:`pramble.risk.after.readings`), takes those whose reading nobody else in the release has, and
links each to the population members whose true keys are the ones read. M is the plan's matrix over
the cells, followed by the reading: the product over the columns.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pramble.data.table import Crosstab
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan, as_plan
from pramble.risk.after.alone import expected_alone
from pramble.risk.after.branches import seen_branches
from pramble.risk.after.readings import KEPT, key_readings
from pramble.risk.models.base import CellMeans, Operators
from pramble.risk.records import by_record, record_array, rows_each
from pramble.shown import Display, Facts, number
from pramble.values import Floats, value


@value(eq=False, repr=False)
class RiskAfter(Display):
    r"""The risk left once a plan has been applied.

    The intruder knows the plan, the keys of everyone, and how frequent values are. Each output is
    read as one value; by its label where the mechanism keeps its labels, else by the best of three
    readings (:mod:`pramble.risk.after.readings`). With :math:`M_{kj}` the chance that keys k are
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
    and unique in the population, and of right matches:

    .. math:: \tilde\tau_2 = \sum_j f_j M_{jj}(1-M_{jj})^{f_j-1}
        \prod_{k\ne j}(1-M_{kj})^{f_k}\; E(1/F_j \mid f_j),

    and likewise τ̃1 with :math:`P(F_j = 1 \mid f_j)`. With no randomisation they are τ1 and τ2.

    Attributes
    ----------
    tau1, tau2 : float
        Expected over the randomisation.
    records : (n,) record array
        ``r1``, ``r2`` and ``posterior``, the intruder's chance that a reading j is right, for each
        row of the file; of a Spark frame for each class, with its number of ``rows``.
    reading : str
        ``"labels"``, or the reading that leaves the largest τ̃2 where labels are not kept.
    """

    tau1: float
    tau2: float
    records: Any
    reading: str = KEPT

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


def risk_after(
    table: Crosstab, fit: CellMeans, *, fraction: Floats, plan: Plan | Mapping[Any, Mechanism]
) -> RiskAfter:
    """Return the risk left by the readings that serve an intruder best, branch by branch."""
    figures = {name: np.zeros(len(table.counts)) for name in ("r1", "r2", "posterior")}
    tau1 = tau2 = 0.0
    readings: dict[str, None] = {}
    for seen in seen_branches(as_plan(plan), table):
        own, fractions = seen.fit(fit), seen.fractions(table, fraction)
        left = max(
            (
                risk_of_reading(
                    seen.table,
                    own,
                    fraction=fractions,
                    operators=operators,
                    share=seen.share,
                    reading=name,
                )
                for name, operators in key_readings(seen.mechanisms, seen.table).items()
            ),
            key=lambda risk: round(risk.tau2, 9),
        )
        tau1, tau2 = tau1 + left.tau1, tau2 + left.tau2
        readings[left.reading] = None
        for name, values in left.classes.items():
            figures[name] += seen.share * values[seen.class_of]
    records = record_array(by_record(table, figures))
    return RiskAfter(tau1, tau2, records, ", ".join(readings) or KEPT)


@value(eq=False)
class ReadingRisk:
    """The risk that one reading leaves in one branch: sums, and figures of its classes."""

    tau1: float
    tau2: float
    classes: Mapping[str, Floats]
    reading: str = KEPT


def risk_of_reading(
    table: Crosstab,
    fit: CellMeans,
    *,
    fraction: Floats,
    operators: Operators,
    share: float = 1.0,
    reading: str = KEPT,
) -> ReadingRisk:
    """Return the risk left when the keys of a share of the records move by the given operators.

    ``fraction`` is the sampling fraction of each class.
    """
    stay = np.ones(len(table.cells))
    for axis, operator in operators.items():
        stay *= operator.diagonal[table.cells[:, axis]]
    means = fit.means(table.cells)
    released = fit.released_means(table.cells, operators)
    posterior = np.where(released > 0, means * stay / np.where(released > 0, released, 1.0), 0.0)
    seen = share * stay
    alone = expected_alone(table, with_share(operators, share), stay=seen)
    one = np.ones(len(stay))
    r1, r2 = fit.risks(table.cells, one.astype(np.int64), fraction=fraction, stay=seen)
    before1, before2 = fit.risks(table.cells, table.counts, fraction=fraction, stay=one)
    per_class = {"r1": posterior * r1, "r2": posterior * r2, "posterior": posterior}
    return ReadingRisk(float(alone @ before1), float(alone @ before2), per_class, reading)


def with_share(operators: Operators, share: float) -> Operators:
    """Return the operators of records of which only a share is in the branch."""
    if share == 1 or not operators:
        return operators
    first, *others = operators
    scaled = operators[first].entrywise(lambda m: np.asarray(share * m))
    return {first: scaled, **{axis: operators[axis] for axis in others}}
