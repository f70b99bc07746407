"""``pramble ledger``: what was spent on whom."""

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pramble.cli.console import messages, print_csv, print_json, show
from pramble.cli.inputs import AsCsv, AsJson, Text, option
from pramble.errors import InvalidInput
from pramble.ledger.account import as_central
from pramble.ledger.book import Entry, Ledger, central_sum, central_text, default_ledger, local_sum
from pramble.privacy.promise import LocalPromise, composed
from pramble.shown import Grid
from pramble.words import first_names

# Columns of a release that are named one by one in a table.
MOST_COLUMNS = 3


def ledger(
    path: Annotated[Path | None, option("Ledger file; your own by default.", "--ledger")] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    cancel: Annotated[
        int | None, option("Remove this pending entry, of which nothing was published.")
    ] = None,
    people: Annotated[Text, option("List only releases of these people.")] = None,
    budget: Annotated[
        float | None, option("Set the most α that may ever be spent on --people.")
    ] = None,
    central_budget: Annotated[
        Text, option("Set the most central ε,δ for --people: 2,1e-5.")
    ] = None,
) -> None:
    """List the releases in a ledger, with the running total of each group of people.

    Local α and central ε and δ are added up separately. A release that is not shuffled, or that
    holds untouched columns, spends as much ε as α.

    Examples
    --------
      pramble ledger

      pramble ledger --ledger office.db --csv > ledger.csv

      pramble ledger --people employees --budget 4

      pramble ledger --people employees --central-budget 2,1e-5
    """
    book = Ledger(path or default_ledger())
    if cancel is not None:
        book.cancel(cancel)
        messages().print(f"Removed pending release {cancel}.")
        return
    if budget is not None or central_budget is not None:
        set_budgets(book, people, budget, central_budget)
        return
    rows = [row for row in running_totals(book) if people is None or row["people"] == people]
    if as_json:
        print_json(rows)
    elif as_csv:
        names = ["id", "created", "people", "file", "columns", "alpha", "total", "budget"]
        names += ["epsilon", "delta", "total_epsilon", "total_delta", "together", "target", "state"]
        written = ({**row, "columns": " ".join(row["columns"])} for row in rows)
        print_csv(names, [[row[name] for name in names] for row in written])
    else:
        print_releases(book, rows)


def print_releases(book: Ledger, rows: Sequence[dict[str, Any]]) -> None:
    """Print a line for each release, and below them what each people's add up to."""
    head = ["id", "created", "people", "file", "columns", "state", "α", "ε", "δ"]
    lines = [
        [
            str(row["id"]), row["created"][:10], row["people"], row["file"],
            first_names(row["columns"], MOST_COLUMNS), row["state"],
            "—" if row["alpha"] is None else f"{row['alpha']:.4g}", f"{row['epsilon']:.4g}",
            f"{row['delta']:.2g}" if row["delta"] else "",
        ]
        for row in rows
    ]  # fmt: skip
    latest = {row["people"]: row for row in rows}.values()
    show(Grid(f"Releases in {book.path}", head, lines, left=6), *map(total_sentence, latest))


def total_sentence(row: dict[str, Any]) -> str:
    """Say what was spent on the people of a release up to it, both ways, and their budgets."""
    local, most = row["budget"], row["central_budget"]
    limit = "" if local is None else f" of a budget of {local:.4g}"
    central = "" if most is None else f" of a budget of ε = {most[0]:.4g}, δ = {most[1]:.2g}"
    delta = f", δ = {row['total_delta']:.2g}" if row["total_delta"] else ""
    best = ""
    if row["together"] < row["total_epsilon"]:
        best = f"; ε = {row['together']:.4g} at δ = {2 * row['total_delta']:.2g}"
    whole = "no α holds over all" if row["total"] is None else f"α = {row['total']:.4g} in all"
    return (
        f"{row['people']}: {whole}{limit}; against readers of the releases "
        f"ε = {row['total_epsilon']:.4g}{delta}{central}{best}."
    )


def set_budgets(
    book: Ledger, people: str | None, budget: float | None, central: str | None
) -> None:
    """Store the budgets of people that the ledger knows."""
    if people not in {entry.people for entry in book.entries()}:
        raise InvalidInput("A budget is of people that the ledger knows; name them with --people.")
    if budget is not None:
        if not 0 < budget < math.inf:
            raise InvalidInput(f"A budget must be a positive number; found {budget!r}.")
        book.set_budget(people, LocalPromise(Fraction(budget)))
        messages().print(f"The budget of {people!r} is {budget:g}.")
    if central is not None:
        most = as_central(central.split(","))
        book.set_budget(people, most)
        messages().print(f"The central budget of {people!r} is {central_text(most)}.")


def running_totals(book: Ledger) -> list[dict[str, Any]]:
    """Return every release with what was spent on its people up to then, and their budgets.

    ``together`` is the ε of all releases of the same people at twice the δ that they add up to.
    """
    rows: list[dict[str, Any]] = []
    spent: dict[str, list[Entry]] = {}
    for entry in book.entries():
        own = spent.setdefault(entry.people, [])
        own.append(entry)
        total, central = local_sum(own), central_sum(own)
        limit, most = book.budgets(entry.people)
        rows.append({
            **entry.as_row(),
            "total": None if total.is_unbounded else total.shown,
            "budget": limit and limit.shown,
            "total_epsilon": central.shown,
            "total_delta": central.shown_delta,
            "together": composed([one.central for one in own], delta=2 * central.shown_delta),
            "central_budget": most and [most.shown, most.shown_delta],
        })  # fmt: skip
    return rows
