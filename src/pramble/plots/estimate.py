"""An estimate as a figure: one dot and one interval per cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.limits import MOST_CELLS_DRAWN
from pramble.plots.images import save
from pramble.plots.style import SERIES, house_style, new_figure

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

HEIGHT_PER_CELL = 0.24


def estimate_figure(estimate: Any) -> Figure:
    """Return the estimates of all cells with their intervals, first cell on top."""
    cells = len(estimate.values)
    if cells > MOST_CELLS_DRAWN:
        raise InvalidInput(
            f"A plot must have at most {MOST_CELLS_DRAWN} cells; this table has {cells}. "
            "Take fewer columns, or a query."
        )
    labels = [", ".join(map(str, cell)) for cell in zip(*estimate.cells.values(), strict=True)]
    height = 1.1 + HEIGHT_PER_CELL * cells
    with house_style():
        figure = new_figure(height=height)
        axes = figure.add_subplot()
        y = np.arange(cells)
        look = SERIES[0]
        ends = np.isfinite(estimate.lower) & np.isfinite(estimate.upper)
        axes.hlines(
            y[ends], estimate.lower[ends], estimate.upper[ends], color=look.colour, linewidth=2
        )
        for without_end in y[~ends]:
            axes.axhline(without_end, color=look.colour, linewidth=1, linestyle=":")
        axes.plot(estimate.values, y, look.marker, color=look.colour)
        axes.set_yticks(y, labels)
        axes.set_ylim(cells - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(f"{estimate.quantity}, with {100 * estimate.level:g} % intervals")
        axes.set_title(", ".join(estimate.cells) + f"  (n = {estimate.n:,.0f})")
    return figure


def save_estimate_plot(estimate: Any, path: Path) -> None:
    """Write the figure as PNG or SVG, by the ending of the file's name."""
    words = f"Estimates by {', '.join(estimate.cells)} with intervals"
    save(estimate_figure(estimate), path, name="estimate", description=words)
