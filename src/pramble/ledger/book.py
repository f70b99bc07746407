"""The ledger: releasing the same people twice adds up, and this remembers it.

A release is entered before anything is written and confirmed when it is complete, so that two runs
at once cannot pass a budget together, and a run that was killed still counts until it is cancelled.
"""

import hmac
import json
import os
import secrets
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from pramble.data.records import Records
from pramble.errors import InvalidData, InvalidInput, PrivacyError
from pramble.privacy.promise import CentralPromise, LocalPromise, no_local_promise
from pramble.values import frozen

Budgets = tuple[LocalPromise | None, CentralPromise | None]
NOTHING = CentralPromise(Fraction(0), Fraction(0))

G = TypeVar("G", LocalPromise, CentralPromise)


def refuse_beyond(budget: G | None, *, before: G, more: G) -> None:
    """Refuse to spend beyond a budget, saying what is left of it."""
    if budget is None or budget.allows(before + more):
        return
    if isinstance(budget, CentralPromise):
        raise PrivacyError(
            f"This release would spend {central_text(more)}; these people have spent "
            f"{central_text(before)} of the central budget {central_text(budget)} already. Nothing "
            "was released."
        )
    if before.is_unbounded or more.is_unbounded:
        which = (
            "This release has" if more.is_unbounded else "An earlier release of these people has"
        )
        raise PrivacyError(
            f"{which} protected tables, which no budget of α can count: give a central budget "
            "(central_budget, --set central_budget=2,1e-5) in its place. Nothing was released."
        )
    left = max(budget.alpha - before.alpha, Fraction(0))
    raise PrivacyError(
        f"This release would spend {more.shown:.6g}; these people have spent {before.shown:.6g} "
        f"of the budget {budget.shown:.6g} already, so at most {float(left):.6g} is left. Nothing "
        "was released."
    )


def central_text(central: Any) -> str:
    return f"ε = {central.shown:.6g}, δ = {central.shown_delta:.3g}"


def smaller(one: G | None, two: G | None) -> G | None:
    if one is None or two is None:
        return one if two is None else two
    if isinstance(one, CentralPromise) and isinstance(two, CentralPromise):
        return CentralPromise(min(one.epsilon, two.epsilon), min(one.delta, two.delta))
    return one if two.allows(one) else two


# Numbers of rows that differ by at most this share are alike.
ALIKE_ROWS = 0.1


@frozen
class KnownFile:
    """What a ledger remembers of a file.

    ``fingerprint`` is of the content, keyed by the ledger's secret; ``name`` is without its folder.
    """

    # A ledger that knows bytes alone is evaded by accident: packed anew, written in another format,
    # one person fewer, rows or columns in another order. So the columns and the number of rows are
    # remembered too, and a file that could hold the same people is asked about.

    name: str
    fingerprint: str
    rows: int | None
    columns: tuple[str, ...]

    def may_hold_the_people_of(self, other: "KnownFile", released: Collection[str]) -> bool:
        """Whether this file looks like another, of which some columns were released.

        It does if the one with fewer columns shares at least half of them, or if it has one of the
        released columns and about as many rows. Names of columns are compared without case.

        >>> file = KnownFile("people.csv", "a", 1000, ("id", "sex", "age"))
        >>> copy = KnownFile("copy.parquet", "b", 999, ("AGE", "SEX"))
        >>> flats = KnownFile("flats.csv", "c", 1000, ("rent", "rooms", "age"))
        >>> copy.may_hold_the_people_of(file, ["sex"]), flats.may_hold_the_people_of(file, ["sex"])
        (True, False)
        """
        mine, theirs = lowered(self.columns), lowered(other.columns)
        if 2 * len(mine & theirs) >= min(len(mine), len(theirs)):
            return True
        if not mine & lowered(released):
            return False
        if self.rows is None or other.rows is None:
            return True
        return abs(self.rows - other.rows) <= ALIKE_ROWS * max(self.rows, other.rows)


def lowered(names: Collection[str]) -> set[str]:
    return {name.strip().lower() for name in names}


def file_facts(records: Records, *, rows: int | None = None) -> dict[str, Any]:
    name = "" if records.path is None else records.path.name
    return {
        "name": name,
        "rows": records.rows if rows is None else rows,
        "columns": tuple(records.names),
    }


