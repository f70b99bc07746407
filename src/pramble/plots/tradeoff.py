"""The trade-offs as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.plots.style import GREY, SERIES, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {
    "general": "best of all matrices",
    "uniform": "best with uniform rows",
    "response": "randomised response",
}


def plot_tradeoff(comparison: Any, pareto: Any = None) -> Figure:
    """Return a figure: information against α, and against estimation variance where given.

    Parameters
    ----------
    comparison : Comparison
        From :func:`~pramble.compare_designs`.
    pareto : Pareto, optional
        From :func:`~pramble.pareto_curve`.

    Examples
    --------
    >>> import pramble
    >>> figure = pramble.plot_tradeoff(pramble.compare_designs([0.5, 0.3, 0.2], [0.5, 1.0]))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['α']
    """
    with house_style():
        figure = new_figure(height=3.2)
        if pareto is None:
            _information_panel(figure.subplots(), comparison)
        else:
            left, right = figure.subplots(1, 2)
            _information_panel(left, comparison)
            _pareto_panel(right, pareto)
    return figure


def _information_panel(axes: Axes, comparison: Any) -> None:
    axes.plot(comparison.alpha, comparison.ceiling, color=GREY, label="most that α and H(X) allow")
    for style, (field, name) in zip(SERIES, NAMES.items(), strict=False):
        axes.plot(comparison.alpha, getattr(comparison, field), **style.look, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(comparison.alpha, labels=[f"{alpha:g}" for alpha in comparison.alpha])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.set_xlabel("α")
    axes.set_ylabel("information, nats")
    axes.set_title("Information against privacy")
    axes.legend()


def _pareto_panel(axes: Axes, pareto: Any) -> None:
    finite = np.isfinite(pareto.variance)
    joined = {} if pareto.loss is None else {"linestyle": "none"}
    axes.plot(pareto.information[finite], pareto.variance[finite], **{**SERIES[0].look, **joined})
    if finite.any() and pareto.variance[finite].max() > 10 * pareto.variance[finite].min():
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("information, nats")
    axes.set_ylabel("n × variance of the shares")
    axes.set_title("Information against estimation")
