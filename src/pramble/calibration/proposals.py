"""What one promise proposes: designs of single columns, or one plan for several.

The columns to randomise: their parts of α, their priors, and their designs at any α.

Plans for several columns together at any promise, each from a search of bounded time.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from pramble.data.labels import Label, places_of
from pramble.data.table import Crosstab
from pramble.errors import InvalidInput, with_values
from pramble.information.distributions import as_prior, as_tables
from pramble.information.fisher import estimation_variance, typical_error
from pramble.information.measures import entropy, mutual_information
from pramble.mechanisms.plan import Plan
from pramble.privacy.guarantee import float_below
from pramble.risk.released_keys import seen_branches, shares_over
from pramble.solvers.design import design
from pramble.solvers.problem import FamilyName, ObjectiveName
from pramble.solvers.record.design_record import design_record
from pramble.solvers.record.result import RecordDesign
from pramble.solvers.result import Design
from pramble.values import Floats, names_of, value


class Proposal(Protocol):
    """A plan with what it keeps and how well it can be estimated from."""

    @property
    def designs(self) -> Mapping[str, Any]:
        """The designs, by what they are for."""

    @property
    def plan(self) -> Plan:
        """What is done to a record."""

    @property
    def informations(self) -> Mapping[str, float]:
        """Mutual information between true and released values, in nats, by design."""

    @property
    def whole(self) -> float:
        """The entropy that the information is a share of."""

    def error(self, n: int) -> float:
        """Return the standard error of a typical cell of the worst wanted table."""


DesignAt = Callable[[float], Proposal]
"""From α, or the ε of a central promise, to what it proposes."""


@value(eq=False)
class ByColumn:
    """A design for each column."""

    designs: Mapping[str, Design]

    @property
    def plan(self) -> Plan:
        """The mechanisms, by column."""
        return Plan({name: design.mechanism for name, design in self.designs.items()})

    @property
    def informations(self) -> dict[str, float]:
        return {name: design.information for name, design in self.designs.items()}

    @property
    def whole(self) -> float:
        """The sum of the columns' entropies."""
        return sum(entropy(design.prior) for design in self.designs.values())

    def error(self, n: int) -> float:
        """Return the standard error of a typical category of the worst column.

        Asymptotic, for the maximum likelihood estimate from n released records; infinite when a
        column is not identifiable.
        """
        return max(
            typical_error(
                estimation_variance(design.prior, design.mechanism),
                cells=len(design.prior),
                rows=n,
            )
            for design in self.designs.values()
        )


@value(eq=False)
class ByRecord:
    """One plan for several columns, and the file's counts by the keys."""

    design: RecordDesign
    table: Crosstab

    @property
    def designs(self) -> dict[str, RecordDesign]:
        """The one design, by its columns."""
        return {", ".join(self.design.plan.columns): self.design}

    @property
    def plan(self) -> Plan:
        """What is done to a record."""
        return self.design.plan

    @cached_property
    def informations(self) -> dict[str, float]:
        """The information about the record, over branches and blocks."""
        found = sum(
            seen.share * mutual_information(shares_over(seen.table, name, m.labels.values), m)
            for seen in seen_branches(self.plan, self.table)
            for name, m in seen.mechanisms.items()
        )
        return dict.fromkeys(self.designs, float(found))

    @cached_property
    def whole(self) -> float:
        """The sum of the columns' entropies."""
        axes = [axis for axis, name in enumerate(self.table.columns) if name in self.plan.columns]
        return sum(entropy(self.table.array(axes=[axis]) / self.table.n) for axis in axes)

    def error(self, n: int) -> float:
        """Return the same for the wanted table that is worst."""
        found = self.design.columns()
        return float(max(found["standard_error"])) / math.sqrt(n)


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


MOST_JOINT = 100_000
"""Cells up to which the file's distribution is taken whole; beyond, the wanted tables of it."""


def design_plans(
    columns: Sequence[str],
    table: Crosstab,
    *,
    tables: Any,
    prior: Priors,
    categories: Mapping[str, Sequence[Label]] | None,
    objective: ObjectiveName,
    time_limit: float,
    promise: Callable[[float], Mapping[str, Any]],
) -> DesignAt:
    """Return the function from α, or ε, to a plan for the columns together."""
    names = checked_columns(columns, table.columns)
    stated = categories or {}
    labels = {
        name: tuple(stated.get(name, table.levels[table.columns.index(name)])) for name in names
    }
    law = file_law(table, labels, tables=tables) if prior is None else prior

    def plan_at(tried: float) -> ByRecord:
        found = design_record(
            labels,
            prior=law,
            tables=tables,
            objective=objective,
            time_limit=time_limit,
            **promise(tried),
        )
        return ByRecord(found, table)

    return plan_at


def checked_columns(columns: Sequence[str], keys: Sequence[str]) -> list[str]:
    """Return the columns to randomise together: two or more of the keys."""
    names = names_of(columns)
    if len(names) < 2 or len(set(names)) != len(names):
        raise InvalidInput(f"columns must name two or more different keys; found {names!r}.")
    for name in names:
        if name not in keys:
            raise InvalidInput(f"columns must be among the keys {keys}; found {name!r}.")
    return names


def file_law(table: Crosstab, labels: Mapping[str, Sequence[Label]], *, tables: Any) -> Any:
    """Return the file's own distribution: of all cells, or of the wanted tables."""
    names = tuple(labels)
    if math.prod(len(own) for own in labels.values()) <= MOST_JOINT:
        return shares_of(table, labels, names)
    return {wanted: shares_of(table, labels, wanted) for wanted in as_tables(tables, names)}


def shares_of(
    table: Crosstab, labels: Mapping[str, Sequence[Label]], names: Sequence[str]
) -> Floats:
    """Return the file's shares over the labels of some columns."""
    axes = [table.columns.index(name) for name in names]
    answer = np.zeros([len(labels[name]) for name in names])
    places = []
    for axis, name in zip(axes, names, strict=True):
        found = places_of(labels[name], table.levels[axis])
        if None in found:
            error = InvalidInput(f"categories of {name!r} must hold every value of the file.")
            raise with_values(error, repr(table.levels[axis][found.index(None)]))
        places.append(np.array(found, dtype=np.int64))
    answer[np.ix_(*places)] = table.array(axes=axes) / table.n
    return answer
