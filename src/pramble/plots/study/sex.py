"""How Figures 5 and 6 are drawn."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pramble.plots.images import Picture
from pramble.plots.study.cloud import draw_cloud
from pramble.plots.style import BLACK, BLUE, GREEN, WIDTH, house_style, new_figure, shared_legend


def pictures(data: Any) -> tuple[Picture, ...]:
    """Draw the estimates at each keep probability, and the information over all of them."""
    repetitions = len(data.panels[0].estimates)
    with house_style():
        return (
            Picture(
                "figure-5",
                f"Figure 5: estimated shares from {repetitions} releases at each keep probability "
                f"q, α = {data.alpha:g}. The outermost values of the paper are not private as "
                "claimed; the true end points stand beside them.",
                "Eight panels of estimated shares of two categories; the spread is largest near "
                "q = ½ and smallest at the ends.",
                draw_estimates(data),
            ),
            Picture(
                "figure-6",
                "Figure 6: information between true and released sex against q. Line: theory. "
                "Bars: middle half and whole range over the releases of the plug-in estimate from "
                "pairs (true, released); triangles: mean of the one from the two margins, as in "
                "the paper. Shaded: not private at this α.",
                "A parabola with its minimum at q = ½ and its largest values at the end points.",
                draw_information(data),
            ),
        )


def draw_estimates(data: Any) -> Figure:
    """Draw one panel for each keep probability."""
    columns = 4
    rows = -(-len(data.panels) // columns)
    figure = new_figure(WIDTH, 2.1 * rows + 0.4)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, panel in zip(grid.flat, data.panels, strict=False):
        draw_panel(axes, panel, data=data)
    for row in grid:
        row[0].set_ylabel("share")
    shared_legend(figure, grid[0, 0], markerscale=1.4)
    return figure


def draw_panel(axes: Axes, panel: Any, *, data: Any) -> None:
    """Draw the estimates at one keep probability."""
    draw_cloud(axes, panel.estimates, data.prior, first=0, diamond=5, alpha=0.5, markersize=3.6)
    note = " (end point)" if panel.end_point else "" if panel.satisfies else " (not private)"
    axes.set_title(f"q = {panel.q:.7g}{note}", loc="center", fontsize=7.5)
    axes.set_xticks([0, 1], data.labels)
    axes.set_xlim(-0.5, 1.5)


def draw_information(data: Any) -> Figure:
    """Draw information against the keep probability."""
    figure = new_figure(WIDTH * 0.8, 3.3)
    axes = figure.subplots()
    low, high = data.interval
    margin = 0.06 * (high - low)
    axes.plot(data.curve_q, 1e4 * data.curve, color=BLACK, label="theory")
    draw_plug_ins(axes, data)
    for start, end in ((low - margin, low), (high, high + margin)):
        axes.axvspan(start, end, color="0.88", zorder=0, linewidth=0)
    axes.set_xlim(low - margin, high + margin)
    axes.set_ylim(bottom=-0.15)
    axes.set_xlabel("keep probability q")
    axes.set_ylabel("information (10⁻⁴ nats)")
    axes.legend(loc="upper center")
    return figure


def draw_plug_ins(axes: Axes, data: Any) -> None:
    """Draw what the releases themselves say of the information."""
    for position, panel in enumerate(data.panels):
        values = 1e4 * panel.from_pairs
        first = position == 0
        axes.plot([panel.q] * 2, [values.min(), values.max()], color=BLUE, linewidth=0.9)
        axes.plot(
            [panel.q] * 2,
            np.quantile(values, [0.25, 0.75]),
            color=BLUE,
            linewidth=4.5,
            solid_capstyle="butt",
            label="plug-in from pairs" if first else None,
        )
        axes.plot(
            panel.q,
            1e4 * panel.from_margins.mean(),
            "^",
            color=GREEN,
            markeredgecolor=BLACK,
            markeredgewidth=0.5,
            label="plug-in from margins" if first else None,
        )
