"""The columns to randomise: their parts of α, their priors, and their designs at any α."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from numpy.typing import ArrayLike

from pramble.calibration.proposal import ByColumn
from pramble.calibration.trial import DesignAt
from pramble.data.labels import Label
from pramble.data.table import Crosstab
from pramble.errors import InvalidInput
from pramble.information.priors import as_prior
from pramble.privacy.guarantee import float_below
from pramble.risk.after.readings import shares_over
from pramble.solvers.design import design
from pramble.solvers.problem import FamilyName, ObjectiveName
from pramble.values import Floats

Priors = ArrayLike | Mapping[str, ArrayLike] | None


def parts_of_alpha(
    column: str | Sequence[str] | Mapping[str, float], keys: Sequence[str]
) -> dict[str, Fraction]:
    """Return the part of α of each column; they sum to 1, exactly."""
    if isinstance(column, Mapping):
        parts = {name: float(part) for name, part in column.items()}
    else:
        parts = dict.fromkeys([column] if isinstance(column, str) else column, 1.0)
    for name, part in parts.items():
        if name not in keys:
            raise InvalidInput(
                f"A column to randomise must be one of the keys {keys}; found {name!r}."
            )
        if not (math.isfinite(part) and part > 0):
            raise InvalidInput(f"Shares of α must be positive; column {name!r} has {part!r}.")
    if not parts:
        raise InvalidInput("At least one column to randomise is needed; found none.")
    exact = {name: Fraction(part) for name, part in parts.items()}
    return {name: part / sum(exact.values()) for name, part in exact.items()}


def design_columns(
    parts: Mapping[str, Fraction],
    table: Crosstab,
    *,
    prior: Priors,
    categories: Mapping[str, Sequence[Label]] | None,
    family: FamilyName,
    objective: ObjectiveName,
) -> DesignAt:
    """Return the function from α to the designs of the columns, none above its part of α."""
    stated = categories or {}
    labels = {
        name: tuple(stated.get(name, table.levels[table.columns.index(name)])) for name in parts
    }
    priors = {name: prior_of(table, name, labels[name], prior=prior) for name in parts}

    def designs_at(alpha: float) -> ByColumn:
        designs = {
            name: design(
                priors[name],
                float_below(Fraction(alpha) * part),
                family=family,
                objective=objective,
                categories=labels[name],
            )
            for name, part in parts.items()
        }
        return ByColumn(designs)

    return designs_at


def prior_of(table: Crosstab, column: str, labels: Sequence[Label], *, prior: Priors) -> Floats:
    """Return the prior of a column over its labels: as given, else the file's distribution."""
    given = prior.get(column) if isinstance(prior, Mapping) else prior
    if given is not None:
        return as_prior(given, size=len(labels))
    return as_prior(shares_over(table, column, labels))
