"""What a release of records promises and shows, as plain data: its plan, tables and columns."""

from dataclasses import replace
from typing import Any

from pramble.mechanisms.plan import Plan
from pramble.privacy.certificate import Certificate
from pramble.values import value

Numbers = tuple[float, ...]


@value
class FrequencyOutcome:
    """The categories of one column: in the file, and as an analyst estimates them.

    Attributes
    ----------
    name, categories : str, tuple
    before : tuple or None
        Counts in the confidential file (raw figures; None in what may be published).
    estimate, lower, upper : tuple or None
        The analyst's estimate from the release alone, and its 95 % interval; None in a dry run.
    """

    name: str
    categories: tuple[Any, ...]
    before: tuple[int, ...] | None = None
    estimate: Numbers | None = None
    lower: Numbers | None = None
    upper: Numbers | None = None

    @property
    def after(self) -> None:
        """Released values are not counted at face value: most of them are blank."""


@value
class PairOutcome:
    """The cells of a table: in the file, and as an analyst estimates them (raw figures).

    Attributes
    ----------
    columns : tuple of str
    cells : tuple of tuples of labels
    before : tuple of int
    estimate, lower, upper : tuple of float
        Shares, with 95 % intervals.
    rows : int
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]
    before: tuple[int, ...]
    estimate: Numbers
    lower: Numbers
    upper: Numbers
    rows: int

    @property
    def held(self) -> int:
        """How many of the intervals hold what is in the file."""
        ends = zip(self.before, self.lower, self.upper, strict=True)
        return sum(low * self.rows <= count <= high * self.rows for count, low, high in ends)


@value(eq=False)
class RecordOutcome:
    """The plan of a release of records.

    Attributes
    ----------
    plan, certificate
        What is done to a record, and its certificate.
    objective : str
        What it is best for.
    alpha, alpha_prior : float
        Part of α given to the plan, and part spent on its prior.
    prior_source, prior_detail : str
    columns : tuple of FrequencyOutcome
    pairs : tuple of PairOutcome
        Tables before and after, for the curator alone.
    loss : float or None
        By how much the tables would cost less with a plan that knew the file's own frequencies, as
        a share of what they cost (a raw figure).
    by_distance : tuple of str
        What is promised by distance between categories, in sentences.
    """

    plan: Plan
    certificate: Certificate
    objective: str
    alpha: float
    alpha_prior: float
    prior_source: str
    prior_detail: str
    columns: tuple[FrequencyOutcome, ...]
    pairs: tuple[PairOutcome, ...] = ()
    loss: float | None = None
    by_distance: tuple[str, ...] = ()

    @property
    def branches(self) -> int:
        """In how many ways a record may be treated."""
        return len(self.plan.branches)

    def without_raw(self) -> "RecordOutcome":
        """Return a copy without figures that were counted on the confidential file."""
        return replace(
            self,
            columns=tuple(replace(column, before=None) for column in self.columns),
            pairs=(),
            loss=None,
        )
