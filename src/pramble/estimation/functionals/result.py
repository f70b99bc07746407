"""The answer of an estimation, as a value."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from pramble.data.frames import Tidy
from pramble.errors import InvalidInput
from pramble.estimation.functionals import ratios
from pramble.estimation.functionals.linearised import contrast, function, loglinear
from pramble.estimation.functionals.numbers import distribution
from pramble.estimation.records.intervals import check_level
from pramble.shown import Display, Grid, number, shortened
from pramble.values import Floats, frozen, read_only

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

Covers = Literal["both", "randomisation", "randomization"]
Method = Literal["mle", "inverse"]
METHODS = get_args(Method)
COVERS = {
    "both": "sampling and randomisation: the intervals are for what the file was sampled from, as "
    "if it were a simple random sample",
    "randomisation": "randomisation only: the intervals are for the file itself",
}

# What they cover where weights or a survey design are stated.
FOR_POPULATION = "sampling and randomisation: the intervals are for the population behind the file"


def covered(covers: str, *, is_designed: bool) -> str:
    return FOR_POPULATION if is_designed and covers == "both" else COVERS[covers]


def modelled_note(tables: Sequence[Sequence[str]]) -> str:
    listed = ", ".join(" × ".join(table) for table in tables)
    return (
        f"Modelled: these columns were not measured together. The estimates follow from the "
        f"measured tables {listed}, if there is no interaction beyond them; errors and intervals "
        "hold if that is so and do not measure the error of the model."
    )


@frozen(eq=False, repr=False)
class Estimate(Display, Tidy):
    r"""What a release says about the original, cell by cell.

    Attributes
    ----------
    probabilities : (K,) array
        Estimates in the order of ``m.categories``, or of the rows of ``table``. With ``query=``,
        ``mean=`` or ``total=`` these are the answers asked for; ``values`` is the same array.
    standard_errors, lower, upper : (K,) arrays
        Standard errors, and intervals of the confidence ``level``. Shares estimated by maximum
        likelihood cannot fall below zero, and their standard errors know it
        (:func:`pramble.estimation.records.intervals.errors_within`).
    covariance : (K, K) array
        Covariance of the unbiased estimates, built when asked for.
    table : frame
        All of this as a tidy frame, in the kind of frame that came in (pyarrow otherwise).
    n : int or float
        Number of records.
    cells : mapping from column to labels
        What each estimate is about.
    method, level, covers : str, float, str
        How it was estimated, and what the intervals cover.
    log_likelihood, gap : float
        Log-likelihood at the estimate and the proven bound on how much more there could be. NaN for
        ``method="inverse"``.
    misfit : float
        How likely, at most, counts are that fit the plan this badly: a p-value of the likelihood
        ratio against any released distribution. Next to zero, the data was hardly released with
        this plan. NaN with weights and for ``method="inverse"``.
    notes : tuple of str
        What to know about these estimates: which cannot be told, and why.
    given : tuple of str
        The columns that conditional shares are given.
    rests_on : tuple of tuples of str
        The measured tables that a modelled estimate rests on; empty where the columns asked for
        were measured together (:mod:`pramble.estimation.tables.modelled`).
    titles : mapping from column to str
        What the source of the release calls its columns in words.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> e = pramble.estimate([650, 350], m, counts=True)
    >>> e
    Estimate of 2 cells from 1,000 records (mle, 95 % intervals)
    ------------------------------------------
    category    share  std err    from      to
    ------------------------------------------
    no        0.82459  0.03264  0.7595  0.8872
    yes       0.17541  0.03264  0.1128  0.2405
    ------------------------------------------
    Errors cover sampling and randomisation.
    >>> e.covariance.shape, e.covers_what[:26]
    ((2, 2), 'sampling and randomisation')
    """

    cells: Mapping[str, Sequence[Any]]
    probabilities: Floats
    standard_errors: Floats
    lower: Floats
    upper: Floats
    n: float
    covariance_parts: Any
    method: str = "mle"
    level: float = 0.95
    covers: str = "both"
    log_likelihood: float = float("nan")
    gap: float = float("nan")
    misfit: float = float("nan")
    quantity: str = "share"
    backend: str = "pyarrow"
    notes: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    rests_on: tuple[tuple[str, ...], ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    is_designed: bool = False

    def __post_init__(self) -> None:
        for name in ("probabilities", "standard_errors", "lower", "upper"):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != np.shape(self.probabilities) or array.ndim != 1:
                raise InvalidInput(f"{name} must be one number per cell; shape {array.shape}.")
            object.__setattr__(self, name, array)
        cells = {name: tuple(labels) for name, labels in self.cells.items()}
        object.__setattr__(self, "cells", cells)
        if self.is_modelled:  # whatever follows from a modelled table is modelled too
            others = (note for note in self.notes if note != modelled_note(self.rests_on))
            object.__setattr__(self, "notes", (modelled_note(self.rests_on), *others))

    def summary(self) -> str:
        """Return the estimates as a table of text, with what to know about them."""
        return repr(self)

    def shown(self) -> Grid:
        """Return the first rows, and what the errors cover."""
        numbers = zip(self.values, self.standard_errors, self.lower, self.upper, strict=True)
        labels = zip(*self.cells.values(), strict=True)
        rows = [
            [*map(str, cell), number(value), *(number(other, 4) for other in others)]
            for cell, (value, *others) in zip(labels, numbers, strict=True)
        ]
        return Grid(
            f"{'Modelled estimate' if self.is_modelled else 'Estimate'} of {len(self.values):,} "
            f"cells from {self.n:,.0f} records ({self.method}, {100 * self.level:g} % intervals)",
            [*self.cells, self.quantity, "std err", "from", "to"],
            shortened(rows),
            left=len(self.cells),
            notes=(
                *self.notes,
                *(f"{n}: {self.titles[n]}" for n in self.cells if n in self.titles),
            ),
            below=f"Errors cover {self.covers_what.split(':')[0]}.",
        )

    @property
    def values(self) -> Floats:
        """The estimates; another name for ``probabilities``."""
        return self.probabilities

    @property
    def covers_what(self) -> str:
        """What the intervals cover, in words."""
        said = covered(self.covers, is_designed=self.is_designed)
        return said + " and hold if the model does" * self.is_modelled

    @property
    def is_modelled(self) -> bool:
        """Whether the columns were not measured together, so that the table is modelled."""
        return bool(self.rests_on)

    @cached_property
    def covariance(self) -> Floats:
        """The (K, K) covariance of the estimates, read-only."""
        return read_only(np.asarray(self.covariance_parts.covariance()))

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as plain lists."""
        return {
            **{name: list(labels) for name, labels in self.cells.items()},
            self.quantity: self.probabilities.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
        }

    counts = ratios.counts
    collapse = ratios.collapse
    mean = ratios.mean
    cumulative = ratios.cumulative
    quantiles = ratios.quantiles
    distribution = distribution
    contrast = contrast
    function = function
    loglinear = loglinear

    @property
    def orders(self) -> dict[str, Sequence[Any]]:
        """The labels of every column, in order."""
        layout = getattr(self.covariance_parts, "layout", None)
        return {
            name: layout.order_of(name)
            if layout is not None and name in layout.by
            else tuple(dict.fromkeys(labels))
            for name, labels in self.cells.items()
        }

    def plot(self) -> Figure:
        """Return a figure of the estimates with their intervals."""
        from pramble.plots.estimates import estimate_figure

        return estimate_figure(self)


