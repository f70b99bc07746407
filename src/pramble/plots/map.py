"""Maps of areas: a colour for every value, hatching where there is none.

One frame holds the main part, and small ones what lies far away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.plots.mechanisms import shorten
from pramble.plots.style import GREY, PALE, VERMILION, WIDTH, house_style, new_figure, without_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pramble.values import Floats


HATCH, STRIPES = "//////", "||||"
"""How areas without a value are marked, and those whose estimate is mostly noise."""

MOST_NAMED = 150
"""Areas whose names are tried: each is compared with those that are written already."""

NOTE_HEIGHT = 0.3
LOG_FROM, EVEN = 20.0, 1.5
"""Moves are on a log scale where the likeliest is so many times the least likely; on a scale that
ends above them where they hardly differ, lest all look extreme."""
MOST_DECADES = 3
"""Powers of ten of a scale between which steps of 2 and 5 have a mark."""

OWN = "#F4C9AE"

FAR, MOST_INSETS, WORTH_IT = 5.0, 7, 0.6
"""Areas are far off beyond so many median distances of nearest neighbours; there are so many
insets at most; and they are worth it where the main part fills less than this of all."""


@dataclass(frozen=True)
class MapLayout:
    """Areas as they are drawn: in degrees east of the map's own west end, in frames.

    - ``frames``: The main frame first, then insets.
    """

    points: Floats
    rings: list[list[list[Floats]]] | None
    boxes: Floats
    frames: tuple[tuple[int, ...], ...]

    def box(self, members: Sequence[int]) -> tuple[float, float, float, float]:
        """Return the ends of a frame, with room around."""
        boxes = self.boxes[list(members)]
        west, south = boxes[:, :2].min(axis=0)
        east, north = boxes[:, 2:].max(axis=0)
        across, up = east - west, north - south
        least = 0.25 if self.rings is None else 0.01
        x = max(0.04 * across, least * max(across, up, 0.5) / 4)
        y = max(0.04 * up, least * max(across, up, 0.5) / 4)
        box = west - x, south - y, east + x, north + y
        return box if tuple(members) == self.frames[0] else inset_box(box)

    def ratio(self, members: Sequence[int]) -> float:
        """Return height over width of a frame on paper."""
        west, south, east, north = self.box(members)
        return float((north - south) * stretch(south, north) / (east - west))


def inset_box(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Return a box with more room around, as high as it is wide on paper, for an inset."""
    west, south, east, north = box
    tall = stretch(south, north)
    half = 0.65 * max(east - west, (north - south) * tall)
    x, y = (west + east) / 2, (south + north) / 2
    return x - half, y - half / tall, x + half, y + half / tall


def stretch(south: float, north: float) -> float:
    """Return how much longer a degree of latitude is than one of longitude, half way up."""
    return float(1 / max(np.cos(np.radians((south + north) / 2)), 0.1))


def map_layout(areas: Any) -> MapLayout:
    """Return how areas are drawn; refuse those without points."""
    if areas.points is None:
        raise InvalidInput(
            "A map needs shapes or points of the areas; add points: areas.with_points(…)."
        )
    west = areas.extent[0]
    points = eastward(areas.points, areas.points[:, 0].copy(), west)
    rings, boxes = None, np.column_stack([points, points])
    if areas.shapes is not None:
        rings = [
            [[eastward(r, polygon[0][:, 0].min(), west) for r in polygon] for polygon in shape]
            for shape in areas.shapes
        ]
        boxes = np.array([box_of(shape) for shape in rings])
    return MapLayout(points, rings, boxes, frames_of(areas.kilometres(), boxes))


def eastward(points: Floats, start: Any, west: float) -> Floats:
    """Return points, turned once around the globe where they start west of the map's end."""
    turned = np.array(points)
    turned[:, 0] += np.where(np.asarray(start) < west, 360.0, 0.0)
    return turned


def box_of(shape: list[list[Floats]]) -> Floats:
    """Return the west, south, east and north end of a shape."""
    points = np.concatenate([polygon[0] for polygon in shape])
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


