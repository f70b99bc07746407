"""The feasible set drawn: its vertices, their information, and why log(S − 2) is the threshold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
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
from pramble.values import Floats, value
from pramble_study.family import (
    cut,
    exact_vertices,
    in_words,
    information,
    listed_vertices,
    privacy_rows,
    unit_box,
)
from pramble_study.study import Spread, Table, headings, in_turn


@dataclass(frozen=True)
class Config:
    three: tuple[float, ...] = (0.5, 0.3, 0.2)
    four: tuple[float, ...] = (0.4, 0.3, 0.2, 0.1)
    for_three: tuple[Fraction, ...] = (Fraction(3, 2), Fraction(3))
    for_four: tuple[Fraction, ...] = (Fraction(3, 2), Fraction(5, 2))
    pairs: tuple[Fraction, ...] = (Fraction(3, 2), Fraction(2), Fraction(5, 2))


@value
class Body:
    """The feasible set for one prior and one e^α: its vertices, and the information at each."""

    prior: tuple[float, ...]
    a: Fraction
    vertices: Floats
    information: Floats
    listed: NDArray[np.bool_]

    @property
    def below(self) -> bool:
        """Whether α ≤ log(S − 2), where Proposition 2 holds."""
        return self.a <= len(self.prior) - 2

    @property
    def best(self) -> int:
        return int(self.information.argmax())

    @property
    def best_name(self) -> str:
        return in_words(self.vertices[self.best], math.log(self.a), joint=", ", every="all")


@value
class Pair:
    a: Fraction
    without_third: Floats
    with_third: Floats
    possible: Floats


@value
class Gallery:
    bodies: tuple[Body, ...]
    pairs: tuple[Pair, ...]


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> Gallery:  # noqa: ARG001 (every study has one form)
    cases = [(config.three, a) for a in config.for_three]
    cases += [(config.four, a) for a in config.for_four]
    return Gallery(bodies=tuple(each(body, cases)), pairs=tuple(pair(a) for a in config.pairs))


def body(case: tuple[tuple[float, ...], Fraction]) -> Body:
    prior, a = case
    exact = sorted(exact_vertices(len(prior), a), reverse=True)
    vertices = np.array(exact, dtype=np.float64)
    listed = listed_vertices(len(prior), a)
    return Body(
        prior=prior,
        a=a,
        vertices=vertices,
        information=information(np.array(prior), vertices),
        listed=np.array([q in listed for q in exact]),
    )


def pair(a: Fraction, S: int = 4) -> Pair:
    all_rows = privacy_rows(S, a)
    first_two = [row for row in all_rows if not any(row[3:])]
    polygons = []
    for rows in ([row for i, row in enumerate(first_two) if i % 3 < 2], first_two):
        corners = unit_box(2)
        for position, row in enumerate(rows):
            corners = cut(corners, row[:3], bit=4 + position, S=2)
        polygons.append(
            around([(c.point[1] / c.point[0], c.point[2] / c.point[0]) for c in corners])
        )
    shadow = np.array(sorted(exact_vertices(S, a)), dtype=np.float64)[:, :2]
    return Pair(a, polygons[0], polygons[1], outline(shadow))


def around(points: list[tuple[float, float]]) -> Floats:
    corners = np.array(points)
    centred = corners - corners.mean(axis=0)
    return np.asarray(corners[np.argsort(np.arctan2(centred[:, 1], centred[:, 0]))])


def outline(points: Floats) -> Floats:
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).vertices])


def tables(data: Gallery) -> tuple[Table, ...]:
    return (
        Table(
            "gallery",
            "The feasible sets drawn above.",
            headings(
                "S | e^α | α:.4f | log(S−2):.4f | vertices | of them in Proposition 2 | "
                "best vertex:text | its information:.6f"
            ),
            tuple(
                (len(b.prior), b.a, math.log(b.a), math.log(len(b.prior) - 2), len(b.vertices),
                 int(b.listed.sum()), ", ".join(f"{value:.4f}" for value in b.vertices[b.best]),
                 float(b.information[b.best]))
                for b in data.bodies
            ),
        ),
    )  # fmt: skip


COLOURS = "cividis"
"""A colour map that grows lighter all the way and that colour-blind readers see alike."""

VIEWING = np.array([0.80, -0.38, 0.47])
"""The direction from the bodies towards the reader."""


def screen(viewing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two directions of the page, right and up, for a parallel projection."""
    right = np.cross([0.0, 0.0, 1.0], viewing)
    up = np.cross(viewing, right)
    return np.array([right / np.linalg.norm(right), up / np.linalg.norm(up)])


SCREEN = screen(VIEWING)


def pictures(data: Gallery) -> tuple[Picture, ...]:
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


def draw_bodies(bodies: Sequence[Body]) -> Figure:
    rows = math.ceil(len(bodies) / 2)
    figure = new_figure(WIDTH, 3.35 * rows)
    for axes, body in zip(figure.subplots(rows, 2).flat, bodies, strict=True):
        draw_body(axes, body)
    return figure


def draw_body(axes: Axes, body: Body) -> None:
    """Draw one body in parallel projection: hidden edges dotted, vertices by information."""
    from matplotlib.patches import Polygon

    points = body.vertices[:, :3]
    flat = points @ SCREEN.T
    sides = faces(points)
    front = [outward(points, face) @ VIEWING > 0 for face in sides]
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
    axes: Axes, body: Body, *, visible: NDArray[np.bool_], flat: NDArray[np.float64]
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


def finish_axes(axes: Axes, body: Body) -> None:
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


def draw_pairs(pairs: Sequence[Pair]) -> Figure:
    figure = new_figure(WIDTH, 2.9)
    for axes, pair in zip(np.atleast_1d(figure.subplots(1, len(pairs))), pairs, strict=True):
        draw_pair(axes, pair)
    shared_legend(figure, axes)
    return figure


def draw_pair(axes: Axes, pair: Pair) -> None:
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
