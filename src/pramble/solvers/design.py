"""The verb ``design``: validate, choose the solver by family and objective, return its answer."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from pramble.data.labels import Label, as_labels
from pramble.errors import InvalidInput, InvalidPrior
from pramble.information.distributions import as_prior
from pramble.mechanisms.distance import Distance, as_distance
from pramble.one_thread import one_thread
from pramble.solvers.budget import SearchBudget, SearchOptions, budget_of, checked_positive
from pramble.solvers.problem import DesignProblem, FamilyName, ObjectiveName, representable_alpha
from pramble.solvers.result import Design
from pramble.values import Floats, read_only

Solver = Callable[[DesignProblem], Design]

# The options of the solver for a family and an objective.
KEYWORDS: dict[tuple[str, str], set[str]] = {
    ("uniform", "information"): {"invariant", "keep_at_least", "symmetric"},
    ("uniform", "estimation"): {"workload"},
    ("general", "information"): {"invariant", "outputs"},
    ("general", "estimation"): {"invariant", "outputs", "workload"},
    ("general", "loss"): {"loss"},
    ("distance", "information"): {"outputs", "distance"},
    ("distance", "estimation"): {"outputs", "workload", "distance"},
}
OPTIONS = set[str]().union(*KEYWORDS.values())


def design(
    prior: ArrayLike | Mapping[Label, float],
    alpha: float,
    *,
    family: FamilyName = "uniform",
    objective: ObjectiveName = "information",
    categories: int | Iterable[Label] | None = None,
    invariant: bool = False,
    tolerance: float = 1e-6,
    keep_at_least: float | None = None,
    symmetric: bool = False,
    outputs: str | int | Iterable[Label] = "same",
    workload: ArrayLike | None = None,
    loss: Any = None,
    distance: Any = None,
    **search: Unpack[SearchOptions],
) -> Design:
    r"""Return the best mechanism at a given privacy, with a proof that none is better.

    With ``family="uniform"`` this is the paper's problem, solved to its global maximum:

    .. math:: \max_q I(X;Z) \quad\text{s.t.}\quad M_{kk} = q_k,\; M_{kl} = \frac{1-q_k}{S-1},\;
              M_{xz} \le e^\alpha M_{x'z}.

    With ``family="general"`` the maximum is over every matrix. ``objective="estimation"`` minimises
    n times the summed asymptotic variance of the maximum likelihood estimate of p instead.
    ``objective="loss"`` minimises the expected loss of a release near the true value,

    .. math:: \min_M \sum_x p_x \sum_z M_{xz} L_{xz} \quad\text{s.t.}\quad
              M_{xz} \le e^\alpha M_{x'z}.

    Parameters
    ----------
    prior : (S,) array_like
        Probabilities of the categories, zeros allowed; a mapping from labels, or a pandas Series
        with labels as its index, names the categories as well. Beware: a prior counted on
        confidential data makes the published matrix itself a statement about them, which α does not
        cover.
    alpha : float
        The privacy parameter α (the ε of most of the literature), positive and finite.
    family : {"uniform", "general"}
        Matrices with uniform off-diagonal rows, or all matrices.
    objective : {"information", "estimation", "loss"}
        Mutual information (larger is better), estimation variance or expected loss (smaller is
        better).
    categories : int or iterable of labels, optional
        Labels in the order of ``prior``; 0, 1, …, S−1 unless given.
    invariant : bool
        Ask for :math:`pM = p`, so that released shares are right at face value. Uniform rows that
        do so may not exist; then :math:`tI + (1-t)1p^\top` with the largest private t is returned.
    tolerance : float
        The search ends when ``gap`` is at most this. Rounding to exact weights may keep the gap
        above a very small tolerance; ``gap`` then says so.
    keep_at_least : float, optional
        Uniform family: no category is kept with a probability below this.
    symmetric : bool
        Uniform family: all categories are kept with the same probability.
    outputs : "same", "free", int or iterable of labels
        General family: release into the same S labels, or into as many columns as the optimum uses,
        or into a given number of columns or given labels.
    workload : (Q, S) array_like, optional
        Estimation objective: minimise the summed variance of the linear queries :math:`W p`.
    loss : (S, S) array_like, "path" or Distance, optional
        Loss objective: :math:`L_{xz}` is what it costs to release z when x is true, any finite
        number, such as the distance between two places.
    distance : "path", (S, S) array_like or Distance, optional
        General family: promise α per unit of distance between categories instead,
        :math:`M_{xz} \le e^{\alpha d(x,x')} M_{x'z}`. ``"path"`` is the distance of ordered
        categories, in steps. Near values are hidden better than far ones.
    **search
        How long to search, and who hears of it. ``effort``: counted work, in units of about a
        second of one processor, after which the best design so far is returned, with its bound so
        far; the same effort gives the same design everywhere. ``time_limit``: seconds after which
        the search is cut short; ``stopped`` then says so. ``progress``: called now and then with a
        :class:`~pramble.values.Progress`, whose ``figures`` are the ``value`` and ``bound`` so far.

    Returns
    -------
    Design
        ``mechanism`` is rounded to exact weights and certified; ``value`` is the objective at it,
        ``bound`` is proven, ``gap`` relates the two.

    Examples
    --------
    >>> import pramble
    >>> d = pramble.design([0.5, 0.3, 0.2], 1.0, categories=["a", "b", "c"])
    >>> d.mechanism.matrix.round(4)
    array([[0.5761, 0.2119, 0.2119],
           [0.2119, 0.5761, 0.2119],
           [0.2119, 0.2119, 0.5761]])
    >>> round(d.value, 6), d.gap <= 1e-6, d.certificate.satisfies(1.0)
    (0.11412, True, True)
    """
    shares, categories = labelled(prior, categories)
    checked_positive("tolerance", tolerance)
    if keep_at_least is not None and not 0 <= float(keep_at_least) <= 1:
        raise InvalidInput(f"keep_at_least must lie in [0, 1]; found {keep_at_least!r}.")
    problem = as_design_problem(
        shares,
        alpha,
        budget_of(float(tolerance), search),
        family=family,
        objective=objective,
        categories=categories,
        invariant=bool(invariant),
        keep_at_least=None if keep_at_least is None else float(keep_at_least),
        symmetric=bool(symmetric),
        outputs=outputs,
        workload=workload,
        loss=loss,
        distance=distance,
    )
    with one_thread():
        return solver_for(problem)(problem)


def as_design_problem(
    prior: ArrayLike,
    alpha: float,
    search: SearchBudget,
    *,
    categories: int | Iterable[Label] | None = None,
    workload: ArrayLike | None = None,
    loss: Any = None,
    distance: Any = None,
    **options: Any,
) -> DesignProblem:
    p = as_prior(prior)
    if len(p) < 2:
        raise InvalidPrior("A design needs at least two categories; the prior has one.")
    labels = as_labels(len(p) if categories is None else categories)
    if len(labels) != len(p):
        raise InvalidPrior(f"{len(labels)} categories do not fit a prior of {len(p)}.")
    return DesignProblem(
        prior=p,
        alpha=representable_alpha(alpha),
        labels=labels,
        workload=None if workload is None else as_workload(workload, len(p)),
        loss=None if loss is None else as_loss(loss, len(p)),
        distance=None if distance is None else as_distance(distance, labels),
        search=search,
        **options,
    )


def design_within(budget: SearchBudget, prior: ArrayLike, alpha: float, **keywords: Any) -> Design:
    """Return a general design as a part of another search, at the tolerance of this budget."""
    problem = as_design_problem(prior, alpha, budget, family="general", **keywords)
    return solver_for(problem)(problem)


def labelled(prior: Any, categories: Any) -> tuple[Any, Any]:
    """Return probabilities and their labels: those of a mapping or an index unless given.

    >>> labelled({"a": 0.5, "b": 0.5}, None)
    ([0.5, 0.5], ['a', 'b'])
    """
    if isinstance(prior, Mapping):
        own: Any = list(prior)
        prior = list(prior.values())
    else:
        index: Any = getattr(prior, "index", None)
        plain = index is None or callable(index) or type(index).__name__ == "RangeIndex"
        own = None if plain else list(index)
    return prior, own if categories is None else categories


def solver_for(problem: DesignProblem) -> Solver:
    """Return the solver for a family and an objective; refuse options it does not know."""
    asked: tuple[str, str] = (problem.family, problem.objective)
    if asked not in KEYWORDS:
        known = " or ".join(f"({one!r}, {other!r})" for one, other in KEYWORDS if one != "distance")
        raise InvalidInput(f"(family, objective) must be {known}; found {asked}.")
    if problem.distance is not None:
        asked = ("distance", problem.objective)
        if problem.family != "general" or asked not in KEYWORDS:
            raise InvalidInput(
                'A distance goes with family="general" and objective="information" or '
                f'"estimation"; found {problem.family!r} and {problem.objective!r}.'
            )
    # an option that was left out has its field's own value
    for option in (one for one in fields(problem) if one.name in OPTIONS - KEYWORDS[asked]):
        name, value = option.name, getattr(problem, option.name)
        if not (value is option.default or (isinstance(value, str) and value == option.default)):
            raise InvalidInput(
                f"{name} has no meaning for family={problem.family!r} with "
                f"objective={problem.objective!r}; leave it out."
            )
    return solver_named(*asked, invariant=problem.invariant)


def solver_named(family: str, objective: str, *, invariant: bool) -> Solver:
    """Return a solver; it is imported here, for a design needs few of their modules."""
    solve: Solver
    match family, objective:
        case "uniform", "information":
            from pramble.solvers.uniform.information import solve_uniform_information as solve
        case "uniform", _:
            from pramble.solvers.general.estimation import solve_uniform_variance as solve
        case "general", "loss":
            from pramble.solvers.general.loss import solve_loss as solve
        case "general", _ if invariant:
            from pramble.solvers.general.invariant import solve_invariant as solve
        case "general", "information":
            from pramble.solvers.general.information import solve_information as solve
        case "general", _:
            from pramble.solvers.general.estimation import solve_variance as solve
        case _, "information":
            from pramble.solvers.metric.information import solve_metric_information as solve
        case _:
            from pramble.solvers.metric.estimation import solve_metric_variance as solve
    return solve


def as_workload(workload: ArrayLike, size: int) -> Floats:
    """Return a read-only matrix of linear queries, one per row."""
    queries = np.atleast_2d(np.array(workload, dtype=np.float64))
    if queries.ndim != 2 or queries.shape[1] != size or not np.isfinite(queries).all():
        raise InvalidInput(
            f"A workload must be a finite matrix with {size} columns; found shape {queries.shape}."
        )
    return read_only(queries)


def as_loss(loss: Any, size: int) -> Floats:
    """Return a read-only matrix of losses: rows are true values, columns released ones.

    >>> as_loss("path", 3)[0]
    array([0., 1., 2.])
    """
    if isinstance(loss, str | Distance):
        return as_distance(loss, as_labels(size)).matrix
    try:
        matrix = np.array(loss, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            "A loss must be a matrix of numbers, with rows of equal length."
        ) from None
    if matrix.shape != (size, size):
        raise InvalidInput(
            f"A loss must have a row for each of the {size} true values and a column for each of "
            f"the {size} released ones; found shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        x, z = np.argwhere(~np.isfinite(matrix))[0].tolist()
        raise InvalidInput(f"A loss must be finite; row {x}, column {z} holds {matrix[x, z]}.")
    return read_only(matrix)
