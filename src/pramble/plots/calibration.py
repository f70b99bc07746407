"""The curve of a measure against the promise, and of what it costs."""

from typing import TYPE_CHECKING, Any

from pramble.plots.style import GREY, SERIES, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIGNS = {"alpha": "α", "epsilon": "ε"}
WORDS = {
    "tau1": "τ1 left",
    "tau2": "τ2 left",
    "worst": "largest r2 left",
    "share": "share of records above the level",
    "epsilon": "central ε of the file, proven",
    "error": "standard error of a typical cell",
}


def plot_calibration(calibration: Any) -> "Figure":
    """Return a figure: the measure against α, or ε, and information against the measure."""
    with house_style():
        figure = new_figure(height=3.0)
        left, right = figure.subplots(1, 2)
        _measure_panel(left, calibration)
        _exchange_panel(right, calibration)
    return figure


def _measure_panel(axes: "Axes", calibration: Any) -> None:
    curve, target = calibration.curve, calibration.target
    style = SERIES[0]
    name, found = calibration.tried
    axes.plot(curve[name], curve["value"], color=style.colour, linestyle=style.line)
    axes.axhline(target.at_most, color=GREY, linestyle=":")
    axes.plot(found, calibration.value, style.marker, color=SERIES[1].colour)
    axes.set_xscale("log")
    axes.set_xlabel(SIGNS[name])
    axes.set_ylabel(WORDS[target.measure])
    axes.set_title(f"Target {target.at_most:g}, met at {SIGNS[name]} = {found:.3g}")
    if not calibration.met:
        axes.set_title(f"Target {target.at_most:g} is not met")


def _exchange_panel(axes: "Axes", calibration: Any) -> None:
    curve = calibration.curve
    style = SERIES[2]
    axes.plot(curve["value"], 100 * curve["kept"], color=style.colour, linestyle=style.line)
    name, found = calibration.tried
    chosen = curve[name] == found
    axes.plot(
        curve["value"][chosen], 100 * curve["kept"][chosen], style.marker, color=SERIES[1].colour
    )
    axes.set_xlabel(WORDS[calibration.target.measure])
    axes.set_ylabel("information kept, % of entropy")
    axes.set_title("What it costs")
