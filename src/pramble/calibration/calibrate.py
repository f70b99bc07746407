"""The verb ``calibrate``: which α meets a target."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pramble.calibration.calibration import Calibration, Target, Trial, search
from pramble.data.crosstab import Crosstab
from pramble.data.labels import Label
from pramble.errors import InvalidInput
from pramble.information.distributions import as_prior, as_tables
from pramble.information.fisher import estimation_variance, typical_error
from pramble.information.measures import entropy
from pramble.mechanisms.plan import Plan
from pramble.privacy.gaussian import float_below
from pramble.risk.assess import Assessment, Model, assess
from pramble.risk.cells import record_array
from pramble.risk.readings import information_of_keys, shares_over
from pramble.solvers.design import design as design_column
from pramble.solvers.record.design_record import design_record
from pramble.values import Reporter, Watcher, names_of

# The share of the work that assessing is taken for.
ASSESSING = 0.3
# From hardly any information to hardly any protection.
ALPHAS = (0.01, 16.0)
# Designs of single columns that are tried before closing in, and how closely that is done.
POINTS, CLOSE = 24, 1e-4
# The same of plans for a record, which take longer.
PLANS, CLOSE_PLANS = 8, 1e-2
# Of the search for each plan, unless ``design`` says otherwise.
EFFORT = 2.0
# Cells up to which the file's distribution is taken whole; beyond, the wanted tables of it.
MOST_JOINT = 100_000
REMEDIES = {
    True: "Coarsen or drop a key, or randomise more columns.",
    False: "So few records do not determine it even as they are: ask for smaller tables, or take "
    "more records.",
}
CHOICE = (
    "α was chosen by looking at the data, and α does not cover that choice: calibrate on a public "
    "reference file, or take a smaller α than this."
)
PRIOR = (
    "The designs use the distribution of the file itself, which α does not cover either: give a "
    "public prior, or one from a noisy count."
)


def calibrate(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    column: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    at_most: float,
    measure: str = "tau2",
    level: float | None = None,
    population_size: float | None = None,
    model: Model = "two-way",
    design: Mapping[str, Any] | None = None,
    alphas: tuple[float, float] = ALPHAS,
    progress: Watcher | None = None,
) -> Calibration:
    r"""Return the α up to which the risk, or from which on the error, is at most a target.

    .. math:: \max\,\alpha \quad\text{s.t.}\quad \rho\bigl(M^*(\alpha')\bigr) \le t
        \text{ for every } \alpha' \le \alpha \text{ tried},

    with :math:`M^*(\alpha)` the best design for α and ρ the measure. The range of α is scanned from
    its private end, and the first crossing is closed in by halves. The α that is returned was
    itself tried: the result is on the safe side whether or not the measure is monotone. When no α
    meets the target, ``met`` is false and the α that came nearest is returned.

    Protected tables need no search: the smallest ε at which they have a given error is
    ``design_tables(...).epsilon_for(people)``.

    Parameters
    ----------
    data, keys, population_size, model
        As for :func:`~pramble.assess`; or, in place of all four, the Assessment that it returned:
        of a file with sampling weights or structural zeros.
    column : str or sequence of str
        The key to randomise; or several, which share α equally, each with a design of its own.
    columns : sequence of str
        Two or more keys to randomise together, in place of ``column``: every α tried gives one plan
        for the whole record.
    at_most : float
        The target.
    measure : {"tau2", "tau1", "worst", "share", "error"}
        τ̃2, τ̃1 or the largest r̃2 after randomisation; the share of records with r̃2 above ``level``;
        or the standard error of a typical cell of the column, or of the wanted table that is worst
        (:func:`pramble.information.fisher.typical_error`).
    level : float, optional
        With "share" only.
    design : mapping, optional
        Keywords for :func:`~pramble.design`, or with ``columns`` for
        :func:`~pramble.design_record`: ``{"family": "general"}``, ``{"tables": 3}``. ``prior`` and
        ``categories`` may be mappings from columns; unless given they are those of the file.
    alphas : (float, float)
        The range of α, the total over the columns. The answer is found to a relative 0.0001, or
        0.01 with ``columns``.
    progress : callable, optional
        Given a :class:`~pramble.Progress` now and then.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np
    >>> import pramble
    >>> rng = np.random.default_rng(1)
    >>> people = {"age": rng.integers(0, 9, 300), "region": rng.integers(0, 20, 300)}
    >>> k = pramble.calibrate(people, ["age", "region"], population_size=3000, column="region",
    ...                       model="independence", measure="tau2", at_most=1.0)
    >>> k.value <= 1.0 < k.before.tau2
    True
    """
    settings = dict(design or {})
    target = Target(measure, float(at_most), level)
    low, high = map(float, alphas)
    if not 0 < low < high < math.inf:
        raise InvalidInput(f"alphas must be a range of positive numbers; found {alphas!r}.")
    if (column is None) == (columns is None):
        raise InvalidInput(
            "Give column=, keys with designs of their own, or columns=, keys to randomise together."
        )
    reporter = Reporter(progress)
    assessing = reporter.part(0.0, ASSESSING)
    if isinstance(data, Assessment):
        if keys is not None or population_size is not None:
            raise InvalidInput("An assessment has its keys and population; give neither beside it.")
        before = data
    elif keys is None:
        raise InvalidInput("Give keys=, the columns an intruder may know; or an assessment.")
    else:
        before = assess(
            data,
            keys,
            population_size=population_size,
            model="none" if measure == "error" and population_size is None else model,
            progress=lambda made: assessing.report(made.what, made.share),
        )
    names = keys_to_randomise(column if columns is None else columns, before.keys)
    if columns is None:
        propose = designs_by_column(names, before.table, settings)
    else:
        propose = designs_together(names, before.table, settings)

    def try_alpha(alpha: float) -> Trial:
        designs, plan, informations, entropy, error = propose(alpha)
        left = None if before.fit is None else before.after(plan)
        value = target.value(error, left)
        return Trial(alpha, value, designs, plan, informations, entropy, error, left)

    trials, best = search(
        try_alpha,
        target,
        (low, high),
        tolerance=CLOSE if columns is None else CLOSE_PLANS,
        points=POINTS if columns is None else PLANS,
        reporter=reporter.part(ASSESSING, 1 - ASSESSING),
    )
    prior = settings.get("prior")
    own_prior = prior is None
    if isinstance(prior, Mapping) and columns is None:
        own_prior = any(prior.get(name) is None for name in names)
    figures = [trial.figures() for trial in trials]
    curve = record_array({name: np.array([one[name] for one in figures]) for name in figures[0]})
    notes = calibration_notes(target, best, high=high, own_prior=own_prior)
    met = best.value <= target.at_most
    return Calibration(target, met, best, before, curve, tuple(notes))


def calibration_notes(target: Target, best: Trial, *, high: float, own_prior: bool) -> list[str]:
    notes = [CHOICE, PRIOR] if own_prior else [CHOICE]
    if best.value > target.at_most:
        first = (
            f"No α tried brings {target.measure} to {target.at_most:g} or less; the nearest "
            f"is {best.value:.6g}, at α = {best.alpha:.6g}. {REMEDIES[target.of_risk]}"
        )
        return [first, *notes]
    if target.of_risk and best.alpha >= high:
        return [f"Every α up to {high:g}, the largest tried, meets the target.", *notes]
    return notes


# Designs by their names, the plan that they make, the information that each keeps, the entropy of
# the columns, and the error of the worst cell.
Proposal = tuple[Mapping[str, Any], Plan, Mapping[str, float], float, float]


def keys_to_randomise(given: Any, keys: Sequence[str]) -> list[str]:
    if isinstance(given, Mapping):
        raise InvalidInput("Columns to randomise are given by their names: they share α equally.")
    names = names_of(given or ())
    for name in names:
        if name not in keys:
            raise InvalidInput(
                f"Columns to randomise must be among the keys {keys}; found {name!r}."
            )
    return names


def designs_by_column(
    names: Sequence[str], table: Crosstab, settings: Mapping[str, Any]
) -> Callable[[float], Proposal]:
    """Return the function from α to the designs of the columns, which share it equally."""
    if not names:
        raise InvalidInput("At least one column to randomise is needed; found none.")
    if len(set(names)) < len(names):
        raise InvalidInput(f"Name each column to randomise once; found {names!r}.")
    prior, rest = settings.get("prior"), without_labels(settings)
    labels = column_categories(names, table, settings)
    priors = {}
    for name, own in labels.items():
        given = prior.get(name) if isinstance(prior, Mapping) else prior
        known = shares_over(table, {name: own}) if given is None else given
        priors[name] = as_prior(known, size=len(own))
    whole = sum(map(entropy, priors.values()))

    def propose(alpha: float) -> Proposal:
        part = float_below(Fraction(alpha) / len(names))  # rounded up, the parts could exceed α
        designs = {
            name: design_column(priors[name], part, categories=labels[name], **rest)
            for name in names
        }
        errors = (
            typical_error(
                estimation_variance(one.prior, one.mechanism), cells=len(one.prior), rows=table.n
            )
            for one in designs.values()
        )
        plan = Plan({name: one.mechanism for name, one in designs.items()})
        informations = {name: one.information for name, one in designs.items()}
        return designs, plan, informations, whole, max(errors)

    return propose


def designs_together(
    names: Sequence[str], table: Crosstab, settings: Mapping[str, Any]
) -> Callable[[float], Proposal]:
    if len(names) < 2 or len(set(names)) != len(names):
        raise InvalidInput(f"columns must name two or more different keys; found {names!r}.")
    labels = column_categories(names, table, settings)
    rest = {"tables": 2, "effort": EFFORT} | without_labels(settings)
    prior = settings.get("prior")
    if prior is None:
        small = math.prod(len(own) for own in labels.values()) <= MOST_JOINT
        wanted = [tuple(names)] if small else as_tables(rest["tables"], tuple(names))
        shares = {one: shares_over(table, {name: labels[name] for name in one}) for one in wanted}
        prior = shares[tuple(names)] if small else shares

    def propose(alpha: float) -> Proposal:
        found = design_record(labels, alpha, prior=prior, **rest)
        information, whole = information_of_keys(found.plan, table)
        name = ", ".join(found.plan.columns)
        error = float(max(found.columns()["standard_error"])) / math.sqrt(table.n)
        return {name: found}, found.plan, {name: information}, whole, error

    return propose


def without_labels(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in settings.items() if name not in ("prior", "categories")}


def column_categories(
    names: Iterable[str], table: Crosstab, settings: Mapping[str, Any]
) -> dict[str, tuple[Label, ...]]:
    stated = settings.get("categories") or {}
    return {
        name: tuple(stated.get(name, table.levels[table.columns.index(name)])) for name in names
    }
