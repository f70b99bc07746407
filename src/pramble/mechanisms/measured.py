"""Protected tables: what was measured once, with noise, of a confidential file.

**As one tidy table** they have a row for each cell of every table that can be rebuilt.
The columns are ``table``, the names joined by " × "; every column of the data, with its label in
the cell and null where the table does not have it; ``count``, unbiased; ``deviation``, the standard
deviation of its noise; and ``residual``, the exact whole number that was published for the cell.
Where a column of the data has one of these names, ours has an underscore at its end.

With weights the columns ``weighted``, ``weighted_deviation`` and ``weighted_residual`` say the same
of their sums; a residual is in units of weight.

Residuals are decimals of 38 digits without fraction, whatever their size, so that the type of the
column never depends on the noise.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramble.data.crosstab import unused
from pramble.data.decode import natural_arrow_labels
from pramble.errors import InvalidData, InvalidInput
from pramble.mechanisms.table_plan import Columns, TablePlan, TableWeights, subsets
from pramble.shown import Display, Facts
from pramble.values import Floats, Integers, frozen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Whole numbers: int64, or Python's own where those would not do.
Exact = NDArray[Any]


# A stranger's total beyond it counts no people, and may be no float.
MOST_RECORDS = 10**20


@frozen(eq=False, repr=False)
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
    weighted : WeightedTables, optional
        The same tables of weights.

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
    weighted: "WeightedTables | None" = None

    def __post_init__(self) -> None:
        if abs(self.total) > MOST_RECORDS:
            raise InvalidData("Protected tables are of at most 10^20 records.")
        if set(self.parts) != set(self.plan.parts):
            raise InvalidData("Protected tables have the parts that their plan states.")
        of_weights = None if self.weighted is None else self.weighted.sums.plan.to_json()
        if of_weights != (self.plan.weighted and self.plan.weighted.to_json()):
            raise InvalidData("Protected tables have the weighted tables that their plan states.")
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

    def of_weights(self, weights: Any) -> "WeightedTables":
        """Return the weighted tables; refuse what is not the name of their weights."""
        own = self.weighted
        if own is None:
            raise InvalidInput(
                f"weights={weights!r}: these tables have no weights. Measure with weights= and a "
                "design with largest_weight=, or leave it out."
            )
        if not isinstance(weights, str) or weights != own.column:
            raise InvalidInput(
                f"weights={weights!r} was not measured; these tables have the weights "
                f"{own.column!r}. Name that, or leave it out."
            )
        return own

    def table(self, columns: Sequence[str], *, weights: str | None = None) -> Floats:
        """Return the unbiased counts of a measured table, an axis for each of its columns.

        With ``weights``, the name of their column, sums of weights.
        """
        if weights is not None:
            own = self.of_weights(weights)
            return np.asarray(own.sums.table(columns) * float(own.weights.unit))
        table = self.plan.ordered(columns)
        counts = spread(self.effects, table, self.plan.sizes)
        return np.asarray(np.transpose(counts, [table.index(name) for name in columns]))

    def to_table(self) -> Any:
        """Return everything as one tidy Arrow table: a row for each cell that can be rebuilt.

        Its columns are ``table``, those of the data, ``count``, ``deviation`` and ``residual``; see
        :mod:`pramble.mechanisms.measured`.
        """
        plan, own, columns = self.plan, own_names(self.plan), keys(self.plan)
        columns |= part_columns(self, plan.parts, (own.count, own.deviation, own.residual))
        if self.weighted is not None:
            names = own.weighted, own.weighted_deviation, own.weighted_residual
            unit = float(self.weighted.weights.unit)
            columns |= part_columns(self.weighted.sums, plan.parts, names, unit=unit)
        return pa.table(columns)

    @staticmethod
    def from_table(
        table: Any, plan: TablePlan, total: int, weights: Mapping[str, Any] | None = None
    ) -> "Measured":
        """Return what :meth:`to_table` wrote, exactly; refuse a table that contradicts itself.

        ``weights`` are the ``totals`` of weighted tables.
        """
        own, weighted = own_names(plan), None
        found = residuals_in(table, plan)
        if plan.weights is not None and plan.weighted is not None:
            stated = weights or {}
            totals = stated.get("total"), stated.get("squares")
            if not all(type(own) is int and abs(own) <= MOST_RECORDS for own in totals):
                raise InvalidData("Weighted tables need their total and that of squared weights.")
            weighted_parts = {part: found[1][part] for part in plan.weighted.parts}
            sums = Measured(plan.weighted, stated["total"], weighted_parts)
            weighted = WeightedTables(str(stated["column"]), sums, stated["squares"], plan.weights)
        measured = Measured(plan, total, found[0], weighted)
        expected = measured.to_table()
        checked = [own.count, own.deviation]
        checked += [own.weighted, own.weighted_deviation] if weighted is not None else []
        for number, deviation in zip(checked[::2], checked[1::2], strict=True):
            noise = expected[deviation].fill_null(0.0).to_numpy()
            for name in (number, deviation):
                refuse_changed(table[name], expected[name], name, noise=noise)
        return measured

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
                *([] if self.weighted is None else [("weights", self.weighted.column)]),
            ],
        )


@frozen(eq=False)
class WeightedTables:
    """Protected tables of weights, in whole units (:class:`TableWeights`).

    - ``column``: The column of the weights.
    - ``sums``: The weighted tables; its total is that of all weights.
    - ``squares``: The sum of squared weights, in units times the largest weight.
    - ``weights``: What the plan says of them.
    """

    column: str
    sums: Measured
    squares: int
    weights: TableWeights

    @property
    def totals(self) -> dict[str, Any]:
        """What the weighted tables do not hold, as JSON."""
        return {"column": self.column, "total": self.sums.total, "squares": self.squares}


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


# Wide enough for every residual, so that the type does not depend on the noise.
WHOLE = pa.decimal128(38, 0)
# How far a count or deviation may be from what residuals and plan say, relatively.
CLOSE = 1e-9


class OwnNames(NamedTuple):
    """The names of the columns that are not the data's."""

    table: str
    count: str  # type: ignore[assignment]  # tuples have a method of this name
    deviation: str
    residual: str
    weighted: str
    weighted_deviation: str
    weighted_residual: str


