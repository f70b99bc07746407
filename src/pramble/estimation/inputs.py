"""What a caller may hand to an estimation: data with or without a plan, weights, counts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pramble.data.numbers import as_numbers
from pramble.errors import InvalidData, InvalidInput
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import as_plan
from pramble.values import Floats


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


def as_weights(weights: Any) -> str | Floats | None:
    """Return weights as a column's name or as numbers, one for each record."""
    if weights is None or isinstance(weights, str):
        return weights
    return as_numbers(weights, "weights")


def refuse_no_weight(total: float) -> None:
    """Raise when all weights are zero."""
    if not total > 0:
        raise InvalidData("Weights must not be negative, nor all zero.")


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