def frames_of(kilometres: Floats, boxes: Floats) -> tuple[tuple[int, ...], ...]:
    """Return the members of the main frame and of insets.

    Areas hang together along the shortest tree that joins all; it is cut where a branch is far
    longer than most. The largest part is the main frame if it holds most areas and is small beside
    the whole, else all stay in one.
    """
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

    everything = tuple(range(len(boxes)))
    if len(boxes) < 4:
        return (everything,)
    tree = minimum_spanning_tree(kilometres + 1e-6).tocoo()
    near = tree.data <= FAR * np.median(tree.data)
    tree.data[~near] = 0
    tree.eliminate_zeros()
    count, part = connected_components(tree, directed=False)
    sizes = np.bincount(part)
    main = int(np.argmax(sizes))
    too_many = count - 1 > MOST_INSETS or sizes[main] * 2 <= len(boxes)
    if count == 1 or too_many or room(boxes[part == main]) > WORTH_IT * room(boxes):
        return (everything,)
    order = [main, *(i for i in dict.fromkeys(part.tolist()) if i != main)]
    return tuple(tuple(np.flatnonzero(part == i).tolist()) for i in order)


def room(boxes: Floats) -> float:
    """Return the area of the box around boxes, in square degrees."""
    across, up = boxes[:, 2:].max(axis=0) - boxes[:, :2].min(axis=0)
    return float(across * up)


@dataclass(frozen=True)
class Panel:
    """One map of a figure: a number for each area, and the colours it is drawn in.

    ``limits`` are the ends of the scale. An ``outlined`` area is not on it.
    """

    values: Floats
    label: str
    title: str
    limits: tuple[float, float]
    colours: str = "Blues"
    log: bool = False
    percent: bool = False
    outlined: int | None = None
    striped: tuple[int, ...] = ()


@house_style()
def map_figure(areas: Any, values: Floats | None, *, label: str) -> Figure:
    """Return a map of values, or of the areas with their names where they fit."""
    layout = map_layout(areas)
    if values is not None:
        return _panels_figure(areas, layout, [Panel(values, label, "", _limits_of(values))])
    figure = new_figure(height=_height_of(layout, WIDTH))
    parts = _draw_frames(figure, areas, layout, None)
    figure.draw_without_rendering()
    _write_names(figure, parts, areas, layout)
    return figure


@house_style()
def moves_figure(areas: Any, place: int, chances: Floats, *, lost: float) -> Figure:
    """Return where people of an area go; chances are NaN for areas that are never released."""
    others = np.delete(chances, place)
    moves = others[others > 0]
    stays = 0.0 if np.isnan(chances[place]) else float(chances[place])
    log = len(moves) > 0 and bool(moves.max() > LOG_FROM * moves.min())
    even = len(moves) > 0 and bool(moves.max() < EVEN * moves.min())
    top = float(moves.max()) * (EVEN if even else 1) if len(moves) else 1.0
    low = float(moves.min()) if log else 0.0
    name = shorten([areas.labels.values[place]], most=40)[0]
    missing = f", goes missing with {_share(lost)}" if lost else ""
    panel = Panel(
        np.where(np.arange(len(chances)) == place, np.nan, chances),
        "probability of moving here" + (" (log scale)" if log else ""),
        f"A person of {name} stays with probability {_share(stays)}{missing}",
        (low, top),
        log=log,
        percent=True,
        outlined=place,
    )
    return _panels_figure(areas, map_layout(areas), [panel])


@house_style()
def estimate_maps(
    areas: Any,
    values: Floats,
    half_widths: Floats,
    before: Floats | None,
    *,
    quantity: str,
    level: float,
) -> Figure:
    percent = quantity in ("probability", "share")
    known = np.isfinite(values) & np.isfinite(half_widths)
    noise = known & (half_widths >= np.abs(values))
    shown = [values] if before is None else [values, before]
    limits = _limits_of(*shown, np.zeros(int(percent)))
    striped = tuple(np.flatnonzero(noise).tolist())
    named = f"{100 * level:g} %"
    widths = (0.0, _limits_of(half_widths, np.zeros(1))[1])
    panels = [
        Panel(values, quantity, "Estimate", limits, percent=percent, striped=striped),
        Panel(
            half_widths, f"half of its {named} interval", "Uncertainty", widths, "Oranges",
            percent=percent,
        ),
    ]  # fmt: skip
    if before is not None:
        panels.insert(0, Panel(before, quantity, "Before", limits, percent=percent))
    note = (
        f"In {noise.sum()} of {known.sum()} areas{' (striped)' if striped else ''} half of the "
        f"{named} interval is as large as the estimate or larger."
    )
    return _panels_figure(areas, map_layout(areas), panels, note=note)


