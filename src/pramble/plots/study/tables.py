"""How the optima of the four scenarios are drawn."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pramble.plots.images import Picture
from pramble.plots.style import (
    BLACK,
    SERIES,
    WIDTH,
    house_style,
    in_percent,
    new_figure,
    shared_legend,
)

LINES = (
    ("general", "best of all matrices", SERIES[2]),
    ("family", "best in the paper’s family", SERIES[0]),
    ("printed", "printed in the paper", SERIES[1]),
)


def pictures(data: Any) -> tuple[Picture, ...]:
    """Draw the share of the possible information that each matrix carries."""
    with house_style():
        figure = draw(data)
    return (
        Picture(
            "tables-shares",
            "Information as a share of the most that α allows for any mechanism (100 %: the "
            "smaller of the universal bound and the entropy). Squares: the vertices printed in "
            "Tables 1 to 4.",
            "For each scenario, three lines over α: best of all matrices, best in the family, and "
            "the printed vertex, as shares of the universal bound.",
            figure,
        ),
    )


def draw(data: Any) -> Figure:
    """Draw one panel a scenario."""
    scenarios = list(dict.fromkeys(row.scenario for row in data.rows))
    rows = math.ceil(len(scenarios) / 2)
    figure = new_figure(WIDTH, 2.35 * rows + 0.4)
    panels = np.ravel(figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False))
    for axes, name in zip(panels, scenarios, strict=False):
        draw_scenario(axes, name, rows=data.of(name))
    for axes in panels[len(scenarios) :]:
        axes.set_visible(False)
    shared_legend(figure, panels[0], "upper")
    return figure


def draw_scenario(axes: Axes, name: str, *, rows: Sequence[Any]) -> None:
    alphas = [row.alpha for row in rows]
    for field, label, series in LINES:
        shares = [getattr(row, field) / row.ceiling for row in rows]
        axes.plot(
            alphas,
            shares,
            **series.look,
            label=label,
            markersize=6 if field == "printed" else 5,
        )
    axes.axhline(1, color=BLACK, linewidth=0.8)
    axes.set_ylim(0, 1.08)
    axes.set_xticks(alphas)
    in_percent(axes.yaxis)
    axes.set_title(f"Scenario {name}")
    axes.set_xlabel("α")
    axes.label_outer()
