r"""All wanted tables as one linear function of all their parts, flat, with its adjoint.

Every table is rebuilt from its parts (:mod:`pramble.mechanisms.table_plan`): stacked over the
wanted tables, :math:`t = t_\emptyset + B a`, with a the parts one after another and
:math:`t_\emptyset` the number of records spread evenly. A part is centred along each of its axes;
P is the projection that does so.

How far tables are from the unbiased ones is measured in every wanted table *and all tables within
it*, each in units of its noise :math:`\sigma_S`. Parts of different columns are orthogonal in every
table, so this is a sum over parts,

.. math:: \sum_T \sum_{S \subseteq T} \frac{\lVert S(a) - S(r) \rVert^2}{\sigma_S^2}
          = \sum_A w_A \lVert a_A - r_A \rVert^2, \qquad
          w_A = \sum_T \sum_{A \subseteq S \subseteq T} \frac{1}{\sigma_S^2}
          \prod_{j \in S \setminus A} \frac{1}{n_j} ,

and the eigenvalues of :math:`B P W^{-1} B^\top`, in units of the noise of the cells of each wanted
table, are known: zero, and :math:`\frac{1}{w_A} \sum_T \sigma_T^{-2} \prod_{j \in T \setminus A}
1/n_j \le 1` for each part.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from pramble.errors import InvalidData
from pramble.limits import MOST_NEAREST_ENTRIES
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.table_plan import Columns, TablePlan, subsets
from pramble.values import Floats, Integers, value

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Shape = tuple[int, ...]


@value(eq=False)
class Programme:
    """The wanted tables of a plan as a function of their parts.

    Attributes
    ----------
    plan : TablePlan
    tables : tuple of tuples of columns
        The wanted tables that lie within no other one.
    rebuild : sparse (cells, entries of parts) array
        The B above.
    """

    plan: TablePlan
    tables: tuple[Columns, ...]
    rebuild: "csr_array"

    @cached_property
    def weights(self) -> Floats:
        plan = self.plan
        found = dict.fromkeys(plan.parts, 0.0)
        known: dict[Columns, float] = {}
        for table in self.tables:
            for within in subsets(table):
                if not within:
                    continue
                if within not in known:
                    known[within] = noise_deviation(plan, within) ** -2 / plan.cells(within)
                for part in subsets(within):
                    if part:
                        found[part] += known[within] * plan.cells(part)
        return np.concatenate([np.full(plan.cells(part), found[part]) for part in plan.parts])

    @cached_property
    def deviations(self) -> Floats:
        plan = self.plan
        own = [np.full(plan.cells(table), noise_deviation(plan, table)) for table in self.tables]
        return np.concatenate(own)

    @cached_property
    def even(self) -> Floats:
        own = [self.plan.cells(table) for table in self.tables]
        return np.concatenate([np.full(cells, 1 / cells) for cells in own])

    @cached_property
    def lines(self) -> list[tuple[Integers, Floats]]:
        """For each axis the line along it that each entry lies on, and one over its length.

        Parts with fewer axes have zero in its place: nothing is then subtracted from them.
        """
        shapes = [self.plan.shape(part) for part in self.plan.parts]
        return [lines_along(shapes, axis) for axis in range(max(map(len, shapes)))]

    def centred(self, entries: Floats) -> Floats:
        """Return the entries of parts less their means along every axis."""
        for line, share in self.lines:
            means = np.bincount(line, weights=entries, minlength=len(share)) * share
            entries = entries - means[line]
        return entries

    def adjoint(self, cells: Floats) -> Floats:
        return self.centred(np.asarray(self.rebuild.T @ cells))

    def flat(self, parts: Mapping[Columns, Floats]) -> Floats:
        return np.concatenate([np.ravel(parts[part]) for part in self.plan.parts])

    def by_part(self, entries: Floats) -> dict[Columns, Floats]:
        plan = self.plan
        ends = list(accumulate(plan.cells(part) for part in plan.parts))
        pieces = np.split(entries, ends[:-1])
        return {
            part: piece.reshape(plan.shape(part))
            for part, piece in zip(plan.parts, pieces, strict=True)
        }


def noise_deviation(plan: TablePlan, table: Columns) -> float:
    variance = plan.cell_variance(table)
    if not plan.total_is_public:
        variance -= 1 / (plan.precision[()] * plan.cells(table) ** 2)
    return math.sqrt(variance)


def largest_tables(tables: Sequence[Columns]) -> tuple[Columns, ...]:
    """Return the tables that lie within no other one, each once.

    >>> largest_tables([("a",), ("a", "b"), ("c",)])
    (('a', 'b'), ('c',))
    """
    within = {part for table in tables for part in subsets(table) if part != table}
    return tuple(table for table in dict.fromkeys(tables) if table not in within)


def programme_of(measured: Measured) -> Programme:
    """Return all wanted tables as a function of their parts; refuse too many."""
    from scipy.sparse import csr_array

    plan = measured.plan
    tables = largest_tables(plan.tables)
    entries = sum(plan.cells(table) * (2 ** len(table) - 1) for table in tables)
    if entries > MOST_NEAREST_ENTRIES:
        raise InvalidData(
            f"The nearest tables without negative cells take {entries:,} numbers, at most "
            f"{MOST_NEAREST_ENTRIES:,}; take method='inverse', which needs none, for columns that "
            "were measured together."
        )
    starts = dict(
        zip(plan.parts, accumulate((plan.cells(part) for part in plan.parts), initial=0),
            strict=False)
    )  # fmt: skip
    known: dict[tuple[Shape, tuple[bool, ...]], Integers] = {}
    indices, data, sizes = [], [], []
    for table in tables:
        shape, cells = plan.shape(table), plan.cells(table)
        parts = [part for part in subsets(table) if part]
        own = np.empty((cells, len(parts)), dtype=np.int64)
        for column, part in enumerate(parts):
            key = shape, tuple(name in part for name in table)
            if key not in known:
                known[key] = places_within(*key)
            own[:, column] = known[key] + starts[part]
        indices.append(own.ravel())
        data.append(np.tile([plan.cells(part) / cells for part in parts], cells))
        sizes.append(np.full(cells, len(parts)))
    ends = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    whole = (int(ends.size) - 1, sum(plan.cells(part) for part in plan.parts))
    rebuild = csr_array((np.concatenate(data), np.concatenate(indices), ends), shape=whole)
    return Programme(plan, tables, rebuild)


def places_within(shape: Shape, inside: tuple[bool, ...]) -> Integers:
    """Return for each cell of a table its place in the table of some of the axes.

    >>> places_within((2, 3), (False, True)).tolist()
    [0, 1, 2, 0, 1, 2]
    """
    own = [size if kept else 1 for size, kept in zip(shape, inside, strict=True)]
    places = np.arange(math.prod(own)).reshape(own)
    return np.asarray(np.broadcast_to(places, shape).ravel())


def lines_along(shapes: Sequence[Shape], axis: int) -> tuple[Integers, Floats]:
    """Return the line along an axis of every entry of some arrays, and one over its length."""
    known: dict[Shape, Integers] = {}
    lines, shares, start = [], [], 0
    for shape in shapes:
        if len(shape) <= axis:  # one line for the whole array, from which nothing is subtracted
            lines.append(np.full(math.prod(shape), start))
            shares.append(np.zeros(1))
            start += 1
            continue
        if shape not in known:
            known[shape] = places_within(shape, tuple(j != axis for j in range(len(shape))))
        many = math.prod(shape) // shape[axis]
        lines.append(known[shape] + start)
        shares.append(np.full(many, 1 / shape[axis]))
        start += many
    return np.concatenate(lines), np.concatenate(shares)
