r"""How far apart categories are, for promises that hide near values better than far ones.

A distance is a connected graph whose edges have lengths; two categories are as far apart as the
shortest way between them. A mechanism keeps α per unit of distance iff it does so along every edge,

.. math:: M_{xz} \le e^{\alpha\, l(x,x')} M_{x'z} \quad\text{for every edge } (x, x'),

because ratios multiply along a way. With one edge of length 1 between any two it is α-differential
privacy.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pramble.data.labels import Label, Labels, as_labels, label_key
from pramble.errors import InvalidInput
from pramble.shown import Display, Facts, number
from pramble.values import Floats, Integers, frozen, read_only

# Lengths that a promise may have.
SHORTEST, LONGEST = 1e-9, 1e9


@frozen(eq=False, repr=False)
class Distance(Display):
    r"""Distances between the categories of a column: a connected graph with lengths.

    Make one with :meth:`path`, :meth:`graph`, :meth:`from_matrix` or :meth:`together`.

    Attributes
    ----------
    size : int
        The number of categories, S.
    pairs : (E, 2) array of int64
        The edges, as positions of categories.
    lengths : (E,) array of float64
        How long each edge is.
    unit : str
        What lengths are counted in, such as ``"step"``.
    parts : tuple of Distance
        The columns whose distances it sums, where it does.
    labels : Labels, optional
        The categories that the positions stand for; see :meth:`named`.

    Examples
    --------
    >>> import pramble
    >>> ages = pramble.Distance.path(4)
    >>> ages.matrix[0]
    array([0., 1., 2., 3.])
    >>> m = pramble.geometric(4, 0.5)
    >>> c = pramble.certify(m, distance=ages)
    >>> c.satisfies(0.5), round(c.alpha, 6)
    (True, 0.5)
    """

    size: int
    pairs: Integers
    lengths: Floats
    unit: str = "unit"
    parts: tuple["Distance", ...] = ()
    labels: Labels | None = None

    def __post_init__(self) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        pairs = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)
        lengths = np.array(self.lengths, dtype=np.float64)
        if lengths.shape != (len(pairs),):
            raise InvalidInput(f"{len(pairs)} pairs need as many lengths; found {lengths.shape}.")
        if len(pairs) and not (pairs.min() >= 0 and pairs.max() < self.size):
            raise InvalidInput(f"Pairs are positions in 0..{self.size - 1}; found others.")
        wrong = ~((lengths >= SHORTEST) & (lengths <= LONGEST)) | (pairs[:, 0] == pairs[:, 1])
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise InvalidInput(
                f"Two different categories must be {SHORTEST:g} to {LONGEST:g} apart; those at "
                f"positions {pairs[k, 0]} and {pairs[k, 1]} are {lengths[k]:g}. Merge categories "
                "that need not be told apart."
            )
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "lengths", lengths)
        graph = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(self.size, self.size))
        parts, part = connected_components(graph, directed=False)
        if parts > 1:
            other = int(np.flatnonzero(part != part[0])[0])
            raise InvalidInput(
                f"Categories at positions 0 and {other} are not joined by any way, so that nothing "
                "would be promised about them. Add a pair that joins them."
            )

    @classmethod
    def path(cls, size: int, lengths: ArrayLike | None = None, *, unit: str = "step") -> "Distance":
        r"""Return the distance on a scale: from each category to the next, one step or a length."""
        first = np.arange(size - 1)
        found = np.ones(size - 1) if lengths is None else np.asarray(lengths, dtype=np.float64)
        return cls(size, np.column_stack([first, first + 1]), found, unit)

    @classmethod
    def graph(
        cls,
        categories: int | Iterable[Label],
        neighbours: Iterable[tuple[Label, Label]],
        *,
        unit: str = "hop",
    ) -> "Distance":
        """Return the number of steps from neighbour to neighbour, named by their labels."""
        labels = as_labels(categories)
        place = {label_key(label): i for i, label in enumerate(labels)}
        pairs = []
        for pair in neighbours:
            unknown = [label for label in pair if label_key(label) not in place]
            if unknown or len(pair) != 2:
                raise InvalidInput(
                    f"Neighbours are pairs of categories; {pair!r} is none"
                    + (f", for {unknown[0]!r} is no category." if unknown else ".")
                )
            pairs.append([place[label_key(label)] for label in pair])
        ends = np.array(pairs, dtype=np.int64)
        return cls(len(labels), ends, np.ones(len(pairs)), unit, labels=labels)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, *, unit: str = "unit") -> "Distance":
        """Return distances given for every two categories; infinite: only by way of others."""
        D = np.array(matrix, dtype=np.float64)
        if D.ndim != 2 or D.shape[0] != D.shape[1] or np.isnan(D).any():
            raise InvalidInput(f"Distances are a square matrix of numbers; found shape {D.shape}.")
        if (D != D.T).any() or np.diagonal(D).any():
            raise InvalidInput("Distances must be symmetric, and zero from a category to itself.")
        pairs = np.column_stack(np.triu_indices(len(D), 1))
        lengths = D[pairs[:, 0], pairs[:, 1]]
        given = np.isfinite(lengths)
        return cls(len(D), pairs[given], lengths[given], unit)

    @classmethod
    def together(cls, distances: Sequence["Distance"]) -> "Distance":
        """Return the sum over several columns, for cells in the order of their product.

        Only one column changes along an edge: the graph is the product of the columns' graphs.
        """
        sizes = [one.size for one in distances]
        cells = np.arange(int(np.prod(sizes))).reshape(sizes)
        pairs, lengths = [], []
        for axis, one in enumerate(distances):
            lines = np.moveaxis(cells, axis, 0).reshape(one.size, -1)
            ends = lines[one.pairs]
            pairs.append(np.moveaxis(ends, 1, 2).reshape(-1, 2))
            lengths.append(np.repeat(one.lengths, lines.shape[1]))
        units = {one.unit for one in distances}
        unit = units.pop() if len(units) == 1 else "unit"
        edges = np.vstack(pairs), np.concatenate(lengths)
        parts = tuple(cls(d.size, d.pairs, d.lengths, d.unit, d.parts) for d in distances)
        return cls(cells.size, *edges, unit, parts)

    @classmethod
    def equal(cls, size: int) -> "Distance":
        """Return the distance of plain α: any two categories are one unit apart."""
        pairs = np.column_stack(np.triu_indices(size, 1))
        return cls(size, pairs, np.ones(len(pairs)), "unit")

    @cached_property
    def matrix(self) -> Floats:
        """The distance between any two categories: the shortest way."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import shortest_path

        # A sparse array would add up the lengths of edges that are given twice.
        first, second = self.pairs.T
        order = np.lexsort((self.lengths, second, first))
        shortest = order[np.unique(self.pairs[order], axis=0, return_index=True)[1]]
        graph = coo_array(
            (self.lengths[shortest], (first[shortest], second[shortest])),
            shape=(self.size, self.size),
        )
        return read_only(shortest_path(graph.tocsr(), directed=False))

    @property
    def diameter(self) -> float:
        """The largest distance between two categories."""
        return float(self.matrix.max())

    @property
    def is_path(self) -> bool:
        """Whether edges join each category with the next, and no others."""
        first = np.arange(self.size - 1)
        return bool(np.array_equal(self.pairs, np.column_stack([first, first + 1])))

    def at_most(self, most: float) -> "Distance":
        """Return the distance with everything farther apart at ``most``: far values stay hidden.

        >>> Distance.path(5).at_most(2).matrix[0]
        array([0., 1., 2., 2., 2.])
        """
        first, second = np.nonzero(np.triu(self.matrix > most))
        return Distance(
            self.size,
            np.vstack([self.pairs, np.column_stack([first, second])]),
            np.concatenate([np.minimum(self.lengths, most), np.full(len(first), float(most))]),
            self.unit,
            labels=self.labels,
        )

    def named(self, categories: int | Iterable[Label]) -> "Distance":
        """Return the distance with the names of its categories: their order then matters no more.

        >>> as_distance(Distance.path(3).named(["low", "mid", "high"]),
        ...             as_labels(["high", "low", "mid"])).matrix[0]
        array([0., 2., 1.])
        """
        labels = as_labels(categories)
        if len(labels) != self.size:
            raise InvalidInput(f"{self.size} categories need as many names; found {len(labels)}.")
        return Distance(self.size, self.pairs, self.lengths, self.unit, self.parts, labels)

    def in_order_of(self, labels: Labels) -> "Distance":
        """Return the distance for its named categories in another order."""
        if self.labels is None or self.labels == labels:
            return self
        place = {label_key(label): i for i, label in enumerate(labels)}
        unknown = [label for label in self.labels if label_key(label) not in place]
        if unknown:
            raise InvalidInput(f"The distance names {unknown[0]!r}, which is no category.")
        at = np.array([place[label_key(label)] for label in self.labels], dtype=np.int64)
        return Distance(self.size, at[self.pairs], self.lengths, self.unit, (), labels)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document; equal steps on a scale take one number."""
        if self.is_path and (self.lengths == 1).all():
            return {"path": self.size, "unit": self.unit}
        edges = {"pairs": self.pairs.tolist(), "lengths": self.lengths.tolist()}
        return {"size": self.size, "unit": self.unit, **edges}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Distance":
        """Return the distance of a document; refuse anything else.

        >>> Distance.from_json(Distance.path(3).to_json()) == Distance.path(3)
        True
        """
        known = ({"path", "unit"}, {"size", "unit", "pairs", "lengths"})
        if not isinstance(document, Mapping) or set(document) not in known:
            raise InvalidInput("A distance has path and unit, or size, unit, pairs and lengths.")
        size = document.get("path", document.get("size"))
        if type(size) is not int or size < 2 or not isinstance(document["unit"], str):
            raise InvalidInput("A distance is for two or more categories, in a unit.")
        if "path" in document:
            return cls.path(size, unit=document["unit"])
        try:
            return cls(size, document["pairs"], document["lengths"], document["unit"])
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput("The pairs and lengths of a distance are numbers.") from None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Distance)
            and (self.size, self.unit) == (other.size, other.unit)
            and np.array_equal(self.pairs, other.pairs)
            and np.array_equal(self.lengths, other.lengths)
        )

    def __hash__(self) -> int:
        return hash((self.size, self.unit, len(self.pairs)))

    def shown(self) -> Facts:
        """Return how many categories there are, and how far apart."""
        facts = [
            ("categories", str(self.size)),
            ("edges", f"{len(self.pairs):,}"),
            ("farthest apart", f"{number(self.diameter)} {self.unit}"),
        ]
        return Facts("Distance", facts)


def as_distance(given: Any, labels: Labels) -> Distance:
    """Return the distance between some categories from what a caller may write.

    >>> as_distance("path", as_labels(3)).diameter
    2.0
    """
    if isinstance(given, str):
        if given != "path":
            raise InvalidInput(
                f'distance is "path", a square matrix or a pramble.Distance; found {given!r}.'
            )
        return Distance.path(len(labels))
    found = given if isinstance(given, Distance) else Distance.from_matrix(given)
    if found.size != len(labels):
        raise InvalidInput(
            f"A distance between {found.size} categories does not fit {len(labels)} of them."
        )
    return found.in_order_of(labels)
