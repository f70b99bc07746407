r"""What is published of tables of counts: how much noise the effect of each set of columns gets.

Take a contingency table :math:`M_T` of the columns T apart into its mean, the effects of single
columns and their interactions: the part of a set A is :math:`P_A M_A`, where :math:`P_A` subtracts
the mean along every axis. The parts of different sets are orthogonal, and one that two tables share
is the same in both. For each set A within some wanted table the release holds

.. math:: r_A = P_A (M_A + \eta_A),

with independent noise of variance :math:`1/u_A` in every cell, and any table T whose
parts were all released is rebuilt without bias:

.. math:: \hat T = \sum_{A \subseteq T} r_A \Big/ \prod_{j \in T \setminus A} n_j ,

each part spread evenly over the axes that it does not have (McKenna et al. 2018; Xiao, He, Zhang
and Kifer 2023, "residual planner"). The part of no columns is the number of records over all cells.

**Tables chosen from the file** have a price that the promise includes. All pairs are measured
twice. The first measurement serves a choice: every candidate table gets a score, the distance
between its counts and what the noisy pairs imply of them, with noise. The pairs are then measured
again, with the chosen tables, and of the pairs only a mean of both measurements is published.

**Weighted tables** are sums of the weights of the rows in each cell. Weights are whole multiples of
a unit, from zero to the largest weight that the curator states, and are measured as counts are, in
parts with precisions of their own. The total of all weights is measured too, and so is that of
their squares, which says how unequal weights are.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.labels import Labels, as_labels
from pramble.errors import InvalidInput, InvalidMechanism, InvalidPlan
from pramble.limits import LARGEST_TOTAL, MOST_MEASURED_CELLS
from pramble.mechanisms.json_form import labels_to_json, list_in, parsed, refuse_fields
from pramble.values import Floats, Integers, frozen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA, WITH_CHOICE, WITH_WEIGHTS = SCHEMAS = tuple(f"pramble/tables/{i}" for i in (1, 2, 3))
# Of a plan whose tables were stated, of one whose tables are chosen from the file, and of either
# with weighted tables.

# The columns of a table, or of a part of it, in the order of the plan.
Columns = tuple[str, ...]

# The least precision; its reciprocal is the largest.
LEAST = 1e-30

FIELDS = {"schema", "columns", "tables", "precision", "delta", "rows_per_person"}


# The first measurement of a pair is weighted by a multiple of one over this. The nearest multiple
# to the best weight costs less than one part in 10^8 of the variance.
SHARES = 1 << 16

OF_CHOICE = {"mu_squared", "candidates", "score_precision", "first"}


@frozen(eq=False)
class TableChoice:
    """Which tables may be chosen, and how much of the promise the choice takes.

    Attributes
    ----------
    mu_squared : float
        What everything together may spend on a person, whichever tables are chosen: the square of
        the parameter of Gaussian differential privacy.
    candidates : tuple of tuples of columns
        The tables that may be chosen, if they are worth their noise.
    score_precision : float
        One over the variance of the noise in the score of each candidate, in records.
    first : mapping from tuple of columns to float
        The precision of the first measurement of every part of all pairs.
    """

    mu_squared: float
    candidates: tuple[Columns, ...]
    score_precision: float
    first: Mapping[Columns, float]

    @property
    def scores_squared(self) -> Fraction:
        """What the scores spend on a person with one row: each moves by at most two records."""
        return 4 * len(self.candidates) * Fraction(self.score_precision)

    def weight(self, part: Columns, precision: float) -> int:
        """Return the weight of the first measurement of a part in the published one."""
        return round(SHARES * Fraction(self.first[part]) / Fraction(precision))

    def to_json(self) -> dict[str, Any]:
        return {
            "mu_squared": self.mu_squared,
            "candidates": [list(table) for table in self.candidates],
            "score_precision": self.score_precision,
            "first": listed(self.first),
        }

    @staticmethod
    def from_json(found: Any) -> "TableChoice":
        refuse_fields(found, OF_CHOICE, "A choice of tables")
        return TableChoice(
            number_in(found["mu_squared"]),
            tuple(map(columns_in, list_in(found["candidates"], "Candidates"))),
            number_in(found["score_precision"]),
            precisions_in(found["first"]),
        )

    def check(self, labels: Mapping[str, Any], precision: Mapping[Columns, float]) -> None:
        numbers = (self.mu_squared, self.score_precision, *self.first.values())
        if not all(type(own) is float and 0 < own < float("inf") for own in numbers):
            raise InvalidPlan("What a choice of tables spends are positive numbers.")
        order = {name: i for i, name in enumerate(labels)}
        tables = [table for table in self.candidates if len(table) > 2 and set(table) <= set(order)]
        in_order = all(list(t) == sorted(t, key=order.__getitem__) for t in tables)
        unique = len(set(tables)) == len(self.candidates) > 0
        if not in_order or not unique or any(len(set(table)) != len(table) for table in tables):
            raise InvalidPlan(
                "Candidates are tables of three or more columns, in order, each once."
            )
        pairs = {part for part in precision if 0 < len(part) <= 2}
        if set(self.first) != pairs or any(self.first[p] >= precision[p] for p in pairs):
            raise InvalidPlan("A choice measures every part of all pairs, and less than the plan.")


# The largest weight is a number of so many digits on the grid of weights.
WEIGHT_DIGITS = 6

OF_WEIGHTS = {"largest", "precision", "squares"}


@frozen(eq=False)
class TableWeights:
    """How much noise weighted tables get.

    Attributes
    ----------
    largest : float
        The most that a row may weigh, from public knowledge: larger weights are cut.
    precision : mapping from tuple of columns to float
        One over the variance of the noise of each part of the weighted tables, in units; the empty
        set is the total of all weights.
    squares : float
        The same for the sum of squared weights, in units times the largest weight.

    Examples
    --------
    >>> weights = TableWeights(4000.0, {(): 1e-12, ("sex",): 1e-12}, 1e-12)
    >>> weights.unit, weights.most
    (Fraction(1, 100), 400000)
    """

    largest: float
    precision: Mapping[Columns, float]
    squares: float

    def __post_init__(self) -> None:
        largest = self.largest
        if type(largest) not in (int, float) or not 1e-9 <= largest <= 1e12:
            raise InvalidPlan(
                f"The largest weight is a number from 1e-9 to 1e12; found {largest!r}."
            )
        object.__setattr__(self, "largest", float(largest))
        if type(self.squares) is not float or not LEAST <= self.squares <= 1 / LEAST:
            raise InvalidPlan("A plan with weights states the precision of their squares.")

    @property
    def exponent(self) -> int:
        return Decimal(repr(self.largest)).adjusted() + 1 - WEIGHT_DIGITS

    @property
    def unit(self) -> Fraction:
        """What weights are multiples of: it follows from the largest one alone."""
        return Fraction(10) ** self.exponent

    @property
    def most(self) -> int:
        """The most units that a row may weigh."""
        return int(Fraction(repr(self.largest)) / self.unit)

    def units(self, weights: Floats) -> Integers:
        """Return weights in whole units, to the nearest; one more than the most where they are cut.

        >>> TableWeights(4000.0, {(): 1e-12}, 1e-12).units(np.array([12.344, 4000, 4001])).tolist()
        [1234, 400000, 400001]
        """
        scale, within = float(10 ** abs(self.exponent)), np.minimum(weights, 2 * self.largest)
        found = np.rint(within / scale if self.exponent > 0 else within * scale)
        # the largest weight itself is not cut, although its last digits may be
        found = np.where(weights > self.largest, self.most + 1, np.minimum(found, self.most))
        return found.astype(np.int64)

    def squared(self, units: Integers) -> Integers:
        """Return squared weights in units times the largest weight, to the nearest."""
        return (units * units + self.most // 2) // self.most

    def to_json(self) -> dict[str, Any]:
        return {
            "largest": self.largest,
            "precision": listed(self.precision),
            "squares": self.squares,
        }

    @staticmethod
    def from_json(found: Any) -> "TableWeights":
        refuse_fields(found, OF_WEIGHTS, "Weights of tables")
        return TableWeights(
            found["largest"], precisions_in(found["precision"]), number_in(found["squares"])
        )


@frozen(eq=False)
class TablePlan:
    """Which tables are published, and with how much noise.

    Attributes
    ----------
    labels : mapping from column to Labels
    tables : tuple of tuples of columns
        The wanted tables; all tables within them can be rebuilt too.
    precision : mapping from tuple of columns to float
        One over the variance of the noise of each part: of every set of columns within a wanted
        table. The empty set is the number of records: it is public where it is not measured, which
        it must be where one person may have several rows.
    delta : float
        The δ at which the promise is quoted.
    rows_per_person : int
        The most rows of one person that are counted.
    choice : TableChoice, optional
        How further tables are chosen from the file when it is measured; the promise is then of all
        plans that may come of it. Tables of more than two columns are those that were chosen.
    people_precision : float, optional
        One over the variance of the noise in counts of people by their rows, where those decided
        on ``rows_per_person``; they are not published.
    weights : TableWeights, optional
        How the same tables are measured of weights, too: of tables that are chosen, the pairs.

    Examples
    --------
    >>> plan = TablePlan({"sex": as_labels(["f", "m"]), "ill": as_labels(2)}, (("sex", "ill"),),
    ...     {("sex",): 0.125, ("ill",): 0.125, ("sex", "ill"): 0.25}, delta=1e-6)
    >>> plan.cell_variance(("sex",)), plan.cell_variance(("sex", "ill"))
    (4.0, 3.0)
    """

    labels: Mapping[str, Labels]
    tables: tuple[Columns, ...]
    precision: Mapping[Columns, float]
    delta: float
    rows_per_person: int = 1
    choice: TableChoice | None = None
    people_precision: float | None = None
    weights: TableWeights | None = None

    def __post_init__(self) -> None:
        names = set(self.labels)
        if not names or not all(isinstance(name, str) for name in names):
            raise InvalidPlan("A plan for tables has columns, each named by a string.")
        if not self.tables or len(set(self.tables)) != len(self.tables):
            raise InvalidPlan("A plan for tables has one or more different tables.")
        if any(table != tuple(name for name in self.labels if name in table) or not table
               for table in self.tables):  # fmt: skip
            raise InvalidPlan("A table has columns of the plan, in its order, each once.")
        rows = self.rows_per_person
        has_delta = type(self.delta) is float and 0 < self.delta < 1
        if type(rows) is not int or not 1 <= rows <= LARGEST_TOTAL or not has_delta:
            raise InvalidPlan(
                "A plan for tables has rows_per_person from 1 to 10**6, and delta between 0 and 1."
            )
        if sum(map(self.cells, self.tables)) > MOST_MEASURED_CELLS:
            raise InvalidPlan(f"Protected tables have at most {MOST_MEASURED_CELLS:,} cells.")
        measured = set(self.precision) | ({()} if rows == 1 else set())
        if measured != {*parts_within(self.tables), ()}:
            raise InvalidPlan("A plan for tables states the precision of every part of each table.")
        stated = [*self.precision.values(), self.people_precision or 1.0]
        if not all(type(u) is float and LEAST <= u <= 1 / LEAST for u in stated):
            raise InvalidPlan(
                f"A precision, one over the variance of the noise, is a float from {LEAST:g} to "
                f"{1 / LEAST:g}."
            )
        if self.choice is not None:
            self.choice.check(self.labels, self.precision)
            if set(self.chosen) - set(self.choice.candidates):
                raise InvalidPlan("Tables of more than two columns are chosen from the candidates.")
        if self.weighted is not None and self.weighted.total_is_public:
            raise InvalidPlan("A plan with weights states the precision of their total.")

    @cached_property
    def weighted(self) -> "TablePlan | None":
        """The plan of the weighted tables, in units of weight."""
        if self.weights is None:
            return None
        own = self.weights.precision
        tables = tuple(table for table in self.tables if table in own)
        return replace(self, tables=tables, precision=own, **PLAIN)

    @property
    def columns(self) -> Columns:
        return tuple(self.labels)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        return {name: len(own) for name, own in self.labels.items()}

    @property
    def total_is_public(self) -> bool:
        return () not in self.precision

    @property
    def people_squared(self) -> Fraction:
        r"""What the choice of ``rows_per_person`` spends on a person, as :math:`\mu^2`."""
        # In the place of another, a person moves two of the counts, each by one.
        return 2 * Fraction(self.people_precision or 0)

    @cached_property
    def parts(self) -> tuple[Columns, ...]:
        return tuple(part for part in self.precision if part)

    @property
    def chosen(self) -> tuple[Columns, ...]:
        own = self.tables if self.choice is not None else ()
        return tuple(table for table in own if len(table) > 2)

    def scale(self, part: Columns) -> int:
        """Return how many times a published part is multiplied to be a whole number."""
        is_mean = self.choice is not None and len(part) <= 2
        return self.cells(part) ** 2 * (SHARES if is_mean else 1)

    def shape(self, columns: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.sizes[name] for name in columns)

    def cells(self, columns: Sequence[str]) -> int:
        return math.prod(self.shape(columns))

    def ordered(self, columns: Sequence[str]) -> Columns:
        unknown = [name for name in columns if name not in self.labels]
        if unknown or len(set(columns)) != len(columns):
            raise InvalidInput(
                f"A table has different columns out of {', '.join(self.labels)}; found "
                f"{', '.join(map(str, columns))}."
            )
        return tuple(name for name in self.labels if name in columns)

    def is_measured(self, columns: Sequence[str]) -> bool:
        return not columns or self.ordered(columns) in self.precision

    def cell_variance(self, table: Columns) -> float:
        total = 0.0
        for part in subsets(table):
            if part in self.precision:
                inside = math.prod(1 - 1 / self.sizes[name] for name in part)
                beside = math.prod(self.sizes[name] for name in table if name not in part)
                total += inside / (self.precision[part] * beside**2)
        return total

    def plot(self) -> "Figure":
        from pramble.plots.mechanisms import noise_figure

        return noise_figure({t: math.sqrt(self.cell_variance(t)) for t in self.tables})

    @cached_property
    def variances(self) -> Mapping[Columns, float]:
        return {table: self.cell_variance(table) for table in self.tables}

    @cached_property
    def weighted_deviations(self) -> Mapping[Columns, float]:
        """The standard deviation of the noise in a cell of each weighted table, in weight."""
        if self.weights is None or self.weighted is None:
            return {}
        unit = float(self.weights.unit)
        return {table: unit * math.sqrt(own) for table, own in self.weighted.variances.items()}

    def to_json(self) -> dict[str, Any]:
        schema = SCHEMA if self.choice is None else WITH_CHOICE
        return {
            "schema": schema if self.weights is None else WITH_WEIGHTS,
            "columns": [
                # labels that are the first whole numbers are said by their count
                {
                    "name": name,
                    "categories": len(own)
                    if isinstance(own.values, range)
                    else labels_to_json(own),
                }
                for name, own in self.labels.items()
            ],
            "tables": [list(table) for table in self.tables],
            "precision": listed(self.precision),
            "delta": self.delta,
            "rows_per_person": self.rows_per_person,
            **({} if self.choice is None else {"choice": self.choice.to_json()}),
            **(
                {} if self.people_precision is None else {"people_precision": self.people_precision}
            ),
            **({} if self.weights is None else {"weights": self.weights.to_json()}),
        }

    @staticmethod
    def from_json(document: Mapping[str, Any] | str) -> "TablePlan":
        document = parsed(document, InvalidPlan)
        if not isinstance(document, Mapping) or document.get("schema") not in SCHEMAS:
            raise InvalidPlan(f"A plan for tables is a JSON object of schema {SCHEMA!r}.")
        has_weights = document["schema"] == WITH_WEIGHTS
        has_choice = document["schema"] == WITH_CHOICE or (has_weights and "choice" in document)
        by_people = document.get("people_precision")
        fields = FIELDS | ({"choice"} if has_choice else set())
        fields |= set() if by_people is None else {"people_precision"}
        fields |= {"weights"} if has_weights else set()
        refuse_fields(document, fields, "A plan for tables")
        columns = entries_in(document["columns"], ("name", "categories"))
        tables = tuple(map(columns_in, list_in(document["tables"], "Tables")))
        if not all(isinstance(name, str) for name, _ in columns):
            raise InvalidPlan("A plan for tables has columns, each named by a string.")
        labels = {name: labels_in(categories) for name, categories in columns}
        if len(labels) != len(columns):
            raise InvalidPlan("A plan for tables names each column and each part once.")
        return TablePlan(
            labels,
            tables,
            precisions_in(document["precision"]),
            document["delta"],
            document["rows_per_person"],
            TableChoice.from_json(document["choice"]) if has_choice else None,
            None if by_people is None else number_in(by_people),
            TableWeights.from_json(document["weights"]) if has_weights else None,
        )


# What a plan has that one of its weighted tables has not.
PLAIN: dict[str, Any] = {"choice": None, "people_precision": None, "weights": None}


def listed(precision: Mapping[Columns, float]) -> list[dict[str, Any]]:
    return [{"columns": list(part), "value": own} for part, own in precision.items()]


def precisions_in(found: Any) -> dict[Columns, float]:
    parts = entries_in(found, ("columns", "value"))
    precision = {columns_in(part): number_in(own) for part, own in parts}
    if len(precision) != len(parts):
        raise InvalidPlan("A plan for tables names each column and each part once.")
    return precision


def entries_in(found: Any, names: tuple[str, str]) -> list[tuple[Any, Any]]:
    for one in list_in(found, "The parts of a plan for tables"):
        refuse_fields(one, set(names), "A part of a plan for tables")
    return [(one[names[0]], one[names[1]]) for one in found]


def columns_in(found: Any) -> Columns:
    if not all(isinstance(name, str) for name in list_in(found, "The columns of a table")):
        raise InvalidPlan("A plan for tables names columns by strings.")
    return tuple(found)


def labels_in(found: Any) -> Labels:
    try:
        if type(found) is int and found <= MOST_MEASURED_CELLS:
            return as_labels(found)
        return as_labels(
            [tuple(one) if isinstance(one, list) else one for one in list_in(found, "Categories")]
        )
    except InvalidMechanism as error:
        raise InvalidPlan(str(error)) from None


def number_in(found: Any) -> float:
    if type(found) not in (int, float) or not LEAST <= found <= 1 / LEAST:
        raise InvalidPlan(f"A precision is a number from {LEAST:g} to {1 / LEAST:g}.")
    return float(found)


def subsets(columns: Columns) -> Iterator[Columns]:
    """Yield every set of some columns, the empty one first."""
    for size in range(len(columns) + 1):
        yield from combinations(columns, size)


def parts_within(tables: Sequence[Columns]) -> Iterator[Columns]:
    seen = {part for table in tables for part in subsets(table) if part}
    yield from sorted(seen, key=lambda part: (len(part), part))
