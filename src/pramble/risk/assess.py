"""The verb ``assess``: how likely re-identification is, and what it answers."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from inspect import cleandoc
from types import MappingProxyType
from typing import Any

import numpy as np

from pramble.data.crosstab import Crosstab
from pramble.data.recode import Reading
from pramble.errors import InvalidInput
from pramble.information.structural_zeros import Rule, zeros_of_file
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.risk.after import RiskAfter, risk_after
from pramble.risk.cells import WEIGHT, by_record, cross_classify, record_array, rows_each
from pramble.risk.loglinear import fit_independence, fit_two_way
from pramble.risk.membership import Chains, Membership
from pramble.risk.models import (
    CellMeans,
    FittedModel,
    Intervals,
    Sample,
    individual_risk,
)
from pramble.shown import Display, Facts, number
from pramble.values import Floats, Reporter, Watcher, frozen

# The share of the work that reading is taken for.
READING = 0.1


# What each model is, for help pages, and how it is fitted.
MODELS: Mapping[str, tuple[str, Callable[[Sample], FittedModel]]] = MappingProxyType({
    "independence": ("main effects, in closed form, for any number of cells", fit_independence),
    "two-way": (
        "all two-way interactions, with a random effect of cells where they do not suffice",
        fit_two_way,
    ),
    "membership": (
        "the Bayesian grade of membership model, sampled by several chains",
        lambda sample: Membership().fit(sample),
    ),
    "none": ("class sizes only", lambda _: FittedModel(None, "class sizes only, as asked")),
})  # fmt: skip

# One of ``MODELS``, or the membership model with its settings.
Model = str | Membership


def list_models(separator: str = "; ") -> str:
    """Return the models with what they are, for help pages.

    >>> list_models().split(";")[0]
    'independence: main effects, in closed form, for any number of cells'
    """
    return separator.join(f"{name}: {what}" for name, (what, _) in MODELS.items())


@frozen(eq=False, repr=False)
class Assessment(Display):
    r"""Disclosure risk of a file, before randomisation; :meth:`after` gives what a plan leaves.

    Attributes
    ----------
    tau1, tau2 : float
        Expected number of sample uniques that are unique in the population, and of right matches
        among the sample uniques: the sums of r1 and r2 over them. NaN without a model.
    records : (n,) record array
        For each row: ``r1`` = P(F = 1 | f), ``r2`` = E(1/F | f) and ``class_size`` f; with weights
        also ``individual`` (negative binomial). Of a Spark frame, whose rows stay where they are:
        for each class, with its number of ``rows``.
    model, reason : str
        The model that was used, and why.
    population_size : float
        N, as given; the summed weights when only those were.
    chains : Chains or None
        Convergence and credible intervals, where the model was sampled.
    table : Crosstab
        Counts by the keys: ``levels`` of each, ``cells`` that occur, their ``counts``.
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
    chains: Chains | None
    table: Crosstab = field(repr=False)
    fraction: Floats = field(repr=False)
    fit: CellMeans | None = field(repr=False)
    intervals: Intervals | None = None

    @property
    def n(self) -> int:
        """Number of records."""
        return self.table.n

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns."""
        return self.table.columns

    @property
    def cells(self) -> int:
        """Number of possible combinations of the levels that occur."""
        return math.prod(self.table.shape)

    @property
    def sample_uniques(self) -> int:
        """Records alone in their class."""
        return int((self.table.counts == 1).sum())

    @property
    def smallest_class(self) -> int:
        """The k of k-anonymity: the size of the smallest class."""
        return int(self.table.counts.min())

    def below(self, k: int) -> int:
        """Return how many records violate k-anonymity: those in classes of fewer than k."""
        return int(self.table.counts[self.table.counts < k].sum())

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
        size = "" if np.isnan(self.population_size) else f" of {self.population_size:,.0f}"
        rows = [
            ("keys", ", ".join(self.keys)),
            ("records", f"{self.n:,}{size}"),
            ("classes", f"{len(self.table.counts):,} of {self.cells:,} possible"),
            ("alone in their class", f"{self.sample_uniques:,}"),
            ("in classes below 3, 5", f"{self.below(3):,}, {self.below(5):,}"),
        ]
        for name, sign, what in (
            ("tau1", "τ1", "of them alone in the population too"),
            ("tau2", "τ2", "right matches among them"),
        ):
            tau, ends = getattr(self, name), getattr(self.intervals, name, None)
            interval = "" if ends is None else f" ({number(ends[0], 4)} to {number(ends[1], 4)})"
            if not np.isnan(tau):
                rows.append((sign, f"{number(tau, 4)}{interval} {what}"))
        if self._individual is not None:
            rows.append(("individual risk", f"{self._individual:.6g} in all"))
        return Facts("Disclosure risk", [*rows, ("model", f"{self.model}: {self.reason}")])

    @property
    def _individual(self) -> float | None:
        if "individual" not in self.records.dtype.names:
            return None
        return float(self.records["individual"] @ rows_each(self.records))

    def summary(self) -> dict[str, Any]:
        """Return the figures of the whole file, as plain data for JSON."""
        figures: dict[str, Any] = {
            "n": self.n,
            "population_size": self.population_size,
            "keys": list(self.keys),
            "classes": len(self.table.counts),
            "cells": self.cells,
            "sample_uniques": self.sample_uniques,
            "below_3": self.below(3),
            "below_5": self.below(5),
            "smallest_class": self.smallest_class,
            "model": self.model,
            "reason": self.reason,
            "tau1": None if np.isnan(self.tau1) else self.tau1,
            "tau2": None if np.isnan(self.tau2) else self.tau2,
        }
        if self.intervals is not None:
            figures["tau1_interval"] = list(self.intervals.tau1)
            figures["tau2_interval"] = list(self.intervals.tau2)
        if self.chains is not None:
            names = ("r_hat", "effective_size", "converged")
            figures |= {name: getattr(self.chains, name) for name in names}
        if self._individual is not None:
            figures["sum_of_individual_risk"] = self._individual
        return figures


def assess(
    data: Any,
    keys: Sequence[str],
    *,
    population_size: float | None = None,
    model: Model = "two-way",
    weights: str | None = None,
    impossible: Sequence[Rule] = (),
    reading: Reading | Mapping[str, Any] | None = None,
    rng: np.random.Generator | None = None,
    progress: Watcher | None = None,
) -> Assessment:
    r"""Return how likely re-identification is when an intruder knows the keys of everyone.

    The keys cross-classify the population into cells with counts F, of which the file holds a
    sample with counts f. Under :math:`F_k \sim \mathrm{Poisson}(\lambda_k)` and a sampling
    fraction π,

    .. math::
        r_1 = P(F=1 \mid f=1) = e^{-(1-\pi)\lambda}, \qquad
        r_2 = E(1/F \mid f=1) = \frac{1-e^{-(1-\pi)\lambda}}{(1-\pi)\lambda},

    and τ1, τ2 are their sums over the sample uniques (section 2 of the paper). λ = μ/π, with μ
    fitted to the sample counts over all cells, empty ones included.

    Parameters
    ----------
    data : path, frame, reader, stream or mapping
        A file, folder or pattern of any format; pandas, polars, pyarrow, DuckDB, Spark; or a
        mapping from names to columns.
    keys : sequence of str
        The columns an intruder may know; every value is a category, numbers and missing ones too.
    population_size : float, optional
        N, the people the file was sampled from; used as given. Needed by every model unless
        ``weights`` are named, whose sum then takes its place.
    model : str or Membership
        MODELS. A :class:`~pramble.Membership` gives that model its settings.
    weights : str, optional
        The column of sampling weights. Each class then has its own :math:`\pi = f/\sum w`, and
        records get the ``individual`` risk of the negative binomial model.
    impossible : sequence of mappings
        Structural zeros: rules such as ``{"age": "under 15", "marital": ["married", "widowed"]}``,
        which never occur together, or ``{"if": {"age": {"below": 15}}, "then": {"marital":
        "single"}}`` (:mod:`pramble.information.structural_zeros`).
    reading : Reading or mapping, optional
        How to read the data: separator, texts that mean missing, recodings.
    rng : numpy.random.Generator, optional
        For the membership model.
    progress : callable, optional
        Given a :class:`~pramble.Progress` now and then.

    Returns
    -------
    Assessment

    Examples
    --------
    >>> import pramble
    >>> people = {"age": [20, 20, 40, 60, 60], "sex": ["f", "f", "m", "f", "m"]}
    >>> a = pramble.assess(people, ["age", "sex"], population_size=50, model="independence")
    >>> a.sample_uniques, round(a.tau1, 6), round(a.tau2, 6)
    (3, 0.028091, 0.501564)
    """
    reporter = Reporter(progress)
    own = model if isinstance(model, Membership) else None
    name = "membership" if own is not None else str(model)
    if name not in MODELS:
        raise InvalidInput(f"model must be one of {', '.join(MODELS)}; found {model!r}.")
    reader = reporter.part(0.0, READING)
    table = cross_classify(
        data,
        keys,
        weights=weights,
        reading=reading,
        watch=lambda rows, share: reader.report("reading", share, rows=rows),
    )
    size = population(table, population_size, needed=name != "none")
    rules = zeros_of_file(impossible, table) if impossible else ()
    sample = Sample(table, size, rules, rng, reporter.part(READING, 1 - READING))
    fitted = MODELS[name][1](sample) if own is None else own.fit(sample)
    fraction = fractions(table, size)
    counts = table.counts
    r1, r2 = np.full((2, len(counts)), np.nan)
    if fitted.means is not None:
        whole = np.ones(len(counts))
        r1, r2 = fitted.means.risks(table.cells, counts, fraction=fraction, stay=whole)
    uniques = counts == 1
    if fitted.unique_risks is not None:
        r1[uniques], r2[uniques] = fitted.unique_risks
    intervals = None if fitted.chains is None else fitted.chains.intervals
    if fitted.chains is None and fitted.means is not None:
        intervals = fitted.means.intervals(table, fraction)
    by_class = {"r1": r1, "r2": r2, "class_size": counts}
    if weights is not None:
        people = np.maximum(table.sums[WEIGHT], counts)
        by_class["individual"] = individual_risk(counts, people)
    reporter.report("assessed", 1.0)
    return Assessment(
        float(r1[uniques].sum()),
        float(r2[uniques].sum()),
        record_array(by_record(table, by_class)),
        name,
        fitted.reason,
        size,
        fitted.chains,
        table,
        fraction,
        fitted.means,
        intervals,
    )


if assess.__doc__:
    assess.__doc__ = cleandoc(assess.__doc__).replace("MODELS", list_models(";\n    "))


def population(table: Crosstab, given: float | None, *, needed: bool) -> float:
    if given is not None:
        if not given >= table.n:
            raise InvalidInput(
                f"population_size must be at least the file's {table.n:,} records; "
                f"found {given:,g}."
            )
        return float(given)
    if WEIGHT in table.sums:
        return float(table.sums[WEIGHT].sum())
    if needed:
        raise InvalidInput(
            "population_size is needed: the number of people the file was sampled from (or name "
            'the column of sampling weights, or use model="none" for class sizes only).'
        )
    return float("nan")


def fractions(table: Crosstab, size: float) -> Floats:
    """Return the sampling fraction of each class: n/N, or its records over their summed weights."""
    if WEIGHT not in table.sums:
        return np.full(len(table.counts), table.n / size)
    weights = table.sums[WEIGHT]
    expected = weights * (size / weights.sum())
    return np.asarray(np.minimum(table.counts / expected, 1.0))
