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
from pramble.ledger.book import Ledger, default_ledger
from pramble.ledger.entries import (
    PUBLISHING,
    Budgets,
    Entry,
    central_sum,
    fold,
    local_sum,
    units_differ,
)
from pramble.numbers import alpha_text, tiny
from pramble.privacy.promise import LocalPromise, composed
from pramble.shown import Grid
from pramble.words import first_names

MIXED = " They differ in whose rows they protect: the sums hold for a row alone."
# Columns of a release that are named one by one in a table.
MOST_COLUMNS = 3


def ledger(
    path: Annotated[
        Path | None, option("Ledger file; $PRAMBLE_LEDGER or your own by default.", "--ledger")
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    cancel: Annotated[
        int | None, option("Cancel this pending entry, which was never about to be published.")
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
    holds untouched columns, spends as much ε as α. The last line is the seal of all entries: with
    it a later ledger shows that none was lost.

    Examples
    --------
      pramble ledger

      pramble ledger --ledger office.db --csv > ledger.csv

      pramble ledger --people employees --budget 4

      pramble ledger --people employees --central-budget 2,1e-5
    """
    book = Ledger(path or default_ledger(), make=False)
    if cancel is not None:
        book.cancel(cancel)
        messages().print(f"Cancelled pending release {cancel}.")
        return
    if budget is not None or central_budget is not None:
        set_budgets(book, people, budget, central_budget)
        return
    rows = running_totals(book)
    if people is not None:
        rows = [row for row in rows if fold(row["people"]) == fold(people)]
    if as_json:
        print_json(rows)
    elif as_csv:
        names = ["id", "created", "people", "file", "columns", "alpha", "total", "budget"]
        names += ["epsilon", "delta", "total_epsilon", "total_delta", "together", "target", "state"]
        names += ["unit", "by"]
        written = (
            {**row, "columns": " ".join(row["columns"]), "unit": unit_text(row["unit"])}
            for row in rows
        )
        print_csv(names, [[row[name] for name in names] for row in written])
    else:
        print_releases(book, rows)


def print_releases(book: Ledger, rows: Sequence[dict[str, Any]]) -> None:
    """Print a line for each release, and below them what each people's add up to."""
    head = ["id", "created", "people", "file", "columns", "of", "state", "α", "ε", "δ"]
    lines = [
        [
            str(row["id"]), row["created"][:10], row["people"], row["file"],
            first_names(row["columns"], MOST_COLUMNS), unit_text(row["unit"]), row["state"],
            "—" if row["alpha"] is None else alpha_text(row["alpha"]), alpha_text(row["epsilon"]),
            f"{row['delta']:.2g}" if row["delta"] else "",
        ]
        for row in rows
    ]  # fmt: skip
    latest = {row["people"]: row for row in rows}.values()
    unclear = [
        f"Release {row['id']} may have been published when its run ended, so it counts."
        for row in rows
        if row["state"] == PUBLISHING
    ]
    show(
        Grid(f"Releases in {book.path}", head, lines, left=7),
        *map(total_sentence, latest),
        *unclear,
        f"Seal: {book.seal}",
    )


def unit_text(unit: dict[str, Any]) -> str:
    """Return whose rows a promise is about, in a word or two.

    >>> unit_text({"of": "person", "rows": 3, "columns": ["patient"], "stated": True})
    'person, 3 rows'
    """
    return f"{unit['of']}, {unit['rows']} rows" if unit["rows"] > 1 else str(unit["of"])


def total_sentence(row: dict[str, Any]) -> str:
    """Say what was spent on the people of a release up to it, both ways, and their budgets."""
    local, most = row["budget"], row["central_budget"]
    limit = "" if local is None else f" of a budget of {alpha_text(local)}"
    central = (
        "" if most is None else f" of a budget of ε = {alpha_text(most[0])}, δ = {most[1]:.2g}"
    )
    delta = f", δ = {tiny(row['total_delta'])}" if row["total_delta"] else ""
    best = ""
    if row["together"] < row["total_epsilon"]:
        best = f"; ε = {alpha_text(row['together'])} at δ = {tiny(row['together_delta'])}"
    whole = (
        "no α holds over all" if row["total"] is None else f"α = {alpha_text(row['total'])} in all"
    )
    return (
        f"{row['people']}: {whole}{limit}; against readers of the releases "
        f"ε = {alpha_text(row['total_epsilon'])}{delta}{central}{best}."
        f"{MIXED if row['mixed_units'] else ''}"
    )


def set_budgets(
    book: Ledger, people: str | None, budget: float | None, central: str | None
) -> None:
    """Store the budgets of people that the ledger knows."""
    if people is None or not book.entries(people):
        raise InvalidInput("A budget is of people that the ledger knows; name them with --people.")
    if budget is not None:
        if not 0 < budget < math.inf:
            raise InvalidInput(f"A budget must be a positive number; found {budget!r}.")
        book.set_budget(people, LocalPromise(Fraction(budget)))
        messages().print(f"The budget of {people!r} is {budget:g}.")
    if central is not None:
        most = as_central(central.split(","))
        book.set_budget(people, most)
        messages().print(f"The central budget of {people!r} is {most.number}.")


def running_totals(book: Ledger) -> list[dict[str, Any]]:
    """Return every release with what was spent on its people up to then, and their budgets.

    ``together`` is the ε of all releases of the same people, at the δ of their budget, or at twice
    the δ that they add up to.
    """
    rows: list[dict[str, Any]] = []
    spent: dict[str, list[Entry]] = {}
    budgets: dict[str, Budgets] = {}
    for entry in book.entries():
        own = spent.setdefault(entry.people, [])
        own.append(entry)
        total, central = local_sum(own), central_sum(own)
        limits = budgets.setdefault(entry.people, book.budgets(entry.people))
        most = limits.central
        delta = 2 * central.shown_delta if most is None else most.shown_delta
        rows.append({
            **entry.as_row(),
            "total": None if total.is_unbounded else total.shown,
            "budget": limits.local and limits.local.shown,
            "total_epsilon": central.shown,
            "total_delta": central.shown_delta,
            "together": composed([one.central for one in own], delta=delta),
            "together_delta": delta,
            "mixed_units": units_differ([one.unit for one in own]),
            "central_budget": most and [most.shown, most.shown_delta],
        })  # fmt: skip
    return rows
