"""The ledger: releasing the same people twice adds up, and this remembers it.

It is a log of events in an SQLite file, to which events are only added, each sealed with all before
it under the ledger's secret. A release is entered before anything is written, marked before its
folder gets its name, and confirmed after: runs at once cannot pass a budget together, and of a run
that was killed all counts that may have been published.
"""

import hmac
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pramble.data.save import write_new
from pramble.errors import InvalidData, InvalidInput, PrambleError, PrivacyError
from pramble.ledger.entries import (
    DONE,
    PENDING,
    PUBLISHING,
    Budgets,
    Entry,
    KnownFile,
    central_sum,
    local_sum,
)
from pramble.ledger.log import FORMAT, Log, append, make_log, replayed, seal_of, stamp, take_over
from pramble.ledger.sketch import SketchJob
from pramble.privacy.promise import CentralPromise, LocalPromise
from pramble.privacy.unit import Unit

# How long to wait for others, who write for an instant each, before somebody has to be asked.
LOCK_SECONDS = 60
VARIABLE = "PRAMBLE_LEDGER"
DAMAGED = "it is damaged, or was changed by hand"


def default_ledger() -> Path:
    """Return the ledger that the environment names, or the user's own."""
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "pramble" / "ledger.sqlite"


class Ledger:
    """A local SQLite file of releases: what was spent on whom.

    Parameters
    ----------
    path : str or Path
        The file; it is made, readable by its owner only, when absent.
    make : bool
        Whether to make it; else an absent one is refused.

    - ``is_new``: Whether the file was made just now.

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
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

    def __init__(self, path: str | Path, *, make: bool = True) -> None:
        self.path = Path(path)
        self.is_new = False
        self._known: tuple[int, str] | None = None  # number and seal of the last event that was met
        try:
            if not self.path.exists():
                if not make:
                    raise InvalidInput(f"There is no ledger {str(self.path)!r}.")
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self.is_new = made(self.path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise self._unusable(f"it cannot be opened ({reason})", InvalidInput) from None
        with self._transaction() as connection:
            is_old = self._format(connection) < FORMAT
        if is_old:
            with self._transaction(write=True) as connection:
                # Another process may have done so meanwhile.
                if self._format(connection) < FORMAT:
                    take_over(connection)
        self._log()

    def _unusable(self, reason: str, kind: type[InvalidInput | InvalidData]) -> Exception:
        return kind(f"The ledger {str(self.path)!r} cannot be used: {reason}.")

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file, and commit at the end or roll back; a missing one is never made."""
        try:
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw", timeout=LOCK_SECONDS,
                isolation_level=None, uri=True,
            )  # fmt: skip
        except sqlite3.Error as error:
            raise self._unusable(f"it cannot be opened ({error})", InvalidData) from None
        try:
            # The write lock is taken at once, so that what is read stays true until it is written.
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            yield connection
            connection.execute("COMMIT")
        except PrambleError:
            raise
        except sqlite3.OperationalError as error:
            raise self._unusable(self._trouble(error), InvalidData) from None
        except (sqlite3.Error, UnicodeError, ValueError, LookupError, TypeError) as error:
            # Whatever stands in a damaged file, it ends in one sentence.
            raise self._unusable(f"{DAMAGED} ({type(error).__name__})", InvalidData) from None
        finally:
            connection.close()

    def _trouble(self, error: sqlite3.OperationalError) -> str:
        code = getattr(error, "sqlite_errorcode", 0)  # Python's own errors have none
        if code & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return str(error)
        whom = "its owner"
        with suppress(OSError, KeyError, NotImplementedError):
            whom = f"{self.path.owner()!r}, who owns it"
        return (
            f"another program has held it for {LOCK_SECONDS} s. Try again; if that goes on, ask "
            f"{whom}, and whoever else works with it, which program has it open"
        )

    def _format(self, connection: sqlite3.Connection) -> int:
        """Return the format, refusing what is no ledger."""
        (number,) = connection.execute("PRAGMA user_version").fetchone()
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if number > FORMAT:
            raise self._unusable("a later version of pramble wrote it; use that one", InvalidInput)
        if number == FORMAT and {"secret", "event"} <= names:
            return FORMAT
        if number == 0 and {"secret", "people", "spent"} <= names and "event" not in names:
            return 1
        raise self._unusable(f"it is empty, no ledger, or {DAMAGED[6:]}", InvalidData)

    def _read(self, connection: sqlite3.Connection) -> Log:
        """Return the log, every seal verified."""
        self._format(connection)
        ((key, count, last),) = connection.execute("SELECT bytes, events, seal FROM secret")
        rows = connection.execute("SELECT number, text, seal FROM event ORDER BY number").fetchall()
        seals = [seal_of(key, "", "")]
        for place, (number, text, seal) in enumerate(rows, start=1):
            if number != place or seal != seal_of(key, seals[-1], text):
                raise self._unusable(f"event {place} is missing or {DAMAGED[6:]}", InvalidData)
            seals.append(seal)
        if count != len(rows) or last != seal_of(key, seals[-1], "last"):
            raise self._unusable("its last events are missing", InvalidData)
        number, seal = self._known or (0, seals[0])
        if number >= len(seals) or seals[number] != seal:
            raise self._unusable("another file or an older copy took its place", InvalidData)
        self._known = len(rows), seals[-1]
        return replayed(key, [json.loads(text) for _, text, _ in rows], seals)

    def _log(self) -> Log:
        with self._transaction() as connection:
            return self._read(connection)

    def _add(self, connection: sqlite3.Connection, event: str, log: Log, **more: Any) -> None:
        """Add the next event to a log that was read in the same transaction."""
        append(connection, log.key, before=log.seals, events=[{"event": event, **stamp(), **more}])

    @property
    def seal(self) -> str:
        """What the log ends with: a later log that has it has lost nothing up to there."""
        return self._log().seals[-1]

    def fingerprint(self, digest: str) -> str:
        """Return the fingerprint of a file's content, keyed by this ledger's secret."""
        # Who has the ledger without its secret cannot test whether a given file was released.
        return hmac.new(self._log().key, digest.encode(), sha256).hexdigest()

    def sketching(self, columns: Sequence[str], *, person: Sequence[str] = ()) -> SketchJob:
        """Return the job that sketches what a file holds, keyed by this ledger's secret."""
        key = hmac.new(self._log().key, b"sketch", sha256).digest()
        return SketchJob(columns, key, person=person)

    def total(self, people: str) -> LocalPromise:
        """Return what was spent on these people so far, pending releases included."""
        return local_sum(self.entries(people))

    def central_total(self, people: str) -> CentralPromise:
        """Return what was spent towards readers so far, ε and δ added up."""
        return central_sum(self.entries(people))

    def budgets(self, people: str) -> Budgets:
        log = self._log()
        return log.budgets.get(log.spelling(people), Budgets())

    def set_budget(self, people: str, budget: LocalPromise | CentralPromise) -> None:
        """Store the most that may ever be spent on these people: α, or central ε and δ."""
        with self._transaction(write=True) as connection:
            log = self._read(connection)
            people = log.spelling(people)
            old = log.budgets.get(people, Budgets())
            if isinstance(budget, CentralPromise):
                self._add_budgets(connection, log, people, replace(old, central=budget))
            else:
                self._add_budgets(connection, log, people, replace(old, local=budget))

    def _add_budgets(
        self, connection: sqlite3.Connection, log: Log, people: str, budgets: Budgets
    ) -> None:
        local, central = budgets.local, budgets.central
        self._add(
            connection,
            "budgets",
            log,
            people=people,
            local=None if local is None else str(local.alpha),
            central=None if central is None else [str(central.epsilon), str(central.delta)],
        )

    def enter(
        self,
        people: str | Callable[[list[Entry]], str],
        spent: LocalPromise,
        *,
        file: KnownFile,
        columns: Sequence[str],
        target: str,
        central: CentralPromise | None = None,
        unit: Unit | None = None,
        budgets: Budgets | None = None,
    ) -> Entry:
        """Enter a release as pending, unless all of these people would pass a budget.

        Who they are may be decided by all entries that there are when it is entered. Budgets are
        stored with the people unless they have smaller ones.
        """
        # What is not shuffled, or holds untouched columns, spends as much against readers.
        read = CentralPromise.of_local(spent) if central is None else central
        whose = unit or Unit()
        with self._transaction(write=True) as connection:
            log = self._read(connection)
            name = people if isinstance(people, str) else people(log.of_people(None))
            name = log.spelling(name)
            known = log.budgets.get(name, Budgets())
            limits = known.within(budgets or Budgets())
            limits.refuse_beyond(log.of_people(name), spent=spent, central=read, unit=whose)
            now = stamp()
            entry = Entry(
                log.last + 1, now["created"], name, file, tuple(columns), spent, read, whose,
                target, now["by"],
            )  # fmt: skip
            self._add(connection, "entered", log, **entry.to_json())
            if limits != known:
                self._add_budgets(connection, self._read(connection), name, limits)
        return entry

    def publish(self, number: int) -> None:
        """Mark a pending release before its folder gets its name; it then stays."""
        self._move(number, {PENDING}, PUBLISHING)

    def confirm(self, number: int) -> None:
        """Mark a release as done."""
        self._move(number, {PENDING, PUBLISHING}, DONE)

    def cancel(self, number: int, *, is_unpublished: bool = False) -> None:
        """Take back a release of which nothing was published.

        Of one that was about to be, only who knows that its folder never got its name may say so.
        """
        allowed = {PENDING, PUBLISHING} if is_unpublished else {PENDING}
        self._move(number, allowed, "cancelled")

    def _move(self, number: int, allowed: set[str], state: str) -> None:
        with self._transaction(write=True) as connection:
            log = self._read(connection)
            entry = log.entries.get(number)
            if entry is None and state == PUBLISHING:
                raise PrivacyError(
                    f"Release {number} was cancelled in the ledger while it ran. Nothing was "
                    "released."
                )
            if entry is None:
                raise InvalidInput(f"The ledger has no release {number}.")
            if entry.state not in allowed:
                why = "was published"
                if entry.state == PUBLISHING:
                    why = "may have been published when its run ended"
                raise InvalidInput(f"Release {number} {why}: it stays in the ledger and counts.")
            self._add(connection, state, log, id=number)

    def entries(self, people: str | None = None) -> list[Entry]:
        """Return all releases in order, or those of some people."""
        return self._log().of_people(people)


def made(path: Path) -> bool:
    """Make an empty ledger that only its owner reads; False if another process was first."""
    # It appears whole: an empty file under the name is a damaged ledger, never a new one.
    with sqlite3.connect(":memory:", isolation_level=None) as connection:
        make_log(connection, secrets.token_bytes(32), [])
        content = connection.serialize()
    connection.close()
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        write_new(partial, content)
        try:
            os.link(partial, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without links: who reads it half written refuses it
            write_new(path, content)
    except FileExistsError:
        return False
    finally:
        partial.unlink(missing_ok=True)
    return True
