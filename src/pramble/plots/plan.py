"""Pictures of a plan: which columns travel together, and what each table will be worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.plots.images import to_svg
from pramble.plots.style import BLUE, GREEN, ORANGE, PALE, PURPLE, house_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

MOST_BRANCHES = 24
BLOCKS = (BLUE, ORANGE, GREEN, PURPLE)
FEWEST_DRAWN, MOST_WRITTEN = 5, 14
"""Columns from which pairs have a chart, and up to which its numbers are written in."""


def branches_figure(columns: Sequence[str], parts: Sequence[tuple[float, Sequence[Any]]]) -> Figure:
    """Return a row for each branch: its share of records and its blocks; the last ones together."""
    names = list(columns)
    rows = sorted(parts, key=lambda row: -row[0])
    shown, others = rows[:MOST_BRANCHES], rows[MOST_BRANCHES:]
    with house_style():
        figure = new_figure(height=1.3 + 0.24 * (len(shown) + bool(others)))
        left, right = figure.subplots(1, 2, width_ratios=[1, 3], sharey=True)
        places = np.arange(len(shown))[::-1] + bool(others)
        left.barh(places, [share for share, _ in shown], color=PALE, height=0.62)
        for place, (share, blocks) in zip(places, shown, strict=True):
            left.text(0, place, f" {share:.1%}", va="center", fontsize=8)
            for number, block in enumerate(blocks):
                at = [names.index(name) for name in block]
                colour = BLOCKS[number % len(BLOCKS)]
                right.plot(sorted(at), [place] * len(at), color=colour, linewidth=1.6)
                right.plot(at, [place] * len(at), "s", color=colour, markersize=7)
        if others:
            share = sum(share for share, _ in others)
            right.text(0, 0, f"{len(others)} more branches", va="center", fontsize=8)
            left.barh([0], [share], color=PALE, height=0.62)
            left.text(0, 0, f" {share:.1%}", va="center", fontsize=8)
        left.set_xlabel("records")
        left.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
        left.set_yticks(list(places), [""] * len(places))
        left.grid(visible=False, axis="y")
        right.set_xticks(range(len(names)), names, rotation=40, ha="right")
        right.set_xlim(-0.5, len(names) - 0.5)
        right.grid(visible=False)
        for axes in (left, right):
            axes.tick_params(length=0)
    return figure


def pairs_chart(tables: Sequence[Any]) -> str | None:
    """Draw the error of every two-way table as a square of columns; None if there are none."""
    pairs = {frozenset(table.columns): table for table in tables if len(table.columns) == 2}
    names = list(dict.fromkeys(name for table in tables for name in table.columns))
    if len(names) < FEWEST_DRAWN or not pairs:
        return None
    grid = np.full((len(names), len(names)), np.nan)
    for i, one in enumerate(names):
        for j, two in enumerate(names):
            table = pairs.get(frozenset((one, two)))
            if i > j and table is not None:
                grid[i, j] = table.half_width / table.typical
    with house_style():
        figure = new_figure(height=min(7.2, 1.4 + 0.42 * len(names)))
        axes = figure.subplots()
        axes.pcolormesh(
            np.arange(len(names)) - 0.5, np.arange(1, len(names) + 1) - 0.5,
            np.minimum(grid[1:, :-1], 1.0), cmap="YlOrRd", vmin=0, vmax=1, snap=True,
        )  # fmt: skip
        axes.invert_yaxis()
        if len(names) <= MOST_WRITTEN:
            for (i, j), value in np.ndenumerate(grid):
                if not np.isnan(value):
                    table = pairs[frozenset((names[i], names[j]))]
                    colour = "white" if value > 0.7 else "black"
                    axes.text(j, i, f"±{100 * table.half_width:.2g}", ha="center", va="center",
                              fontsize=8, color=colour)  # fmt: skip
        axes.set_xticks(range(len(names) - 1), names[:-1], rotation=40, ha="right")
        axes.set_yticks(range(1, len(names)), names[1:])
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        return to_svg(
            figure,
            name="pairs",
            description="Half of the 95 % interval of a typical cell of every two-way table",
        )
