r"""Linear queries :math:`\sum_x w_x p_x`, also where p itself is not identifiable.

A query is identifiable when :math:`w = Mu` for some u: the answer is then :math:`\sum_z m_z u_z`,
whatever p is, and a record that was released as z adds :math:`u_z`. Its variance is exact:

.. math:: \sum_z \ell_z u_z^2 - 2 v \sum_z \ell_z u_z + v^2 \sum_z \ell_z

for the answer v, with :math:`\ell` as in :mod:`pramble.estimation.inverse.moments`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.labels import label_key
from pramble.errors import InvalidInput, NotIdentifiable
from pramble.estimation.follow.result import Estimate, Settings
from pramble.estimation.inverse.intervals import candidates_of, inner_point, unified_interval
from pramble.estimation.inverse.layout import Layout, Tabulated
from pramble.estimation.inverse.likelihood import FittedTable, axes_of_group, fit_table
from pramble.estimation.inverse.moments import Known, Weighing, right_inverses
from pramble.estimation.inverse.stacked import StackedOperator
from pramble.mechanisms.operators.base import (
    Inverting,
    adjoint_axes,
    along_axes,
    category_shape,
)
from pramble.values import Floats

RESIDUAL = 1e-9


def parse_queries(query: Any, layout: Layout) -> tuple[list[str], Floats]:
    """Return names and weights (Q, R, K) of one query, a list, or named ones."""
    if isinstance(query, Mapping) and query and not all(map(is_number, query.values())):
        named = {str(name): weights for name, weights in query.items()}
    elif isinstance(query, str):
        named = {query: query}
    elif isinstance(query, Mapping) or is_vector(query):
        named = {"query": query}
    elif isinstance(query, Sequence) and len(query):
        named = {
            weights if isinstance(weights, str) else f"query {i}": weights
            for i, weights in enumerate(query)
        }
    else:
        raise InvalidInput(
            "A query must map cells to weights, give one weight per cell, or name cells as "
            f"'column=label'; found {type(query).__name__}."
        )
    vectors = [weights_of(weights, layout) for weights in named.values()]
    return list(named), np.stack([layout.unflatten(vector) for vector in vectors])


def is_number(weight: Any) -> bool:
    return isinstance(weight, int | float | np.number)


def is_vector(query: Any) -> bool:
    return isinstance(query, np.ndarray) or (
        isinstance(query, Sequence) and len(query) > 0 and all(map(is_number, query))
    )


def weights_of(weights: Any, layout: Layout) -> Floats:
    """Return one weight per cell, in the order of the table."""
    cells = len(layout.order)
    if isinstance(weights, str):
        return indicator(weights, layout)
    if isinstance(weights, Mapping):
        return weights_of_mapping(weights, layout)
    answer = np.asarray(weights, dtype=np.float64).reshape(-1)
    if answer.shape != (cells,) or not np.isfinite(answer).all():
        raise InvalidInput(
            f"A query must give one finite weight for each of the {cells} cells; "
            f"found {answer.size} numbers."
        )
    return answer


def indicator(conditions: str, layout: Layout) -> Floats:
    """Return 1 for the cells that conditions such as ``"sex=f,town=x|y"`` select, else 0."""
    labels = layout.labels()
    answer = np.ones(len(layout.order))
    for condition in conditions.split(","):
        column, sign, wanted = condition.partition("=")
        name = column.strip()
        if not sign or name not in labels:
            raise InvalidInput(
                f"A query must read 'column=label' with columns of the table, "
                f"{', '.join(map(repr, labels))}; found {condition.strip()!r}."
            )
        choices = {choice.strip() for choice in wanted.split("|")}
        known = {str(label) for label in labels[name]}
        if choices - known:
            missing = min(choices - known)
            raise InvalidInput(f"A query must name labels of {name!r}; {missing!r} is none.")
        answer *= [str(label) in choices for label in labels[name]]
    return answer


def weights_of_mapping(weights: Mapping[Any, float], layout: Layout) -> Floats:
    """Return weights by label; cells that are not named weigh nothing."""
    columns = layout.labels().values()
    cells = list(zip(*columns, strict=True)) if len(columns) > 1 else list(*columns)
    place = {label_key(cell): i for i, cell in enumerate(cells)}
    answer = np.zeros(len(cells))
    for cell, weight in weights.items():
        if label_key(cell) not in place:
            raise InvalidInput(f"A query must name cells of the table; {cell!r} is none.")
        answer[place[label_key(cell)]] = weight
    return answer


def released_weights(axes: Sequence[Inverting], w: Floats, *, law: Floats | None) -> Floats:
    """Return u with Mu = w, per query; refuse a query for which there is none."""
    try:
        return along_axes([inverse.adjoint for inverse in right_inverses(axes, law)], w)
    except NotIdentifiable as error:
        lost = error
    if isinstance(axes[0], StackedOperator):
        return axes[0].told(w)
    pseudo = [np.linalg.pinv(one.dense(), rcond=1e-12) for one in axes_of_group(axes, 0)]
    u = along_axes([lambda v, P=P: v @ P.T for P in pseudo], w)
    left = np.abs(adjoint_axes(axes, u) - w).reshape(len(w), -1).max(axis=1)
    bad = np.flatnonzero(left > RESIDUAL * np.maximum(np.abs(w).reshape(len(w), -1).max(axis=1), 1))
    if bad.size:
        raise NotIdentifiable(f"Query {bad[0]} needs what the release has lost. {lost}") from lost
    return u


def query_estimate(tabulated: Tabulated, settings: Settings, *, query: Any) -> Estimate:
    axes = tabulated.axes
    names, flat = parse_queries(query, tabulated.layout)
    w = flat.reshape(*flat.shape[:2], *category_shape(axes))
    fitted = query_fit(tabulated, settings)
    u = released_weights(axes, w, law=fitted.law if settings.method == "mle" else None)
    weighing = Weighing(axes, w.reshape(len(w), -1), u.reshape(len(u), -1))
    shares = (tabulated.counts / tabulated.counts.sum()).ravel()
    centre = weighing.u @ shares
    values = weighing.w @ fitted.p.ravel() if settings.method == "mle" else centre
    true = inner_point(fitted.p, n=tabulated.n).ravel()
    sampling = settings.sampling_share(tabulated.n)
    unit = weighing.covariance(fitted.law.ravel(), true, values=values, sampling=sampling)
    matrix = unit / tabulated.n
    if tabulated.squared_weights is not None:
        squares = tabulated.squared_weights.ravel()
        matrix = weighing.covariance(
            squares, true * squares.sum(), values=values, sampling=sampling
        )
    scale = np.diag(matrix) / np.where(np.diag(unit) > 0, np.diag(unit), 1.0)
    lower, upper = query_intervals(
        weighing.w,
        weighing.spread(),
        centre=centre,
        true=true,
        scale=scale,
        settings=settings,
        sampling=sampling,
    )
    whole = (lower <= weighing.w.min(axis=1)) & (upper >= weighing.w.max(axis=1)) & (lower < upper)
    note = f"Nothing is known of {int(whole.sum())} of {len(names)} answers."
    errors = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    return settings.estimate(
        tabulated,
        values,
        errors,
        (lower, upper),
        covariance=Known(matrix),
        cells={"query": names},
        fitted=fitted,
        quantity="estimate",
        notes=(note,) if whole.any() else (),
    )


def query_fit(tabulated: Tabulated, settings: Settings) -> FittedTable:
    """Return a fit; the maximum likelihood stands in for an inverse that does not exist."""
    try:
        return fit_table(tabulated, method=settings.method)
    except NotIdentifiable:
        return fit_table(tabulated, method="mle")


def query_intervals(
    w: Floats,
    spread: Floats,
    *,
    centre: Floats,
    true: Floats,
    scale: Floats | float,
    settings: Settings,
    sampling: float,
) -> tuple[Floats, Floats]:
    """Return unified intervals, within the smallest and the largest weight of each query.

    Each candidate answer is tested under a law near ``true`` that has it
    (:mod:`pramble.estimation.inverse.intervals`), scaled to weights in [0, 1]. By cells, ``spread``
    is the variance of one record's part in each; by queries, ``centre`` are the unbiased answers
    and ``scale`` the variances relative to those of one record.
    """
    low, high = w.min(axis=1, keepdims=True), w.max(axis=1, keepdims=True)
    width = np.where(high > low, high - low, 1.0)
    share = (w - low) / width
    candidates = candidates_of(share, true, spread / width**2 + sampling * share**2)

    def variance(mu: Floats) -> Floats:
        return np.asarray(scale * (candidates.moment(mu) - sampling * mu**2))

    middle = (centre - low[:, 0]) / width[:, 0]
    lower, upper = unified_interval(middle, variance, level=settings.level)
    fixed = (high == low)[:, 0]
    return (
        np.where(fixed, low[:, 0], low[:, 0] + width[:, 0] * lower),
        np.where(fixed, high[:, 0], low[:, 0] + width[:, 0] * upper),
    )
