"""What privacy costs, as figures: designs, promises, and a calibrated measure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pramble.plots.style import GREY, SERIES, house_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Steps across, in logarithmic odds, and up within which two promises would overlap.
CLOSE, AS_HIGH = 0.2, math.log(1.2)

SURE = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)
# Marks of the scale of beliefs, and where it ends: certainty is infinitely far.
SUREST = 1 - 1e-6

PROMISES = {
    "local": "α, against everybody",
    "tables": "ε, against readers: tables",
    "records": "ε, against readers: shuffled records",
}
MEASURES = {
    "tau1": "τ1 left",
    "tau2": "τ2 left",
    "worst": "largest r2 left",
    "share": "share of records above the level",
    "error": "standard error of a typical cell",
}


@house_style()
def candidates_figure(found: Sequence[Any], *, current: Any = None) -> Figure:
    """Return what readers get against what an intruder may become sure of, for each promise.

    Promises under which nothing can be estimated are left out; the ``current`` one has a ring.
    """
    from matplotlib.ticker import LogLocator

    figure = new_figure(height=3.6)
    axes = figure.add_subplot()
    for style, (kind, words) in zip(SERIES, PROMISES.items(), strict=False):
        own = [one for one in found if math.isfinite(one.half_width) and _series_of(one) == kind]
        if own:
            x, y = zip(*map(_place_of, own), strict=True)
            axes.plot(x, y, style.marker, linestyle=style.line, color=style.colour, label=words)
            _name_promises(axes, own, current)
    if current is not None and math.isfinite(current.half_width):
        place = _place_of(current)
        axes.plot(*place, "o", markersize=13, fillstyle="none", color="black")
        axes.annotate(current.name, place, textcoords="offset points", xytext=(0, -17),
                      ha="center", fontsize=9, fontweight="bold")  # fmt: skip
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.set_xticks([_odds(share) for share in SURE], [f"{100 * share:g}" for share in SURE])
    axes.set_xlim(0, max([_odds(one.belief) for one in found], default=1.0) + 0.4)
    axes.set_xlabel("how sure an intruder who was half sure can become, at most, %")
    axes.set_ylabel("± points of a typical cell")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right")
    return figure


def _series_of(one: Any) -> str:
    return "local" if one.kind == "local" else str(one.design)


def _place_of(one: Any) -> tuple[float, float]:
    return _odds(one.belief), 100 * one.half_width


def _odds(share: float) -> float:
    """Return the logarithm of the odds, in which every step of α is as long as any other.

    >>> _odds(0.5)
    0.0
    """
    return math.log(min(share, SUREST) / (1 - min(share, SUREST)))


def _name_promises(axes: Axes, found: Sequence[Any], current: Any) -> None:
    """Write the figure of each promise beside its mark, but where two would overlap."""
    last: tuple[float, float] | None = None
    for one in found:
        x, y = _place_of(one)
        near = (
            last is not None and abs(last[0] - x) < CLOSE and abs(math.log(last[1] / y)) < AS_HIGH
        )
        if one is current or near:
            continue
        last = x, y
        axes.annotate(f"{one.promise:g}", last, textcoords="offset points", xytext=(5, 4),
                      fontsize=8)  # fmt: skip


@house_style()
def plot_calibration(calibration: Any) -> Figure:
    """Return a figure: the measure against α, and information against the measure."""
    figure = new_figure(height=3.0)
    left, right = figure.subplots(1, 2)
    curve, target = calibration.curve, calibration.target
    found = calibration.alpha
    measure, cost, mark = SERIES[0], SERIES[2], SERIES[1].colour
    left.plot(curve["alpha"], curve["value"], color=measure.colour, linestyle=measure.line)
    left.axhline(target.at_most, color=GREY, linestyle=":")
    left.plot(found, calibration.value, measure.marker, color=mark)
    left.set_xscale("log")
    left.set_xlabel("α")
    left.set_ylabel(MEASURES[target.measure])
    met = f"met at α = {found:.3g}"
    left.set_title(
        f"Target {target.at_most:g}" + (f", {met}" if calibration.met else " is not met")
    )
    retained, chosen = 100 * curve["retained"], curve["alpha"] == found
    right.plot(curve["value"], retained, color=cost.colour, linestyle=cost.line)
    right.plot(curve["value"][chosen], retained[chosen], cost.marker, color=mark)
    right.set_xlabel(MEASURES[target.measure])
    right.set_ylabel("information kept, % of entropy")
    right.set_title("What it costs")
    return figure