def _share(probability: float) -> str:
    """Return a probability as a percentage with three digits.

    >>> _share(0.4712), _share(0.00012345), _share(1.0), _share(0.99999)
    ('47.1 %', '0.0123 %', '100 %', 'more than 99.9 %')
    """
    text = f"{100 * probability:.3g} %"
    return "more than 99.9 %" if text == "100 %" and probability < 1 else text


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


def _height_of(layout: MapLayout, width: float) -> float:
    """Return the height of a map of some width, in inches, with its insets."""
    insets = 0.3 * width if len(layout.frames) > 1 else 0.0
    return float(np.clip(layout.ratio(layout.frames[0]) * 0.8 * width, 1.8, 6.5)) + insets + 0.5


def _panels_figure(
    areas: Any, layout: MapLayout, panels: Sequence[Panel], note: str = ""
) -> Figure:
    width = WIDTH * (1.0, 1.3, 1.5)[len(panels) - 1]
    height = 0.45 + _height_of(layout, width / len(panels))
    figure = new_figure(width, height + NOTE_HEIGHT * bool(note))
    maps: Any = figure
    if note:
        halves: Any = figure.subfigures(2, 1, height_ratios=(height, NOTE_HEIGHT))
        maps, below = halves
        below.text(0.01, 0.5, note, fontsize=8, va="center")
    parts = np.atleast_1d(maps.subfigures(1, len(panels)))
    for part, panel in zip(parts, panels, strict=True):
        _draw_frames(part, areas, layout, panel)
    return figure


def _draw_frames(part: Any, areas: Any, layout: MapLayout, panel: Panel | None) -> list[Axes]:
    """Draw the main frame and its insets into a figure, and the scale of colours below."""
    insets = layout.frames[1:]
    rows = 2 if insets else 1
    grid = part.add_gridspec(rows, max(len(insets), 1), height_ratios=(4, 1)[:rows])
    axes = [
        part.add_subplot(grid[0, :]),
        *(part.add_subplot(grid[1, i]) for i in range(len(insets))),
    ]
    for place, (own, members) in enumerate(zip(axes, layout.frames, strict=True)):
        _draw_areas(own, areas, layout, members, panel)
        if place:
            names = shorten([areas.labels.values[i] for i in members], most=14)
            own.set_title(names[0] + (f" +{len(names) - 1}" if len(names) > 1 else ""), fontsize=7,
                          fontweight="normal", loc="center")  # fmt: skip
            for spine in own.spines.values():
                spine.set(visible=True, color=PALE)
    if panel is not None:
        axes[0].set_title(panel.title)
        _draw_scale(part, axes, panel)
    return axes


def _norm_of(panel: Panel) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    return (LogNorm if panel.log else Normalize)(*panel.limits)


