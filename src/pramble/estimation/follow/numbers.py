r"""Numbers out of bands: the mean, the spread and the quantiles of what was banded.

Within a band :math:`[l_j, u_j)` numbers count as spread evenly. With its share :math:`p_j`, middle
:math:`m_j` and width :math:`w_j`,

.. math:: \mu = \sum_j p_j m_j, \qquad
          \sigma^2 = \sum_j p_j \{(m_j - \mu)^2 + w_j^2/12\}, \qquad
          F(x) = \sum_j p_j \min\Bigl(\max\Bigl(\frac{x - l_j}{w_j}, 0\Bigr), 1\Bigr).

All are sums of cells, so they have the intervals of :mod:`pramble.estimation.follow.ratios`; μ may
be held at its estimate in σ², whose derivative by it is zero. Quantiles are in
:mod:`pramble.estimation.follow.band_quantiles`.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.bands import edges_of_labels, is_number
from pramble.data.frames import Tidy
from pramble.data.labels import Label, label_key
from pramble.errors import InvalidInput
from pramble.estimation.follow.band_quantiles import Banded, quantiles_of
from pramble.estimation.follow.functions import (
    checked_shares,
    column_of,
    labels_of,
    refuse_given,
    told,
)
from pramble.estimation.inverse.moments import Known
from pramble.shown import Display, Grid, number
from pramble.values import Floats, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pramble.estimation.follow.result import Estimate


QUARTERS = (0.25, 0.5, 0.75)


@value(eq=False, repr=False)
class Distribution(Display, Tidy):
    """What an estimate says of the numbers behind the bands of a column.

    Attributes
    ----------
    column : str
    edges : (S + 1,) array
        Where the bands begin, and where the last one ends: infinite if it is open.
    quantiles : Estimate
        In the order of the groups and shares; not a number in an open band.
    mean, variance, standard_deviation : Estimate
        One for each combination of the other columns. They need an end of the last band.
    cumulative : Estimate
        The share of numbers below the end of each band.
    table : frame
        Means, spreads and quantiles with their errors and intervals.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.geometric(["0-14", "15-29", "30-59", "60+"], 1.5)
    >>> e = pramble.estimate([300, 250, 300, 150], m, counts=True)
    >>> d = e.distribution(high=90)
    >>> d
    Distribution of 'category' in 4 bands, from 1,000 records (95 % intervals)
    ------------------------------------------------
    statistic           value  std err   from     to
    ------------------------------------------------
    mean                 31.1   0.8467  29.46  32.78
    variance            459.3    30.23  402.2  520.8
    standard deviation  21.43   0.7053  20.05  22.82
    0.25 quantile        12.8    0.922  11.17  14.78
    0.5 quantile        28.07    1.333  25.69  30.92
    0.75 quantile       46.97    1.112  44.82  49.17
    ------------------------------------------------
    Numbers count as spread evenly within each band.
    >>> e.distribution(high=60).mean.values.round(2)  # whoever is above 60 counts as 60
    array([29.87])
    """

    banded: Banded
    quantiles: "Estimate"

    @property
    def column(self) -> str:
        """The column of bands."""
        return self.banded.column

    @property
    def edges(self) -> Floats:
        """Where the bands begin, and where the last one ends."""
        return self.banded.edges

    @cached_property
    def mean(self) -> "Estimate":
        """The mean in every group."""
        return self.banded.mean(np.tile(self.middles, (self.banded.many, 1)), "mean")

    @cached_property
    def variance(self) -> "Estimate":
        """The variance in every group."""
        away = self.middles - self.mean.values[:, None]
        scores = np.where(np.isfinite(away), away, 0.0) ** 2 + np.diff(self.edges) ** 2 / 12
        return self.banded.mean(scores, "variance")

    @cached_property
    def standard_deviation(self) -> "Estimate":
        found = self.variance
        root = np.sqrt(found.values)
        slope = np.divide(0.5, root, out=np.full(root.shape, np.nan), where=root > 0)
        return replace(
            found,
            probabilities=root,
            standard_errors=found.standard_errors * slope,
            lower=np.sqrt(found.lower),
            upper=np.sqrt(found.upper),
            covariance_parts=Known(found.covariance * np.outer(slope, slope)),
            quantity="standard deviation",
        )

    @cached_property
    def cumulative(self) -> "Estimate":
        """The share of numbers below the end of each band, in every group."""
        banded, size = self.banded, len(self.banded.labels)
        group = np.repeat(np.arange(banded.many), size)
        scores = np.tile(np.tri(size), (banded.many, 1))
        others = {name: [cell[i] for i in group] for name, cell in banded.grouped[1].items()}
        cells: dict[str, list[Any]] = {**others, banded.column: list(banded.labels) * banded.many}
        found = banded.ratios(group, scores)
        return told(banded.estimate, found, cells, quantity="share up to")

    @property
    def middles(self) -> Floats:
        """The middles of the bands."""
        if self.banded.is_open:
            raise InvalidInput(
                f"The band {self.banded.labels[-1]!r} is open, and so {self.column!r} has no mean; "
                "say where it ends with high=…, or high= its beginning to count it as that number."
            )
        return np.asarray((self.edges[:-1] + self.edges[1:]) / 2)

    @property
    def parts(self) -> list[tuple[str, "Estimate"]]:
        """What there is, by the name of the statistic of every row."""
        names = () if self.banded.is_open else ("mean", "variance", "standard_deviation")
        found: list[tuple[str, Estimate]] = [(n.replace("_", " "), getattr(self, n)) for n in names]
        return [*found, ("quantile", self.quantiles)]

    @property
    def backend(self) -> str:  # type: ignore[override]
        """The library of frames that the data came from."""
        return str(self.banded.estimate.backend)

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as plain lists."""
        others = list(self.banded.grouped[1])
        answer: dict[str, list[Any]] = {name: [] for name in (*others, "statistic")}
        numbers = {"value": "values", "standard_error": "standard_errors"}
        numbers |= {"lower": "lower", "upper": "upper"}
        answer |= {name: [] for name in numbers}
        for statistic, part in self.parts:
            is_many = statistic == "quantile"
            of = (
                [f"{share:g} " for share in part.cells["share"]]
                if is_many
                else [""] * len(part.values)
            )
            answer["statistic"] += [share + statistic for share in of]
            for name in others:
                answer[name] += list(part.cells[name])
            for name, attribute in numbers.items():
                answer[name] += getattr(part, attribute).tolist()
        return answer

    def shown(self) -> Grid:
        """Return every statistic with its interval."""
        found = self.columns()
        others = list(self.banded.grouped[1])
        figures = ("value", "standard_error", "lower", "upper")
        rows = [
            [*(str(found[name][i]) for name in others), found["statistic"][i]]
            + [number(found[name][i], 4) for name in figures]
            for i in range(len(found["value"]))
        ]
        e = self.banded.estimate
        return Grid(
            f"Distribution of {self.column!r} in {len(self.banded.labels):,} bands, from "
            f"{e.n:,.0f} records ({100 * e.level:g} % intervals)",
            [*others, "statistic", "value", "std err", "from", "to"],
            rows,
            left=len(others) + 1,
            notes=tuple(dict.fromkeys(note for _, part in self.parts for note in part.notes)),
            below="Numbers count as spread evenly within each band.",
        )

    def plot(self) -> "Figure":
        from pramble.plots.estimates import distribution_figure

        return distribution_figure(self)


