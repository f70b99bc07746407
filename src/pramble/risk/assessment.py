"""What an assessment of disclosure risk says."""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.table import Crosstab
from pramble.errors import InvalidInput
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.risk.cells import CrossClassification, rows_each
from pramble.risk.models.base import CellMeans
from pramble.risk.models.diagnostics import Chains, FitCriteria, Intervals
from pramble.risk.remaining import PlanComparison, RiskAfter, compare_plans, risk_after
from pramble.shown import Display, Facts, number
from pramble.values import Floats, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@value(eq=False, repr=False)
class Assessment(Display):
    r"""Disclosure risk of a file, before randomisation; :meth:`after` gives what a plan leaves.

    Attributes
    ----------
    tau1, tau2 : float
        Expected number of sample uniques that are unique in the population, and of right matches
        among the sample uniques: the sums of r1 and r2 over them. NaN without a model.
    records : (n,) record array
        For each row: ``r1`` = P(F = 1 | f), ``r2`` = E(1/F | f) and ``class_size`` f; with weights
        also ``individual`` (negative binomial), with a household also ``household``. Of a Spark
        frame, whose rows stay where they are: for each class, with its number of ``rows``.
    model, reason : str
        The model that was used, and why.
    population_size : float
        N, as given; the summed weights when only those were.
    criteria : FitCriteria or None
        Skinner and Shlomo's B1 and B2, where the model is log-linear.
    chains : Chains or None
        Convergence and credible intervals, where the model was sampled.
    classes : CrossClassification
        Who shares all key values with whom.
    fraction : (C,) array
        The sampling fraction of each class.
    fit : CellMeans or None
        The fitted model.
    intervals : Intervals or None
        95 % intervals ``tau1`` and ``tau2`` of the numbers that those estimate, where the model
        gives them: two-way (unless the keys have very many levels) and membership.

    Examples
    --------
    >>> import pramble
    >>> people = {"age": [20, 20, 40, 60], "sex": ["f", "f", "m", "f"]}
    >>> a = pramble.assess(people, ["age", "sex"], population_size=12, model="independence")
    >>> a.sample_uniques, a.below(2), a.smallest_class
    (2, 2, 1)
    >>> a.records["class_size"]
    array([2, 2, 1, 1])
    """

    tau1: float
    tau2: float
    records: Any = field(repr=False)
    model: str
    reason: str
    population_size: float
    criteria: FitCriteria | None
    chains: Chains | None
    classes: CrossClassification = field(repr=False)
    fraction: Floats = field(repr=False)
    fit: CellMeans | None = field(repr=False)
    intervals: Intervals | None = None

    @property
    def table(self) -> Crosstab:
        """Counts by the keys: ``levels`` of each, ``cells`` that occur, their ``counts``."""
        return self.classes.table

    @property
    def n(self) -> int:
        """Number of records."""
        return self.table.n

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns."""
        return self.table.columns

    @property
    def margins(self) -> tuple[tuple[str, ...], ...]:
        """The margins that the model reproduces, by the names of their keys."""
        margins = () if self.fit is None else self.fit.margins
        return tuple(tuple(self.keys[axis] for axis in margin) for margin in margins)

    @property
    def cells(self) -> int:
        """Number of possible combinations of the levels that occur."""
        return self.classes.cells

    @property
    def sample_uniques(self) -> int:
        """Records alone in their class."""
        return self.classes.sample_uniques

    @property
    def smallest_class(self) -> int:
        """The k of k-anonymity: the size of the smallest class."""
        return int(self.classes.sizes.min())

    def below(self, k: int) -> int:
        """Return how many records violate k-anonymity: those in classes of fewer than k."""
        return self.classes.below(k)

    def after(self, plan: Plan | Mapping[Any, Mechanism]) -> RiskAfter:
        """Return the risk that remains once the plan's columns have been randomised.

        Parameters
        ----------
        plan : Plan, or mapping from column to Mechanism
            Of any branches and blocks. Keys that it does not name are released as they are.

        Examples
        --------
        >>> import pramble
        >>> people = {"age": [20, 20, 40, 60], "sex": ["f", "f", "m", "f"]}
        >>> a = pramble.assess(people, ["age", "sex"], population_size=12, model="independence")
        >>> left = a.after({"age": pramble.randomized_response([20, 40, 60], 1.0)})
        >>> left.tau2 < a.tau2
        True
        """
        if self.fit is None:
            raise InvalidInput(
                'The risk after randomisation needs a model of the population; model="none" has '
                'none. Assess with "independence" or "two-way".'
            )
        return risk_after(self.table, self.fit, fraction=self.fraction, plan=plan)

    def compare(
        self, plans: Mapping[str, Plan | Mapping[Any, Mechanism]], *, level: float = 0.1
    ) -> PlanComparison:
        """Return protection plans side by side: risk left against information kept.

        Parameters
        ----------
        plans : mapping from a name to a plan
        level : float
            Records count in ``share`` when their r̃2 is above this.
        """
        return compare_plans(self, plans, level=level)

    def riskiest(self, count: int = 10) -> list[dict[str, Any]]:
        """Return the rows of highest risk: row number, key values, class size, r1 and r2.

        This shows confidential values: for the curator only.
        """
        if self.table.cell_of is None:
            raise InvalidInput(
                "The rows of a Spark frame stay where they are. a.records has a line for each "
                "class, in the order of a.table.cells: join it to the frame by the keys."
            )
        names = self.records.dtype.names
        measure = "r2" if self.fit is not None else "individual"
        by_risk = -self.records[measure] if measure in names else self.records["class_size"]
        rows = []
        for row in np.argsort(by_risk, kind="stable")[:count]:
            values = self.table.labels_of(int(self.table.cell_of[row]))
            keys = dict(zip(self.keys, values, strict=True))
            risks = {name: self.records[name][row].item() for name in names}
            rows.append({"row": int(row), "keys": keys, **risks})
        return rows

    def shown(self) -> Facts:
        """Return the figures of the whole file."""
        found = self.intervals
        rows = [
            ("keys", ", ".join(self.keys)),
            ("records", f"{self.n:,} of {self.population_size:,.0f}"),
            ("alone in their class", f"{self.sample_uniques:,}"),
            ("in classes below 3, 5", f"{self.below(3):,}, {self.below(5):,}"),
        ]
        for name, tau, what in (
            ("τ1", self.tau1, "of them alone in the population too"),
            ("τ2", self.tau2, "right matches among them"),
        ):
            if not np.isnan(tau):
                ends = None if found is None else (found.tau1 if name == "τ1" else found.tau2)
                interval = "" if ends is None else f" ({number(ends[0])} to {number(ends[1])})"
                rows.append((name, f"{number(tau)}{interval} {what}"))
        return Facts("Disclosure risk", [*rows, ("model", f"{self.model}: {self.reason}")])

    def plot(self) -> "Figure":
        """Return a figure: how many records share their keys with how many."""
        from pramble.plots.bars import class_sizes_figure

        return class_sizes_figure(self.table.counts)

    def summary(self) -> dict[str, Any]:
        """Return the figures of the whole file, as plain data for JSON."""
        figures: dict[str, Any] = {
            "n": self.n,
            "population_size": self.population_size,
            "keys": list(self.keys),
            "classes": len(self.table.counts),
            "cells": self.cells,
            "missing": self.classes.missing,
            "sample_uniques": self.sample_uniques,
            "below_3": self.below(3),
            "below_5": self.below(5),
            "smallest_class": self.smallest_class,
            "model": self.model,
            "reason": self.reason,
            "margins": [list(margin) for margin in self.margins],
            "tau1": None if np.isnan(self.tau1) else self.tau1,
            "tau2": None if np.isnan(self.tau2) else self.tau2,
        }
        if self.criteria is not None:
            z1, z2 = self.criteria.standardised
            figures |= {"B1": self.criteria.B1, "B2": self.criteria.B2, "z1": z1, "z2": z2}
        if self.intervals is not None:
            figures["tau1_interval"] = list(self.intervals.tau1)
            figures["tau2_interval"] = list(self.intervals.tau2)
        if self.chains is not None:
            figures |= {
                "r_hat": self.chains.r_hat,
                "effective_size": self.chains.effective_size,
                "converged": self.chains.converged,
            }
        for name in ("individual", "household"):
            if name in self.records.dtype.names:
                figures[f"sum_of_{name}_risk"] = float(self.records[name] @ rows_each(self.records))
        return figures
