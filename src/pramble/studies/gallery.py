"""The feasible set drawn: its vertices, their information, and why log(S − 2) is the threshold."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pramble.studies.family import in_words, information
from pramble.studies.study import Spread, Table, headings, in_turn
from pramble.studies.vertices import cut, exact_vertices, listed_vertices, privacy_rows, unit_box
from pramble.values import Floats, value


@dataclass(frozen=True)
class Config:
    """Priors for three and for four categories, and the values of e^α that are drawn."""

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
        """The vertex with most information."""
        return int(self.information.argmax())

    @property
    def best_name(self) -> str:
        """The best vertex by the values of Proposition 2."""
        return in_words(self.vertices[self.best], math.log(self.a), joint=", ", every="all")


@value
class Pair:
    """Two of four coordinates: what each kind of constraint leaves, and what is really possible."""

    a: Fraction
    without_third: Floats
    with_third: Floats
    possible: Floats


@value
class Gallery:
    """All bodies and pairs."""

    bodies: tuple[Body, ...]
    pairs: tuple[Pair, ...]


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> Gallery:  # noqa: ARG001 (every study has one form)
    """List the vertices that are drawn."""
    cases = [(config.three, a) for a in config.for_three]
    cases += [(config.four, a) for a in config.for_four]
    return Gallery(
        bodies=tuple(each(body, cases)),
        pairs=tuple(pair(a) for a in config.pairs),
    )


def body(case: tuple[tuple[float, ...], Fraction]) -> Body:
    """List the vertices for one prior and one e^α."""
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
    """Return the polygon of a pair (q₁, q₂) under (A) and (B), under (C) too, and its true one."""
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
    """Order the corners of a convex polygon by angle."""
    corners = np.array(points)
    centred = corners - corners.mean(axis=0)
    return np.asarray(corners[np.argsort(np.arctan2(centred[:, 1], centred[:, 0]))])


def outline(points: Floats) -> Floats:
    """Return the convex hull of points in the plane."""
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).vertices])


def tables(data: Gallery) -> tuple[Table, ...]:
    """Show the bodies in numbers."""
    return (
        Table(
            "gallery",
            "The feasible sets drawn above.",
            headings(
                "S | e^α | α:.4f | log(S−2):.4f | vertices | of them in Proposition 2 | "
                "best vertex:text | its information:.6f"
            ),
            tuple(
                (
                    len(b.prior),
                    b.a,
                    math.log(b.a),
                    math.log(len(b.prior) - 2),
                    len(b.vertices),
                    int(b.listed.sum()),
                    ", ".join(f"{value:.4f}" for value in b.vertices[b.best]),
                    float(b.information[b.best]),
                )
                for b in data.bodies
            ),
        ),
    )