SCHEMA = """
CREATE TABLE IF NOT EXISTS secret (id INTEGER PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS people (name TEXT PRIMARY KEY, budget TEXT, central_budget TEXT);
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
  state TEXT NOT NULL CHECK (state IN ('pending', 'done')),
  epsilon TEXT,
  delta TEXT,
  mu_squared TEXT
);
CREATE INDEX IF NOT EXISTS by_people ON spent (people);
"""

# Columns that ledgers of earlier versions lack.
LATER = {"spent": ("epsilon", "delta", "mu_squared"), "people": ("central_budget",)}

FIELDS = (
    "id, created, people, file, fingerprint, rows, file_columns, columns, alpha, rows_per_person, "
    "epsilon, delta, mu_squared, target, state"
)


@frozen
class Entry:
    """One release in the ledger.

    - ``people``: Which people: releases of one name add up.
    - ``columns``: The randomised columns.
    - ``spent``: What it spent, exactly, whatever happens to the file; infinite for protected
      tables, which have no local promise.
    - ``central``: What it spent towards those who only read the release; ε = α where nothing
      more is proven.
    - ``state``: "done", or "pending": not complete, or killed; it counts until cancelled.
    """

    id: int
    created: str
    people: str
    file: KnownFile
    columns: tuple[str, ...]
    spent: LocalPromise
    central: CentralPromise
    target: str
    state: str

    def as_row(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "created": self.created,
            "people": self.people,
            "file": self.file.name,
            "columns": list(self.columns),
            "alpha": None if self.spent.is_unbounded else self.spent.shown,
            "epsilon": self.central.shown,
            "delta": self.central.shown_delta,
            "target": self.target,
            "state": self.state,
        }

    def as_values(self) -> tuple[Any, ...]:
        """Return the entry as a row of the database, in the order of ``FIELDS``."""
        file = self.file
        return (
            self.id, self.created, self.people, file.name, file.fingerprint, file.rows,
            json.dumps(file.columns), json.dumps(self.columns), str(self.spent.alpha),
            self.spent.rows, str(self.central.epsilon), str(self.central.delta),
            None if self.central.mu_squared is None else str(self.central.mu_squared),
            self.target, self.state,
        )  # fmt: skip

    @classmethod
    def from_values(cls, row: Sequence[Any]) -> "Entry":
        number, created, people, name, fingerprint, rows, names, columns, alpha, most = row[:10]
        epsilon, delta, mu_squared, target, state = row[10:]
        spent = no_local_promise(most) if alpha == "inf" else LocalPromise(Fraction(alpha), most)
        if epsilon is None:  # entries of earlier versions say nothing of it
            central = CentralPromise.of_local(spent)
        else:
            gaussian = None if mu_squared is None else Fraction(mu_squared)
            central = CentralPromise(Fraction(epsilon), Fraction(delta), most, gaussian)
        return cls(
            number,
            created,
            people,
            KnownFile(name, fingerprint, rows, tuple(json.loads(names))),
            tuple(json.loads(columns)),
            spent,
            central,
            target,
            state,
        )


def local_sum(entries: Sequence[Entry]) -> LocalPromise:
    return sum((one.spent for one in entries), LocalPromise(Fraction(0)))


def central_sum(entries: Sequence[Entry]) -> CentralPromise:
    return sum((one.central for one in entries), NOTHING)


def default_ledger() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "pramble" / "ledger.sqlite"


