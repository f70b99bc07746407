"""The distribution of numbers behind bands as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.plots.style import SERIES, house_style, in_percent, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def distribution_figure(distribution: Any) -> Figure:
    """Return the shares below the edges of bands, with their intervals, and the quantiles.

    Lines join the edges, since numbers count as spread evenly within a band.
    """
    banded, up_to = distribution.banded, distribution.cumulative
    if banded.many > len(SERIES):
        raise InvalidInput(
            f"A plot must have at most {len(SERIES)} groups; this table has {banded.many}. Take "
            "fewer columns."
        )
    size = len(banded.labels)
    ends = distribution.edges[1:][np.isfinite(distribution.edges[1:])]
    quantiles = distribution.quantiles
    names = list(zip(*banded.grouped[1].values(), strict=True)) or [()]
    with house_style():
        figure = new_figure(height=3.6)
        axes = figure.add_subplot()
        for group, (name, look) in enumerate(zip(names, SERIES, strict=False)):
            own = slice(group * size, group * size + len(ends))
            axes.vlines(ends, up_to.lower[own], up_to.upper[own], color=look.colour, alpha=0.4)
            axes.plot(
                [distribution.edges[0], *ends],
                [0.0, *up_to.values[own]],
                color=look.colour,
                linestyle=look.line,
                label=", ".join(map(str, name)),
            )
            each = len(quantiles.values) // banded.many
            some = slice(group * each, (group + 1) * each)
            axes.plot(
                quantiles.values[some],
                np.asarray(quantiles.cells["share"][some]),
                look.marker,
                color=look.colour,
            )
        in_percent(axes.yaxis)
        axes.set_ylim(0, 1)
        axes.set_xlabel(distribution.column)
        axes.set_ylabel(f"share below, with {100 * up_to.level:g} % intervals")
        axes.set_title(f"{distribution.column}  (n = {up_to.n:,.0f})")
        if banded.grouped[1]:
            axes.legend(title=", ".join(banded.grouped[1]))
    return figure
