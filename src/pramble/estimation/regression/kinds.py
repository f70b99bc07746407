"""The families by name, each with what it takes for a response."""

from typing import Any, Literal, get_args

import numpy as np

from pramble.data.order import place_of
from pramble.errors import InvalidInput
from pramble.estimation.regression.classes import Multinomial, Ordinal
from pramble.estimation.regression.factors import Response
from pramble.estimation.regression.families import Family, Linear, Logistic, Poisson
from pramble.values import Floats

FamilyName = Literal["linear", "logistic", "multinomial", "ordinal", "poisson"]
FAMILIES = get_args(FamilyName)
MOST_CLASSES = 40


def family_of(name: str, response: Response, *, success: Any) -> tuple[Family, Any, int]:
    """Return a family, the values of the response, and how many classes these are of."""
    if name not in FAMILIES:
        raise InvalidInput(f"family must be one of {', '.join(FAMILIES)}; found {name!r}.")
    if success is not None and name != "logistic":
        raise InvalidInput("success= goes with the logistic family.")
    if name in {"linear", "poisson"}:
        return numeric_family(name, response)
    labels = response.labels or tuple(np.unique(response.values).tolist())
    values = np.asarray(response.values)
    codes = values if response.labels else np.searchsorted(labels, values)  # type: ignore[arg-type]
    if name == "logistic":
        if len(labels) != 2:
            raise InvalidInput(
                f"A logistic response must have two values; {response.name!r} has {len(labels)}. "
                "Say which count as in \"I(x == 'a')\", or take another family: linear, poisson, "
                "multinomial or ordinal."
            )
        one = 1 if success is None else place_of(labels, success)
        if one is None:
            raise InvalidInput(f"success must be a value of {response.name!r}; found {success!r}.")
        return Logistic(), (codes == one).astype(np.float64), 0
    if not 2 <= len(labels) <= MOST_CLASSES:
        raise InvalidInput(
            f"A response of classes must have 2 to {MOST_CLASSES}; {response.name!r} has "
            f"{len(labels)}."
        )
    kind = Multinomial if name == "multinomial" else Ordinal
    return kind(tuple(map(str, labels))), codes, len(labels)


def numeric_family(name: str, response: Response) -> tuple[Family, Floats, int]:
    """Return a family of numbers with the values of the response."""
    numbers = response.numbers()
    if not np.isfinite(numbers).all():
        raise InvalidInput(f"The response {response.name!r} must be finite; it is not.")
    if name == "poisson" and (numbers < 0).any():
        raise InvalidInput(f"A Poisson response must not be negative; {response.name!r} is.")
    return (Linear() if name == "linear" else Poisson()), numbers, 0
