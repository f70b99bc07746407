"""The verb ``assess``: how likely re-identification is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.errors import InvalidInput
from pramble.risk.assessment import Assessment, Chains
from pramble.risk.cells import CrossClassification, Missing, cross_classify, wildcard_sums
from pramble.risk.columns import encode, read_columns
from pramble.risk.convergence import effective_size, split_r_hat
from pramble.risk.fitting import Progress
from pramble.risk.individual import household_risk, individual_risk
from pramble.risk.loglinear import Fit, SupportFit, fit_margins, two_way
from pramble.risk.measures import match_risk, uniqueness_risk
from pramble.risk.membership import Membership, Posterior, sample_membership
from pramble.risk.records import record_array
from pramble.risk.search import search_model
from pramble.risk.structural_zeros import Rule, resolve_rules
from pramble.risk.support import Margin
from pramble.values import Floats

AGREEMENT = 1.1
MODELS = ("independence", "two-way", "search", "membership", "none")
Model = Any
"""One of ``MODELS``, a sequence of margins, or a ``Membership``."""


@dataclass(frozen=True)
class Chosen:
    """A fitted model: its name, why it was taken, how its chains mixed, its risks of uniques."""

    fit: Fit | None
    name: str
    reason: str
    chains: Chains | None = None
    unique_risks: tuple[Floats, Floats] | None = None


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
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
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
    data : frame, table, mapping or path
        pandas, polars, pyarrow, Spark, a mapping from names to columns, or a CSV or Parquet file.
    keys : sequence of str
        The columns an intruder may know; every value is a category, numbers too.
    population_size : float, optional
        N, the people the file was sampled from; used as given. Needed by every model unless
        ``weights`` are named, whose sum then takes its place.
    model : str or sequence of margins
        "independence": main effects, in closed form, for any number of cells. "two-way": all
        two-way interactions. A sequence of margins, such as ``[("age", "sex"), ("region",)]``:
        those; keys in none of them enter by their main effects. "search": forward from
        independence until Skinner and Shlomo's criteria are small. "membership": the Bayesian
        grade of membership model (or a :class:`~pramble.Membership` with its settings). "none":
        class sizes only.
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
    rng : numpy.random.Generator, optional
        For the membership model.
    progress : callable, optional
        Called with what is being done and the share that is done.

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
    table = cross_classify(data, keys, weights=weights, missing=missing)
    size = _population(table, population_size, model=model)
    fraction = _fractions(table, size)
    rules = resolve_rules(impossible, table)
    if missing == "wildcard" and model != "none":
        raise InvalidInput(
            'missing="wildcard" gives class sizes and individual risk only; use model="none", or '
            'missing="category" with a model.'
        )
    chosen = _choose(table, model, rules=rules, size=size, rng=rng, progress=progress)
    r1, r2 = _class_risks(table, chosen, fraction)
    uniques = table.sizes == 1
    columns = {"r1": r1, "r2": r2, "class_size": table.sizes}
    records = {name: values[table.class_of] for name, values in columns.items()}
    records |= _individual(table, data, household=household)
    return Assessment(
        float(r1[uniques].sum()),
        float(r2[uniques].sum()),
        table.sample_uniques,
        record_array(records),
        chosen.name,
        chosen.reason,
        _named_margins(table, chosen.fit),
        size,
        None if chosen.fit is None else chosen.fit.criteria(table, table.n / size),
        chosen.chains,
        table,
        fraction,
        chosen.fit,
    )


def _population(table: CrossClassification, given: float | None, *, model: Model) -> float:
    if given is None:
        if table.weights is not None:
            return float(table.weights.sum())
        if model == "none":
            return float("nan")
        raise InvalidInput(
            "population_size is needed: the number of people the file was sampled from (or name "
            'the column of sampling weights, or use model="none" for class sizes only).'
        )
    if not given >= table.n:
        raise InvalidInput(
            f"population_size must be at least the file's {table.n:,} records; found {given:,g}."
        )
    return float(given)


def _fractions(table: CrossClassification, size: float) -> Floats:
    """Return the sampling fraction of each class: n/N, or its records over their summed weights."""
    if table.weights is None:
        return np.full(len(table.counts), table.n / size)
    scale = size / table.weights.sum()
    return np.asarray(np.minimum(table.counts / (table.class_weights() * scale), 1.0))


def _choose(
    table: CrossClassification,
    model: Model,
    *,
    rules: Any,
    size: float,
    rng: np.random.Generator | None,
    progress: Progress | None,
) -> Chosen:
    if model == "membership":
        model = Membership()
    if isinstance(model, Membership):
        posterior = sample_membership(
            table, model, population_size=size, rules=rules, rng=rng, progress=progress
        )
        return _sampled(posterior, model)
    if isinstance(model, str):
        if model not in MODELS:
            raise InvalidInput(f"model must be one of {', '.join(MODELS)}; found {model!r}.")
        if model == "none":
            return Chosen(None, model, "class sizes only, as asked")
        if model == "search":
            fit, reason = search_model(
                table, fraction=table.n / size, rules=rules, progress=progress
            )
            return Chosen(fit, model, reason)
        margins = two_way(len(table.keys)) if model == "two-way" else ()
        name = model
    else:
        margins, name = named_axes(table, model), "margins"
    fit = fit_margins(table, margins, rules=rules, progress=progress)
    return Chosen(fit, name, "as asked")


def _sampled(posterior: Posterior, model: Membership) -> Chosen:
    traces = [posterior.expected[:, :, measure] for measure in (0, 1)]
    tails = np.quantile(posterior.predicted, [0.025, 0.975], axis=(0, 1))
    chains = Chains(
        (float(tails[0, 0]), float(tails[1, 0])),
        (float(tails[0, 1]), float(tails[1, 1])),
        max(map(split_r_hat, traces)),
        min(map(effective_size, traces)),
        posterior.expected,
    )
    verdict = "the chains agree" if chains.r_hat < AGREEMENT else "the chains disagree: run longer"
    reason = f"as asked, with {model.profiles} profiles; R-hat {chains.r_hat:.3f}, {verdict}"
    return Chosen(posterior.fit, "membership", reason, chains, (posterior.r1, posterior.r2))


def named_axes(table: CrossClassification, margins: Sequence[Any]) -> tuple[Margin, ...]:
    """Return margins given by key names as tuples of axes."""
    axes = []
    for margin in margins:
        names = (margin,) if isinstance(margin, str) else tuple(margin)
        for name in names:
            if name not in table.keys:
                raise InvalidInput(
                    f"A margin names {name!r}, which is not among the keys {table.keys}."
                )
        axes.append(tuple(table.keys.index(name) for name in names))
    return tuple(axes)


def _class_risks(
    table: CrossClassification, chosen: Chosen, fraction: Floats
) -> tuple[Floats, Floats]:
    if chosen.fit is None:
        return np.full(len(table.counts), np.nan), np.full(len(table.counts), np.nan)
    rest = chosen.fit.means(table.classes) * (1 / fraction - 1)
    r1, r2 = uniqueness_risk(rest, table.counts), match_risk(rest, table.counts)
    if chosen.unique_risks is not None:
        alone = table.counts == 1
        r1[alone], r2[alone] = chosen.unique_risks
    return r1, r2


def _individual(
    table: CrossClassification, data: Any, *, household: str | None
) -> dict[str, NDArray[Any]]:
    if table.weights is None:
        if household is not None:
            raise InvalidInput("Household risk needs the column of sampling weights; name it.")
        return {}
    totals = table.class_weights()
    if table.missing == "wildcard":
        totals = wildcard_sums(table, totals)
    risk = individual_risk(table.sizes, np.maximum(totals, table.sizes))[table.class_of]
    if household is None:
        return {"individual": risk}
    members = encode(read_columns(data, [household])[household]).codes
    return {"individual": risk, "household": household_risk(risk, members)}


def _named_margins(table: CrossClassification, fit: Fit | None) -> tuple[tuple[str, ...], ...]:
    if fit is None:
        return ()
    if isinstance(fit, SupportFit):
        return tuple(tuple(table.keys[axis] for axis in margin) for margin in fit.margins)
    return tuple((key,) for key in table.keys)
