"""``pramble ledger``: what was spent on whom."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from pramble.cli.console import answers, messages, print_csv, print_json, table_of
from pramble.cli.options import AsJson
from pramble.errors import InvalidInput
from pramble.ledger.book import Ledger, default_ledger
from pramble.privacy.guarantee import RecordPrivacy


def ledger(
    path: Annotated[
        Path | None, typer.Option("--ledger", help="Ledger file; your own by default.")
    ] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    cancel: Annotated[
        int | None,
        typer.Option(help="Remove this pending entry, of which nothing was published."),
    ] = None,
    people: Annotated[str | None, typer.Option(help="List only releases of these people.")] = None,
    budget: Annotated[
        float | None, typer.Option(help="Set the most α that may ever be spent on --people.")
    ] = None,
) -> None:
    """List the releases in a ledger, with the running total of α of each person.

    Examples
    --------
      pramble ledger

      pramble ledger --ledger office.db --csv > ledger.csv

      pramble ledger --people employees --budget 4
    """
    book = Ledger(path or default_ledger())
    if cancel is not None:
        book.cancel(cancel)
        messages().print(f"Removed pending release {cancel}.")
        return
    if budget is not None:
        set_budget(book, people, budget)
        return
    rows = [row for row in running_totals(book) if people is None or row["people"] == people]
    if as_json:
        print_json(rows)
    elif as_csv:
        names = ["id", "created", "people", "file", "columns", "alpha", "total", "budget"]
        names += ["target", "state"]
        written = ({**row, "columns": " ".join(row["columns"])} for row in rows)
        print_csv(names, [[row[name] for name in names] for row in written])
    else:
        texts = ("created", "people", "file", "columns", "state")
        headings = ("id", "created", "people", "file", "columns", "α", "total", "budget", "state")
        table = table_of(f"Releases in {book.path}", *headings, left=texts)
        for row in rows:
            table.add_row(
                str(row["id"]),
                row["created"],
                row["people"],
                row["file"],
                ", ".join(row["columns"]),
                f"{row['alpha']:.4g}",
                f"{row['total']:.4g}",
                "" if row["budget"] is None else f"{row['budget']:.4g}",
                row["state"],
            )
        answers().print(table)


def set_budget(book: Ledger, people: str | None, budget: float) -> None:
    """Store the budget of people that the ledger knows."""
    if people not in {entry.people for entry in book.entries()}:
        raise InvalidInput("A budget is of people that the ledger knows; name them with --people.")
    if not 0 < budget < math.inf:
        raise InvalidInput(f"A budget must be a positive number; found {budget!r}.")
    book.set_budget(people, RecordPrivacy(Fraction(budget)))
    messages().print(f"The budget of {people!r} is {budget:g}.")


def running_totals(book: Ledger) -> list[dict[str, Any]]:
    """Return every release with what was spent on its people up to then, and their budget."""
    rows: list[dict[str, Any]] = []
    totals: dict[str, RecordPrivacy] = {}
    for entry in book.entries():
        totals[entry.people] = totals.get(entry.people, RecordPrivacy(Fraction(0))) + entry.spent
        limit = book.budget(entry.people)
        shown = {"total": totals[entry.people].shown, "budget": limit and limit.shown}
        rows.append({**entry.as_row(), **shown})
    return rows
