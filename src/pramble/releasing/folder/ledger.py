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
from pramble.privacy.guarantee import RecordPrivacy
from pramble.values import value

SCHEMA = """
CREATE TABLE IF NOT EXISTS secret (id INTEGER PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS releases (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  columns TEXT NOT NULL,
  alpha TEXT NOT NULL,
  target TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'done'))
);
CREATE INDEX IF NOT EXISTS by_people ON releases (fingerprint);
"""


@value
class Entry:
    """One release in the ledger.

    Attributes
    ----------
    id : int
    created : str
        UTC time.
    fingerprint : str
        Which people: equal for releases that add up.
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
    fingerprint: str
    columns: tuple[str, ...]
    spent: RecordPrivacy
    target: str
    state: str

    def as_row(self) -> dict[str, Any]:
        """Return the entry for a table or a JSON document, α as a float rounded up."""
        return {
            "id": self.id,
            "created": self.created,
            "people": self.fingerprint[:16],
            "columns": list(self.columns),
            "alpha": self.spent.shown,
            "target": self.target,
            "state": self.state,
        }


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

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(Path(folder.name) / "ledger.sqlite")
    >>> people = ledger.fingerprint_of_name("employees 2026")
    >>> first = ledger.enter(people, RecordPrivacy(Fraction(2)), columns=["sex"], target="out")
    >>> ledger.total(people)
    RecordPrivacy(alpha=Fraction(2, 1), rows=1)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
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
        return self._keyed("file", digest)

    def fingerprint_of_name(self, name: str) -> str:
        """Return the fingerprint of people known by a name, whatever the file."""
        return self._keyed("name", name)

    def _keyed(self, purpose: str, text: str) -> str:
        with self._transaction() as connection:
            (key,) = connection.execute("SELECT bytes FROM secret").fetchone()
        return hmac.new(key, f"{purpose}\0{text}".encode(), sha256).hexdigest()

    def total(self, fingerprint: str) -> RecordPrivacy:
        """Return what was spent on these people so far, pending releases included."""
        with self._transaction() as connection:
            return self._total(connection, fingerprint)

    @staticmethod
    def _total(connection: sqlite3.Connection, fingerprint: str) -> RecordPrivacy:
        rows = connection.execute(
            "SELECT alpha FROM releases WHERE fingerprint = ?", (fingerprint,)
        )
        return RecordPrivacy(sum((Fraction(alpha) for (alpha,) in rows), Fraction(0)))

    def enter(
        self,
        fingerprint: str,
        spent: RecordPrivacy,
        *,
        columns: Sequence[str],
        target: str,
        budget: RecordPrivacy | None = None,
    ) -> Entry:
        """Enter a release as pending, unless all releases of these people would pass the budget."""
        created = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction() as connection:
            refuse_beyond(budget, before=self._total(connection, fingerprint), more=spent)
            cursor = connection.execute(
                "INSERT INTO releases (created, fingerprint, columns, alpha, target, state) "
                "VALUES (?, ?, ?, ?, ?, 'pending')",
                (created, fingerprint, json.dumps(list(columns)), str(spent.alpha), target),
            )
            number = int(cursor.lastrowid or 0)
        return Entry(number, created, fingerprint, tuple(columns), spent, target, "pending")

    def confirm(self, entry: Entry) -> None:
        """Mark a pending release as done; one that was cancelled meanwhile is entered again."""
        columns = json.dumps(list(entry.columns))
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO releases (id, created, fingerprint, columns, alpha, target, state) "
                "VALUES (?, ?, ?, ?, ?, ?, 'done') ON CONFLICT (id) DO UPDATE SET state = 'done'",
                (
                    entry.id,
                    entry.created,
                    entry.fingerprint,
                    columns,
                    str(entry.spent.alpha),
                    entry.target,
                ),
            )

    def cancel(self, number: int) -> None:
        """Remove a pending release of which nothing was published; a done one stays for good."""
        with self._transaction() as connection:
            gone = connection.execute(
                "DELETE FROM releases WHERE id = ? AND state = 'pending'", (number,)
            ).rowcount
        if not gone:
            raise InvalidInput(f"The ledger has no pending release {number}.")

    def entries(self) -> list[Entry]:
        """Return every release, the oldest first."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT id, created, fingerprint, columns, alpha, target, state FROM releases "
                "ORDER BY id"
            ).fetchall()
        return [
            Entry(
                number,
                created,
                people,
                tuple(json.loads(columns)),
                RecordPrivacy(Fraction(alpha)),
                *rest,
            )
            for number, created, people, columns, alpha, *rest in rows
        ]
