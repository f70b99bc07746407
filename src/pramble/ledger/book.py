"""The ledger: releasing the same people twice adds up, and this remembers it.

A release is entered before anything is written and confirmed when it is complete, so that two runs
at once cannot pass a budget together, and a run that was killed still counts until it is cancelled.
"""

import hmac
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from pramble.errors import InvalidData, InvalidInput, PrivacyError
from pramble.ledger.known import KnownFile
from pramble.privacy.guarantee import RecordPrivacy
from pramble.values import value

SCHEMA = """
CREATE TABLE IF NOT EXISTS secret (id INTEGER PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS people (name TEXT PRIMARY KEY, budget TEXT);
CREATE TABLE IF NOT EXISTS spent (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created TEXT NOT NULL,
  people TEXT NOT NULL REFERENCES people (name),
  file TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  rows INTEGER,
  file_columns TEXT NOT NULL,
  columns TEXT NOT NULL,
  alpha TEXT NOT NULL,
  rows_per_person INTEGER NOT NULL,
  target TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'done'))
);
CREATE INDEX IF NOT EXISTS by_people ON spent (people);
"""

FIELDS = (
    "id, created, people, file, fingerprint, rows, file_columns, columns, alpha, rows_per_person, "
    "target, state"
)


@value
class Entry:
    """One release in the ledger.

    Attributes
    ----------
    id : int
    created : str
        UTC time.
    people : str
        Which people: releases of one name add up.
    file : KnownFile
        What was released.
    columns : tuple of str
        The randomised columns.
    spent : RecordPrivacy
        What it spent, exactly.
    target : str
        Where the release went.
    state : str
        "done", or "pending": not complete, or killed; it counts until cancelled.
    """

    id: int
    created: str
    people: str
    file: KnownFile
    columns: tuple[str, ...]
    spent: RecordPrivacy
    target: str
    state: str

    def as_row(self) -> dict[str, Any]:
        """Return the entry for a table or a JSON document, α as a float rounded up."""
        return {
            "id": self.id,
            "created": self.created,
            "people": self.people,
            "file": self.file.name,
            "columns": list(self.columns),
            "alpha": self.spent.shown,
            "target": self.target,
            "state": self.state,
        }

    def as_values(self) -> tuple[Any, ...]:
        """Return the entry as a row of the database, in the order of ``FIELDS``."""
        file = self.file
        return (
            self.id, self.created, self.people, file.name, file.fingerprint, file.rows,
            json.dumps(file.columns), json.dumps(self.columns), str(self.spent.alpha),
            self.spent.rows, self.target, self.state,
        )  # fmt: skip

    @classmethod
    def from_values(cls, row: Sequence[Any]) -> "Entry":
        """Return the entry of a row of the database."""
        number, created, people, name, fingerprint, rows, names, columns, alpha, most, *rest = row
        file = KnownFile(name, fingerprint, rows, tuple(json.loads(names)))
        spent = RecordPrivacy(Fraction(alpha), most)
        return cls(number, created, people, file, tuple(json.loads(columns)), spent, *rest)


