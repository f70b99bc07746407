"""Maps of areas: a colour for every value, hatching where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.plots.mechanisms import shorten
from pramble.plots.style import GREY, PALE, WIDTH, house_style, new_figure, without_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pramble.values import Floats

# How areas without a value are marked, and those whose estimate is mostly noise.
HATCH, STRIPES = "//////", "||||"
# Areas whose names are tried: each is compared with those that are written already.
MOST_NAMED = 150
NOTE_HEIGHT = 0.3  # inches
# A scale of one value ends so far above it, lest it look extreme.
EVEN = 1.5


class MapLayout:
    """Areas as they are drawn: moved into degrees east of the map's own west end.

    So a country across the meridian of 180° is in one piece.
    """

    def __init__(self, areas: Any) -> None:
        if areas.points is None:
            raise InvalidInput(
                "A map needs shapes or points of the areas; read them: Areas.from_points(…)."
            )
        west, south, east, north = areas.extent
        self.areas = areas
        self.points = eastward(areas.points, areas.points[:, 0], west)
        self.shapes = areas.shapes and [
            [
                [eastward(ring, polygon[0][:, 0].min(), west) for ring in polygon]
                for polygon in shape
            ]
            for shape in areas.shapes
        ]
        least = 0.25 if self.shapes is None else 0.01  # room around dots, and around equal points
        room = least * max(east - west, north - south, 0.5) / 4
        x, y = max(0.04 * (east - west), room), max(0.04 * (north - south), room)
        self.box = west - x, south - y, east + x, north + y
        # How much longer a degree of latitude is than one of longitude, half way up.
        self.stretch = float(1 / max(np.cos(np.radians((south + north) / 2)), 0.1))

    def height(self, width: float) -> float:
        west, south, east, north = self.box
        ratio = (north - south) * self.stretch / (east - west)
        return float(np.clip(ratio * 0.8 * width, 1.8, 6.5)) + 0.5

    @property
    def dot_size(self) -> float:
        return float(np.clip(3000 / len(self.points), 18, 120))


def eastward(points: Floats, start: Any, west: float) -> Floats:
    """Return points, moved once around the globe where they start west of the map's end."""
    moved = np.array(points)
    moved[:, 0] += np.where(np.asarray(start) < west, 360.0, 0.0)
    return moved


@dataclass(frozen=True)
class Panel:
    """One map of a figure: a number for each area, and the colours it is drawn in.

    ``limits`` are the ends of the scale.
    """

    values: Floats
    label: str
    title: str
    limits: tuple[float, float]
    colours: str = "Blues"
    percent: bool = False
    striped: tuple[int, ...] = ()


@house_style()
def map_figure(areas: Any, values: Floats | None, *, label: str) -> Figure:
    layout = MapLayout(areas)
    if values is not None:
        return _panels_figure(layout, [Panel(values, label, "", _limits_of(values))])
    figure = new_figure(height=layout.height(WIDTH))
    axes = figure.add_subplot()
    _draw_areas(axes, layout, None)
    figure.draw_without_rendering()
    _write_names(figure, axes, layout)
    return figure


@house_style()
def estimate_maps(
    areas: Any,
    values: Floats,
    half_widths: Floats,
    before: Floats | None,
    quantity: str,
    level: float,
) -> Figure:
    """Return maps of estimates and of half their intervals; what is mostly noise is striped."""
    percent = quantity in ("probability", "share")
    known = np.isfinite(values) & np.isfinite(half_widths)
    noise = known & (half_widths >= np.abs(values))
    shown = [values] if before is None else [values, before]
    limits = _limits_of(*shown, np.zeros(int(percent)))
    striped = tuple(np.flatnonzero(noise).tolist())
    named = f"{100 * level:g} %"
    widths = (0.0, _limits_of(half_widths, np.zeros(1))[1])
    half = f"half of its {named} interval"
    panels = [
        Panel(values, quantity, "Estimate", limits, percent=percent, striped=striped),
        Panel(half_widths, half, "Uncertainty", widths, "Oranges", percent=percent),
    ]
    if before is not None:
        panels.insert(0, Panel(before, quantity, "Before", limits, percent=percent))
    note = (
        f"In {noise.sum()} of {known.sum()} areas{' (striped)' if striped else ''} half of the "
        f"{named} interval is as large as the estimate or larger."
    )
    return _panels_figure(MapLayout(areas), panels, note=note)


def _limits_of(*values: Floats) -> tuple[float, float]:
    """Return the ends of a scale for numbers: from zero where that is near, or all are equal.

    >>> [_limits_of(np.array(one)) for one in ([2.0, 9.0], [8.0, 9.0], [2.0])]
    [(0.0, 9.0), (8.0, 9.0), (0.0, 3.0)]
    """
    known = np.concatenate(values)
    known = known[np.isfinite(known)]
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    if low == high:
        return min(EVEN * low, 0.0), EVEN * high if high > 0 else float(high == 0)
    return (0.0 if 0 <= low <= 0.5 * high else low), high


