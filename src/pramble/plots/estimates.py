"""Answers as figures: dots with intervals, frequencies, distributions, sizes of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.limits import MOST_CELLS_DRAWN
from pramble.plots.mechanisms import shorten
from pramble.plots.style import (
    BLUE,
    PALE,
    SERIES,
    VERMILION,
    house_style,
    new_figure,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from pramble.values import Floats

# Categories whose frequencies are drawn; of more, the most frequent ones.
MOST_CATEGORIES = 60


@house_style()
def interval_figure(
    names: Sequence[str],
    values: Any,
    ends: tuple[Any, Any],
    *,
    title: str,
    quantity: str,
    level: float,
) -> Figure:
    """Return values with their intervals, the first on top; those without an end are dotted."""
    if len(names) > MOST_CELLS_DRAWN:
        raise InvalidInput(
            f"A plot must have at most {MOST_CELLS_DRAWN} cells; this table has {len(names)}. "
            "Take fewer columns, or a query."
        )
    lower, upper = ends
    figure = new_figure(height=1.1 + 0.24 * len(names))
    axes = figure.add_subplot()
    y = np.arange(len(names))
    look = SERIES[0]
    known = np.isfinite(lower) & np.isfinite(upper)
    axes.hlines(y[known], lower[known], upper[known], color=look.colour, linewidth=2)
    for without_end in y[~known]:
        axes.axhline(without_end, color=look.colour, linewidth=1, linestyle=":")
    axes.plot(values, y, look.marker, color=look.colour)
    axes.set_yticks(y, names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"{quantity}, with {100 * level:g} % intervals")
    axes.set_title(title)
    return figure


def estimate_figure(estimate: Any) -> Figure:
    """Return the estimates of all cells with their intervals."""
    return interval_figure(
        [", ".join(map(str, cell)) for cell in zip(*estimate.cells.values(), strict=True)],
        estimate.values,
        (estimate.lower, estimate.upper),
        title=", ".join(estimate.titles.get(name, name) for name in estimate.cells)
        + f"  (n = {estimate.n:,.0f})",
        quantity=estimate.quantity,
        level=estimate.level,
    )


@house_style()
def frequency_figure(
    categories: Sequence[Any],
    estimate: Sequence[float],
    ends: tuple[Sequence[float], Sequence[float]],
    *,
    before: Sequence[int] | None = None,
    released: Sequence[int] | None = None,
) -> Figure:
    """Return the estimated share of every category with its interval, the first on top.

    ``before`` are counts in the file, ``released`` those in the release at face value.
    """
    values, low, high = (np.array(one) for one in (estimate, *ends))
    shown = np.arange(len(values))
    if len(values) > MOST_CATEGORIES:
        shown = np.argsort(-values, kind="stable")[:MOST_CATEGORIES]
    places = np.arange(len(shown))[::-1]
    figure = new_figure(height=1.0 + 0.3 * len(shown))
    axes = figure.subplots()
    if before is not None:
        axes.barh(places, _shares(before)[shown], color=PALE, height=0.62, label="in the file")
    if released is not None:
        axes.plot(
            _shares(released)[shown], places, linestyle="none", marker="D", markersize=5.5,
            markerfacecolor="white", markeredgecolor=VERMILION, label="released, at face value",
        )  # fmt: skip
    values, low, high = values[shown], low[shown], high[shown]
    # Rounding may put an end on the wrong side, and a negative length is refused.
    sides = [np.maximum(values - low, 0), np.maximum(high - values, 0)]
    label = "estimated from the release, 95 %"
    axes.errorbar(values, places, xerr=sides, fmt="o", color=BLUE, capsize=3, label=label)
    axes.set_yticks(places, shorten([categories[i] for i in shown.tolist()]))
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    axes.set_xlim(left=0)
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.grid(visible=False, axis="y")
    axes.legend(loc="lower center", bbox_to_anchor=(0.42, 1.0), ncols=3)
    return figure


def frequency_note(size: int) -> str:
    if size <= MOST_CATEGORIES:
        return ""
    return f"The {MOST_CATEGORIES} most frequent of {size:,} categories."


def _shares(counts: Sequence[int]) -> Floats:
    return np.array(counts) / max(sum(counts), 1)