def distribution(
    e: "Estimate",
    column: str | None,
    *,
    edges: Sequence[float] | None,
    high: float | None,
    shares: Sequence[float],
    leave_out: Sequence[Label],
) -> Distribution:
    if column is None:
        if len(e.cells) != 1:
            raise InvalidInput(f"Say which column holds bands: {', '.join(map(repr, e.cells))}.")
        column = next(iter(e.cells))
    refuse_given(e, column)
    gone = {label_key(label) for label in (*leave_out, None)}
    present = {label_key(label) for label in column_of(e, column)}
    unknown = [label for label in leave_out if label_key(label) not in present]
    if unknown:
        raise InvalidInput(f"{unknown[0]!r} is no label of {column!r}.")
    labels = tuple(label for label in labels_of(e, column) if label_key(label) not in gone)
    if not present <= {label_key(label) for label in labels} | gone:
        raise InvalidInput(
            f"The labels of {column!r} were merged and have no order; take this of the whole table."
        )
    banded = Banded(e, column, labels, ends_of(labels, edges, high, column=column))
    return Distribution(banded, quantiles_of(banded, checked_shares(shares)))


def ends_of(
    labels: Sequence[Label], edges: Sequence[float] | None, high: float | None, *, column: str
) -> Floats:
    """Return where bands begin and end, from their labels or as given."""
    if edges is None:
        found = list(edges_of_labels(labels))
    else:
        found = list(edges)
        if len(found) not in (len(labels), len(labels) + 1) or not all(map(is_number, found)):
            raise InvalidInput(
                f"{len(labels)} bands of {column!r} need as many edges, or one more for the end of "
                f"the last; found {len(found)}."
            )
        found += [np.inf] * (len(labels) + 1 - len(found))
        if any(after <= before for before, after in pairwise(found)):
            raise InvalidInput(f"The edges of bands must increase; found {list(edges)}.")
    if high is not None:
        if not np.isinf(found[-1]):
            raise InvalidInput(f"high= ends an open band; the last one ends at {found[-1]:g}.")
        if not is_number(high) or high < found[-2]:
            raise InvalidInput(
                f"high must be a number from {found[-2]:g} on, where the last band begins; found "
                f"{high!r}."
            )
        found[-1] = high
    return np.array(found, dtype=np.float64)
