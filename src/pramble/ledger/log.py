"""The log of a ledger: events that are only added, each sealed with all before it."""

import getpass
import hmac
import json
import platform
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from typing import Any

from pramble.ledger.entries import DONE, PUBLISHING, Budgets, Entry, fold
from pramble.privacy.promise import CentralPromise, LocalPromise
from pramble.privacy.unit import Unit
from pramble.values import frozen

# Of the file: 1 had tables of people and of what was spent, and no number (0).
FORMAT = 2
# A table of that name and other columns, which earlier versions of pramble refuse.
SCHEMA = """
CREATE TABLE secret (id INTEGER PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL,
  events INTEGER NOT NULL, seal TEXT NOT NULL);
CREATE TABLE event (number INTEGER PRIMARY KEY, text TEXT NOT NULL, seal TEXT NOT NULL);
"""


def seal_of(key: bytes, before: str, text: str) -> str:
    return hmac.new(key, f"{before}\n{text}".encode(), sha256).hexdigest()


@frozen(eq=False)
class Log:
    """All events of a ledger, whose seals were verified, and what follows from them.

    - ``seals``: That of an empty ledger, and that of each event.
    - ``last``: The largest number of an entry: none is given twice, also after a cancellation.
    - ``names``: How people are called, by their names without case and outer blanks.
    """

    key: bytes
    seals: tuple[str, ...]
    entries: dict[int, Entry]
    budgets: dict[str, Budgets]
    last: int
    names: dict[str, str]

    def spelling(self, people: str) -> str:
        return self.names.get(fold(people), people)

    def of_people(self, people: str | None) -> list[Entry]:
        whose = None if people is None else self.spelling(people)
        return [entry for entry in self.entries.values() if whose in (None, entry.people)]


def replayed(key: bytes, events: Sequence[Mapping[str, Any]], seals: Sequence[str]) -> Log:
    entries: dict[int, Entry] = {}
    budgets: dict[str, Budgets] = {}
    names: dict[str, str] = {}
    last = 0
    for event in events:
        # Earlier versions took another spelling for other people.
        spelled = event.get("people", "")
        people = names.setdefault(fold(spelled), spelled)
        match event["event"]:
            case "entered":
                entry = replace(Entry.from_json(event), people=people)
                entries[entry.id] = entry
                last = max(last, entry.id)
            case "publishing" | "done" as state:
                entries[event["id"]] = replace(entries[event["id"]], state=state)
            case "cancelled":
                del entries[event["id"]]
            case "budgets":
                local, central = event["local"], event["central"]
                found = Budgets(
                    None if local is None else LocalPromise(Fraction(local)),
                    None
                    if central is None
                    else CentralPromise(Fraction(central[0]), Fraction(central[1])),
                )
                known = found if people == spelled else budgets.get(people, found)
                budgets[people] = known.within(found)
            case "taken over":
                last = max(last, event["last"])
    return Log(key, tuple(seals), entries, budgets, last, names)


def stamp() -> dict[str, str]:
    """Return when and by whom something is written, so that an office knows whom to ask."""
    user = ""
    with suppress(OSError, KeyError, ImportError):  # users without a name, as in containers
        user = getpass.getuser()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"created": now, "by": f"{user}@{platform.node()}"}


def append(
    connection: sqlite3.Connection,
    key: bytes,
    *,
    before: Sequence[str],
    events: Sequence[Mapping[str, Any]],
) -> None:
    """Add events to the log, each sealed with all before it."""
    texts = [json.dumps(event, sort_keys=True, ensure_ascii=False) for event in events]
    seals = [before[-1]]
    for text in texts:
        seals.append(seal_of(key, seals[-1], text))
    rows = zip(range(len(before), len(before) + len(texts)), texts, seals[1:], strict=True)
    connection.executemany("INSERT INTO event VALUES (?, ?, ?)", rows)
    connection.execute(
        "UPDATE secret SET events = ?, seal = ?",
        (len(before) - 1 + len(texts), seal_of(key, seals[-1], "last")),
    )


def make_log(
    connection: sqlite3.Connection, key: bytes, events: Sequence[Mapping[str, Any]]
) -> None:
    for statement in SCHEMA.split(";"):
        connection.execute(statement)
    connection.execute("INSERT INTO secret VALUES (1, ?, 0, '')", (key,))
    append(connection, key, before=[seal_of(key, "", "")], events=events)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def take_over(connection: sqlite3.Connection) -> None:
    """Turn a ledger of an earlier version into a log, in the transaction that is open."""
    connection.row_factory = sqlite3.Row
    ((key,),) = connection.execute("SELECT bytes FROM secret")
    people = [dict(row) for row in connection.execute("SELECT * FROM people ORDER BY name")]
    spent = [dict(row) for row in connection.execute("SELECT * FROM spent ORDER BY id")]
    (last,) = connection.execute("SELECT max(seq) FROM sqlite_sequence").fetchone()
    connection.row_factory = None
    events: list[dict[str, Any]] = [{"event": "taken over", "last": last or 0, **stamp()}]
    for row in people:
        central = row.get("central_budget")
        limits = {"local": row["budget"], "central": central.split() if central else None}
        events.append({"event": "budgets", "people": row["name"], **limits, **stamp()})
    for row in spent:
        events += earlier_release(row)
    for table in ("spent", "people", "secret"):
        connection.execute(f"DROP TABLE {table}")
    make_log(connection, bytes(key), events)


def earlier_release(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a release that an earlier version entered."""
    several = row["rows_per_person"] > 1
    unit = Unit("person", row["rows_per_person"], stated=True) if several else Unit()
    entered = {
        "event": "entered",
        **{name: row[name] for name in ("id", "created", "people", "target", "rows_per_person")},
        "file": {
            "name": row["file"],
            "fingerprint": row["fingerprint"],
            "rows": row["rows"],
            "columns": json.loads(row["file_columns"]),
            "sketch": None,
        },
        "columns": json.loads(row["columns"]),
        **{name: row.get(name) for name in ("alpha", "epsilon", "delta", "mu_squared")},
        "unit": unit.to_json(),
        "by": "",
    }
    # Earlier versions did not mark what they were about to publish: a pending one may have been.
    state = DONE if row["state"] == DONE else PUBLISHING
    return [entered, {"event": state, "id": row["id"], **stamp()}]
