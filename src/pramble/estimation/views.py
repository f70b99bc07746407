"""Estimates from views: which of them bear on a table, and what is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.reading import Reading
from pramble.errors import InvalidData, InvalidInput, NotShown
from pramble.estimation.fit.fit import METHODS
from pramble.estimation.intervals import errors_within, nothing_known
from pramble.estimation.layout import NO_GROUPS, Layout, refuse_many
from pramble.estimation.queries import parse_queries
from pramble.estimation.records import what_is_missing
from pramble.estimation.result import Estimate, Settings
from pramble.estimation.table_of_views import AnswersOfViews, TableOfViews
from pramble.estimation.view_table import told_columns, view_table
from pramble.estimation.weighing import Known
from pramble.mechanisms.views import Views
from pramble.values import names_of

MOST_VIEW_CELLS = 20_000
"""Cells of a table from views."""

SHOWN = 12


def views_estimate(
    data: Any,
    views: Views,
    settings: Settings,
    *,
    by: Sequence[str] | str | None,
    query: Any = None,
    reading: Reading | Mapping[str, Any] | None = None,
) -> Estimate:
    """Return the estimate of a table, or the answers to queries of it, from all views."""
    if settings.method not in METHODS:
        raise InvalidInput(
            f"method must be one of {', '.join(METHODS)}; found {settings.method!r}."
        )
    combined = table_of_views(data, views, by=by, reading=reading)
    is_inside = settings.method == "mle"
    p = combined.inside() if is_inside else combined.unbiased
    weights = combined.possible if is_inside else np.ones(len(p))
    sampling = settings.sampling_share(combined.n)
    covariance: Any
    if query is None:
        cells: Mapping[str, Sequence[Any]] = combined.layout.labels()
        values, covariance = p, AnswersOfViews(combined, weights, p, sampling)
        errors, lower, upper = combined.errors_of_cells(weights, p, settings=settings)
        if is_inside:
            noise = np.maximum(errors**2 - sampling * p * (1 - p) / combined.n, 0.0)
            errors = errors_within(p, errors, np.sqrt(noise))
    else:
        names, flat = parse_queries(query, combined.layout)
        w = flat.reshape(len(names), -1) * weights
        cells, values = {"query": names}, w @ p
        covariance = Known(combined.covariance_of(w, p, sampling=sampling))
        errors, lower, upper = combined.errors(w, p, settings=settings)
    return Estimate(
        cells=cells,
        probabilities=values,
        standard_errors=errors,
        lower=lower,
        upper=upper,
        n=combined.n,
        covariance_parts=covariance,
        method=settings.method,
        level=settings.level,
        covers=settings.covers,
        quantity="probability" if query is None else "estimate",
        backend=combined.backend,
        notes=nothing_known(lower, upper, "cells") if query is None else (),
    )


def table_of_views(
    data: Any,
    views: Views,
    *,
    by: Sequence[str] | str | None,
    reading: Reading | Mapping[str, Any] | None = None,
) -> TableOfViews:
    """Return what the views tell of a table of columns; refuse one that none shows."""
    names = checked_columns(views, by)
    labels = {name: views.column_labels()[name].labels for name in names}
    shape = tuple(len(own) for own in labels.values())
    refuse_many(shape, names, most=MOST_VIEW_CELLS)
    told = {view: told_columns(plan, names) for view, plan in views.showing(names).items()}
    told = {view: columns for view, columns in told.items() if columns}
    if not any(len(columns) == len(names) for columns in told.values()):
        raise refusal(views, names)
    if not isinstance(data, Mapping) or any(view not in data for view in told):
        given = ", ".join(map(str, data)) if isinstance(data, Mapping) else type(data).__name__
        raise InvalidData(
            f"The data of views is a mapping from their names to their files or frames; "
            f"{', '.join(told)} are needed for this table, and found was {given}."
        )
    found = {
        view: view_table(
            data[view], views[view], by=names, told=columns, categories=labels, reading=reading
        )
        for view, columns in told.items()
    }
    rows = {view: tabulated.n for view, (_, tabulated) in found.items()}
    if len(set(rows.values())) > 1:
        raise InvalidData(
            "Every view must hold the same records; they have "
            f"{', '.join(f'{n:.0f} ({view})' for view, n in rows.items())} rows."
        )
    grid = np.unravel_index(np.arange(int(np.prod(shape))), shape)
    categories = {name: own.values for name, own in labels.items()}
    layout = Layout(tuple(names), dict(zip(names, grid, strict=True)), categories, {}, NO_GROUPS)
    first = next(iter(found.values()))[1]
    return TableOfViews(
        layout, shape, tuple(table for table, _ in found.values()), first.n, first.backend
    )


def checked_columns(views: Views, by: Sequence[str] | str | None) -> list[str]:
    """Return the columns of a table; refuse what no view shows."""
    names = [] if by is None else names_of(by)
    unknown = [name for name in names if name not in views.columns]
    if not names or len(set(names)) != len(names) or unknown:
        raise InvalidInput(
            f"by= must name one or more different columns that the views show; found {by!r}. They "
            f"show {', '.join(map(repr, views.columns))}."
        )
    return names


def refusal(views: Views, names: Sequence[str]) -> NotShown:
    """Return the error for a table that no view shows, with what they do show."""

    def is_told(some: Sequence[str]) -> bool:
        return any(len(told_columns(plan, some)) == len(some) for plan in views.values())

    what = what_is_missing(names, is_told)
    branches = [branch for plan in views.values() for branch in plan.branches]
    together = list(dict.fromkeys(" with ".join(branch.columns) for branch in branches))
    shown = "; ".join(together[:SHOWN]) + ("; …" if len(together) > SHOWN else "")
    return NotShown(
        f"The views cannot give the table of {', '.join(names)}: {what}. They show {shown}."
    )


def refuse_numbers(**given: Any) -> None:
    """Refuse what needs numbers beside the randomised columns, which views do not have."""
    for name, wanted in given.items():
        if wanted is not None and wanted is not False:
            raise InvalidInput(
                f"{name}= does not go with views: they hold randomised columns and nothing beside "
                "them. A weight or a measure would be one more randomised column, in classes."
            )
