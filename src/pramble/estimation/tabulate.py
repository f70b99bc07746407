"""Whatever may be handed to an estimation, brought to one form: sums over released cells."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pramble.data.crosstab import crosstab
from pramble.data.frames import backend_of
from pramble.data.open import is_frame, open_records
from pramble.data.reading import Reading
from pramble.data.records import Records
from pramble.data.table import Powers, refuse_empty
from pramble.errors import InvalidData, InvalidInput
from pramble.estimation.layout import NO_GROUPS, Layout, layout_of
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.axes import output_shape
from pramble.mechanisms.plan import as_plan
from pramble.values import Floats, value

ONE_COLUMN = "category"
WEIGHTED: tuple[Powers, ...] = ((1, 0), (2, 0))
MEASURED: tuple[Powers, ...] = (*WEIGHTED, (1, 1), (2, 1), (2, 2))


@value(eq=False)
class Tabulated:
    r"""Sums over the released cells of a table.

    Attributes
    ----------
    layout : Layout
    sums : mapping from (a, b) to (R, T1, …, Tk) arrays
        :math:`\sum_i w_i^a y_i^b` over the records of each released cell, with weights w (1
        without weights) and a measure y.
    n : float
        Number of records.
    weighted : bool
        Whether weights were given.
    backend : str
        The frame library to answer in.
    """

    layout: Layout
    sums: Mapping[Powers, Floats]
    n: float
    weighted: bool = False
    backend: str = "pyarrow"

    @property
    def counts(self) -> Floats:
        """Counts of records, or sums of their weights."""
        return self.sums[1, 0]

    @property
    def squared_weights(self) -> Floats | None:
        """Sums of squared weights, of weights that sum to one; None without weights."""
        return self.sums[2, 0] / self.counts.sum() ** 2 if self.weighted else None


def tabulate(
    data: Any,
    plan: Any,
    *,
    by: Sequence[str] | str | None,
    counts: bool = False,
    weights: Any = None,
    measure: str | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
) -> Tabulated:
    """Return the sums of whatever was handed in."""
    data, plan = data_and_plan(data, plan)
    if isinstance(plan, Mechanism) and not is_frame(data):
        if by is not None:
            raise InvalidInput("by= goes with a frame; this is one column.")
        if measure is not None:
            raise InvalidInput("mean= and total= go with a frame; this is one column.")
        if counts:
            return from_counts(data, plan, weights=weights)
        return from_column(data, plan, weights=weights)
    if counts:
        raise InvalidInput("counts=True goes with one mechanism and one vector of counts.")
    mechanisms = mechanisms_of(plan, [] if by is None else names_of(by))
    names = list(mechanisms) if by is None else names_of(by)
    if not names or len(set(names)) != len(names) or (by is None and len(names) > 1):
        raise InvalidInput(
            f"by= must name one or more different columns of the table; found {by!r}. The plan has "
            f"{', '.join(map(repr, mechanisms)) or 'none'}."
        )
    refuse_randomised([weights, measure], mechanisms)
    records = open_records(data, reading)
    return from_records(records, mechanisms, by=names, weights=weights, measure=measure)


def from_counts(counts: Any, mechanism: Mechanism, *, weights: Any) -> Tabulated:
    """Return the sums of a vector of counts."""
    if weights is not None:
        raise InvalidInput("weights= goes with records, not with counts.")
    vector = as_counts(counts, mechanism.shape[1])
    layout = Layout((ONE_COLUMN,), {ONE_COLUMN: mechanism}, {}, NO_GROUPS)
    cells = vector.reshape(1, *output_shape(layout.axes))
    return Tabulated(layout, {(1, 0): cells}, float(vector.sum()))


def from_column(values: Any, mechanism: Mechanism, *, weights: Any) -> Tabulated:
    """Return the sums of one column of released values."""
    if not hasattr(values, "__len__") or isinstance(values, bytes):
        raise InvalidData(f"A column of values is needed; found {type(values).__name__}.")
    return from_records(
        open_records({ONE_COLUMN: values}),
        {ONE_COLUMN: mechanism},
        by=[ONE_COLUMN],
        weights=weights,
        backend=backend_of(values),
    )


def from_records(
    records: Records,
    mechanisms: Mapping[str, Mechanism],
    *,
    by: Sequence[str],
    weights: Any = None,
    measure: str | None = None,
    backend: str | None = None,
) -> Tabulated:
    """Return the sums of records, cross-classified in one pass."""
    randomised = {name: mechanisms[name] for name in by if name in mechanisms}
    plain = weights is None and measure is None
    table = crosstab(
        records,
        [*(name for name in by if name not in randomised), *randomised],
        labels={name: m.output_labels for name, m in randomised.items()},
        weights=weights,
        measure=measure,
        powers=() if plain else WEIGHTED if measure is None else MEASURED,
    )
    refuse_empty(table, records.name)
    layout, place = layout_of(table, randomised, by=by)
    shape = (len(layout.groups), *output_shape(layout.axes))

    def array_of(values: Any) -> Floats:
        cells = np.zeros(shape)
        cells.reshape(-1)[place] = values
        return cells

    sums = {(1, 0): array_of(table.counts)} if plain else {}
    sums |= {powers: array_of(values) for powers, values in table.sums.items()}
    refuse_no_weight(sums[1, 0])
    return Tabulated(layout, sums, float(table.n), weights is not None, backend or records.backend)


def data_and_plan(data: Any, plan: Any) -> tuple[Any, Any]:
    """Return data and plan; an opened release brings both, and a plan that is given goes first."""
    own = getattr(data, "plan", None)
    if not isinstance(own, Mapping):
        return data, plan
    return data.data, own if plan is None else plan


def mechanisms_of(plan: Any, by: Sequence[str]) -> dict[str, Mechanism]:
    """Return the mechanism of each randomised column; a mechanism alone is that of one column."""
    if isinstance(plan, Mechanism) and len(by) == 1:
        plan = {by[0]: plan}
    return as_plan(plan).single_columns(what="An estimate")


def names_of(columns: Sequence[str] | str) -> list[str]:
    """Return the names of one or several columns."""
    return [columns] if isinstance(columns, str) else list(columns)


def refuse_randomised(names: Sequence[Any], mechanisms: Mapping[str, Mechanism]) -> None:
    """Refuse to read numbers from columns that were randomised."""
    for name in names:
        if isinstance(name, str) and name in mechanisms:
            raise InvalidInput(
                f"Numbers must come from an untouched column; {name!r} is randomised."
            )


def as_counts(counts: ArrayLike, size: int) -> Floats:
    """Return counts as floats; refuse a wrong length, negative or non-finite ones, and all zero."""
    try:
        answer = np.array(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData("Counts must be a vector of numbers.") from None
    if answer.shape != (size,):
        raise InvalidData(
            f"Counts must be one number for each of the {size} outputs; found shape {answer.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(answer) & (answer >= 0)))
    if bad.size:
        raise InvalidData(f"Counts must not be negative; position {bad[0]} holds {answer[bad[0]]}.")
    if not answer.sum() > 0:
        raise InvalidData("Counts must not all be zero.")
    return answer


def refuse_no_weight(sums: Floats) -> None:
    """Raise when all weights are zero."""
    if not sums.any():
        raise InvalidData("Weights must not be negative, nor all zero.")