def default_ledger() -> Path:
    """Return where the ledger of this user lies."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "pramble" / "ledger.sqlite"


def refuse_beyond(
    budget: RecordPrivacy | None, *, before: RecordPrivacy, more: RecordPrivacy
) -> None:
    """Refuse to spend beyond a budget, saying what is left of it."""
    if budget is None or budget.allows(before + more):
        return
    left = max(budget.alpha - before.alpha, Fraction(0))
    raise PrivacyError(
        f"This release would spend {more.shown:.6g}; these people have spent {before.shown:.6g} "
        f"of the budget {budget.shown:.6g} already, so at most {float(left):.6g} is left. Nothing "
        "was released."
    )


class Ledger:
    """A local SQLite file of releases: what was spent on whom.

    Parameters
    ----------
    path : str or Path
        The file; it is made, readable by its owner only, when absent.

    Attributes
    ----------
    is_new : bool
        Whether the file was made just now.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(Path(folder.name) / "ledger.sqlite")
    >>> file = KnownFile("people.csv", ledger.fingerprint("…"), 1000, ("sex", "age"))
    >>> first = ledger.enter(
    ...     "employees", RecordPrivacy(Fraction(2)), file=file, columns=["sex"], target="out"
    ... )
    >>> ledger.total("employees")
    RecordPrivacy(alpha=Fraction(2, 1), rows=1)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.is_new = not self.path.exists()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise InvalidInput(
                f"The ledger {str(self.path)!r} cannot be opened: {error}."
            ) from None
        with self._transaction() as connection:
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(
                "INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(32),)
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Open the file, take the write lock, and commit at the end or roll back."""
        try:
            connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        except sqlite3.Error as error:
            raise InvalidData(f"The ledger {str(self.path)!r} cannot be read: {error}.") from None
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise InvalidData(f"The ledger {str(self.path)!r} cannot be used: {error}.") from None
        finally:
            connection.close()

    def fingerprint(self, digest: str) -> str:
        """Return the fingerprint of a file's content, keyed by this ledger's secret.

        Who has the ledger without its secret cannot test whether a given file was released.
        """
        with self._transaction() as connection:
            (key,) = connection.execute("SELECT bytes FROM secret").fetchone()
        return hmac.new(key, digest.encode(), sha256).hexdigest()

    def total(self, people: str) -> RecordPrivacy:
        """Return what was spent on these people so far, pending releases included."""
        with self._transaction() as connection:
            return self._total(connection, people)

    @staticmethod
    def _total(connection: sqlite3.Connection, people: str) -> RecordPrivacy:
        rows = connection.execute(
            "SELECT alpha, rows_per_person FROM spent WHERE people = ?", (people,)
        )
        parts = (RecordPrivacy(Fraction(alpha), most) for alpha, most in rows)
        return sum(parts, RecordPrivacy(Fraction(0)))

    def budget(self, people: str) -> RecordPrivacy | None:
        """Return the most that may ever be spent on these people, if that was said."""
        with self._transaction() as connection:
            return self._budget(connection, people)

    @staticmethod
    def _budget(connection: sqlite3.Connection, people: str) -> RecordPrivacy | None:
        found = connection.execute("SELECT budget FROM people WHERE name = ?", (people,)).fetchone()
        return None if not found or found[0] is None else RecordPrivacy(Fraction(found[0]))

    def set_budget(self, people: str, budget: RecordPrivacy) -> None:
        """Store the most that may ever be spent on these people."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO people VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET "
                "budget = excluded.budget",
                (people, str(budget.alpha)),
            )

    def enter(
        self,
        people: str,
        spent: RecordPrivacy,
        *,
        file: KnownFile,
        columns: Sequence[str],
        target: str,
        budget: RecordPrivacy | None = None,
    ) -> Entry:
        """Enter a release as pending, unless all of these people would pass their budget.

        A budget is stored with the people unless they have a smaller one.
        """
        created = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction() as connection:
            limits = [one for one in (budget, self._budget(connection, people)) if one is not None]
            limit = min(limits, key=lambda one: one.alpha, default=None)
            refuse_beyond(limit, before=self._total(connection, people), more=spent)
            connection.execute(
                "INSERT INTO people VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET "
                "budget = excluded.budget",
                (people, None if limit is None else str(limit.alpha)),
            )
            last = connection.execute("SELECT max(seq) FROM sqlite_sequence").fetchone()[0] or 0
            entry = Entry(last + 1, created, people, file, tuple(columns), spent, target, "pending")
            self._write(connection, entry)
        return entry

    @staticmethod
    def _write(connection: sqlite3.Connection, entry: Entry) -> None:
        marks = ", ".join("?" * len(entry.as_values()))
        connection.execute(
            f"INSERT INTO spent ({FIELDS}) VALUES ({marks}) "  # noqa: S608 (constants)
            "ON CONFLICT (id) DO UPDATE SET state = excluded.state",
            entry.as_values(),
        )

    def confirm(self, entry: Entry) -> None:
        """Mark a pending release as done; one that was cancelled meanwhile is entered again."""
        done = Entry.from_values([*entry.as_values()[:-1], "done"])
        with self._transaction() as connection:
            self._write(connection, done)

    def cancel(self, number: int) -> None:
        """Remove a pending release of which nothing was published; a done one stays for good."""
        with self._transaction() as connection:
            gone = connection.execute(
                "DELETE FROM spent WHERE id = ? AND state = 'pending'", (number,)
            ).rowcount
        if not gone:
            raise InvalidInput(f"The ledger has no pending release {number}.")

    def entries(self) -> list[Entry]:
        """Return every release, the oldest first."""
        with self._transaction() as connection:
            rows = connection.execute(f"SELECT {FIELDS} FROM spent ORDER BY id").fetchall()  # noqa: S608 (constants)
        return [Entry.from_values(row) for row in rows]
