"""The charts of a release report, as SVG text; outcomes come from ``pramble.releasing``."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.plots.images import to_svg
from pramble.plots.matrix import MOST_DRAWN, matrix_figure, shorten
from pramble.plots.style import BLUE, PALE, VERMILION, house_style, new_figure

MOST_ROWS = 60


def budget_chart(outcome: Any) -> str:
    """Draw the α of every column, the part on its prior in another colour."""
    names = [column.name for column in outcome.columns]
    own = [column.alpha for column in outcome.columns]
    priors = [column.alpha_prior for column in outcome.columns]
    places = np.arange(len(names))[::-1]
    with house_style():
        figure = new_figure(height=0.75 + 0.3 * len(names))
        axes = figure.subplots()
        axes.barh(places, own, color=BLUE, height=0.6, label="on the released values")
        if any(priors):
            bars = axes.barh(places, priors, left=own, height=0.6, label="on the prior")
            for bar in bars:
                bar.set(facecolor=VERMILION, edgecolor="white", hatch="////")
            axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
        axes.set_yticks(places, shorten(names))
        axes.set_xlabel("α")
        axes.grid(visible=False, axis="y")
        return to_svg(figure, name="budget", description="α spent on each column and on its prior")


def matrix_chart(column: Any) -> str | None:
    """Draw the matrix as a heat map; None when it is too large."""
    if max(column.mechanism.shape) > MOST_DRAWN:
        return None
    return to_svg(
        matrix_figure(column.mechanism),
        name=f"matrix-{word(column.name)}",
        description=f"Probability of each released value given each true one: {column.name}",
    )


def frequency_chart(column: Any) -> str | None:
    """Draw frequencies: in the file (if raw figures may be shown), released, and estimated."""
    if column.estimate is None or column.lower is None or column.upper is None:
        return None
    shown = positions(column.estimate)
    with house_style():
        figure = new_figure(height=1.0 + 0.3 * len(shown))
        axes = figure.subplots()
        draw_frequencies(axes, column, shown)
        axes.set_yticks(np.arange(len(shown))[::-1], shorten([column.categories[i] for i in shown]))
        axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
        axes.set_xlim(left=0)
        axes.set_ylim(-0.6, len(shown) - 0.4)
        axes.grid(visible=False, axis="y")
        axes.legend(loc="lower center", bbox_to_anchor=(0.42, 1.0), ncols=3)
        return to_svg(
            figure,
            name=f"frequencies-{word(column.name)}",
            description=f"Frequencies of {column.name}: released, and estimated with intervals",
        )


def draw_frequencies(axes: Any, column: Any, shown: list[int]) -> None:
    """Draw one mark per category and series, the first category on top."""
    places = np.arange(len(shown))[::-1]
    if column.before is not None:
        axes.barh(
            places, shares(column.before)[shown], color=PALE, height=0.62, label="in the file"
        )
    if column.after is not None and column.mechanism.outputs == column.mechanism.categories:
        axes.plot(
            shares(column.after)[shown],
            places,
            linestyle="none",
            marker="D",
            markerfacecolor="white",
            markeredgecolor=VERMILION,
            markersize=5.5,
            label="released, at face value",
        )
    estimate, low, high = (
        np.array(values)[shown] for values in (column.estimate, column.lower, column.upper)
    )
    axes.errorbar(
        estimate,
        places,
        xerr=[np.maximum(estimate - low, 0), np.maximum(high - estimate, 0)],
        fmt="o",
        color=BLUE,
        capsize=3,
        label="estimated from the release, 95 %",
    )


def shares(counts: Sequence[int]) -> NDArray[np.float64]:
    """Return counts divided by their total."""
    return np.array(counts) / max(sum(counts), 1)


def cut_text(size: int) -> str:
    """Say how many categories a chart leaves out."""
    return f"The {MOST_ROWS} most frequent of {size:,} categories." if size > MOST_ROWS else ""


def positions(values: Sequence[float]) -> list[int]:
    """Return the categories to draw: all in order when they fit, else the most frequent ones."""
    if len(values) <= MOST_ROWS:
        return list(range(len(values)))
    return [int(i) for i in np.argsort(-np.array(values), kind="stable")[:MOST_ROWS]]


def word(name: str) -> str:
    """Return a column's name as an identifier for SVG, unlike that of any other column."""
    return re.sub(r"[^a-zA-Z0-9]", "-", name) + f"-{sum(map(ord, name))}"