@frozen
class Settings:
    """The choices of one estimation."""

    level: float
    covers: str
    population_size: float | None
    method: str
    design_effect: float = 1.0
    is_designed: bool = False  # whether weights or how the file was sampled were stated

    def __post_init__(self) -> None:
        check_level(self.level)
        covers = "randomisation" if self.covers == "randomization" else self.covers
        if covers not in COVERS:
            raise InvalidInput(f"covers must be one of {', '.join(COVERS)}; found {covers!r}.")
        if self.method not in METHODS:
            raise InvalidInput(
                f"method must be one of {', '.join(METHODS)}; found {self.method!r}."
            )
        object.__setattr__(self, "covers", covers)

    def sampling_share(self, n: float) -> float:
        N = self.population_size
        if N is None or self.covers == "randomisation":
            return float(self.covers == "both") * self.design_effect
        if not max(n, 2) <= N:
            raise InvalidInput(
                f"population_size must be at least the number of records, {n:g}; found {N!r}."
            )
        return float((N - n) / (N - 1)) * self.design_effect

    def estimate(
        self, values: Floats, errors: Floats, ends: tuple[Floats, Floats], **rest: Any
    ) -> Estimate:
        """Return estimates as these choices have it; ``rest`` are other fields of theirs."""
        own: dict[str, Any] = {"level": self.level, "covers": self.covers, "method": self.method}
        own |= {"probabilities": values, "standard_errors": errors}
        own |= {"is_designed": self.is_designed}
        return Estimate(**{**own, "lower": ends[0], "upper": ends[1], **rest})
