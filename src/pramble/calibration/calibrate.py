"""The verb ``calibrate``: which α meets a target."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from pramble.calibration.calibration import (
    Calibration,
    Proposal,
    Target,
    Trial,
    curve_of,
    search,
)
from pramble.data.crosstab import Crosstab
from pramble.data.labels import Label
from pramble.errors import InvalidInput, PrivacyError
from pramble.information.distributions import as_prior, as_tables
from pramble.information.fisher import estimation_variance, typical_error
from pramble.information.measures import entropy
from pramble.mechanisms.plan import Plan
from pramble.privacy.gaussian import float_below
from pramble.risk.assess import Assessment, Model, assess
from pramble.risk.readings import information_of_keys, shares_over
from pramble.solvers.design import design as design_column
from pramble.solvers.record.design_record import design_record
from pramble.values import Clock, Watcher, names_of

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
NEED_NO_MODEL = ("error", "epsilon")
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
    column: str | Sequence[str] | Mapping[str, float] | None = None,
    columns: Sequence[str] | None = None,
    at_most: float,
    measure: str = "tau2",
    level: float | None = None,
    population_size: float | None = None,
    model: Model = "two-way",
    design: Mapping[str, Any] | None = None,
    delta: float | None = None,
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

    With ``measure="epsilon"`` the target is the ε that is proven of the whole file of randomised
    records in random order. Protected tables need no search: the smallest ε at which they have a
    given error is ``design_tables(...).epsilon_for(people)``.

    Parameters
    ----------
    data, keys, population_size, model
        As for :func:`~pramble.assess`; or, in place of all four, the Assessment that it returned:
        of a file with sampling weights or structural zeros.
    column : str, sequence of str, or mapping from str to float
        The key to randomise; or several, which share α equally or in the given proportions, each
        with a design of its own.
    columns : sequence of str
        Two or more keys to randomise together, in place of ``column``: every α tried gives one plan
        for the whole record.
    at_most : float
        The target.
    measure : {"tau2", "tau1", "worst", "share", "epsilon", "error"}
        τ̃2, τ̃1 or the largest r̃2 after randomisation; the share of records with r̃2 above ``level``;
        the central ε of the file in random order at ``delta`` (:func:`~pramble.central_guarantee`);
        or the standard error of a typical cell of the column, or of the wanted table that is worst
        (:func:`pramble.information.fisher.typical_error`).
    level : float, optional
        With "share" only.
    design : mapping, optional
        Keywords for :func:`~pramble.design`, or with ``columns`` for
        :func:`~pramble.design_record`: ``{"family": "general"}``, ``{"tables": 3}``. ``prior`` and
        ``categories`` may be mappings from columns; unless given they are those of the file.
    delta : float, optional
        Of the central promise. All keys must then be among the columns that are randomised;
        ``rows_per_person`` in ``design`` says how many rows one person may have.
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
    rows_per_person = int(settings.pop("rows_per_person", 1))
    target = Target(measure, float(at_most), level, delta, rows_per_person)
    low, high = map(float, alphas)
    if not 0 < low < high < math.inf:
        raise InvalidInput(f"alphas must be a range of positive numbers; found {alphas!r}.")
    if (column is None) == (columns is None):
        raise InvalidInput(
            "Give column=, keys with designs of their own, or columns=, keys to randomise together."
        )
    if target.delta is not None:
        known = data.keys if isinstance(data, Assessment) else names_of(keys or ())
        refuse_released_keys(known, columns or column or ())
    if measure in NEED_NO_MODEL and population_size is None:
        model = "none"
    clock = Clock(progress)
    before = assessment_of(
        data,
        keys,
        population_size=population_size,
        model=model,
        clock=clock.part(0.0, ASSESSING),
    )
    if columns is None:
        parts = parts_of_alpha(column or (), before.keys)
        propose = proposals_by_column(parts, before.table, settings)
    else:
        propose = proposals_together(columns, before.table, settings)

    def try_alpha(alpha: float) -> Trial:
        proposal = propose(alpha)
        left = None if before.fit is None else before.after(proposal.plan)
        return Trial(alpha, target.value(proposal, left, rows=before.n), proposal, left)

    trials, best = search(
        try_alpha,
        target,
        (low, high),
        tolerance=CLOSE if columns is None else CLOSE_PLANS,
        points=POINTS if columns is None else PLANS,
        clock=clock.part(ASSESSING, 1 - ASSESSING),
    )
    prior = settings.get("prior")
    own_prior = prior is None
    if isinstance(prior, Mapping) and columns is None:
        own_prior = any(prior.get(name) is None for name in parts)
    return Calibration(
        best.alpha,
        best.value,
        best.value <= target.at_most,
        best.proposal,
        target,
        before,
        best.left,
        curve_of(trials),
        tuple(calibration_notes(target, best, high=high, own_prior=own_prior)),
        target.guarantee(best.proposal.plan, rows=before.n),
    )


def assessment_of(
    data: Any,
    keys: Sequence[str] | None,
    *,
    population_size: float | None,
    model: Model,
    clock: Clock,
) -> Assessment:
    if isinstance(data, Assessment):
        if keys is not None or population_size is not None:
            raise InvalidInput("An assessment has its keys and population; give neither beside it.")
        return data
    if keys is None:
        raise InvalidInput("Give keys=, the columns an intruder may know; or an assessment.")
    return assess(
        data,
        keys,
        population_size=population_size,
        model=model,
        progress=lambda made: clock.tell(made.what, made.share),
    )


def refuse_released_keys(keys: Sequence[str], randomised: Any) -> None:
    bare = [key for key in keys if key not in names_of(randomised)]
    if bare:
        raise PrivacyError(
            f"Column {bare[0]!r} would be released as it is, which ends every central promise: "
            "randomise it with the others, or leave it out of the keys and of the release."
        )


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


def proposals_by_column(
    parts: Mapping[str, Fraction], table: Crosstab, settings: Mapping[str, Any]
) -> Callable[[float], Proposal]:
    """Return the function from α to the designs of the columns, none above its part of α."""
    prior, rest = settings.get("prior"), without_labels(settings)
    labels = column_categories(parts, table, settings)
    priors = {}
    for name, own in labels.items():
        given = prior.get(name) if isinstance(prior, Mapping) else prior
        known = shares_over(table, {name: own}) if given is None else given
        priors[name] = as_prior(known, size=len(own))
    entropies = sum(map(entropy, priors.values()))

    def propose(alpha: float) -> Proposal:
        designs = {
            name: design_column(
                priors[name],
                float_below(Fraction(alpha) * part),  # rounded up, the parts could exceed α
                categories=labels[name],
                **rest,
            )
            for name, part in parts.items()
        }
        errors = (
            typical_error(
                estimation_variance(one.prior, one.mechanism), cells=len(one.prior), rows=table.n
            )
            for one in designs.values()
        )
        return Proposal(
            designs,
            Plan({name: one.mechanism for name, one in designs.items()}),
            {name: one.information for name, one in designs.items()},
            entropies,
            max(errors),
        )

    return propose


def proposals_together(
    columns: Sequence[str], table: Crosstab, settings: Mapping[str, Any]
) -> Callable[[float], Proposal]:
    names = names_of(columns)
    if len(names) < 2 or len(set(names)) != len(names):
        raise InvalidInput(f"columns must name two or more different keys; found {names!r}.")
    for name in names:
        if name not in table.columns:
            raise InvalidInput(f"columns must be among the keys {table.columns}; found {name!r}.")
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
        return Proposal({name: found}, found.plan, {name: information}, whole, error)

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


def parts_of_alpha(
    column: str | Sequence[str] | Mapping[str, float], keys: Sequence[str]
) -> dict[str, Fraction]:
    """Return the part of α of each column; they sum to 1, exactly."""
    if isinstance(column, Mapping):
        parts = {name: float(part) for name, part in column.items()}
    else:
        parts = dict.fromkeys(names_of(column), 1.0)
    for name, part in parts.items():
        if name not in keys:
            raise InvalidInput(
                f"A column to randomise must be one of the keys {keys}; found {name!r}."
            )
        if not (math.isfinite(part) and part > 0):
            raise InvalidInput(f"Shares of α must be positive; column {name!r} has {part!r}.")
    if not parts:
        raise InvalidInput("At least one column to randomise is needed; found none.")
    exact = {name: Fraction(part) for name, part in parts.items()}
    return {name: part / sum(exact.values()) for name, part in exact.items()}
