"""An estimate as a figure: one dot and one interval per cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.limits import MOST_CELLS_DRAWN
from pramble.plots.images import save
from pramble.plots.style import SERIES, house_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

HEIGHT_PER_CELL = 0.24


def interval_figure(
    names: Sequence[str],
    values: Any,
    ends: tuple[Any, Any],
    *,
    title: str,
    quantity: str,
    level: float,
    truth: Any = None,
) -> Figure:
    """Return values with their intervals, the first on top; those without an end are dotted.

    ``truth`` are what the values estimate, where that is known.
    """
    if len(names) > MOST_CELLS_DRAWN:
        raise InvalidInput(
            f"A plot must have at most {MOST_CELLS_DRAWN} cells; this table has {len(names)}. "
            "Take fewer columns, or a query."
        )
    lower, upper = ends
    with house_style():
        figure = new_figure(height=1.1 + HEIGHT_PER_CELL * len(names))
        axes = figure.add_subplot()
        y = np.arange(len(names))
        look = SERIES[0]
        known = np.isfinite(lower) & np.isfinite(upper)
        axes.hlines(y[known], lower[known], upper[known], color=look.colour, linewidth=2)
        for without_end in y[~known]:
            axes.axhline(without_end, color=look.colour, linewidth=1, linestyle=":")
        axes.plot(values, y, look.marker, color=look.colour, label="estimate")
        if truth is not None:
            other = SERIES[1]
            axes.plot(
                truth, y, other.marker, color=other.colour, label="in the file",
                markerfacecolor="none", markersize=7, markeredgewidth=1.3,
            )  # fmt: skip
            figure.legend(loc="outside lower center", ncols=2)
        axes.set_yticks(y, names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(f"{quantity}, with {100 * level:g} % intervals")
        axes.set_title(title)
    return figure


def estimate_figure(estimate: Any, *, truth: Any = None) -> Figure:
    """Return the estimates of all cells with their intervals, and the truth where it is known."""
    return interval_figure(
        [", ".join(map(str, cell)) for cell in zip(*estimate.cells.values(), strict=True)],
        estimate.values,
        (estimate.lower, estimate.upper),
        title=", ".join(estimate.cells) + f"  (n = {estimate.n:,.0f})",
        quantity=estimate.quantity,
        level=estimate.level,
        truth=truth,
    )


def save_estimate_plot(estimate: Any, path: Path) -> None:
    """Write the figure as PNG or SVG, by the ending of the file's name."""
    words = f"Estimates by {', '.join(estimate.cells)} with intervals"
    save(estimate_figure(estimate), path, name="estimate", description=words)
