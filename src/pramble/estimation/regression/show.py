"""A regression in words: for a terminal and for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pramble.shown import Grid, number, shortened

if TYPE_CHECKING:
    from pramble.estimation.regression.result import Regression


def as_grid(regression: Regression) -> Grid:
    """Return a title, a line for each coefficient, and notes."""
    rows = shortened(rows_of(regression))
    return Grid(title_of(regression), head_of(regression), rows, notes=regression.notes)


def title_of(regression: Regression) -> str:
    """Return what was regressed, on how many records, and what the errors cover."""
    return (
        f"{regression.family.capitalize()} regression of {regression.response} on "
        f"{regression.n:,.0f} records; errors cover {regression.covers_what.split(':')[0]}"
    )


def head_of(regression: Regression) -> list[str]:
    """Return the headings of the table."""
    low, high = 50 * (1 - regression.level), 50 * (1 + regression.level)
    return ["", "coef", "std err", "z", "P>|z|", f"[{low:g} %", f"{high:g} %]", "inflation"]


def rows_of(regression: Regression) -> list[list[str]]:
    """Return the cells of the table."""
    columns = zip(
        regression.names,
        regression.coefficients,
        regression.standard_errors,
        regression.z,
        regression.p_values,
        regression.lower,
        regression.upper,
        regression.inflation,
        strict=True,
    )
    return [
        [
            name,
            number(b),
            number(e),
            "" if np.isnan(z) else f"{z:.2f}",
            "" if np.isnan(p) else f"{p:.3f}",
            number(lower),
            number(upper),
            "" if np.isnan(factor) else f"{factor:.1f}×",
        ]
        for name, b, e, z, p, lower, upper, factor in columns
    ]
