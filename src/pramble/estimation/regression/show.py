"""A regression in words: for a terminal and for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pramble.estimation.regression.result import Regression

SHOWN = 60


def as_text(regression: Regression) -> str:
    """Return a title, the table with a line for each coefficient, and notes."""
    head, *body = rows_of(regression)
    first = max(len(row[0]) for row in [head, *body])
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(1, len(head))]

    def line(row: list[str]) -> str:
        return "  ".join([row[0].ljust(first), *map(str.rjust, row[1:], widths)]).rstrip()

    rule = "-" * len(line(head))
    title = title_of(regression)
    notes = [f"note: {note}" for note in regression.notes]
    return "\n".join([title, rule, line(head), rule, *map(line, body), rule, *notes])


def as_html(regression: Regression) -> str:
    """Return the same as a table of HTML."""
    head, *body = rows_of(regression)
    top = "".join(f"<th>{escape(text)}</th>" for text in head)
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(row[0])}</th>"
        + "".join(f"<td style='text-align:right'>{escape(text)}</td>" for text in row[1:])
        + "</tr>"
        for row in body
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in regression.notes)
    caption = f"<caption>{escape(title_of(regression))}</caption>"
    return f"<table>{caption}<thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>{notes}"


def title_of(regression: Regression) -> str:
    """Return what was regressed, on how many records, and what the errors cover."""
    return (
        f"{regression.family.capitalize()} regression of {regression.response} on "
        f"{regression.n:,.0f} records; errors cover {regression.covers_what.split(':')[0]}"
    )


def rows_of(regression: Regression) -> list[list[str]]:
    """Return the cells of the table, its head first."""
    low, high = 50 * (1 - regression.level), 50 * (1 + regression.level)
    head = ["", "coef", "std err", "z", "P>|z|", f"[{low:g} %", f"{high:g} %]", "inflation"]
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
    rows = [
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
    left = len(rows) - SHOWN
    return [head, *rows[:SHOWN], *([[f"… {left} more", *[""] * 7]] if left > 0 else [])]


def number(value: float) -> str:
    """Return a number with five digits.

    >>> number(0.123456), number(-12345678.0), number(float("inf")), number(float("nan"))
    ('0.12346', '-1.2346e+07', '∞', '')
    """
    if np.isnan(value):
        return ""
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.5g}"
