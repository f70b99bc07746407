"""How the designs for ten New York variables are drawn."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pramble.plots.images import Picture
from pramble.plots.style import SERIES, WIDTH, house_style, in_percent, new_figure, shared_legend

LINES = (
    ("information", "best matrix", SERIES[2]),
    ("estimation", "for estimation", SERIES[3]),
    ("family", "best in the paper’s family", SERIES[0]),
)


def pictures(data: Any) -> tuple[Picture, ...]:
    """Draw information kept, and the matrices themselves at one privacy."""
    middle = min(data.alphas, key=lambda alpha: abs(alpha - 1))
    with house_style():
        return (
            Picture(
                "new-york-shares",
                "Ten New York variables: information kept, as a share of the most that α and the "
                "entropy allow.",
                "Dot plots of ten variables at several α, three designs each.",
                draw_shares(data),
            ),
            Picture(
                "new-york-matrices",
                f"The matrices at α = {middle:g}; rows are true values, columns released ones, "
                "darker is likelier. Top: most information; bottom: designed for "
                "estimation. The first often all but merge values into groups.",
                "Twenty small heat maps of stochastic matrices.",
                draw_matrices(data, middle),
            ),
        )


def draw_shares(data: Any) -> Figure:
    """Draw one panel for each α."""
    names = list(data.margins)
    figure = new_figure(WIDTH, 0.34 * len(names) + 1.1)
    panels = np.ravel(figure.subplots(1, len(data.alphas), sharey=True, sharex=True, squeeze=False))
    for axes, alpha in zip(panels, data.alphas, strict=True):
        for offset, (field, label, series) in zip((-0.2, 0.0, 0.2), LINES, strict=True):
            shares = [data.best(name, alpha, design=field).share for name in names]
            axes.plot(
                shares,
                np.arange(len(names)) + offset,
                **(series.look | {"linestyle": "none"}),
                label=label,
                markersize=4.5,
            )
        axes.set_title(f"α = {alpha:g}", loc="center")
        axes.set_xlim(0, 1.06)
        in_percent(axes.xaxis)
        axes.set_xticks([0, 0.5, 1])
    panels[0].set_yticks(
        range(len(names)), [f"{data.words[n]} ({len(data.margins[n])})" for n in names]
    )
    panels[0].invert_yaxis()
    shared_legend(figure, panels[0])
    return figure


def draw_matrices(data: Any, alpha: float) -> Figure:
    """Draw every matrix at one α, for information above and for estimation below."""
    names = list(data.margins)
    columns = min(5, len(names))
    bands = -(-len(names) // columns)
    figure = new_figure(WIDTH, 1.55 * 2 * bands + 0.6)
    grid = figure.subplots(2 * bands, columns, squeeze=False)
    image: Any = None
    for kind, first in (("information", 0), ("estimation", bands)):
        cells = grid[first : first + bands].ravel()
        for axes, name in zip(cells, names, strict=False):
            image = draw_matrix(
                axes, data.best(name, alpha, design=kind).matrix, name=data.words[name]
            )
        for axes in cells[len(names) :]:
            axes.set_visible(False)
        cells[0].set_ylabel(
            "information" if kind == "information" else "estimation", fontweight="bold"
        )
    figure.colorbar(image, ax=grid, shrink=0.4, aspect=30, pad=0.02, label="probability")
    return figure


def draw_matrix(axes: Axes, matrix: np.ndarray[Any, Any], *, name: str) -> Any:
    image = axes.imshow(
        matrix, cmap="Blues", vmin=0, vmax=1, interpolation="nearest", aspect="auto"
    )
    axes.set_title(name, loc="center", fontsize=7.5)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(True)
    return image
