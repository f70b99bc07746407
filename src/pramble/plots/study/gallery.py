"""How the feasible sets are drawn."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pramble.plots.images import Picture
from pramble.plots.style import (
    BLACK,
    BLUE,
    GREY,
    VERMILION,
    WIDTH,
    house_style,
    new_figure,
    shared_legend,
    without_frame,
)

COLOURS = "cividis"
"""A colour map that grows lighter all the way and that colour-blind readers see alike."""

TOWARDS = np.array([0.80, -0.38, 0.47])
"""The direction from the bodies towards the reader."""


def screen(towards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two directions of the page, right and up, for a parallel projection."""
    right = np.cross([0.0, 0.0, 1.0], towards)
    up = np.cross(towards, right)
    return np.array([right / np.linalg.norm(right), up / np.linalg.norm(up)])


SCREEN = screen(TOWARDS)


def pictures(data: Any) -> tuple[Picture, ...]:
    """Draw the bodies in space, and the pair of coordinates that explains the threshold."""
    with house_style():
        return (
            Picture(
                "gallery-bodies",
                "Feasible keep probabilities under α-DP. Top: S = 3, where log(S−2) = 0, so every "
                "α is above the threshold. Bottom: the shadow of the S = 4 body on three of its "
                "coordinates, below (left) and above (right) log 2. Discs are vertices that "
                "Proposition 2 lists, squares the ones it misses, small ones lie behind or inside; "
                "lighter means more information; the star marks the maximum.",
                "Four polytopes in three dimensions with their vertices coloured by information.",
                draw_bodies(data.bodies),
            ),
            Picture(
                "gallery-pairs",
                "Two coordinates of S = 4. Grey: what constraints (A) and (B) leave of a pair on "
                "its own, with corners u. Hatched: what (C) cuts away, for every α. Blue: "
                "the pairs that really occur once the other coordinates must be feasible too. "
                "Up to e^α = 2 = S−2 the blue set never meets (C), "
                "so (C) is redundant; beyond it (C) cuts, and new vertices appear.",
                "Three plane polygons: pairs allowed by constraints and pairs that occur.",
                draw_pairs(data.pairs),
            ),
        )


def draw_bodies(bodies: Sequence[Any]) -> Figure:
    """Draw each body as a solid with its vertices."""
    rows = math.ceil(len(bodies) / 2)
    figure = new_figure(WIDTH, 3.35 * rows)
    for axes, body in zip(figure.subplots(rows, 2).flat, bodies, strict=True):
        draw_body(axes, body)
    return figure


def draw_body(axes: Axes, body: Any) -> None:
    """Draw one body in parallel projection: hidden edges dotted, vertices by information."""
    from matplotlib.patches import Polygon

    points = body.vertices[:, :3]
    flat = points @ SCREEN.T
    sides = faces(points)
    front = [outward(points, face) @ TOWARDS > 0 for face in sides]
    for face, visible in zip(sides, front, strict=True):
        corners = flat[face]
        if visible:
            axes.add_patch(Polygon(corners, facecolor="#dfe6ef", edgecolor=BLACK, linewidth=0.9))
        else:
            axes.add_patch(
                Polygon(corners, fill=False, edgecolor=GREY, linewidth=0.7, linestyle=":", zorder=2)
            )
    seen = {int(i) for face, visible in zip(sides, front, strict=True) if visible for i in face}
    visible = np.isin(np.arange(len(points)), list(seen))
    shown = draw_vertices(axes, body, visible=visible, flat=flat)
    axes.plot(*flat[body.best], "*", ms=15, color=VERMILION, mec=BLACK, mew=0.7, zorder=6)
    axes.annotate(
        body.best_name,
        flat[body.best],
        xytext=(-9, -4),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8,
        zorder=7,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8},
    )
    draw_tripod(axes, flat)
    finish_axes(axes, body)
    bar = axes.figure.colorbar(shown, ax=axes, shrink=0.62, pad=0.02, aspect=16)
    bar.ax.set_title("nats", fontsize=7.5, loc="left", fontweight="normal")
    bar.ax.tick_params(labelsize=7.5)


