"""What the axes and legends of the study's figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def in_percent(axis: Any) -> None:
    axis.set_major_formatter(lambda value, _: f"{value:.0%}")


def shared_legend(figure: Figure, axes: Axes, place: str = "lower", **more: Any) -> None:
    handles = axes.get_legend_handles_labels()
    figure.legend(*handles, loc=f"outside {place} center", **{"ncols": 3, **more})
