"""Promises side by side as a figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pramble.plots.style import SERIES, house_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

CLOSE = 0.2
"""Logarithmic odds within which figures of two promises would overlap."""

SURE = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)
SUREST = 1 - 1e-6

WORDS = {
    "local": "α, against everybody",
    "tables": "ε, against readers: tables",
    "records": "ε, against readers: shuffled records",
}


def candidates_figure(found: Sequence[Any], *, current: Any = None) -> Figure:
    """Return what readers get against what an intruder may become sure of.

    Promises under which nothing can be told are left out; the ``current`` one has a ring.
    """
    from matplotlib.ticker import LogLocator

    with house_style():
        figure = new_figure(height=3.6)
        axes = figure.add_subplot()
        for style, (kind, words) in zip(SERIES, WORDS.items(), strict=False):
            told = [one for one in found if math.isfinite(one.half_width)]
            own = [one for one in told if series_of(one) == kind]
            sure = [odds(one.belief) for one in own]
            widths = [100 * one.half_width for one in own]
            beside = None
            if not own:
                continue
            axes.plot(
                sure, widths, style.marker, linestyle=style.line, color=style.colour, label=words
            )
            for one, x, y in zip(own, sure, widths, strict=True):
                if one is current or (beside is not None and are_near(beside, (x, y))):
                    continue
                beside = x, y
                axes.annotate(f"{one.promise:g}", (x, y), textcoords="offset points",
                              xytext=(5, 4), fontsize=8)  # fmt: skip
        if current is not None and math.isfinite(current.half_width):
            place = odds(current.belief), 100 * current.half_width
            axes.plot(*place, "o", markersize=13, fillstyle="none", color="black")
            axes.annotate(current.name, place, textcoords="offset points", xytext=(0, -17),
                          ha="center", fontsize=9, fontweight="bold")  # fmt: skip
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.minorticks_off()
        axes.set_xticks([odds(share) for share in SURE], [f"{100 * share:g}" for share in SURE])
        axes.set_xlim(0, max([odds(one.belief) for one in found], default=1.0) + 0.4)
        axes.set_xlabel("how sure an intruder who was half sure can become, at most, %")
        axes.set_ylabel("± points of a typical cell")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper right")
    return figure


def series_of(one: Any) -> str:
    """Return which line a promise is on: that of local ones, or of a design for central ones."""
    return "local" if one.kind == "local" else str(one.design)


def odds(share: float) -> float:
    """Return the logarithm of the odds, in which every step of α is as long as any other.

    >>> odds(0.5)
    0.0
    """
    return math.log(min(share, SUREST) / (1 - min(share, SUREST)))


def are_near(one: tuple[float, float], two: tuple[float, float]) -> bool:
    """Whether two points are too near for a figure beside each."""
    return abs(one[0] - two[0]) < CLOSE and abs(math.log(one[1] / two[1])) < math.log1p(0.2)
