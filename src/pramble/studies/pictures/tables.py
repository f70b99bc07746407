"""How the optima of the four scenarios are drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pramble.drawing.style import BLACK, SERIES, WIDTH, house_style, new_figure
from pramble.studies.study import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pramble.studies.tables import Row, Tables

LINES = (
    ("general", "best of all matrices", SERIES[2]),
    ("family", "best in the paper’s family", SERIES[0]),
    ("printed", "printed in the paper", SERIES[1]),
)


def pictures(data: Tables) -> tuple[Picture, ...]:
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


def draw(data: Tables) -> Figure:
    """Draw one panel a scenario."""
    scenarios = list(dict.fromkeys(row.scenario for row in data.rows))
    rows = math.ceil(len(scenarios) / 2)
    figure = new_figure(WIDTH, 2.35 * rows + 0.4)
    panels = np.ravel(figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False))
    for axes, name in zip(panels, scenarios, strict=False):
        draw_scenario(axes, name, rows=data.of(name))
    for axes in panels[len(scenarios) :]:
        axes.set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


def draw_scenario(axes: Axes, name: str, *, rows: tuple[Row, ...]) -> None:
    """Draw one scenario."""
    alphas = [row.alpha for row in rows]
    for field, label, series in LINES:
        shares = [getattr(row, field) / row.ceiling for row in rows]
        axes.plot(
            alphas,
            shares,
            color=series.colour,
            marker=series.marker,
            linestyle=series.line,
            label=label,
            markersize=6 if field == "printed" else 5,
        )
    axes.axhline(1, color=BLACK, linewidth=0.8)
    axes.set_ylim(0, 1.08)
    axes.set_xticks(alphas)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_title(f"Scenario {name}")
    axes.set_xlabel("α")
    axes.label_outer()
