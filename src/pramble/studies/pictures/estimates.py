"""How the repeated estimates of Figures 1 to 4 are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pramble.drawing.style import BLACK, BLUE, VERMILION, WIDTH, YELLOW, house_style, new_figure
from pramble.paper import SCENARIOS
from pramble.studies.estimates import DRAWN, TITLES
from pramble.studies.study import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from pramble.studies.estimates import Cell, Estimates


def pictures(data: Estimates) -> tuple[Picture, ...]:
    """Draw one figure a scenario."""
    with house_style():
        return tuple(scenario_picture(data, name) for name in data.priors)


def scenario_picture(data: Estimates, name: str) -> Picture:
    """Draw all panels of one scenario on the same axes."""
    number = SCENARIOS.index(name) + 1
    repetitions = len(data.cells[0].estimates)
    return Picture(
        f"figure-{number}",
        f"Figure {number}, scenario {name}: {repetitions} releases of {data.sample_size:,} people "
        "each. Blue: the estimate of each probability from each release; red line: their mean; "
        "yellow: the truth. Rows: α; columns: three designs of the same privacy.",
        "Panels of estimated probabilities by category; the spread shrinks from left to right and "
        "from top to bottom.",
        draw(data, name),
    )


def draw(data: Estimates, name: str) -> Figure:
    """Draw a grid of panels, α down and designs across."""
    alphas = list(dict.fromkeys(cell.alpha for cell in data.cells))
    figure = new_figure(WIDTH, 1.75 * len(alphas) + 0.7)
    grid = figure.subplots(len(alphas), len(DRAWN), sharex=True, sharey=True, squeeze=False)
    highest = max(float(c.estimates.max()) for c in data.cells if c.scenario == name)
    for row, alpha in zip(grid, alphas, strict=True):
        for axes, kind in zip(row, DRAWN, strict=True):
            draw_panel(axes, data.cell(name, alpha, design=kind), prior=data.priors[name])
        row[0].set_ylabel(f"α = {alpha:g}\nprobability")
    for axes, kind in zip(grid[0], DRAWN, strict=True):
        axes.set_title(TITLES[kind], loc="center", fontsize=8.5)
    for axes in grid[-1]:
        axes.set_xlabel("category")
    grid[0, 0].set_ylim(-0.02 * highest, 1.04 * highest)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, markerscale=1.6)
    return figure


def draw_panel(axes: Axes, cell: Cell, *, prior: NDArray[np.float64]) -> None:
    """Draw one design at one privacy; the points become an image, for there are thousands."""
    repetitions, S = cell.estimates.shape
    places = np.arange(1, S + 1)
    jitter = np.linspace(-0.28, 0.28, repetitions)[:, None]
    axes.plot(
        (places + jitter).ravel(),
        cell.estimates.ravel(),
        ".",
        color=BLUE,
        alpha=0.45,
        markersize=3,
        markeredgewidth=0,
        rasterized=True,
        label="one release",
    )
    axes.plot(
        places, cell.estimates.mean(axis=0), "-", color=VERMILION, linewidth=1.1, label="mean"
    )
    axes.plot(
        places,
        prior,
        "D",
        color=YELLOW,
        markeredgecolor=BLACK,
        markeredgewidth=0.6,
        markersize=4.2 if S <= 12 else 2.8,
        label="truth",
    )
    axes.text(
        0.98,
        0.95,
        f"RMSE {cell.rmse:.4f}",
        transform=axes.transAxes,
        ha="right",
        va="top",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
    )
    axes.set_xticks(places if S <= 12 else [1, *range(5, S + 1, 5)])
    axes.grid(visible=False, axis="x")