def draw_vertices(
    axes: Axes, body: Any, *, visible: NDArray[np.bool_], flat: NDArray[np.float64]
) -> Any:
    """Draw the vertices: discs where Proposition 2 lists them, squares where not; hidden small."""
    shown = None
    for seen in (False, True):
        for listed, marker in ((True, "o"), (False, "s")):
            chosen = (body.listed == listed) & (visible == seen)
            shown = axes.scatter(
                flat[chosen, 0],
                flat[chosen, 1],
                c=body.information[chosen],
                cmap=COLOURS,
                vmin=body.information.min(),
                vmax=body.information.max(),
                marker=marker,
                s=44 if seen else 14,
                edgecolor=BLACK if seen else GREY,
                linewidth=0.7,
                zorder=5 if seen else 3,
            )
    return shown


def draw_tripod(axes: Axes, flat: NDArray[np.float64]) -> None:
    """Draw the three directions as arrows from a corner of the panel."""
    low, high = flat.min(axis=0), flat.max(axis=0)
    length = 0.2 * float((high - low).max())
    origin = np.array([high[0] - 0.45 * length, high[1] - 0.85 * length])
    for direction, name in zip(SCREEN.T, ("q₁", "q₂", "q₃"), strict=True):
        axes.arrow(
            *origin,
            *(length * direction),
            color=BLACK,
            linewidth=0.8,
            head_width=0.16 * length,
            length_includes_head=True,
        )
        x, y = origin + 1.35 * length * direction
        axes.text(x, y, name, ha="center", va="center", fontsize=8)


def finish_axes(axes: Axes, body: Any) -> None:
    """Label a body."""
    S, alpha = len(body.prior), math.log(body.a)
    side = "≤" if body.below else ">"
    shadow = " (shadow)" if S > 3 else ""
    axes.set_title(
        f"S = {S}{shadow}, α = {alpha:.2f} {side} log {S - 2}: {len(body.vertices)} vertices",
        loc="center",
        fontsize=8.5,
    )
    without_frame(axes)
    axes.set_aspect("equal")
    axes.margins(0.08)


def outward(points: NDArray[np.float64], face: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the normal of a face that points away from the body."""
    corner, one, other = points[face[:3]]
    normal = np.cross(one - corner, other - corner)
    return normal if normal @ (corner - points.mean(axis=0)) > 0 else -normal


def faces(points: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Return the faces of the convex hull of points in space, each as indices in order around."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    planes = np.unique(hull.equations.round(9), axis=0)
    found = []
    for plane in planes:
        on = np.flatnonzero(np.abs(points @ plane[:3] + plane[3]) < 1e-7)
        corners = points[on]
        across = np.linalg.svd(corners - corners.mean(axis=0))[2][:2]
        flat = (corners - corners.mean(axis=0)) @ across.T
        rim = ConvexHull(flat).vertices
        found.append(on[rim])
    return found


def draw_pairs(pairs: Sequence[Any]) -> Figure:
    """Draw the polygons of two coordinates."""
    figure = new_figure(WIDTH, 2.9)
    for axes, pair in zip(np.atleast_1d(figure.subplots(1, len(pairs))), pairs, strict=True):
        draw_pair(axes, pair)
    shared_legend(figure, axes)
    return figure


def draw_pair(axes: Axes, pair: Any) -> None:
    axes.fill(
        *pair.without_third.T,
        facecolor="white",
        edgecolor=GREY,
        hatch="////",
        linewidth=1.0,
        label="(A) and (B) only",
    )
    axes.fill(*pair.with_third.T, facecolor="#e6e6e6", edgecolor=GREY, label="with (C) too")
    axes.fill(
        *pair.possible.T, facecolor=BLUE, alpha=0.35, edgecolor="none", label="pairs that occur"
    )
    axes.plot(*np.vstack([pair.possible, pair.possible[:1]]).T, color=BLUE, marker="o")
    place = "=" if pair.a == 2 else "<" if pair.a < 2 else ">"
    axes.set_title(f"e^α = {float(pair.a):g} {place} S − 2", loc="center")
    axes.set_xlabel("q₁")
    axes.set_ylabel("q₂")
    axes.set_aspect("equal")
