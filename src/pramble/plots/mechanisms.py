"""Pictures of what is done to data: matrices, plans for records, and the noise of tables.

A caption and a description belong to a picture wherever it is shown.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.numbers import percent
from pramble.plots.style import BLUE, GREEN, ORANGE, PALE, PURPLE, house_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from pramble.values import Floats

# Categories of a matrix that is drawn, and of one whose entries are written in.
MOST_DRAWN, MOST_ANNOTATED = 40, 12

# Rows of a plan, bars of tables, and columns of a square whose numbers are written in.
MOST_BRANCHES, MOST_TABLES, MOST_NUMBERED = 24, 30, 14

# Letters of all labels below a matrix; more would run into each other and are rotated.
MOST_LETTERS = 75

BLOCKS = (BLUE, ORANGE, GREEN, PURPLE)

MATRIX_CAPTION = "Each row is a true value: the probabilities of what is released for it."
PLAN_CAPTION = (
    "Every row is a branch: its share of the records, and the columns that it shows. Joined "
    "squares are randomised together."
)
NOISE_CAPTION = "The noise of each table, in people a cell (standard deviation)."
NOISE_PICTURE = "The standard deviation of the noise in a cell of each protected table"
PLAN_PICTURE = "Which columns each part of the plan shows, and a share of the records"


@house_style()
def matrix_figure(mechanism: Any) -> Figure:
    """Return the matrix of a mechanism as a heat map, with percentages when they fit."""
    rows, columns = mechanism.shape
    if max(rows, columns) > MOST_DRAWN:
        raise InvalidInput(
            f"A matrix is drawn with at most {MOST_DRAWN} categories and outputs; this one has "
            f"{rows:,} and {columns:,}."
        )
    matrix = mechanism.matrix
    figure = new_figure(height=min(7.2, 1.2 + 0.32 * rows))
    axes = figure.subplots()
    edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    axes.pcolormesh(*edges, matrix, cmap="Blues", vmin=0, vmax=matrix.max(), snap=True)
    axes.invert_yaxis()
    if max(rows, columns) <= MOST_ANNOTATED:
        _write_percentages(axes, matrix)
    outputs = shorten(mechanism.outputs, most=16)
    is_long = sum(map(len, outputs)) > MOST_LETTERS
    look: Any = {"rotation": 45, "ha": "right"} if is_long else {"rotation": 0, "ha": "center"}
    axes.set_xticks(range(columns), outputs, **look)
    axes.set_yticks(range(rows), shorten(mechanism.categories))
    axes.set_xlabel("released value")
    axes.set_ylabel("true value")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return figure


def _write_percentages(axes: Any, matrix: Floats) -> None:
    for (x, z), value in np.ndenumerate(matrix):
        digits = 0 if value >= 0.0995 else 1
        colour = "white" if value > 0.6 * matrix.max() else "black"
        axes.text(z, x, percent(value, digits), ha="center", va="center", fontsize=8, color=colour)


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
        one if len(set(groups[one])) == 1 else _core(text, groups[one], most)
        for one, text in zip(short, texts, strict=True)
    ]


def _core(text: str, others: Sequence[str], most: int) -> str:
    """Return the part of a text in which it differs from others.

    >>> _core("the north of it", ["the north of it", "the south of it"], 9)
    '…north…'
    """
    front = _common_letters(others)
    front = text[:front].rfind(" ") + 1 or front
    back = _common_letters([other[front:][::-1] for other in others])
    back = text[::-1][:back].rfind(" ") + 1 or back
    own = f"…{text[front : len(text) - back].strip()}{'…' if back else ''}"
    return own if len(own) <= most else own[: most // 2] + "…" + own[-most // 2 + 1 :]


def _common_letters(texts: Sequence[str]) -> int:
    """Return how many first letters all texts share.

    >>> _common_letters(["abc", "abd"]), _common_letters(["abc"]), _common_letters(["a", "b"])
    (2, 3, 0)
    """
    columns = zip(*texts, strict=False)
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, columns))


@house_style()
def branches_figure(columns: Sequence[str], parts: Sequence[tuple[float, Sequence[Any]]]) -> Figure:
    """Return a row for each branch: its share of records and its blocks; the last ones together."""
    names = list(columns)
    rows = sorted(parts, key=lambda row: -row[0])
    shown, others = rows[:MOST_BRANCHES], rows[MOST_BRANCHES:]
    figure = new_figure(height=1.3 + 0.24 * (len(shown) + bool(others)))
    left, right = figure.subplots(1, 2, width_ratios=[1, 3], sharey=True)
    places = np.arange(len(shown))[::-1] + bool(others)
    left.barh(places, [share for share, _ in shown], color=PALE, height=0.62)
    for place, (share, blocks) in zip(places, shown, strict=True):
        left.text(0, place, f" {percent(share)}", va="center", fontsize=8)
        for number, block in enumerate(blocks):
            at = [names.index(name) for name in block]
            colour = BLOCKS[number % len(BLOCKS)]
            right.plot(sorted(at), [place] * len(at), color=colour, linewidth=1.6)
            right.plot(at, [place] * len(at), "s", color=colour, markersize=7)
    if others:
        share = sum(share for share, _ in others)
        right.text(0, 0, f"{len(others)} more branches", va="center", fontsize=8)
        left.barh([0], [share], color=PALE, height=0.62)
        left.text(0, 0, f" {percent(share)}", va="center", fontsize=8)
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


@house_style()
def noise_figure(deviations: Mapping[tuple[str, ...], float]) -> Figure:
    """Return a figure of the noise in a cell of each table, in people.

    Pairs of three or more columns are a square of columns; other tables are bars.
    """
    names = list(dict.fromkeys(name for table in deviations for name in table))
    if len(names) > 2 and all(len(table) == 2 for table in deviations):
        return _square_figure(names, deviations)
    rows = sorted(deviations.items(), key=lambda row: row[1])[-MOST_TABLES:]
    figure = new_figure(height=1.0 + 0.26 * len(rows))
    axes = figure.subplots()
    places = np.arange(len(rows))
    axes.barh(places, [own for _, own in rows], color=BLUE, height=0.62)
    axes.set_yticks(places, [" × ".join(table) for table, _ in rows])
    axes.set_xlabel("standard deviation of the noise in a cell, people")
    axes.grid(visible=False, axis="y")
    axes.tick_params(length=0)
    return figure


def _square_figure(names: Sequence[str], values: Mapping[tuple[str, ...], float]) -> Figure:
    """Return a value for pairs of columns as a square below its diagonal."""
    size, top = len(names), max(values.values())
    figure = new_figure(height=min(7.2, 1.4 + 0.42 * size))
    axes = figure.subplots()
    grid = np.full((size, size), np.nan)
    for pair, value in values.items():
        j, i = sorted(map(names.index, pair))
        grid[i, j] = value
        if size <= MOST_NUMBERED:
            # Black on a dark square cannot be read.
            colour = "white" if value > 0.6 * top else "black"
            axes.text(j, i, f"{value:.3g}", ha="center", va="center", fontsize=8, color=colour)
    edges = np.arange(size) - 0.5, np.arange(1, size + 1) - 0.5
    mesh = axes.pcolormesh(*edges, grid[1:, :-1], cmap="Blues", vmin=0, vmax=top, snap=True)
    axes.invert_yaxis()
    axes.set_xticks(range(size - 1), names[:-1], rotation=40, ha="right")
    axes.set_yticks(range(1, size), names[1:])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    figure.colorbar(mesh, ax=axes, label="noise, people a cell")
    return figure
