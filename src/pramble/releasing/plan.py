"""What a curator decides: columns, categories, budget, priors, risk keys, output."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pramble.data.labels import label_key
from pramble.errors import InvalidPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

SEEN = "seen"
FAMILIES = ("uniform", "general", "response")
OBJECTIVES = ("information", "estimation")
SPLITS = ("equal", "weights", "optimal")
OUTPUTS = ("parquet", "csv")
RISK_MODELS = ("independence", "two-way", "membership", "none")
PRIOR_SHARE = 0.02


@dataclass(frozen=True)
class ColumnPlan:
    """How one column is randomised.

    Attributes
    ----------
    name : str
    categories : tuple or None
        Every possible label, in order; None takes the values seen in the file, sorted, which
        reveals the values that occur.
    missing : label, True or None
        What empty cells are released as: a label, True for a category of their own that stays
        empty, None to refuse them.
    family : str
        "uniform" (the paper's matrix), "general" (any square matrix) or "response" (randomised
        response: no prior is needed).
    objective : str
        "information" or "estimation".
    invariant : bool
        Whether released margins are to be right at face value.
    estimable : bool
        Whether a design that merges categories, so that their frequencies cannot be estimated, is
        replaced by one that tells them apart.
    alpha : float or None
        α of this column, when the plan gives no total.
    weight : float
        Share of the total under "weights"; importance under "optimal".
    prior : str
        "uniform", "public", "private" or "confidential".
    prior_file, prior_probabilities
        The public source: a file, or probabilities in the order of the categories.
    """

    name: str
    categories: tuple[Any, ...] | None = None
    missing: Any = None
    family: str = "uniform"
    objective: str = "information"
    invariant: bool = False
    estimable: bool = True
    alpha: float | None = None
    weight: float = 1.0
    prior: str = "private"
    prior_file: str | None = None
    prior_probabilities: tuple[float, ...] | None = None

    def labels(self, seen: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Return every category, the one of empty cells included."""
        labels = tuple(seen) if self.categories is None else self.categories
        if self.missing is None:
            return labels
        extra = None if self.missing is True else self.missing
        known = {label_key(label) for label in labels}
        return labels if label_key(extra) in known else (*labels, extra)

    def needs_prior(self, size: int) -> bool:
        """Whether the design depends on the prior.

        With two categories randomised response is best for every prior and either objective, since
        the only α-extreme columns are (1, a) and (a, 1), and rows that sum to one use both alike.
        """
        return self.invariant or (self.family != "response" and size > 2)


@dataclass(frozen=True)
class RiskPlan:
    """Which risk to report: key variables, population size and model."""

    keys: tuple[str, ...]
    population_size: int
    model: str = "two-way"


@dataclass(frozen=True)
class ReleasePlan:
    """A whole plan, checked; `read_plan` and `plan_from` make one.

    Attributes
    ----------
    columns : tuple of ColumnPlan
        The columns to randomise; every other column is released as it is, unless dropped.
    alpha : float or None
        α in total for a record; None when every column states its own.
    split : str
        "equal", "weights" or "optimal".
    split_objective : str
        What an optimal split optimises: "information" or "estimation".
    prior_share : float
        Part of α that private priors may spend.
    drop : tuple of str
        Columns left out of the release.
    output : str
        "parquet" or "csv".
    shuffle : bool
        Release the rows in a random order, which holds the file in memory.
    risk : RiskPlan or None
    """

    columns: tuple[ColumnPlan, ...]
    alpha: float | None = None
    split: str = "equal"
    split_objective: str = "information"
    prior_share: float = PRIOR_SHARE
    drop: tuple[str, ...] = ()
    output: str = "parquet"
    shuffle: bool = False
    risk: RiskPlan | None = field(default=None)

    @property
    def total(self) -> Fraction:
        """α in total, exactly."""
        if self.alpha is not None:
            return Fraction(self.alpha)
        return sum((Fraction(column.alpha or 0) for column in self.columns), Fraction(0))

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse a plan that names columns which the file does not have."""
        from pramble.releasing.settings import nearest

        wanted = [
            *((column.name, "to randomise") for column in self.columns),
            *((name, "to drop") for name in self.drop),
            *((name, "as a risk key") for name in (self.risk.keys if self.risk else ())),
        ]
        mistakes = [
            f"The plan names the column {name!r} {purpose}, which the file does not have"
            f"{nearest(name, names)}."
            for name, purpose in wanted
            if name not in names
        ]
        if mistakes:
            raise InvalidPlan("\n".join(mistakes))
