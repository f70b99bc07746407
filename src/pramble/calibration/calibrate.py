"""The verb ``calibrate``: which α, or which central ε, meets a target."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pramble.calibration.calibration import Calibration
from pramble.calibration.proposals import DesignAt, design_columns, design_plans, parts_of_alpha
from pramble.calibration.search import (
    POINTS,
    Experiment,
    PromiseName,
    Target,
    Trial,
    check_promise,
    curve_of,
    promise_of,
    search,
)
from pramble.data.reading import Reading
from pramble.data.table import Crosstab
from pramble.errors import InvalidInput
from pramble.risk.assess import assess
from pramble.risk.cells import Missing
from pramble.risk.models.registry import Model
from pramble.risk.models.structural_zeros import Rule
from pramble.solvers.problem import FamilyName, ObjectiveName
from pramble.values import Clock, Watcher, names_of

ASSESSING = 0.3
"""The share of the work that assessing is taken for."""
ALPHAS = (0.01, 16.0)
CLOSE, CLOSE_PLANS = 1e-4, 1e-2
PLANS = 8
"""Plans that are searched for before the crossing is closed in."""
REMEDIES = {
    True: "Coarsen or drop a key, or randomise more columns.",
    False: "So few records may not tell it even as they are: want smaller tables, or take more.",
}
NEED_NO_MODEL = ("error", "epsilon")
CHOICE = (
    "{sign} was chosen by looking at the data, and {sign} does not cover that choice: calibrate on "
    "a public reference file, or take a smaller {sign} than this."
)
PRIOR = (
    "The designs use the distribution of the file itself, which {sign} does not cover either: give "
    "a public prior, or one from a noisy count."
)


def calibrate(
    data: Any,
    keys: Sequence[str],
    *,
    column: str | Sequence[str] | Mapping[str, float] | None = None,
    columns: Sequence[str] | None = None,
    tables: Any = 2,
    at_most: float,
    measure: str = "tau2",
    level: float | None = None,
    population_size: float | None = None,
    model: Model = "two-way",
    prior: ArrayLike | Mapping[str, ArrayLike] | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
    family: FamilyName = "uniform",
    objective: ObjectiveName | None = None,
    time_limit: float = 2.0,
    alphas: tuple[float, float] = ALPHAS,
    tolerance: float | None = None,
    promise: PromiseName = "local",
    delta: float | None = None,
    rows_per_person: int = 1,
    weights: str | None = None,
    impossible: Sequence[Rule] = (),
    missing: Missing = "category",
    reading: Reading | Mapping[str, Any] | None = None,
    rng: np.random.Generator | None = None,
    progress: Watcher | None = None,
) -> Calibration:
    r"""Return the α up to which the risk, or from which on the error, is at most a target.

    .. math:: \max\,\alpha \quad\text{s.t.}\quad \rho\bigl(M^*(\alpha')\bigr) \le t
        \text{ for every } \alpha' \le \alpha \text{ tried},

    with :math:`M^*(\alpha)` the best design for α and ρ the measure. The range of α is scanned from
    its private end, and the first crossing is closed in by halves. The α that is returned was
    itself tried, and its mechanisms are measured once more: the result is on the safe side whether
    or not the measure is monotone. When no α meets the target, ``met`` is false and the α that came
    nearest is returned.

    Central promises come in twice. With ``measure="epsilon"`` the target is the ε that is proven
    of the whole file in random order, and the largest α that keeps it is found. With
    ``promise="central"`` the plans are the best for a central (ε, δ), and it is ε that is searched.
    Both are of randomised records in random order. Protected tables need no search: the smallest ε
    at which they have a given error is ``design_tables(...).epsilon_for(people)``.

    Parameters
    ----------
    data, keys, population_size, model, weights, impossible, missing, reading, rng
        As for :func:`~pramble.assess`.
    column : str, sequence of str, or mapping from str to float
        The key to randomise; or several, which share α equally or in the given proportions, each
        with a design of its own.
    columns, tables : sequence of str, and what :func:`~pramble.design_record` takes
        Two or more keys to randomise together, in place of ``column``: every α tried gives one plan
        for the whole record, best for these tables.
    at_most : float
        The target.
    measure : {"tau2", "tau1", "worst", "share", "epsilon", "error"}
        τ̃2, τ̃1 or the largest r̃2 after randomisation; the share of records with r̃2 above ``level``;
        the central ε of the file in random order at ``delta`` (:func:`~pramble.central_guarantee`);
        or the standard error of a typical cell of the column, or of the wanted table that is worst
        (:func:`pramble.information.fisher.typical_error`).
    level : float, optional
        With "share" only.
    prior : array_like, or mapping from column to array_like, optional
        Prior of the column's categories for the design; the file's own distribution unless given.
    categories : mapping from column to labels, optional
        All values a column can take; those that occur unless given.
    family, objective : str
        As for :func:`~pramble.design`, by default the most information; with ``columns`` only
        ``objective``, as for :func:`~pramble.design_record`, by default estimation.
    time_limit : float
        With ``columns``: about how many seconds to search for each plan. There are 8 of them, and
        then some ten to close in.
    alphas : (float, float)
        The range of α, the total over the columns; of ε with ``promise="central"``.
    tolerance : float
        α is found to this relative tolerance: 0.0001, or 0.01 with ``columns``.
    promise : {"local", "central"}
        Whether α of a record is searched for, or, with ``columns``, the ε of the shuffled file.
    delta, rows_per_person : float, int
        Of a central promise. All keys must then be among the columns that are randomised.
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
    target = Target(measure, float(at_most), level, delta, rows_per_person)
    names = randomised_names(column, columns)
    check_promise(
        promise,
        target,
        keys=names_of(keys),
        randomised=names,
        together=columns is not None,
    )
    low, high = map(float, alphas)
    if not 0 < low < high < math.inf:
        raise InvalidInput(f"alphas must be a range of positive numbers; found {alphas!r}.")
    if measure in NEED_NO_MODEL and population_size is None and weights is None:
        model = "none"
    clock = Clock(progress)
    first, rest = clock.part(0.0, ASSESSING), clock.part(ASSESSING, 1 - ASSESSING)
    before = assess(
        data,
        keys,
        population_size=population_size,
        model=model,
        weights=weights,
        impossible=impossible,
        missing=missing,
        reading=reading,
        rng=rng,
        progress=lambda told: first.tell(told.what, told.share),
    )
    given, designs_at = designs_of(
        before.table,
        column,
        columns,
        tables=tables,
        prior=prior,
        categories=categories,
        family=family,
        objective=objective,
        time_limit=time_limit,
        promise=promise_of(promise, target, rows=before.n),
    )
    close = (CLOSE if columns is None else CLOSE_PLANS) if tolerance is None else tolerance
    points = POINTS if columns is None else PLANS
    experiment = Experiment(before, target, designs_at, promise == "central")
    trials, best = search(experiment, (low, high), tolerance=close, clock=rest, points=points)
    found = experiment.value(best.proposal, experiment.left(best.proposal))
    met = found <= target.at_most
    own_prior = any(one is None for one in given)
    return Calibration(
        best.alpha,
        found,
        met,
        best.proposal,
        target,
        before,
        best.left,
        curve_of(trials),
        tuple(notes_on(target, best, met=met, high=high, own_prior=own_prior)),
        target.guarantee(best.proposal.plan, rows=before.n),
        best.epsilon,
    )


def randomised_names(
    column: str | Sequence[str] | Mapping[str, float] | None, columns: Sequence[str] | None
) -> list[str]:
    """Return the columns to randomise, however they are given; refuse none or both."""
    if (column is None) == (columns is None):
        raise InvalidInput(
            "Give column=, keys with designs of their own, or columns=, keys to randomise together."
        )
    return [*column] if isinstance(column, Mapping) else names_of(column or columns or ())


def designs_of(
    table: Crosstab,
    column: str | Sequence[str] | Mapping[str, float] | None,
    columns: Sequence[str] | None,
    *,
    tables: Any,
    prior: Any,
    categories: Mapping[str, Sequence[Any]] | None,
    family: FamilyName,
    objective: ObjectiveName | None,
    time_limit: float,
    promise: Callable[[float], Mapping[str, Any]],
) -> tuple[list[Any], DesignAt]:
    """Return the priors as given, and the function from α, or ε, to what it proposes."""
    if columns is not None:
        plans = design_plans(
            columns,
            table,
            tables=tables,
            prior=prior,
            categories=categories,
            objective=objective or "estimation",
            time_limit=time_limit,
            promise=promise,
        )
        return [prior], plans
    assert column is not None, "one of the two is given"
    parts = parts_of_alpha(column, table.columns)
    designs = design_columns(
        parts,
        table,
        prior=prior,
        categories=categories,
        family=family,
        objective=objective or "information",
    )
    given = prior if isinstance(prior, Mapping) else dict.fromkeys(parts, prior)
    return [given.get(name) for name in parts], designs


def notes_on(target: Target, best: Trial, *, met: bool, high: float, own_prior: bool) -> list[str]:
    """Return what the reader must know."""
    sign = "ε" if best.central else "α"
    notes = [note.format(sign=sign) for note in ([CHOICE, PRIOR] if own_prior else [CHOICE])]
    if not met:
        first = (
            f"No {sign} tried brings {target.measure} to {target.at_most:g} or less; the nearest "
            f"is {best.value:.6g}, at {sign} = {best.tried:.6g}. {REMEDIES[target.of_risk]}"
        )
        return [first, *notes]
    if target.of_risk and best.tried >= high:
        return [f"Every {sign} up to {high:g}, the largest tried, meets the target.", *notes]
    return notes