class Ledger:
    """A local SQLite file of releases: what was spent on whom.

    Parameters
    ----------
    path : str or Path
        The file; it is made, readable by its owner only, when absent.

    - ``is_new``: Whether the file was made just now.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(Path(folder.name) / "ledger.sqlite")
    >>> file = KnownFile("people.csv", ledger.fingerprint("…"), 1000, ("sex", "age"))
    >>> first = ledger.enter(
    ...     "employees", LocalPromise(Fraction(2)), file=file, columns=["sex"], target="out"
    ... )
    >>> ledger.total("employees")
    LocalPromise(alpha=Fraction(2, 1), rows=1)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.is_new = not self.path.exists()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Made readable by its owner only, before SQLite opens it.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise InvalidInput(
                f"The ledger {str(self.path)!r} cannot be opened: {error}."
            ) from None
        with self._transaction() as connection:
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            for table, columns in LATER.items():
                known = {row[1] for row in connection.execute(f"PRAGMA table_info ({table})")}
                for column in set(columns) - known:
                    connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} TEXT")
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
            # The write lock is taken at once, so that what is read stays true until it is written.
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise InvalidData(f"The ledger {str(self.path)!r} cannot be used: {error}.") from None
        finally:
            connection.close()

    def fingerprint(self, digest: str) -> str:
        """Return the fingerprint of a file's content, keyed by this ledger's secret."""
        # Who has the ledger without its secret cannot test whether a given file was released.
        with self._transaction() as connection:
            (key,) = connection.execute("SELECT bytes FROM secret").fetchone()
        return hmac.new(key, digest.encode(), sha256).hexdigest()

    def total(self, people: str) -> LocalPromise:
        """Return what was spent on these people so far, pending releases included."""
        return local_sum(self.entries(people))

    def central_total(self, people: str) -> CentralPromise:
        """Return what was spent towards readers so far, ε and δ added up."""
        return central_sum(self.entries(people))

    def budgets(self, people: str) -> Budgets:
        """Return the most α, and the most central ε and δ, that may ever be spent on them."""
        with self._transaction() as connection:
            return self._budgets(connection, people)

    @staticmethod
    def _budgets(connection: sqlite3.Connection, people: str) -> Budgets:
        found = connection.execute(
            "SELECT budget, central_budget FROM people WHERE name = ?", (people,)
        ).fetchone()
        local, central = found or (None, None)
        epsilon, delta = central.split() if central else ("", "")
        return (
            None if local is None else LocalPromise(Fraction(local)),
            CentralPromise(Fraction(epsilon), Fraction(delta)) if central else None,
        )

    @staticmethod
    def _store_budgets(connection: sqlite3.Connection, people: str, budgets: Budgets) -> None:
        local, central = budgets
        connection.execute(
            "INSERT INTO people (name, budget, central_budget) VALUES (?, ?, ?) ON CONFLICT (name) "
            "DO UPDATE SET budget = excluded.budget, central_budget = excluded.central_budget",
            (
                people,
                None if local is None else str(local.alpha),
                None if central is None else f"{central.epsilon} {central.delta}",
            ),
        )

    def set_budget(self, people: str, budget: LocalPromise | CentralPromise) -> None:
        """Store the most that may ever be spent on these people: α, or central ε and δ."""
        with self._transaction() as connection:
            local, central = self._budgets(connection, people)
            one = (local, budget) if isinstance(budget, CentralPromise) else (budget, central)
            self._store_budgets(connection, people, one)

    def enter(
        self,
        people: str,
        spent: LocalPromise,
        *,
        file: KnownFile,
        columns: Sequence[str],
        target: str,
        central: CentralPromise | None = None,
        budget: LocalPromise | None = None,
        central_budget: CentralPromise | None = None,
    ) -> Entry:
        """Enter a release as pending, unless all of these people would pass a budget.

        A budget is stored with the people unless they have a smaller one.
        """
        created = datetime.now(UTC).isoformat(timespec="seconds")
        # What is not shuffled, or holds untouched columns, spends as much against readers.
        read = CentralPromise.of_local(spent) if central is None else central
        with self._transaction() as connection:
            stored = self._budgets(connection, people)
            limits = smaller(budget, stored[0]), smaller(central_budget, stored[1])
            before = self._entries(connection, people)
            refuse_beyond(limits[0], before=local_sum(before), more=spent)
            refuse_beyond(limits[1], before=central_sum(before), more=read)
            self._store_budgets(connection, people, limits)
            # Numbers are never used twice, also after a pending release was cancelled.
            last = connection.execute("SELECT max(seq) FROM sqlite_sequence").fetchone()[0] or 0
            entry = Entry(
                last + 1, created, people, file, tuple(columns), spent, read, target, "pending"
            )
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

    def entries(self, people: str | None = None) -> list[Entry]:
        """Return all releases in order, or those of some people."""
        with self._transaction() as connection:
            return self._entries(connection, people)

    @staticmethod
    def _entries(connection: sqlite3.Connection, people: str | None) -> list[Entry]:
        rows = connection.execute(
            f"SELECT {FIELDS} FROM spent WHERE people = coalesce(?, people) ORDER BY id",  # noqa: S608 (constants)
            (people,),
        )
        return [Entry.from_values(row) for row in rows]
