"""What may be handed to an estimation, brought to one form: a table of counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pramble.errors import InvalidData, InvalidInput, InvalidPlan
from pramble.estimation.counts import checked_counts, encode
from pramble.estimation.frames import backend_of, columns_of, is_frame
from pramble.estimation.tables import Layout, Table, cross_classify
from pramble.mechanisms.base import Mechanism
from pramble.values import Floats

ONE_COLUMN = "category"


@runtime_checkable
class OpenedRelease(Protocol):
    """A release folder that was opened and checked."""

    data: Any
    plan: Any
    manifest: Any


@dataclass(frozen=True)
class Source:
    """Counts over released cells, the squared weights over them, and how many records made them."""

    layout: Layout
    counts: Floats
    squares: Floats | None
    n: float
    backend: str
    table: Table | None = None
    columns: Mapping[str, Any] | None = None
    weights: Floats | None = None


def source_of(
    data: Any,
    plan: Any,
    *,
    by: Sequence[str] | str | None,
    counts: bool,
    weights: Any,
    extra: Sequence[str] = (),
) -> Source:
    """Return the counts of whatever was handed in."""
    if plan is None and isinstance(data, OpenedRelease):
        data, plan = data.data, data.plan
    if isinstance(plan, Mechanism) and not is_frame(data):
        refuse_by(by)
        if counts:
            return from_counts(data, plan, weights=weights)
        return from_column(data, plan, weights=weights)
    if counts:
        raise InvalidInput("counts=True goes with one mechanism and one vector of counts.")
    checked = checked_plan(plan, by)
    return from_frame(data, checked, by=named(by, checked), weights=weights, extra=extra)


def refuse_by(by: Any) -> None:
    """Raise when columns are named for data that has none."""
    if by is not None:
        raise InvalidInput("by= goes with a frame; this is one column.")


def checked_plan(plan: Any, by: Any) -> dict[str, Mechanism]:
    """Return a plan without its untouched columns; refuse what is no plan."""
    if isinstance(plan, Mechanism) and by is not None:
        names = [by] if isinstance(by, str) else list(by)
        plan = dict.fromkeys(names[:1], plan) if len(names) == 1 else plan
    if not isinstance(plan, Mapping):
        raise InvalidPlan(
            "A plan must map the randomised columns to their mechanisms; "
            f"found {type(plan).__name__}."
        )
    for name, mechanism in plan.items():
        if mechanism is not None and not isinstance(mechanism, Mechanism):
            raise InvalidPlan(
                f"A plan must map columns to mechanisms; {name!r} has {type(mechanism).__name__}."
            )
    return {name: mechanism for name, mechanism in plan.items() if mechanism is not None}


def named(by: Sequence[str] | str | None, plan: Mapping[str, Mechanism]) -> list[str]:
    """Return the columns to cross-classify."""
    if by is None:
        if len(plan) == 1:
            return list(plan)
        raise InvalidInput(
            f"by= must name the columns of the table; the plan has {', '.join(map(repr, plan))}."
        )
    names = [by] if isinstance(by, str) else list(by)
    if not names or len(set(names)) != len(names):
        raise InvalidInput(f"by= must name one or more different columns; found {names!r}.")
    return names


def single(mechanism: Mechanism) -> Layout:
    """Return the layout of one randomised column."""
    return Layout((ONE_COLUMN,), {ONE_COLUMN: mechanism}, {}, np.zeros((1, 0), dtype=np.int64))


def from_counts(counts: Any, mechanism: Mechanism, *, weights: Any) -> Source:
    """Return the source of a vector of counts."""
    if weights is not None:
        raise InvalidInput("weights= goes with records, not with counts.")
    vector = checked_counts(counts, mechanism.shape[1])
    layout = single(mechanism)
    return Source(layout, shaped(vector, layout), None, float(vector.sum()), "pyarrow")


def from_column(values: Any, mechanism: Mechanism, *, weights: Any) -> Source:
    """Return the source of one column of released values."""
    codes = encode(values, mechanism.outputs)
    if not len(codes):
        raise InvalidData("A release must have at least one row; found none.")
    layout = single(mechanism)
    table = Table(layout, codes, shaped(np.zeros(mechanism.shape[1]), layout).shape)
    return from_table(table, weights=weights, backend=backend_of(values))


def shaped(vector: Floats, layout: Layout) -> Floats:
    """Return a vector over outputs with one axis per randomised factor."""
    return vector.reshape(1, *(axis.shape[1] for axis in layout.axes))


def from_frame(
    frame: Any,
    plan: Mapping[str, Mechanism],
    *,
    by: Sequence[str],
    weights: Any,
    extra: Sequence[str],
) -> Source:
    """Return the source of some columns of a frame."""
    weight_names = [weights] if isinstance(weights, str) else []
    refuse_randomised([*weight_names, *extra], plan)
    columns, backend = columns_of(frame, [*by, *weight_names, *extra])
    table = cross_classify(columns, plan, by=by)
    values = columns[weights] if isinstance(weights, str) else weights
    return from_table(table, weights=values, backend=backend, columns=columns)


def refuse_randomised(names: Sequence[str], plan: Mapping[str, Mechanism]) -> None:
    """Refuse to read numbers from columns that were randomised."""
    for name in names:
        if name in plan:
            raise InvalidInput(
                f"Numbers must come from an untouched column; {name!r} is randomised."
            )


def from_table(
    table: Table, *, weights: Any, backend: str, columns: Mapping[str, Any] | None = None
) -> Source:
    """Return the source of a table, with or without weights."""
    n = float(len(table.cell))
    if weights is None:
        return Source(table.layout, table.sums(), None, n, backend, table, columns)
    w = checked_weights(weights, len(table.cell))
    return Source(table.layout, table.sums(w), table.sums(w * w), n, backend, table, columns, w)


def checked_weights(weights: Any, rows: int) -> Floats:
    """Return one weight per row; refuse negative ones, and all zero."""
    w = numbers(weights, rows, what="weights")
    if (w < 0).any() or not w.sum() > 0:
        raise InvalidData("Weights must not be negative, nor all zero.")
    return w


def numbers(values: Any, rows: int, *, what: str) -> Floats:
    """Return a column of finite numbers, one per row."""
    try:
        answer = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData(f"{what} must be numbers.") from None
    if answer.shape != (rows,):
        raise InvalidData(f"{what} must be one number per row ({rows}); shape {answer.shape}.")
    bad = np.flatnonzero(~np.isfinite(answer))
    if bad.size:
        raise InvalidData(f"{what} must be finite; row {bad[0]} holds {answer[bad[0]]}.")
    return answer
