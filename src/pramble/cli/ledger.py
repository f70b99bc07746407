"""``pramble ledger``: what was spent on whom."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from pramble.cli.console import answers, messages, print_csv, print_json, table_of
from pramble.cli.options import AsJson
from pramble.privacy.guarantee import RecordPrivacy
from pramble.releasing.folder.ledger import Ledger, default_ledger


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
) -> None:
    """List the releases in a ledger, with the running total of α for each file's people.

    Examples
    --------
      pramble ledger

      pramble ledger --ledger office.db --csv > ledger.csv
    """
    book = Ledger(path or default_ledger())
    if cancel is not None:
        book.cancel(cancel)
        messages().print(f"Removed pending release {cancel}.")
        return
    rows: list[dict[str, Any]] = []
    totals: dict[str, RecordPrivacy] = {}
    for entry in book.entries():
        before = totals.get(entry.fingerprint, RecordPrivacy(Fraction(0)))
        totals[entry.fingerprint] = before + entry.spent
        rows.append({**entry.as_row(), "total": totals[entry.fingerprint].shown})
    if as_json:
        print_json(rows)
    elif as_csv:
        names = ["id", "created", "people", "columns", "alpha", "total", "target", "state"]
        written = ({**row, "columns": " ".join(row["columns"])} for row in rows)
        print_csv(names, [[row[name] for name in names] for row in written])
    else:
        texts = ("created", "people", "columns", "target", "state")
        headings = ("id", "created", "people", "columns", "α", "total", "target", "state")
        table = table_of(f"Releases in {book.path}", *headings, left=texts)
        for row in rows:
            table.add_row(
                str(row["id"]),
                row["created"],
                row["people"],
                ", ".join(row["columns"]),
                f"{row['alpha']:.4g}",
                f"{row['total']:.4g}",
                row["target"],
                row["state"],
            )
        answers().print(table)
