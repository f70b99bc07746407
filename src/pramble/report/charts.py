"""The charts of a release report, as SVG text."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.drawing.style import AXIS, BLUE, GREY, ORANGE, figure, svg
from pramble.releasing.outcome import ColumnOutcome, ReleaseOutcome

MOST_ROWS = 40
MOST_ANNOTATED = 12


def budget_chart(outcome: ReleaseOutcome) -> str:
    """Draw the α of every column, the part on its prior in another colour."""
    names = [column.name for column in outcome.columns]
    fig, axes = figure(width=7.4, height=0.55 + 0.34 * len(names))
    places = np.arange(len(names))[::-1]
    own = [column.alpha for column in outcome.columns]
    priors = [column.alpha_prior for column in outcome.columns]
    axes.barh(places, own, color=BLUE, height=0.62, label="on the released values")
    if any(priors):
        axes.barh(
            places, priors, left=own, color=ORANGE, height=0.62, hatch="///", label="on the prior"
        )
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    axes.set_yticks(places, names)
    axes.set_xlabel("α")
    axes.grid(axis="x", color=AXIS, linewidth=0.6)
    return svg(fig, title="α by column")


def matrix_chart(column: ColumnOutcome) -> str | None:
    """Draw the matrix as a heat map, with percentages when they fit; None when it is too large."""
    rows, columns = column.mechanism.shape
    if max(rows, columns) > MOST_ROWS:
        return None
    matrix = column.mechanism.matrix
    fig, axes = figure(width=7.4, height=min(7.4, 1.3 + 0.36 * rows))
    top = float(matrix.max())
    axes.imshow(matrix, cmap="Blues", vmin=0, vmax=top, aspect="auto")
    if max(rows, columns) <= MOST_ANNOTATED:
        annotate(axes, matrix, top)
    turn = max(len(str(label)) for label in column.mechanism.outputs) * columns > 60
    axes.set_xticks(
        range(columns), shortened(column.mechanism.outputs), rotation=40 if turn else 0,
        ha="right" if turn else "center",
    )
    axes.set_yticks(range(rows), shortened(column.categories))
    axes.set_xlabel("released value")
    axes.set_ylabel("true value")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return svg(fig, title=f"matrix of {column.name}")


def annotate(axes: Any, matrix: NDArray[np.float64], top: float) -> None:
    """Write every entry as a percentage, light on dark."""
    for (x, z), value in np.ndenumerate(matrix):
        digits = 0 if value >= 0.0995 else 1
        axes.text(
            z, x, f"{value:.{digits}%}", ha="center", va="center", fontsize=8,
            color="white" if value > 0.6 * top else "#1d2733",
        )


def frequency_chart(column: ColumnOutcome) -> str | None:
    """Draw frequencies: in the file (if raw figures may be shown), released, and estimated."""
    if column.estimate is None or column.lower is None or column.upper is None:
        return None
    shown = largest_first(column.estimate)[:MOST_ROWS]
    places = np.arange(len(shown))[::-1]
    fig, axes = figure(width=7.4, height=0.95 + 0.33 * len(shown))
    if column.before is not None:
        before = np.array(column.before) / max(sum(column.before), 1)
        axes.barh(places, before[shown], color="#d5dbe2", height=0.66, label="in the file")
    if column.after is not None and column.mechanism.outputs == column.mechanism.categories:
        after = np.array(column.after) / max(sum(column.after), 1)
        axes.plot(
            after[shown], places, "D", color="white", markeredgecolor=ORANGE, markersize=5.5,
            linestyle="none", label="released, at face value",
        )
    estimate, low, high = (
        np.array(values)[shown] for values in (column.estimate, column.lower, column.upper)
    )
    axes.errorbar(
        estimate, places, xerr=[np.maximum(estimate - low, 0), np.maximum(high - estimate, 0)],
        fmt="o", color=BLUE, markersize=4.5, capsize=3, linewidth=1.4,
        label="estimated from the release, 95 %",
    )
    axes.set_yticks(places, shortened([column.categories[i] for i in shown]))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlim(left=0)
    axes.grid(axis="x", color=AXIS, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=3, frameon=False)
    axes.tick_params(colors=GREY, axis="x")
    return svg(fig, title=f"frequencies of {column.name}")


def largest_first(values: Sequence[float]) -> list[int]:
    """Return positions in their own order when they all fit, else by size, largest first."""
    if len(values) <= MOST_ROWS:
        return list(range(len(values)))
    return [int(i) for i in np.argsort(-np.array(values), kind="stable")]


def shortened(labels: Sequence[Any], most: int = 26) -> list[str]:
    """Return labels as text that fits beside a chart; a missing value says so."""
    texts = ["(missing)" if label is None else str(label) for label in labels]
    return [text if len(text) <= most else text[: most - 1] + "…" for text in texts]
