"""How the ratios to the optimum are drawn."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pramble.plots.images import Picture
from pramble.plots.style import BLACK, SERIES, WIDTH, house_style, in_percent, new_figure

LINES = (SERIES[1], SERIES[3], SERIES[0])


def pictures(data: Any) -> tuple[Picture, ...]:
    """Draw each rival's information relative to the optimum."""
    with house_style():
        figure = draw(data)
    return (
        Picture(
            "ratios",
            f"Information relative to the best α-DP matrix, 6 values, "
            f"{data.ratios.shape[2]} priors uniform on the simplex. Lines: mean; bands: from the "
            "5th to the 95th hundredth of the priors.",
            "Three curves over α: randomised response and the paper's family fall short at small α "
            "and approach one at large α; the binary mechanism does the opposite.",
            figure,
        ),
    )


def draw(data: Any) -> Figure:
    """Draw mean and band of every rival against α."""
    figure = new_figure(WIDTH, 3.6)
    axes = figure.subplots()
    axes.axhline(1, color=BLACK, linewidth=0.8)
    for name, ratios, series in zip(data.rivals, data.ratios, LINES, strict=True):
        low, high = np.quantile(ratios, [0.05, 0.95], axis=1)
        axes.fill_between(data.alphas, low, high, color=series.colour, alpha=0.15, linewidth=0)
        axes.plot(data.alphas, ratios.mean(axis=1), **series.look, label=name)
    axes.set_xscale("log")
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10) if tick <= data.alphas.max()]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.05)
    in_percent(axes.yaxis)
    axes.set_xlabel("α")
    axes.set_ylabel("share of the optimum")
    axes.legend(loc="lower center")
    return figure