def _panels_figure(layout: MapLayout, panels: Sequence[Panel], note: str = "") -> Figure:
    width = WIDTH * (1.0, 1.3, 1.5)[len(panels) - 1]
    height = 0.45 + layout.height(width / len(panels))
    figure = new_figure(width, height + NOTE_HEIGHT * bool(note))
    maps: Any = figure
    if note:
        halves: Any = figure.subfigures(2, 1, height_ratios=(height, NOTE_HEIGHT))
        maps, below = halves
        below.text(0.01, 0.5, note, fontsize=8, va="center")
    for axes, panel in zip(np.ravel(maps.subplots(1, len(panels))), panels, strict=True):
        _draw_areas(axes, layout, panel)
        axes.set_title(panel.title)
        _draw_scale(maps, axes, panel)
    return figure


def _draw_scale(part: Any, axes: Axes, panel: Panel) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    colours = ScalarMappable(Normalize(*panel.limits), panel.colours)
    place: Any = {"orientation": "horizontal", "shrink": 0.75, "aspect": 32, "pad": 0.03}
    bar = part.colorbar(colours, ax=axes, **place)
    bar.set_label(panel.label)
    bar.outline.set_visible(False)
    if panel.percent:
        bar.ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")


def _draw_areas(axes: Axes, layout: MapLayout, panel: Panel | None) -> None:
    from matplotlib.collections import LineCollection

    west, south, east, north = layout.box
    axes.set(xlim=(west, east), ylim=(south, north), aspect=layout.stretch)
    without_frame(axes)
    if layout.shapes is None and layout.areas.neighbours:
        lines = [layout.points[list(pair)] for pair in layout.areas.neighbours]
        borders = LineCollection(lines, colors=PALE, linewidths=1, zorder=1)
        axes.add_collection(borders, autolim=False)
    everywhere = np.arange(len(layout.points))
    if panel is None:
        _add(axes, layout, everywhere, facecolor="#f2f2f2" if layout.shapes else GREY)
        return
    known = np.isfinite(panel.values)
    hatched: Any = {"facecolor": "white", "hatch": HATCH, "label": "no value"}
    _add(axes, layout, everywhere[~known], **hatched)
    scale: Any = {"cmap": panel.colours, "clim": panel.limits, "label": "values"}
    _add(axes, layout, everywhere[known], panel.values[known], **scale)
    stripes: Any = {"facecolor": "none", "hatch": STRIPES, "linewidth": 0, "label": "striped"}
    _add(axes, layout, list(panel.striped), **stripes)


def _add(
    axes: Axes, layout: MapLayout, members: Any, values: Floats | None = None, **look: Any
) -> None:
    from matplotlib.collections import PathCollection

    if not len(members):
        return
    look = {"edgecolor": GREY, "linewidth": 0.5, **look}
    if layout.shapes is None:
        x, y = layout.points[members].T
        low, high = look.pop("clim", (None, None))
        scale: Any = {"c": values, "vmin": low, "vmax": high} if values is not None else {}
        axes.scatter(x, y, s=layout.dot_size, zorder=3, **{**look, **scale})
        return
    drawn = PathCollection([path_of(layout.shapes[i]) for i in members], **look)
    drawn.set_array(values)
    axes.add_collection(drawn, autolim=False)


def path_of(polygons: Sequence[Sequence[Floats]]) -> Any:
    """Return polygons as one path: outlines against the clock, and holes with it."""
    from matplotlib.path import Path

    rings = [
        ring if (signed_area(ring) > 0) == (place == 0) else ring[::-1]
        for polygon in polygons
        for place, ring in enumerate(polygon)
    ]
    return Path.make_compound_path(*(Path(ring, closed=True) for ring in rings))


def signed_area(ring: Floats) -> float:
    x, y = (ring - ring[0]).T
    return float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2)


def _write_names(figure: Figure, axes: Axes, layout: MapLayout) -> None:
    """Write the names of areas where they hide neither each other nor the edge."""
    names = shorten(layout.areas.labels.values, most=18)
    away = layout.dot_size**0.5 / 2 + 1
    sides = [("center", 0)] if layout.shapes else [("bottom", away), ("top", -away)]
    taken: list[Any] = []
    for point, name in list(zip(layout.points, names, strict=True))[:MOST_NAMED]:
        for side, up in sides:
            text = axes.annotate(
                name, point, (0, up), textcoords="offset points", ha="center", va=side,
                fontsize=6.5,
            )  # fmt: skip
            box = text.get_window_extent()
            within = figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
            if within and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()
