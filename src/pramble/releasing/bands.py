r"""Bands of numbers: those by quantiles are found with noise, and some are written as numbers.

The range of a number is public and cut into cells; their counts get exact discrete Laplace noise,
which spends the part of α that a private prior would. Edges of bands are cells where the noisy
cumulative count passes :math:`1/k, 2/k, …` of the rows, whose number is public, and the noisy
counts between them are the prior: both only post-process the noisy histogram, and nothing else is
spent. Noisy counts are summed as they are: sums stay unbiased, and a cell's noise has a deviation
of about :math:`2\sqrt2/\varepsilon` people, so that more cells would be finer and noisier.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from pramble.data.bands import Points, plain_number
from pramble.data.crosstab import crosstab
from pramble.data.labels import as_labels
from pramble.data.open import open_records
from pramble.data.recode import Bands, as_bands, as_recodings
from pramble.errors import InvalidPlan
from pramble.releasing.column_design import base_shares
from pramble.releasing.noise import RandBelow, noisy_histogram
from pramble.releasing.priors import Prior, normalised
from pramble.releasing.spec.column import BAND, ColumnSpec
from pramble.releasing.spec.readers import COLUMNS
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.values import Floats

# Cells of the histogram that quantiles are read off.
# More cells would be finer and noisier: the sum of k noisy cells has √k times the noise of one.
CELLS = 100


def by_quantiles(column: ColumnSpec) -> bool:
    return isinstance(column.bands, Mapping) and "quantiles" in column.bands


def settle_bands(
    source: Any, spec: ReleaseSpec, *, randbelow: RandBelow = secrets.randbelow
) -> ReleaseSpec:
    """Return the spec with the edges of all bands; those by quantiles are looked for."""
    wanted = [column for column in spec.columns if by_quantiles(column)]
    if not wanted:
        return spec
    if spec.design != COLUMNS:
        raise InvalidPlan(
            f"Bands by quantiles, as of column {wanted[0].name!r}, go with columns that are "
            'designed one by one: design = "columns".'
        )
    if spec.person is not None and spec.rows_per_person is None:
        raise InvalidPlan("Bands by quantiles need rows_per_person stated, not counted.")
    rows = spec.rows_per_person or 1
    shares = base_shares(spec, spec.local_limit.alpha / rows)
    part = Fraction(spec.prior_share)
    found = {
        column.name: settle_column(
            source, spec, column, epsilon=part * shares[column.name], randbelow=randbelow
        )
        for column in wanted
    }
    columns = tuple(found.get(column.name, column) for column in spec.columns)
    return replace(spec, columns=columns)


def settle_column(
    source: Any,
    spec: ReleaseSpec,
    column: ColumnSpec,
    *,
    epsilon: Fraction,
    randbelow: RandBelow,
) -> ColumnSpec:
    """Return a column with the edges of its bands and the prior that came with them."""
    stated = column.bands
    low, high = float(stated["from"]), float(stated["to"])
    edges = (low + (high - low) * np.arange(CELLS) / CELLS).tolist()
    fine = Bands(tuple(edges), tuple(f"cell {cell}" for cell in range(CELLS)))
    counts = fine_counts(source, spec, column, low=low, fine=fine)
    noisy = noisy_histogram(counts, epsilon, randbelow=randbelow)
    found = np.array(noisy, dtype=np.float64)
    filled = sum(counts) - sum(noisy[CELLS:])
    # Empty cells are noisy too; what is left of the public number of rows is filled.
    places = cuts(found[:CELLS], int(stated["quantiles"]), rows=filled)
    if len(places) < 2:
        raise InvalidPlan(
            f"The noisy quantiles of column {column.name!r} all lie in one place between "
            f"{low:g} and {high:g}. Ask for fewer, narrow the range, or state the edges."
        )
    prior = Prior(
        normalised(banded(found, places).clip(min=0.0) + 0.5),
        "private",
        epsilon,
        f"Bands by quantiles of a histogram of {CELLS:,} cells from {low:g} to {high:g} with "
        f"discrete Laplace noise of scale {float(2 / epsilon):.6g} (sensitivity 2), which spent "
        f"{float(epsilon):.6g} of α; its counts are the prior.",
    )
    begins = tuple(plain_number(edges[place]) for place in places)
    return replace(column, low=low, high=high, bands=begins, prior="private", noisy=prior)


def fine_counts(
    source: Any, spec: ReleaseSpec, column: ColumnSpec, *, low: float, fine: Bands
) -> list[int]:
    """Return how many values lie in each cell; empty cells of the file last, if they are wanted."""
    before = as_recodings(replace(column, bands=None, low=low).recode)
    reading = replace(spec.reading, recode={column.name: (*before, fine)})
    table = crosstab(
        open_records(source, reading),
        [column.name],
        labels={column.name: as_labels([*fine.labels, None])},
    )
    counts = [int(count) for count in table.array()]
    return counts if column.missing is not None else counts[:CELLS]


def cuts(noisy: Floats, bands: int, *, rows: int) -> list[int]:
    """Return the cells at which bands begin: the first, and where quantiles are passed.

    >>> cuts(np.array([1.0, 1.0, 1.0, 1.0]), 2, rows=4), cuts(np.array([0.0, 9, 1, 0]), 3, rows=10)
    ([0, 2], [0, 2])
    """
    # Noise can make cumulative counts go down, and then a quantile would be passed twice.
    reached = np.maximum.accumulate(np.cumsum(noisy)) / max(rows, 1)
    passed = np.searchsorted(reached, np.arange(1, bands) / bands, side="left") + 1
    return sorted({0, *(int(place) for place in passed if place < len(noisy))})


def banded(noisy: Floats, places: list[int]) -> Floats:
    """Return the counts of bands that begin at some cells; what is beyond the cells stays apart."""
    ends = [*places, CELLS]
    inner = [float(noisy[one:other].sum()) for one, other in pairwise(ends)]
    return np.array([*inner, *noisy[CELLS:].tolist()])


def points_of(columns: Sequence[ColumnSpec]) -> dict[str, Points]:
    return {column.name: band_points(column) for column in columns if column.release_as != BAND}


def band_points(column: ColumnSpec) -> Points:
    """Return how one column of bands is written as numbers; refuse one that cannot be."""
    where = f'Column {column.name!r} with release_as = "{column.release_as}"'
    recode = column.recode
    found = None if "bands" not in recode else as_bands(recode["bands"])
    if not isinstance(found, Bands) or "merge" in recode:
        raise InvalidPlan(f"{where} must have bands of numbers, and none that are merged.")
    end = end_of(recode)
    if end is None or end <= found.edges[-1]:
        raise InvalidPlan(
            f"{where} must say where its last band ends: high = a number above "
            f"{found.edges[-1]:g}. Numbers beyond it count with that band."
        )
    if column.missing not in (None, True):
        raise InvalidPlan(
            f"{where} has numbers only; its empty cells stay empty with missing = true."
        )
    return Points(column.release_as, found.labels, (*found.edges, end))


def end_of(recode: Mapping[str, Any]) -> float | None:
    if "high" in recode:
        return float(recode["high"])
    stated = recode["bands"]
    return float(stated["to"]) if isinstance(stated, Mapping) else None
