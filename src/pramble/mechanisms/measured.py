"""Protected tables: what was measured once, with noise, of a confidential file."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pramble.errors import InvalidData
from pramble.mechanisms.measured_table import refuse_far, residuals_in, tidy_table
from pramble.mechanisms.table_plan import Columns, TablePlan, subsets
from pramble.shown import Display, Facts
from pramble.values import Floats, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Whole numbers: int64, or Python's own where those would not do.
Exact = NDArray[Any]


@value(eq=False, repr=False)
class Measured(Display):
    r"""The noisy parts of all wanted tables; every number in it may be published.

    Attributes
    ----------
    plan : TablePlan
    total : int
        The number of records: public, or noisy where a person may have several rows.
    parts : mapping from tuple of columns to array of whole numbers
        :math:`r_A N \prod_{j \in A} n_j` with :math:`N = \prod_{j\in A} n_j`, exactly, an axis for
        each column; times :math:`2^{16}` where it is the mean of two measurements.

    Notes
    -----
    `pramble.measure` makes one; `pramble.estimate` and `pramble.synthesize` take it.

    Examples
    --------
    >>> import pramble
    >>> d = pramble.design_tables({"sex": ["f", "m"], "ill": ["no", "yes"]}, 1.0, 1e-6)
    >>> people = {"sex": ["f", "m", "m"] * 1000, "ill": ["no", "no", "yes"] * 1000}
    >>> m = pramble.measure(people, d, key=bytes(32))  # an example; keep yours secret
    >>> m.table(["sex"]).round().tolist(), m.total
    ([993.0, 2007.0], 3000)
    """

    plan: TablePlan
    total: int
    parts: Mapping[Columns, Exact]

    def __post_init__(self) -> None:
        if set(self.parts) != set(self.plan.parts):
            raise InvalidData("Protected tables have the parts that their plan states.")
        exact = {part: as_exact(numbers) for part, numbers in self.parts.items()}
        object.__setattr__(self, "parts", exact)
        for part, numbers in exact.items():
            if numbers.shape != self.plan.shape(part):
                raise InvalidData(f"The part of {', '.join(part)} has another shape than its plan.")
            if any(np.any(numbers.sum(axis=axis)) for axis in range(numbers.ndim)):
                raise InvalidData(f"The part of {', '.join(part)} does not sum to zero.")

    @property
    def columns(self) -> Columns:
        """Every column, in order."""
        return self.plan.columns

    @cached_property
    def effects(self) -> dict[Columns, Floats]:
        """The parts as floats, in people; that of no columns is the total."""
        found: dict[Columns, Floats] = {(): np.array(float(self.total))}
        for part, numbers in self.parts.items():
            found[part] = np.asarray(numbers / self.plan.scale(part), dtype=np.float64)
        return found

    def table(self, columns: Sequence[str]) -> Floats:
        """Return the unbiased counts of a measured table, an axis for each of its columns."""
        table = self.plan.ordered(columns)
        counts = spread(self.effects, table, self.plan.sizes)
        return np.asarray(np.transpose(counts, [table.index(name) for name in columns]))

    def to_table(self) -> Any:
        """Return everything as one tidy Arrow table: a row for each cell that can be rebuilt.

        Its columns are ``table``, those of the data, ``count``, ``deviation`` and ``residual``; see
        :mod:`pramble.mechanisms.measured_table`.
        """
        return tidy_table(self.plan, self.parts, self.table)

    @staticmethod
    def from_table(table: Any, plan: TablePlan, total: int) -> "Measured":
        """Return what :meth:`to_table` wrote, exactly; refuse a table that contradicts itself."""
        found = Measured(plan, total, residuals_in(table, plan))
        refuse_far(table, plan, found.table)
        return found

    def plot(self) -> "Figure":
        """Return a figure of the noise in a cell of each wanted table."""
        return self.plan.plot()

    def shown(self) -> Facts:
        """Return what was measured, and how precisely."""
        plan = self.plan
        deviations = sorted(math.sqrt(plan.cell_variance(table)) for table in plan.tables)
        ends = dict.fromkeys(f"{one:.3g}" for one in (deviations[0], deviations[-1]))
        return Facts(
            f"Protected tables of {self.total:,} records",
            [
                ("columns", ", ".join(self.columns)),
                ("tables", f"{len(plan.tables):,}, and all that lie within them"),
                ("noise", f"± {' to '.join(ends)} people a cell"),
            ],
        )


def as_exact(numbers: Exact) -> Exact:
    """Return whole numbers as int64 where even sums along an axis are, else as Python's own.

    Which of the two follows from the numbers alone, not from how they were computed.
    """
    largest = max(abs(int(numbers.max(initial=0))), abs(int(numbers.min(initial=0))))
    # Sums along an axis must not pass 2^63 either.
    narrow = largest * max(numbers.shape, default=1) < 2**63
    found = np.array(numbers, dtype=np.int64 if narrow else object)
    found.flags.writeable = False
    return found


def spread(effects: Mapping[Columns, Floats], table: Columns, sizes: Mapping[str, int]) -> Floats:
    """Return the table that has some parts: each is spread evenly over the axes it does not have.

    >>> parts = {(): np.array(4.0), ("a",): np.array([1.0, -1.0]), ("b",): np.array([0.0, 0.0])}
    >>> spread(parts, ("a", "b"), {"a": 2, "b": 2}).tolist()
    [[1.5, 1.5], [0.5, 0.5]]
    """
    counts = np.zeros(tuple(sizes[name] for name in table))
    for part in subsets(table):
        if part in effects:
            shape = [sizes[name] if name in part else 1 for name in table]
            counts = counts + effects[part].reshape(shape) / (counts.size / math.prod(shape))
    return counts
