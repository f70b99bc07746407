"""How the repeated estimates of Figures 1 to 4 are drawn."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pramble.plots.images import Picture
from pramble.plots.study.cloud import draw_cloud
from pramble.plots.style import WIDTH, house_style, new_figure, shared_legend


def pictures(data: Any) -> tuple[Picture, ...]:
    """Draw one figure a scenario."""
    with house_style():
        return tuple(scenario_picture(data, name) for name in data.priors)


def scenario_picture(data: Any, name: str) -> Picture:
    """Draw all panels of one scenario on the same axes."""
    number = data.number(name)
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


def draw(data: Any, name: str) -> Figure:
    """Draw a grid of panels, α down and designs across."""
    alphas = list(dict.fromkeys(cell.alpha for cell in data.cells))
    figure = new_figure(WIDTH, 1.75 * len(alphas) + 0.7)
    grid = figure.subplots(len(alphas), len(data.drawn), sharex=True, sharey=True, squeeze=False)
    highest = max(float(c.estimates.max()) for c in data.cells if c.scenario == name)
    for row, alpha in zip(grid, alphas, strict=True):
        for axes, kind in zip(row, data.drawn, strict=True):
            draw_panel(axes, data.cell(name, alpha, design=kind), prior=data.priors[name])
        row[0].set_ylabel(f"α = {alpha:g}\nprobability")
    for axes, title in zip(grid[0], data.drawn.values(), strict=True):
        axes.set_title(title, loc="center", fontsize=8.5)
    for axes in grid[-1]:
        axes.set_xlabel("category")
    grid[0, 0].set_ylim(-0.02 * highest, 1.04 * highest)
    shared_legend(figure, grid[0, 0], markerscale=1.6)
    return figure


def draw_panel(axes: Axes, cell: Any, *, prior: NDArray[np.float64]) -> None:
    """Draw one design at one privacy; the points become an image, for there are thousands."""
    S = cell.estimates.shape[1]
    diamond = 4.2 if S <= 12 else 2.8
    draw_cloud(
        axes,
        cell.estimates,
        prior,
        first=1,
        diamond=diamond,
        alpha=0.45,
        markersize=3,
        rasterized=True,
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
    axes.set_xticks(range(1, S + 1) if S <= 12 else [1, *range(5, S + 1, 5)])
