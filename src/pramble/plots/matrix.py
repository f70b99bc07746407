"""A matrix as a heat map: the probability of each released value given each true one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.plots.style import house_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from pramble.values import Floats

MOST_DRAWN = 40
MOST_ANNOTATED = 12


def matrix_figure(mechanism: Any) -> Figure:
    """Return the matrix of a mechanism as a heat map, with percentages when they fit."""
    rows, columns = mechanism.shape
    if max(rows, columns) > MOST_DRAWN:
        raise InvalidInput(
            f"A matrix is drawn with at most {MOST_DRAWN} categories and outputs; this one has "
            f"{rows:,} and {columns:,}."
        )
    matrix = mechanism.matrix
    with house_style():
        figure = new_figure(height=min(7.2, 1.2 + 0.32 * rows))
        axes = figure.subplots()
        edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
        axes.pcolormesh(*edges, matrix, cmap="Blues", vmin=0, vmax=matrix.max(), snap=True)
        axes.invert_yaxis()
        if max(rows, columns) <= MOST_ANNOTATED:
            annotate(axes, matrix)
        outputs = shorten(mechanism.outputs, most=16)
        turned = sum(map(len, outputs)) > 75
        axes.set_xticks(
            range(columns),
            outputs,
            rotation=45 if turned else 0,
            ha="right" if turned else "center",
        )
        axes.set_yticks(range(rows), shorten(mechanism.categories))
        axes.set_xlabel("released value")
        axes.set_ylabel("true value")
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    return figure


def annotate(axes: Any, matrix: Floats) -> None:
    """Write every entry as a percentage, light on dark."""
    for (x, z), value in np.ndenumerate(matrix):
        digits = 0 if value >= 0.0995 else 1
        colour = "white" if value > 0.6 * matrix.max() else "black"
        axes.text(z, x, f"{value:.{digits}%}", ha="center", va="center", fontsize=8, color=colour)


def shorten(labels: Sequence[Any], most: int = 26) -> list[str]:
    """Return labels as text that fits beside a chart; a missing value says so."""
    texts = ["(missing)" if label is None else str(label) for label in labels]
    return [text if len(text) <= most else text[: most - 1] + "…" for text in texts]
