"""What a release of protected tables shows, as plain data, and in sentences, rows and charts."""

from dataclasses import replace
from typing import Any

from pramble.plots.release import cut_text, frequency_chart
from pramble.report import numbers
from pramble.report.record import FrequencyOutcome
from pramble.values import value


@value
class ProtectedOutcome:
    """The protected tables of a release.

    Attributes
    ----------
    tables : int
        How many tables were wanted.
    noise : float
        The root mean square of the noise over all their cells, in people.
    gap : float
        By what share of its variance any linear Gaussian mechanism could have less, at most.
    worst : tuple of str
        People who differ in these columns are told apart best.
    rows_per_person : int
    columns : tuple of FrequencyOutcome
    fit : float or None
        The mean distance of the tables of the complete records from the protected ones, in people
        a cell; None in a dry run.
    """

    tables: int
    noise: float
    gap: float
    worst: tuple[str, ...]
    rows_per_person: int
    columns: tuple[FrequencyOutcome, ...]
    fit: float | None = None

    def without_raw(self) -> "ProtectedOutcome":
        """Return a copy without figures that were counted on the confidential file."""
        return replace(self, columns=tuple(replace(one, before=None) for one in self.columns))


def protected_view(outcome: ProtectedOutcome) -> dict[str, Any]:
    """Return everything that the template shows of protected tables."""
    return {
        "sentences": protected_sentences(outcome),
        "worst": ", ".join(outcome.worst),
        "columns": [
            {
                "name": column.name,
                "chart": frequency_chart(column),
                "cut": cut_text(len(column.categories)),
            }
            for column in outcome.columns
        ],
        "pairs": [],
    }


def closely(gap: float) -> str:
    """Say how nearly that is proven, where it matters.

    >>> closely(1e-9), closely(0.0077)
    ('', ' by more than 0.8 %')
    """
    return "" if gap < 1e-4 else f" by more than {100 * gap:.1g} %"


def protected_sentences(outcome: ProtectedOutcome) -> list[str]:
    """Say what was measured, and how precisely."""
    several = "table" if outcome.tables == 1 else "tables"
    found = [
        (
            f"{outcome.tables:,} {several} of counts were measured once, with normal noise of "
            f"± {numbers.rounded(outcome.noise)} people a cell (root mean square). Every table "
            "within them comes with them, and all agree with each other."
        ),
        (
            "The noise is divided over the effects of columns and their interactions so that the "
            "tables have the least: no linear mechanism with normal noise has less variance at "
            f"this promise{closely(outcome.gap)}."
        ),
    ]
    if outcome.rows_per_person > 1:
        found.append(
            f"At most {outcome.rows_per_person} rows of one person were counted, chosen at random."
        )
    if outcome.fit is not None:
        found.append(
            "The complete records were drawn from these tables alone. Their tables are "
            f"± {numbers.rounded(outcome.fit)} people a cell from the protected ones on average."
        )
    return found
