"""Records kept under a central promise, as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pramble.plots.style import SERIES, house_style, in_percent, new_figure, shared_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = 2.4
"""Width of a panel, in inches."""


def plot_kept(found: Any) -> Figure:
    """Return a figure: the share of records kept against the number of rows, a panel for each ε.

    Parameters
    ----------
    found : KeptShares
        From :func:`~pramble.kept_shares`.

    Examples
    --------
    >>> import pramble
    >>> found = pramble.kept_shares(epsilons=[1.0], cells=[10, 100], rows=[10**4, 10**5])
    >>> [axes.get_title("left") for axes in pramble.plot_kept(found).axes]
    ['ε = 1']
    """
    with house_style():
        many = len(found.epsilons)
        figure = new_figure(width=max(PANEL * many, 2 * PANEL), height=3.2)
        panels = figure.subplots(1, many, sharey=True, squeeze=False)[0]
        for axes, epsilon, shares in zip(panels, found.epsilons, found.shares, strict=True):
            _panel(axes, epsilon, shares, found)
        panels[0].set_ylabel("share of records kept as they are")
        shared_legend(figure, panels[0], ncols=len(found.cells))
    return figure


def _panel(axes: Axes, epsilon: float, shares: Any, found: Any) -> None:
    for i, (size, row) in enumerate(zip(found.cells, shares, strict=True)):
        look = SERIES[i % len(SERIES)].look
        axes.plot(found.rows, row, **look, label=f"{size:,} cells")
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_ylim(0, 1.03)
    in_percent(axes.yaxis)
    axes.set_xlabel("rows")
    axes.xaxis.set_major_formatter(lambda rows, _: _short(rows))
    axes.set_title(f"ε = {epsilon:g}")


def _short(rows: float) -> str:
    """Return a number of rows as 10k or 1M."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if rows >= unit:
            return f"{rows / unit:g}{name}"
    return f"{rows:g}"
