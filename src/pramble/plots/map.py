"""Maps of areas: a colour for every value, hatching where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.plots.mechanisms import shorten
from pramble.plots.style import GREY, PALE, WIDTH, house_style, new_figure, without_frame
from pramble.words import several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pramble.values import Floats

# How areas without a value are marked.
HATCH = "//////"
# Areas whose names are tried: each is compared with those that are written already.
MOST_NAMED = 150
# A scale of one value ends so far above it, lest it look extreme.
EVEN = 1.5


@house_style()
def map_figure(areas: Any, values: Any, *, label: str) -> Figure:
    if areas.points is None:
        raise InvalidInput(
            "A map needs shapes or points of the areas; read them: Areas.from_points(…)."
        )
    rings = [polygon[0] for shape in areas.shapes or () for polygon in shape]
    corners = np.concatenate(rings) if rings else areas.points
    (west, south), (east, north) = corners.min(axis=0), corners.max(axis=0)
    # How much longer a degree of latitude is than one of longitude, half way up.
    stretch = float(1 / max(np.cos(np.radians((south + north) / 2)), 0.1))
    least = 0.01 if rings else 0.25  # room around dots, and around equal points
    room = least * max(east - west, north - south, 0.5) / 4
    x, y = max(0.04 * (east - west), room), max(0.04 * (north - south), room)
    ratio = (north - south + 2 * y) * stretch / (east - west + 2 * x)
    figure = new_figure(height=float(np.clip(ratio * 0.8 * WIDTH, 1.8, 6.5)) + 0.5)
    axes = figure.add_subplot()
    axes.set(xlim=(west - x, east + x), ylim=(south - y, north + y), aspect=stretch)
    without_frame(axes)
    if not rings and areas.neighbours:
        from matplotlib.collections import LineCollection

        lines = [areas.points[list(pair)] for pair in areas.neighbours]
        axes.add_collection(
            LineCollection(lines, colors=PALE, linewidths=1, zorder=1), autolim=False
        )
    everywhere = np.arange(len(areas))
    if values is None:
        add_areas(axes, areas, everywhere, facecolor="#f2f2f2" if rings else GREY)
        figure.draw_without_rendering()
        write_names(figure, axes, areas)
        return figure
    found = numbers_of(areas, values)
    known = np.isfinite(found)
    hatched: Any = {"facecolor": "white", "hatch": HATCH, "label": "no value"}
    add_areas(axes, areas, everywhere[~known], **hatched)
    limits = limits_of(found[known])
    scale: Any = {"cmap": "Blues", "clim": limits, "label": "values"}
    add_areas(axes, areas, everywhere[known], found[known], **scale)
    add_scale(figure, axes, limits, label)
    return figure


def numbers_of(areas: Any, values: Any) -> Floats:
    """Return one number per area, from a mapping or an array; NaN where there is none."""
    mapped = isinstance(values, Mapping)
    try:
        found = np.array(list(values.values()) if mapped else values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("values must be numbers, or a mapping from labels to numbers.") from None
    if mapped:
        numbers, found = found, np.full(len(areas), np.nan)
        found[areas.places(values)] = numbers
    if found.shape != (len(areas),):
        raise InvalidInput(
            f"values must be one number for each of the {several(len(areas), 'area')}, in their "
            f"order, or a mapping from labels to numbers; found shape {found.shape}."
        )
    return found


def limits_of(known: Floats) -> tuple[float, float]:
    """Return the ends of a scale for numbers: from zero where that is near, or all are equal.

    >>> [limits_of(np.array(one)) for one in ([2.0, 9.0], [8.0, 9.0], [2.0])]
    [(0.0, 9.0), (8.0, 9.0), (0.0, 3.0)]
    """
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    if low == high:
        return min(EVEN * low, 0.0), EVEN * high if high > 0 else float(high == 0)
    return (0.0 if 0 <= low <= 0.5 * high else low), high


def add_scale(figure: Figure, axes: Axes, limits: tuple[float, float], label: str) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    colours = ScalarMappable(Normalize(*limits), "Blues")
    place: Any = {"orientation": "horizontal", "shrink": 0.75, "aspect": 32, "pad": 0.03}
    bar = figure.colorbar(colours, ax=axes, **place)
    bar.set_label(label)
    bar.outline.set_visible(False)


def add_areas(
    axes: Axes, areas: Any, members: Any, values: Floats | None = None, **look: Any
) -> None:
    from matplotlib.collections import PathCollection

    if not len(members):
        return
    look = {"edgecolor": GREY, "linewidth": 0.5, **look}
    if areas.shapes is None:
        x, y = areas.points[members].T
        low, high = look.pop("clim", (None, None))
        scale: Any = {"c": values, "vmin": low, "vmax": high} if values is not None else {}
        axes.scatter(x, y, s=dot_size(areas), zorder=3, **{**look, **scale})
        return
    drawn = PathCollection([path_of(areas.shapes[i]) for i in members], **look)
    drawn.set_array(values)
    axes.add_collection(drawn, autolim=False)


def dot_size(areas: Any) -> float:
    return float(np.clip(3000 / len(areas), 18, 120))


def path_of(polygons: Sequence[Sequence[Floats]]) -> Any:
    """Return polygons as one path: outlines against the clock, and holes with it."""
    from matplotlib.path import Path

    def against_the_clock(ring: Floats) -> bool:
        x, y = (ring - ring[0]).T
        return bool((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() > 0)

    rings = [
        ring if against_the_clock(ring) == (place == 0) else ring[::-1]
        for polygon in polygons
        for place, ring in enumerate(polygon)
    ]
    return Path.make_compound_path(*(Path(ring, closed=True) for ring in rings))


def write_names(figure: Figure, axes: Axes, areas: Any) -> None:
    """Write the names of areas where they hide neither each other nor the edge."""
    names = shorten(areas.labels.values, most=18)
    side, up = ("center", 0.0) if areas.shapes else ("bottom", dot_size(areas) ** 0.5 / 2 + 1)
    taken: list[Any] = []
    for point, name in list(zip(areas.points, names, strict=True))[:MOST_NAMED]:
        look: Any = {"textcoords": "offset points", "ha": "center", "va": side, "fontsize": 6.5}
        text = axes.annotate(name, point, (0, up), **look)
        box = text.get_window_extent()
        within = figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
        if within and not any(box.overlaps(other) for other in taken):
            taken.append(box)
        else:
            text.remove()
