"""A matrix as a heat map: the probability of each released value given each true one."""

from __future__ import annotations

from itertools import takewhile
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
    """Return labels as text that fits beside a chart, and still differ; a missing one says so.

    >>> shorten(["a", None]), shorten(["group number one of many", "group number two of many"], 9)
    (['a', '(missing)'], ['…one…', '…two…'])
    """
    texts = ["(missing)" if label is None else str(label) for label in labels]
    short = [text if len(text) <= most else text[: most - 1] + "…" for text in texts]
    groups: dict[str, list[str]] = {}
    for one, text in zip(short, texts, strict=True):
        groups.setdefault(one, []).append(text)
    return [
        one if len(set(groups[one])) == 1 else core(text, groups[one], most)
        for one, text in zip(short, texts, strict=True)
    ]


def core(text: str, others: Sequence[str], most: int) -> str:
    """Return the part of a text in which it differs from others.

    >>> core("the north of it", ["the north of it", "the south of it"], 9)
    '…north…'
    """
    front = alike(others)
    front = text[:front].rfind(" ") + 1 or front
    rest = [other[front:][::-1] for other in others]
    back = alike(rest)
    back = text[::-1][:back].rfind(" ") + 1 or back
    own = f"…{text[front : len(text) - back].strip()}{'…' if back else ''}"
    return own if len(own) <= most else own[: most // 2] + "…" + own[-most // 2 + 1 :]


def alike(texts: Sequence[str]) -> int:
    """Return how many first letters all texts share.

    >>> alike(["abc", "abd"]), alike(["abc"]), alike(["a", "b"])
    (2, 3, 0)
    """
    columns = zip(*texts, strict=False)
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, columns))
