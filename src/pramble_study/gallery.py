"""The feasible set: its vertices, their information, and why log(S − 2) is the threshold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pramble.plots.images import Picture
from pramble.plots.style import BLUE, GREY, WIDTH, house_style, new_figure
from pramble.values import Floats, frozen
from pramble_study.axes import shared_legend
from pramble_study.family import (
    cut,
    exact_vertices,
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


@frozen
class Body:
    """The feasible set for one prior and one e^α: its vertices, and the information at each."""

    prior: tuple[float, ...]
    a: Fraction
    vertices: Floats
    information: Floats
    listed: NDArray[np.bool_]

    @property
    def best(self) -> int:
        return int(self.information.argmax())


@frozen
class Pair:
    a: Fraction
    without_third: Floats
    with_third: Floats
    possible: Floats


@frozen
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
            "Feasible sets of three and four categories.",
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


def pictures(data: Gallery) -> tuple[Picture, ...]:
    with house_style():
        return (
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
