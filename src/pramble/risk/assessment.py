"""What an assessment of disclosure risk says."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.errors import InvalidInput
from pramble.mechanisms.base import Mechanism
from pramble.risk.cells import CrossClassification
from pramble.risk.compare import PlanComparison, compare_plans
from pramble.risk.fit_criteria import FitCriteria
from pramble.risk.laws import laws_of
from pramble.risk.loglinear import Fit
from pramble.risk.perturbed import RiskAfter, risk_after
from pramble.values import read_only


@dataclass(frozen=True)
class Chains:
    """How the chains of a sampled model mixed, and the intervals they give.

    Attributes
    ----------
    tau1_interval, tau2_interval : tuple of float
        Central 95 % credible intervals of the population's own τ1 and τ2.
    r_hat : float
        The larger split R-hat of τ1 and τ2; near 1 when the chains agree.
    effective_size : float
        The smaller effective number of draws.
    draws : (chains, draws, 2) array
        τ1 and τ2, draw by draw.
    """

    tau1_interval: tuple[float, float]
    tau2_interval: tuple[float, float]
    r_hat: float
    effective_size: float
    draws: NDArray[np.float64]

    def __post_init__(self) -> None:
        read_only(self.draws)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class Assessment:
    r"""Disclosure risk of a file, before randomisation; :meth:`after` gives what a plan leaves.

    Attributes
    ----------
    tau1, tau2 : float
        Expected number of sample uniques that are unique in the population, and of right matches
        among the sample uniques: the sums of r1 and r2 over them. NaN without a model.
    sample_uniques : int
        Records alone in their class.
    records : (n,) record array
        For each row: ``r1`` = P(F = 1 | f), ``r2`` = E(1/F | f) and ``class_size`` f; with weights
        also ``individual`` (negative binomial), with a household also ``household``.
    model, reason : str
        The model that was used, and why.
    margins : tuple of tuples of str
        The margins that the log-linear model reproduces.
    population_size : float
        N, as given; the summed weights when only those were.
    criteria : FitCriteria or None
        Skinner and Shlomo's B1 and B2, where the model is log-linear.
    chains : Chains or None
        Convergence and credible intervals, where the model was sampled.

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
    sample_uniques: int
    records: Any = field(repr=False)
    model: str
    reason: str
    margins: tuple[tuple[str, ...], ...]
    population_size: float
    criteria: FitCriteria | None
    chains: Chains | None
    table: CrossClassification = field(repr=False)
    fraction: NDArray[np.float64] = field(repr=False)
    fit: Fit | None = field(repr=False)

    def __post_init__(self) -> None:
        read_only(self.records)
        read_only(self.fraction)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n(self) -> int:
        """Number of records."""
        return self.table.n

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns."""
        return self.table.keys

    @property
    def smallest_class(self) -> int:
        """The k of k-anonymity: the size of the smallest class."""
        return int(self.table.sizes.min())

    def below(self, k: int) -> int:
        """Return how many records violate k-anonymity: those in classes of fewer than k."""
        return self.table.below(k)

    def after(self, plan: Mapping[str, Mechanism]) -> RiskAfter:
        """Return the risk that remains once the plan's columns have been randomised.

        Parameters
        ----------
        plan : mapping from column to Mechanism
            Keys that it does not name are released as they are.

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
        return risk_after(
            self.table, self.fit, fraction=self.fraction, laws=laws_of(plan, self.table)
        )

    def compare(
        self, plans: Mapping[str, Mapping[str, Mechanism]], *, level: float = 0.1
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
        measure = "r2" if self.fit is not None else "individual"
        if measure not in self.records.dtype.names:
            order = np.argsort(self.records["class_size"], kind="stable")
        else:
            order = np.argsort(-self.records[measure], kind="stable")
        rows = []
        for row in order[:count]:
            values = self.table.labels_of(int(self.table.class_of[row]))
            risks = {name: self.records[name][row].item() for name in self.records.dtype.names}
            rows.append(
                {"row": int(row), "keys": dict(zip(self.keys, values, strict=True)), **risks}
            )
        return rows

    def summary(self) -> dict[str, Any]:
        """Return the figures of the whole file, as plain data for JSON."""
        figures: dict[str, Any] = {
            "n": self.n,
            "population_size": self.population_size,
            "keys": list(self.keys),
            "classes": len(self.table.counts),
            "cells": self.table.cells,
            "missing": self.table.missing,
            "sample_uniques": self.sample_uniques,
            "below_3": self.below(3),
            "below_5": self.below(5),
            "smallest_class": self.smallest_class,
            "model": self.model,
            "reason": self.reason,
            "margins": [list(margin) for margin in self.margins],
            "tau1": _number(self.tau1),
            "tau2": _number(self.tau2),
        }
        if self.criteria is not None:
            z1, z2 = self.criteria.standardised
            figures |= {"B1": self.criteria.B1, "B2": self.criteria.B2, "z1": z1, "z2": z2}
        if self.chains is not None:
            figures |= {
                "tau1_interval": list(self.chains.tau1_interval),
                "tau2_interval": list(self.chains.tau2_interval),
                "r_hat": self.chains.r_hat,
                "effective_size": self.chains.effective_size,
            }
        for name in ("individual", "household"):
            if name in self.records.dtype.names:
                figures[f"sum_of_{name}_risk"] = float(self.records[name].sum())
        return figures


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