def own_names(plan: TablePlan) -> OwnNames:
    return OwnNames(*(unused(name, plan.columns) for name in OwnNames._fields))


def keys(plan: TablePlan) -> dict[str, Any]:
    """Return the columns that say which cell a row is of."""
    cells = [plan.cells(part) for part in plan.parts]
    texts = pa.array([" × ".join(part) for part in plan.parts])
    found = {own_names(plan).table: texts.take(pa.array(np.repeat(np.arange(len(cells)), cells)))}
    for name, labels in plan.labels.items():
        codes = np.concatenate([codes_along(plan, part, name) for part in plan.parts])
        places = pa.array(codes, mask=codes < 0)
        found[name] = natural_arrow_labels(labels.as_tuple()).take(places)
    return found


def part_columns(
    measured: Measured, parts: Sequence[Columns], names: Sequence[str], *, unit: float = 1.0
) -> dict[str, Any]:
    """Return the counts, deviations and residuals of some parts; null where none was measured."""
    plan, found = measured.plan, {name: list[Any]() for name in names}
    for part in parts:
        if part in plan.precision:
            deviation = unit * math.sqrt(plan.cell_variance(part))
            own = [
                pa.array(unit * measured.table(part).ravel()),
                pa.array(np.full(plan.cells(part), deviation)),
                exact_decimals(measured.parts[part].ravel()),
            ]
        else:
            kinds = pa.float64(), pa.float64(), WHOLE
            own = [pa.nulls(plan.cells(part), kind) for kind in kinds]
        for name, values in zip(names, own, strict=True):
            found[name].append(values)
    return {name: pa.chunked_array(values) for name, values in found.items()}


def codes_along(plan: TablePlan, part: Columns, name: str) -> Integers:
    """Return the code of a column in each cell of a part, −1 where the part does not have it."""
    shape = plan.shape(part)
    if name not in part:
        return np.full(math.prod(shape), -1)
    along = np.indices(shape, sparse=True)[part.index(name)]
    return np.asarray(np.broadcast_to(along, shape).ravel())


def exact_decimals(numbers: Any) -> Any:
    if numbers.dtype == np.int64:
        return pa.array(numbers).cast(WHOLE)
    return pa.array([int(one) for one in numbers], type=WHOLE)


def residuals_in(table: Any, plan: TablePlan) -> list[dict[Columns, Any]]:
    """Return the residuals of each part, and those of weights."""
    own = own_names(plan)
    columns = [own.table, *plan.columns, own.count, own.deviation, own.residual]
    if plan.weighted is not None:
        columns += [own.weighted, own.weighted_deviation, own.weighted_residual]
    if table.column_names != columns:
        raise InvalidData(
            f"Protected tables have the columns {', '.join(columns)}; found "
            f"{', '.join(table.column_names)}."
        )
    expected = keys(plan)
    rows = len(expected[own.table])
    if table.num_rows != rows:
        raise InvalidData(
            f"Protected tables of this plan have {rows:,} cells; found {table.num_rows:,}."
        )
    for name, values in expected.items():
        refuse_changed(table[name], values, name)
    ends = np.cumsum([0, *map(plan.cells, plan.parts)])
    found = []
    for name, held in ((own.residual, plan), (own.weighted_residual, plan.weighted)):
        places = {p: slice(*ends[i : i + 2].tolist()) for i, p in enumerate(plan.parts)}
        own_parts = {}
        for part in () if held is None else held.parts:
            some = table[name][places[part]]
            own_parts[part] = whole_numbers(some, name).reshape(plan.shape(part))
        found.append(own_parts)
    return found


def refuse_changed(found: Any, expected: Any, name: str, *, noise: Any = None) -> None:
    """Refuse a column that does not follow from the plan; numbers are near, beside their noise."""
    try:
        found = found.cast(expected.type).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidData(
            f"Column {name!r} of protected tables is of type {expected.type}; found {found.type}."
        ) from None
    if noise is None:
        same = pc.fill_null(pc.equal(found, expected), False)  # noqa: FBT003
    else:
        # a count near zero is a difference of larger numbers, rounded as they are
        least, own = (np.asarray(one.to_numpy(zero_copy_only=False)) for one in (found, expected))
        same = pa.array(np.abs(least - own) <= CLOSE * (np.abs(own) + noise))
    same = pc.or_(same, pc.and_(found.is_null(), expected.is_null()))
    bad = np.flatnonzero(~same.to_numpy(zero_copy_only=False))
    if bad.size:
        row = int(bad[0])
        raise InvalidData(
            f"Column {name!r} of protected tables must hold {expected[row].as_py()!r} in row "
            f"{row}, as its plan and residuals say; found {found[row].as_py()!r}. Leave the rows "
            "in their order."
        )


def whole_numbers(values: Any, name: str) -> Any:
    kind = values.type
    exact = pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_string(kind)
    try:
        found = values.cast(WHOLE) if exact and not values.null_count else None
    except pa.ArrowInvalid:
        found = None
    if found is None:
        raise InvalidData(
            f"Column {name!r} of protected tables holds whole numbers, none missing or rounded."
        )
    try:
        return found.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return np.array([int(one) for one in found.to_pylist()], dtype=object)
