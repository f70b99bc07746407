"""The verb ``assess``: how likely re-identification is."""

from collections.abc import Mapping, Sequence
from inspect import cleandoc
from typing import Any

import numpy as np

from pramble.data.reading import Reading
from pramble.errors import InvalidInput
from pramble.risk.assessment import Assessment
from pramble.risk.cells import (
    CrossClassification,
    Missing,
    by_record,
    cross_classify,
    record_array,
    wildcard_sums,
)
from pramble.risk.measures import household_risk, individual_risk
from pramble.risk.models.base import FittedModel, RiskModel, Sample
from pramble.risk.models.diagnostics import Intervals
from pramble.risk.models.loglinear import Margins
from pramble.risk.models.registry import Model, as_model, list_models
from pramble.risk.models.structural_zeros import Rule, resolve_rules
from pramble.values import Clock, Floats, Watcher

READING = 0.1
"""The share of the work that reading is taken for."""


def assess(
    data: Any,
    keys: Sequence[str],
    *,
    population_size: float | None = None,
    model: Model = "two-way",
    weights: str | None = None,
    household: str | None = None,
    impossible: Sequence[Rule] = (),
    missing: Missing = "category",
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
        The columns an intruder may know; every value is a category, numbers too.
    population_size : float, optional
        N, the people the file was sampled from; used as given. Needed by every model unless
        ``weights`` are named, whose sum then takes its place.
    model : str, Membership or sequence of margins
        MODELS. A :class:`~pramble.Membership` gives that model its settings. A sequence of margins,
        such as ``[("age", "sex"), ("region",)]``: MARGINS.
    weights : str, optional
        The column of sampling weights. Each class then has its own :math:`\pi = f/\sum w`, and
        records get the ``individual`` risk of the negative binomial model.
    household : str, optional
        A column that names each record's household; records then get the ``household`` risk.
    impossible : sequence of mappings
        Structural zeros: each maps keys to impossible values (a label, labels, or a predicate),
        such as ``{"age": "under 15", "marital": ["married", "widowed"]}``.
    missing : {"category", "wildcard"}
        A missing key value is a category of its own, or agrees with every value (class sizes and
        individual risk only).
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
    chosen, clock = as_model(model), Clock(progress)
    if household is not None and weights is None:
        raise InvalidInput("Household risk needs the column of sampling weights; name it.")
    if missing == "wildcard" and chosen.needs_population:
        raise InvalidInput(
            'missing="wildcard" gives class sizes and individual risk only; use model="none", or '
            'missing="category" with a model.'
        )
    reader = clock.part(0.0, READING)
    classes = cross_classify(
        data,
        keys,
        weights=weights,
        household=household,
        missing=missing,
        reading=reading,
        watch=lambda rows, share: reader.tell("reading", share, rows=rows),
    )
    size = population(classes, population_size, model=chosen)
    rules = resolve_rules(impossible, classes.table)
    sample = Sample(classes.table, size, rules, rng, clock.part(READING, 1 - READING))
    fitted = chosen.fit(sample)
    fraction = fractions(classes, size)
    r1, r2 = class_risks(classes, fitted, fraction)
    uniques = classes.sizes == 1
    clock.tell("assessed", 1.0)
    return Assessment(
        float(r1[uniques].sum()),
        float(r2[uniques].sum()),
        record_array(record_risks(classes, {"r1": r1, "r2": r2, "class_size": classes.sizes})),
        chosen.name,
        fitted.reason,
        size,
        None if fitted.means is None else fitted.means.criteria(classes.table, sample.fraction),
        fitted.chains,
        classes,
        fraction,
        fitted.means,
        fitted_intervals(classes, fitted, fraction),
    )


if assess.__doc__:
    written = cleandoc(assess.__doc__).replace("MARGINS", Margins.summary)
    assess.__doc__ = written.replace("MODELS", list_models(";\n    "))


def population(classes: CrossClassification, given: float | None, *, model: RiskModel) -> float:
    """Return the size of the population, as given or by the weights; NaN if nothing needs it."""
    if given is not None:
        if not given >= classes.table.n:
            raise InvalidInput(
                f"population_size must be at least the file's {classes.table.n:,} records; found "
                f"{given:,g}."
            )
        return float(given)
    if classes.weights is not None:
        return float(classes.weights.sum())
    if model.needs_population:
        raise InvalidInput(
            "population_size is needed: the number of people the file was sampled from (or name "
            'the column of sampling weights, or use model="none" for class sizes only).'
        )
    return float("nan")


def fractions(classes: CrossClassification, size: float) -> Floats:
    """Return the sampling fraction of each class: n/N, or its records over their summed weights."""
    table, weights = classes.table, classes.weights
    if weights is None:
        return np.full(len(table.counts), table.n / size)
    expected = weights * (size / weights.sum())
    return np.asarray(np.minimum(table.counts / expected, 1.0))


def class_risks(
    classes: CrossClassification, fitted: FittedModel, fraction: Floats
) -> tuple[Floats, Floats]:
    """Return r1 and r2 of each class."""
    counts = classes.table.counts
    if fitted.means is None:
        return np.full(len(counts), np.nan), np.full(len(counts), np.nan)
    whole = np.ones(len(counts))
    r1, r2 = fitted.means.risks(classes.table.cells, counts, fraction=fraction, stay=whole)
    if fitted.unique_risks is not None:
        r1[counts == 1], r2[counts == 1] = fitted.unique_risks
    return r1, r2


def fitted_intervals(
    classes: CrossClassification, fitted: FittedModel, fraction: Floats
) -> Intervals | None:
    """Return intervals of τ1 and τ2: those of the chains, or of the fitted means."""
    if fitted.chains is not None:
        return fitted.chains.intervals
    return None if fitted.means is None else fitted.means.intervals(classes.table, fraction)


def record_risks(classes: CrossClassification, by_class: dict[str, Any]) -> dict[str, Any]:
    """Return the risks of each record: those of its class, its own, and its household's."""
    table, weights = classes.table, classes.weights
    if weights is None:
        return by_record(table, by_class)
    totals = wildcard_sums(table, weights) if classes.missing == "wildcard" else weights
    individual = individual_risk(classes.sizes, np.maximum(totals, classes.sizes))
    risks = by_record(table, by_class | {"individual": individual})
    if classes.households is not None:
        risks["household"] = household_risk(risks["individual"], classes.households)
    return risks
