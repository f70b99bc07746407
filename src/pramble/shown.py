"""Results in words: aligned tables for a terminal, the same as HTML for a notebook."""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

from pramble.words import visible

MOST_ROWS, WIDTH = 60, 98


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


def shortened(
    rows: Sequence[Sequence[str]], most: int = MOST_ROWS, *, hint: str = ""
) -> list[list[str]]:
    """Return the first rows, and a line that says how many more there are, and where."""
    left = len(rows) - most
    shown = [list(row) for row in rows[:most]]
    if left > 0:
        shown.append([f"… {left:,} more{hint}", *[""] * (len(rows[0]) - 1)])
    return shown


@dataclass(frozen=True)
class Grid:
    """A titled table of text; so many first columns stand left, the others right.

    >>> print(Grid("Two", ["", "x"], [["a", "1"], ["b", "22"]], notes=["few"]).text())
    Two
    -----
        x
    -----
    a   1
    b  22
    -----
    note: few
    >>> Grid("T", ["", "x"], [["<a>", "1"]]).html()[:58]
    '<table><caption>T</caption><thead><tr><th></th><th>x</th><'
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    notes: Sequence[str] = ()
    below: str = ""

    def text(self) -> str:
        """Return lines for a terminal."""
        lines = [[on_one_line(text) for text in row] for row in (self.head, *self.rows)]
        widths = [max(len(row[i]) for row in lines) for i in range(len(self.head))]

        def line(row: Sequence[str]) -> str:
            cells = [
                text.ljust(width) if i < self.left else text.rjust(width)
                for i, (text, width) in enumerate(zip(row, widths, strict=True))
            ]
            return "  ".join(cells).rstrip()

        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        head, *rows = map(line, lines)
        body = [self.title, rule, head, rule, *rows, rule]
        return visible("\n".join([*body, *noted(self.notes), *filter(None, [self.below])]))

    def html(self) -> str:
        """Return a table for a notebook."""

        def cell(i: int, text: str) -> str:
            side = "left" if i < self.left else "right"
            return f"<td style='text-align:{side}'>{escape(text)}</td>"

        top = "".join(f"<th>{escape(text)}</th>" for text in self.head)
        body = "".join(
            f"<tr>{''.join(cell(i, text) for i, text in enumerate(row))}</tr>" for row in self.rows
        )
        return (
            f"<table><caption>{escape(self.title)}</caption><thead><tr>{top}</tr></thead>"
            f"<tbody>{body}</tbody></table>{paragraphs([*self.notes, self.below])}"
        )


@dataclass(frozen=True)
class Facts:
    """A title, and names with what is to be said of each.

    >>> print(Facts("Two facts", [("a", "1"), ("long", "2")], notes=["few"]).text())
    Two facts
      a     1
      long  2
      note: few
    """

    title: str
    rows: Sequence[tuple[str, str]]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Return lines for a terminal."""
        width = max((len(name) for name, _ in self.rows), default=0)
        rows = ((name, on_one_line(text)) for name, text in self.rows)
        lines = [self.title, *(f"  {name:<{width}}  {text}" for name, text in rows)]
        return visible("\n".join([*lines, *(f"  {note}" for note in noted(self.notes))]))

    def html(self) -> str:
        """Return a table for a notebook."""
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in self.rows
        )
        return (
            f"<table><caption>{escape(self.title)}</caption>{cells}</table>{paragraphs(self.notes)}"
        )


class Display:
    """A result that shows itself, with its numbers, in a terminal and in a notebook."""

    def shown(self) -> Grid | Facts:
        """Return what there is to see."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.shown().text()

    def _repr_html_(self) -> str:
        return self.shown().html()


def csv_text(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    r"""Return a table as the text of a CSV file.

    >>> csv_text(["a", "share"], [("x, y", 0.5)])
    'a,share\n"x, y",0.5\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def on_one_line(text: str) -> str:
    r"""Return a text that neither breaks its line nor steers a terminal: labels are strangers'.

    >>> print(on_one_line("a\n\x1b[31mb"))
    a\n\x1b[31mb
    """
    return visible(text).replace("\n", "\\n")


def noted(notes: Sequence[str]) -> list[str]:
    """Return notes as lines that fit a terminal."""
    wrapped = (wrap(f"note: {note}", WIDTH, subsequent_indent="  ") for note in notes)
    return [line for lines in wrapped for line in lines]


def paragraphs(notes: Sequence[str]) -> str:
    return "".join(f"<p>{escape(note)}</p>" for note in notes if note)
