"""Everything before writing: the plan checked against the whole file, and the designs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pramble.errors import InvalidData, PrivacyError
from pramble.releasing.designing import Counted, Designed, counted, design_columns
from pramble.releasing.source import check_declared, count_values, seen_labels
from pramble.releasing.writing import check_output, kept_columns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from pramble.mechanisms.base import Mechanism
    from pramble.releasing.plan import ColumnPlan, ReleasePlan
    from pramble.releasing.source import Source


@dataclass(frozen=True)
class Prepared:
    """A release that is ready to be written.

    Attributes
    ----------
    source : Source
    plan : ReleasePlan
        With the categories of every column.
    rows : int
    designs : tuple of Designed
    spent : Fraction
        α of priors and mechanisms together.
    seen : frozenset of str
        Columns whose categories were taken from the file.
    ordered : frozenset of str
        Columns whose values go with the order of the rows.
    """

    source: Source
    plan: ReleasePlan
    rows: int
    designs: tuple[Designed, ...]
    spent: Fraction
    seen: frozenset[str]
    ordered: frozenset[str]

    @cached_property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The mechanism of each randomised column."""
        return {design.column.name: design.mechanism for design in self.designs}

    @property
    def names(self) -> list[str]:
        """Every column of the release, in order."""
        return kept_columns(self.source, self.plan)

    @property
    def untouched(self) -> tuple[str, ...]:
        """Columns that are released as they are."""
        return tuple(name for name in self.names if name not in self.mechanisms)

    @property
    def data_file(self) -> str:
        """Name of the data file in the folder."""
        return f"data.{self.plan.output}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the curator must know, one sentence each."""
        found = []
        if self.untouched:
            found.append(f"Released as they are, not protected: {', '.join(self.untouched)}.")
        if self.seen:
            found.append(
                f"The categories of {', '.join(sorted(self.seen))} are the values that occur in "
                "the file: the release reveals which do. Declare them in a plan to avoid this."
            )
        if self.ordered and not self.plan.shuffle:
            found.append(
                f"The order of the rows goes with {', '.join(sorted(self.ordered))}: neighbours "
                "are alike more or less often than by chance. The order is released too, and may "
                "tell a value that was randomised; release with --shuffle (shuffle = true)."
            )
        conditional = [d.column.name for d in self.designs if d.prior.source == "confidential"]
        if conditional:
            found.append(
                f"The mechanisms of {', '.join(conditional)} reveal something of the confidential "
                "frequencies, which α does not cover."
            )
        lost = [d.column.name for d in self.designs if math.isinf(d.variance)]
        if lost:
            found.append(
                f"The mechanism of {', '.join(lost)} merges categories: their frequencies cannot "
                "be estimated from the release."
            )
        notes = (f"{d.column.name}: {note}" for d in self.designs for note in d.notes)
        return (*found, *notes)


def prepare(source: Source, plan: ReleasePlan, *, confidential_allowed: bool) -> Prepared:
    """Count the whole file, refuse what does not fit the plan, and design every column."""
    check_output(source, plan)
    check_public(source, plan)
    rows, counts, neighbours = count_values(source, plan.columns)
    if not rows:
        raise InvalidData(f"{source.path.name!r} has no rows; there is nothing to release.")
    columns = [settled(column, counts[column.name]) for column in plan.columns]
    resolved = replace(plan, columns=tuple(column.plan for column in columns))
    designs, spent = design_columns(resolved, columns, confidential_allowed=confidential_allowed)
    seen = frozenset(column.name for column in plan.columns if column.categories is None)
    ordered = frozenset(
        name for name, found in neighbours.items() if found.tell(counts[name].values())
    )
    return Prepared(source, resolved, rows, designs, spent, seen, ordered)


def check_public(source: Source, plan: ReleasePlan) -> None:
    """Refuse a public prior that is the confidential file itself, or one of its files."""
    for column in plan.columns:
        path = None if column.prior_file is None else Path(column.prior_file).resolve()
        if path is not None and source.path.resolve() in (path, *path.parents):
            raise PrivacyError(
                f"The prior of column {column.name!r} must come from a public source; "
                f"{str(column.prior_file)!r} is the confidential file. Use a private prior, or "
                'prior = "confidential", which says so.'
            )


def settled(column: ColumnPlan, counts: Mapping[object, int]) -> Counted:
    """Return a column with its categories settled and its values checked against them."""
    if column.categories is None:
        column = replace(column, categories=seen_labels(column.name, counts))
    labels = column.labels()
    check_declared(column.name, counts, labels)
    return counted(column, labels, counts)
