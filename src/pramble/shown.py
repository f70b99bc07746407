"""Results in words: aligned tables for a terminal, the same as HTML for a notebook."""

import math
from collections.abc import Sequence
from html import escape

MOST_ROWS = 60


def number(value: float, digits: int = 5) -> str:
    """Return a number with some significant digits; nothing for what is none.

    >>> number(0.123456), number(-12345678.0), number(float("inf")), number(float("nan"))
    ('0.12346', '-1.2346e+07', '∞', '')
    """
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.{digits}g}"


def shortened(rows: Sequence[Sequence[str]], most: int = MOST_ROWS) -> list[list[str]]:
    """Return the first rows, and a line that says how many more there are."""
    left = len(rows) - most
    shown = [list(row) for row in rows[:most]]
    if left > 0:
        shown.append([f"… {left:,} more", *[""] * (len(rows[0]) - 1)])
    return shown


def text_table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: int = 1,
    notes: Sequence[str] = (),
) -> str:
    """Return a titled table of text; so many first columns stand left, the others right.

    >>> print(text_table("Two", ["", "x"], [["a", "1"], ["b", "22"]], notes=["few"]))
    Two
    -----
        x
    -----
    a   1
    b  22
    -----
    note: few
    """
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [
            text.ljust(width) if i < left else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    body = [title, rule, line(head), rule, *map(line, rows), rule]
    return "\n".join([*body, *(f"note: {note}" for note in notes)])


def html_table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: int = 1,
    notes: Sequence[str] = (),
) -> str:
    """Return the same as a table of HTML.

    >>> html_table("T", ["", "x"], [["<a>", "1"]])[:58]
    '<table><caption>T</caption><thead><tr><th></th><th>x</th><'
    """

    def cell(i: int, text: str) -> str:
        side = "left" if i < left else "right"
        return f"<td style='text-align:{side}'>{escape(text)}</td>"

    top = "".join(f"<th>{escape(text)}</th>" for text in head)
    body = "".join(
        f"<tr>{''.join(cell(i, text) for i, text in enumerate(row))}</tr>" for row in rows
    )
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    caption = f"<caption>{escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{below}"