def _draw_scale(part: Any, axes: Sequence[Axes], panel: Panel) -> None:
    """Draw the scale of colours of a panel, with what its numbers mean."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.ticker import LogLocator

    bar = part.colorbar(
        ScalarMappable(_norm_of(panel), panel.colours),
        ax=list(axes),
        orientation="horizontal",
        shrink=0.75,
        aspect=32,
        pad=0.03,
    )
    bar.set_label(panel.label)
    bar.outline.set_visible(False)
    if panel.log:
        low, high = panel.limits
        decades = math.log10(high / low)
        subs = (1, 2, 5) if decades <= MOST_DECADES else (1,)
        bar.ax.xaxis.set_major_locator(LogLocator(subs=subs, numticks=7))
    if panel.percent:
        bar.ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
        bar.ax.xaxis.set_minor_formatter("")


def _draw_areas(
    axes: Axes, areas: Any, layout: MapLayout, members: Sequence[int], panel: Panel | None
) -> None:
    west, south, east, north = layout.box(members)
    axes.set(xlim=(west, east), ylim=(south, north), aspect=stretch(south, north))
    without_frame(axes)
    members = list(members)
    if layout.rings is None and areas.neighbours:
        _draw_borders(axes, areas, layout, set(members))
    if panel is None:
        _add(axes, layout, members, facecolor="#f2f2f2" if layout.rings else GREY)
        return
    numbers = panel.values[members]
    known = np.isfinite(numbers) & ((numbers > 0) | (not panel.log))
    coloured = [i for i, is_known in zip(members, known, strict=True) if is_known]
    zeros = [i for i in members if panel.log and panel.values[i] <= 0]
    own = [i for i in members if i == panel.outlined]
    without = [i for i in members if not np.isfinite(panel.values[i]) and i not in own]
    _add(axes, layout, without, facecolor="white", edgecolor=GREY, hatch=HATCH, label="no value")
    _add(axes, layout, zeros, facecolor="white", label="zero")
    colours: Any = {"cmap": panel.colours, "norm": _norm_of(panel)}
    _add(axes, layout, coloured, numbers[known], label="values", **colours)
    striped = [i for i in members if i in panel.striped]
    lines: Any = {"facecolor": "none", "edgecolor": GREY, "hatch": STRIPES, "linewidth": 0}
    _add(axes, layout, striped, label="striped", **lines)
    look: Any = {"facecolor": OWN, "edgecolor": VERMILION, "linewidth": 2.0, "zorder": 4}
    _add(axes, layout, own, label="outlined", **look)


def _add(
    axes: Axes, layout: MapLayout, members: Sequence[Any], values: Floats | None = None, **look: Any
) -> None:
    """Add areas as one collection, their shapes or dots, in the colours of values."""
    from matplotlib.collections import PathCollection

    if not members:
        return
    look = {"edgecolor": GREY, "linewidth": 0.5, **look}
    if layout.rings is None:
        x, y = layout.points[list(members)].T
        axes.scatter(x, y, s=_dot_size(layout), c=values, **{"zorder": 3, **look})
        return
    drawn = PathCollection([path_of(layout.rings[i]) for i in members], **look)
    drawn.set_array(values)
    axes.add_collection(drawn, autolim=False)


def _dot_size(layout: MapLayout) -> float:
    """Return the size of a dot in square points: smaller where there are many."""
    return float(np.clip(3000 / len(layout.points), 18, 120))


def path_of(polygons: Sequence[Sequence[Floats]]) -> Any:
    """Return polygons as one path: outlines against the clock, and holes with it."""
    from matplotlib.path import Path

    rings = [
        ring if (_turning(ring) > 0) == (place == 0) else ring[::-1]
        for polygon in polygons
        for place, ring in enumerate(polygon)
    ]
    codes = [
        np.array([Path.MOVETO, *[Path.LINETO] * (len(ring) - 2), Path.CLOSEPOLY]) for ring in rings
    ]
    return Path(np.concatenate(rings), np.concatenate(codes))


def _turning(ring: Floats) -> float:
    """Return the signed area of a ring, positive against the clock."""
    x, y = (ring - ring[0]).T
    return float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2)


def _draw_borders(axes: Axes, areas: Any, layout: MapLayout, members: set[int]) -> None:
    from matplotlib.collections import LineCollection

    pairs = [pair for pair in areas.neighbours if set(pair) <= members]
    lines = [layout.points[list(pair)] for pair in pairs]
    axes.add_collection(LineCollection(lines, colors=PALE, linewidths=1, zorder=1), autolim=False)


def _write_names(figure: Figure, parts: Sequence[Axes], areas: Any, layout: MapLayout) -> None:
    """Write the names of areas where they hide neither each other nor the edge."""
    names = shorten(areas.labels.values, most=18)
    sizes = (layout.boxes[:, 2:] - layout.boxes[:, :2]).prod(axis=1)
    away = _dot_size(layout) ** 0.5 / 2 + 1
    sides = [("center", 0)] if layout.rings else [("bottom", away), ("top", -away)]
    taken: list[Any] = []
    for i in sorted(layout.frames[0], key=lambda i: -sizes[i])[:MOST_NAMED]:
        for side, up in sides:
            text = parts[0].annotate(
                names[i], layout.points[i], (0, up), textcoords="offset points", ha="center",
                va=side, fontsize=6.5,
            )  # fmt: skip
            box = text.get_window_extent()
            within = figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
            if within and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()
