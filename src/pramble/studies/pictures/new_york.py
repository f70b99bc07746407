"""How the designs for ten New York variables are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.drawing.style import SERIES, WIDTH, house_style, new_figure
from pramble.studies.new_york import WORDS
from pramble.studies.study import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pramble.studies.new_york import NewYork

LINES = (
    ("information", "best matrix", SERIES[2]),
    ("estimation", "for estimation", SERIES[3]),
    ("family", "best in the paper’s family", SERIES[0]),
)


def pictures(data: NewYork) -> tuple[Picture, ...]:
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


def draw_shares(data: NewYork) -> Figure:
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
                linestyle="none",
                marker=series.marker,
                color=series.colour,
                label=label,
                markersize=4.5,
            )
        axes.set_title(f"α = {alpha:g}", loc="center")
        axes.set_xlim(0, 1.06)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_xticks([0, 0.5, 1])
    panels[0].set_yticks(range(len(names)), [f"{WORDS[n]} ({len(data.margins[n])})" for n in names])
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def draw_matrices(data: NewYork, alpha: float) -> Figure:
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
            image = draw_matrix(axes, data.best(name, alpha, design=kind).matrix, name=WORDS[name])
        for axes in cells[len(names) :]:
            axes.set_visible(False)
        cells[0].set_ylabel(
            "information" if kind == "information" else "estimation", fontweight="bold"
        )
    figure.colorbar(image, ax=grid, shrink=0.4, aspect=30, pad=0.02, label="probability")
    return figure


def draw_matrix(axes: Axes, matrix: np.ndarray[Any, Any], *, name: str) -> Any:
    """Draw one matrix as shades."""
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
