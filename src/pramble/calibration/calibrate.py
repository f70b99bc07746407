"""The verb ``calibrate``: which α meets a target of risk or of accuracy."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramble.calibration.bisection import Told, bracket, close_in, scan
from pramble.calibration.calibration import Calibration
from pramble.calibration.target import Target
from pramble.calibration.trial import Bench, DesignAt, Trial, curve_of
from pramble.errors import InvalidInput
from pramble.information.priors import as_prior
from pramble.privacy.guarantee import float_below
from pramble.risk.assess import Model, assess
from pramble.risk.assessment import Assessment
from pramble.risk.cells import Missing
from pramble.risk.columns import find_level
from pramble.risk.fitting import Progress
from pramble.risk.structural_zeros import Rule

ALPHAS = (0.01, 16.0)
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
    keys: Sequence[str],
    *,
    column: str | Sequence[str] | Mapping[str, float],
    at_most: float,
    measure: str = "tau2",
    level: float | None = None,
    population_size: float | None = None,
    model: Model = "two-way",
    prior: ArrayLike | Mapping[str, ArrayLike] | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
    family: str = "uniform",
    objective: str = "information",
    alphas: tuple[float, float] = ALPHAS,
    tolerance: float = 1e-4,
    weights: str | None = None,
    impossible: Sequence[Rule] = (),
    missing: Missing = "category",
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Calibration:
    r"""Return the largest α whose risk, or the smallest whose error, is at most a target.

    .. math:: \max\,\alpha \quad\text{s.t.}\quad \rho\bigl(M^*(\alpha')\bigr) \le t
        \text{ for every } \alpha' \le \alpha \text{ tried},

    with :math:`M^*(\alpha)` the best design for α and ρ the measure. The range of α is scanned from
    its private end, and the first crossing is closed in by halves. The α that is returned was
    itself tried, and its mechanisms are measured once more: the result is on the safe side whether
    or not the measure is monotone. When no α meets the target, ``met`` is false and the α that came
    nearest is returned.

    Parameters
    ----------
    data, keys, population_size, model, weights, impossible, missing, rng
        As for :func:`~pramble.assess`.
    column : str, sequence of str, or mapping from str to float
        The key to randomise; or several, which share α equally or in the given proportions.
    at_most : float
        The target.
    measure : {"tau2", "tau1", "worst", "share", "error"}
        τ̃2, τ̃1 or the largest r̃2 after randomisation; the share of records with r̃2 above ``level``;
        or the expected Euclidean distance between estimated and true distribution of the column
        (asymptotic; the worst column's).
    level : float, optional
        With "share" only.
    prior : array_like, or mapping from column to array_like, optional
        Prior of the column's categories for the design; the file's own distribution unless given.
    categories : mapping from column to labels, optional
        All values a column can take; those that occur unless given.
    family, objective : str
        As for :func:`~pramble.design`.
    alphas : (float, float)
        The range of α, the total over the columns.
    tolerance : float
        α is found to this relative tolerance.
    progress : callable, optional
        Called with what is being done and the share that is done.

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
    target = Target(measure, float(at_most), level)
    low, high = _checked_range(alphas)
    if measure == "error" and population_size is None and weights is None:
        model = "none"
    before = assess(
        data,
        keys,
        population_size=population_size,
        model=model,
        weights=weights,
        impossible=impossible,
        missing=missing,
        rng=rng,
        progress=progress,
    )
    shares = _shares(column, before)
    priors = {name: _prior_of(before, name, prior, categories=categories) for name in shares}
    designs_at = _designer(shares, priors, family=family, objective=objective)
    bench = Bench(before, target, designs_at)
    trials, best = _search(bench, (low, high), tolerance=tolerance, told=_teller(progress))
    checked = bench.target.value(
        None if best.left is None else before.after(_mechanisms(best)), best.designs, n=before.n
    )
    met = checked <= target.at_most
    own_prior = any(_given_prior(prior, name) is None for name in shares)
    return Calibration(
        best.alpha,
        checked,
        met,
        best.designs,
        target,
        before,
        best.left,
        curve_of(trials),
        tuple(_notes(target, best, met=met, high=high, own_prior=own_prior)),
    )


def _search(
    bench: Bench, alphas: tuple[float, float], *, tolerance: float, told: Told
) -> tuple[list[Trial], Trial]:
    """Return all trials, and the one that is the answer."""
    trials = scan(bench, alphas, told=told)
    meets, fails = bracket(trials, bench.target)
    if meets is None:
        return trials, min(trials, key=lambda trial: (trial.value, trial.alpha))
    if fails is None:
        return trials, meets
    closing = close_in(bench, meets, fails, tolerance=tolerance, told=told)
    known = {trial.alpha for trial in trials}
    return [*trials, *(trial for trial in closing if trial.alpha not in known)], closing[-1]


def _designer(
    shares: Mapping[str, Fraction],
    priors: Mapping[str, tuple[NDArray[np.float64], tuple[Any, ...]]],
    *,
    family: str,
    objective: str,
) -> DesignAt:
    from pramble.solvers.design import design

    def designs_at(alpha: float) -> dict[str, Any]:
        return {
            name: design(
                prior,
                float_below(Fraction(alpha) * shares[name]),
                family=family,
                objective=objective,
                categories=labels,
            )
            for name, (prior, labels) in priors.items()
        }

    return designs_at


def _shares(
    column: str | Sequence[str] | Mapping[str, float], before: Assessment
) -> dict[str, Fraction]:
    """Return the share of α of each column; they sum to 1, exactly."""
    if isinstance(column, str):
        parts: dict[str, float] = {column: 1.0}
    elif isinstance(column, Mapping):
        parts = {name: float(part) for name, part in column.items()}
    else:
        parts = dict.fromkeys(column, 1.0)
    for name, part in parts.items():
        if name not in before.keys:
            raise InvalidInput(
                f"A column to randomise must be one of the keys {before.keys}; found {name!r}."
            )
        if not (math.isfinite(part) and part > 0):
            raise InvalidInput(f"Shares of α must be positive; column {name!r} has {part!r}.")
    if not parts:
        raise InvalidInput("At least one column to randomise is needed; found none.")
    exact = {name: Fraction(part) for name, part in parts.items()}
    return {name: part / sum(exact.values()) for name, part in exact.items()}


def _prior_of(
    before: Assessment,
    name: str,
    prior: ArrayLike | Mapping[str, ArrayLike] | None,
    *,
    categories: Mapping[str, Sequence[Any]] | None,
) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """Return the prior of a column and its labels."""
    axis = before.keys.index(name)
    levels = before.table.levels[axis]
    labels = tuple((categories or {}).get(name, levels))
    given = _given_prior(prior, name)
    if given is not None:
        return as_prior(given, size=len(labels)), labels
    counts = np.zeros(len(labels))
    for label, count in zip(levels, before.table.margin([axis]), strict=True):
        place = find_level(labels, label)
        if place is None:
            raise InvalidInput(f"categories of {name!r} must hold {label!r}, which the file holds.")
        counts[place] = count
    return as_prior(counts / counts.sum()), labels


def _given_prior(prior: ArrayLike | Mapping[str, ArrayLike] | None, name: str) -> ArrayLike | None:
    """Return the prior that the caller gave for a column, or None."""
    return prior.get(name) if isinstance(prior, Mapping) else prior


def _mechanisms(trial: Trial) -> dict[str, Any]:
    return {name: design.mechanism for name, design in trial.designs.items()}


def _checked_range(alphas: tuple[float, float]) -> tuple[float, float]:
    low, high = (float(alpha) for alpha in alphas)
    if not 0 < low < high < math.inf:
        raise InvalidInput(f"alphas must be a range of positive numbers; found {alphas!r}.")
    return low, high


def _teller(progress: Progress | None) -> Callable[[float], None]:
    def told(share: float) -> None:
        if progress is not None:
            progress("calibrating", share)

    return told


def _notes(target: Target, best: Trial, *, met: bool, high: float, own_prior: bool) -> list[str]:
    notes = []
    if not met:
        notes.append(
            f"No α tried brings {target.measure} to {target.at_most:g} or less; the nearest is "
            f"{best.value:.6g}, at α = {best.alpha:.6g}. Coarsen or drop a key, or randomise more "
            "columns."
        )
    elif target.of_risk and best.alpha >= high:
        notes.append(f"Every α up to {high:g}, the largest tried, meets the target.")
    notes.append(CHOICE)
    if own_prior:
        notes.append(PRIOR)
    return notes
