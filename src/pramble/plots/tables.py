"""Pictures of protected tables: how much noise each has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pramble.plots.style import BLUE, house_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

MOST_BARS, MOST_WRITTEN = 30, 14
"""Tables that are drawn as bars, and columns up to which numbers are written into squares."""


def noise_figure(deviations: Mapping[tuple[str, ...], float]) -> Figure:
    """Return a figure of the noise in a cell of each table, in people.

    Pairs of three or more columns are a square of columns; other tables are bars.
    """
    names = list(dict.fromkeys(name for table in deviations for name in table))
    if len(names) > 2 and all(len(table) == 2 for table in deviations):
        return square_of_pairs(deviations, names)
    rows = sorted(deviations.items(), key=lambda row: row[1])[-MOST_BARS:]
    with house_style():
        figure = new_figure(height=1.0 + 0.26 * len(rows))
        axes = figure.subplots()
        places = np.arange(len(rows))
        axes.barh(places, [own for _, own in rows], color=BLUE, height=0.62)
        axes.set_yticks(places, [" × ".join(table) for table, _ in rows])
        axes.set_xlabel("standard deviation of the noise in a cell, people")
        axes.grid(visible=False, axis="y")
        axes.tick_params(length=0)
    return figure


def square_of_pairs(deviations: Mapping[tuple[str, ...], float], names: list[str]) -> Figure:
    """Return the noise of every pair of columns as a square: dark where it is largest."""
    grid = np.full((len(names), len(names)), np.nan)
    for (one, two), own in deviations.items():
        i, j = sorted((names.index(one), names.index(two)))
        grid[j, i] = own
    with house_style():
        figure = new_figure(height=min(7.2, 1.4 + 0.42 * len(names)))
        axes = figure.subplots()
        mesh = axes.pcolormesh(
            np.arange(len(names)) - 0.5, np.arange(1, len(names) + 1) - 0.5, grid[1:, :-1],
            cmap="Blues", vmin=0, snap=True,
        )  # fmt: skip
        axes.invert_yaxis()
        if len(names) <= MOST_WRITTEN:
            top = float(np.nanmax(grid))
            for (i, j), own in np.ndenumerate(grid):
                if not np.isnan(own):
                    colour = "white" if own > 0.6 * top else "black"
                    axes.text(j, i, f"{own:.3g}", ha="center", va="center", fontsize=8,
                              color=colour)  # fmt: skip
        figure.colorbar(mesh, ax=axes, label="noise, people a cell")
        axes.set_xticks(range(len(names) - 1), names[:-1], rotation=40, ha="right")
        axes.set_yticks(range(1, len(names)), names[1:])
        axes.tick_params(length=0)
        axes.grid(visible=False)
    return figure
