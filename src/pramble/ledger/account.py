"""Entering a release in the ledger: which people, how much, up to which limit."""

import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

from pramble.errors import (
    InvalidData,
    InvalidInput,
    InvalidPlan,
    PrambleError,
    PrambleWarning,
    PrivacyError,
)
from pramble.ledger.book import VARIABLE, Ledger, default_ledger
from pramble.ledger.entries import (
    Budgets,
    Entry,
    KnownFile,
    central_sum,
    fold,
    local_sum,
    units_differ,
)
from pramble.numbers import alpha_text
from pramble.privacy.promise import CentralPromise, LocalPromise
from pramble.privacy.unit import Unit
from pramble.values import frozen

# Given the folder that gets its name, what is done in the meantime.
Publishing = Callable[[Path], AbstractContextManager[None]]
UNCOUNTED = (
    "This release is in no ledger: what it spends is added to no other release of these people."
)


@frozen(eq=False)
class Account:
    """Where a release is entered: the ledger, the people, and their limit; or nowhere.

    The budgets are those asked for with this release; the ledger knows what was asked before.
    ``entries`` are those of these people when they were recognised.
    """

    ledger: Ledger | None = None
    asked: str | None = None
    file: KnownFile | None = None
    budgets: Budgets = Budgets()
    warning: str = ""
    entries: tuple[Entry, ...] = ()

    def before(self) -> LocalPromise:
        return local_sum(self.entries)

    def before_central(self) -> CentralPromise:
        return central_sum(self.entries)

    def check(self, more: LocalPromise, central: CentralPromise, unit: Unit) -> None:
        """Refuse early what `entered` would refuse for certain."""
        known = Budgets()
        if self.ledger is not None and self.entries:
            known = self.ledger.budgets(self.entries[0].people)
        limits = known.within(self.budgets)
        limits.refuse_beyond(self.entries, spent=more, central=central, unit=unit)

    def unit_warning(self, unit: Unit) -> str:
        if not units_differ([unit, *(one.unit for one in self.entries)]):
            return ""
        return (
            "Releases of these people differ in whose rows they protect (person, rows_per_person): "
            "what they spend together holds for a row, not for a person with several."
        )

    @contextmanager
    def entered(
        self,
        spent: LocalPromise,
        *,
        columns: Sequence[str],
        target: Path,
        central: CentralPromise,
        unit: Unit,
    ) -> Iterator[Publishing]:
        """Enter a release; confirm it when it is complete, cancel it if nothing was published.

        Who the people are and whether a budget allows it is decided again where it is entered.
        What this gives must surround the step that gives the folder its name.
        """
        if self.ledger is None or self.file is None:
            yield lambda _: nullcontext()
            return
        file, book = self.file, self.ledger
        number = book.enter(
            lambda entries: name_of(file, entries, asked=self.asked),
            spent,
            file=file,
            columns=columns,
            target=str(target.resolve()),
            central=central,
            unit=unit,
            budgets=self.budgets,
        ).id

        @contextmanager
        def publishing(folder: Path) -> Iterator[None]:
            own = identity(folder)
            try:
                book.publish(number)
                yield
            except BaseException:
                # The very folder under its old name never got the new one. Anything else may be
                # published: an interrupt, or an error of the file system, can come after the move.
                if own is not None and identity(folder) == own:
                    with suppress(PrambleError):
                        book.cancel(number, is_unpublished=True)
                raise

        try:
            yield publishing
        except BaseException:
            withdraw(book, number)
            raise
        try:
            book.confirm(number)
        except PrambleError as error:
            warnings.warn(
                f"The release is complete, but its entry {number} in the ledger stays "
                f"'publishing', and counts. {error}",
                PrambleWarning,
                stacklevel=3,
            )


def withdraw(book: Ledger, number: int) -> None:
    """Cancel a release that failed, if it is certain that nothing was published; else say so."""
    try:
        if any(one.id == number for one in book.entries()):
            book.cancel(number)
    except PrambleError as error:
        warnings.warn(f"Entry {number} of the ledger counts. {error}", PrambleWarning, stacklevel=4)


def identity(folder: Any) -> Any:
    """Return what stays the same when a folder is renamed; None where it is not there.

    At an address a folder that moves in one step is either there or gone; where files move one by
    one, nothing is certain.
    """
    if not isinstance(folder, Path):
        return str(folder) if folder.renames and folder.is_dir() else None
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def open_book(
    *,
    ledger: str | Path | Ledger | bool,
    budget: float | None,
    central_budget: Any = None,
    dry_run: bool = False,
) -> tuple[Ledger | None, str]:
    """Open a ledger, with a warning where it is new or there is none; refuse what cannot be read.

    A dry run makes no ledger, and neither does a name in the environment, whose folder may be on a
    machine that is out of reach.
    """
    if budget is not None and not 0 < budget < math.inf:
        raise InvalidPlan(f"A budget must be a positive number; found {budget!r}.")
    budget = budget if central_budget is None else as_central(central_budget).shown
    if ledger is False:
        if budget is not None:
            raise InvalidPlan("A budget over several releases needs a ledger.")
        return None, UNCOUNTED
    is_named = ledger is True and bool(os.environ.get(VARIABLE))
    path: Any = default_ledger() if ledger is True else ledger
    try:
        if dry_run and not is_named and not isinstance(path, Ledger) and not exists(path):
            return None, (
                f"There is no ledger yet ({str(path)!r}): the release makes one, which knows of no "
                "earlier release. If another ledger knows these people, use that one (--ledger)."
            )
        book = path if isinstance(path, Ledger) else Ledger(path, make=not is_named)
    except (InvalidInput, InvalidData) as error:
        hint = ""
        if is_named:
            hint = f" {VARIABLE} names it; a first release with --ledger makes it."
        raise type(error)(
            f"{error}{hint} Nothing was released. Without a ledger releases are not added up; if "
            "that is meant: --no-ledger (ledger=False)."
        ) from None
    made = (
        f"A new ledger was made ({str(book.path)!r}): it knows of no earlier release. If another "
        "ledger knows these people, use that one (--ledger)."
    )
    return book, made if book.is_new else ""


def exists(path: Any) -> bool:
    try:
        Path(path).stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidInput(f"The ledger {str(path)!r} cannot be reached: {reason}.") from None
    return True


def open_account(
    book: Ledger | None,
    facts: dict[str, Any],
    *,
    digest: str,
    people: str | None = None,
    budget: float | None = None,
    central_budget: Any = None,
    warning: str = "",
) -> Account:
    """Recognise the people of a file, or ask who they are; other files hold new people."""
    budgets = Budgets(
        None if budget is None else LocalPromise(Fraction(budget)),
        None if central_budget is None else as_central(central_budget),
    )
    if book is None:
        return Account(budgets=budgets, warning=warning)
    file = KnownFile(fingerprint=book.fingerprint(digest), **facts)
    name = name_of(file, book.entries(), asked=people)
    refuse_raise(name, book.budgets(name), budgets)
    return Account(book, people, file, budgets, warning, tuple(book.entries(name)))


def name_of(file: KnownFile, entries: Sequence[Entry], *, asked: str | None) -> str:
    """Return how the people of a file are called in a ledger with these entries."""
    # A file of the very same content holds the same people. One that may hold them, since it looks
    # like a file that was released, is refused until it is said whether it does.
    same = [e.people for e in entries if e.file.fingerprint == file.fingerprint]
    if asked is not None and same and fold(asked) not in map(fold, same):
        raise PrivacyError(
            f"This very file was released before, of people called {same[-1]!r}. Call them so "
            "(people, --set people=NAME), or leave the name out."
        )
    if asked is None and not same:
        refuse_likeness(file, entries)
    return asked or (same[-1] if same else new_name(file.name, {e.people for e in entries}))


def refuse_likeness(file: KnownFile, entries: Sequence[Entry]) -> None:
    alike = [e for e in entries if file.may_hold_the_people_of(e.file, e.columns)]
    if not alike:
        return
    last = alike[-1]
    spent = (
        last.central.number if last.spent.is_unbounded else f"α = {alpha_text(last.spent.shown)}"
    )
    raise PrivacyError(
        f"This file may hold the people of {last.file.name or 'a frame'!r}, released on "
        f"{last.created[:10]} under the name {last.people!r} ({spent}): what it holds, or the "
        "names of its columns, are much alike. Name these people (people, --set people=NAME): the "
        "same name if they are the same people, even in part, so that what is spent adds up; "
        "another if they are not."
    )


def refuse_raise(name: str, known: Budgets, asked: Budgets) -> None:
    """Refuse a budget above the one that is kept with these people."""
    local, most = asked.local, known.local
    if local is not None and most is not None and not most.allows(local):
        raise PrivacyError(
            f"The budget of {name!r} is {most.shown:.6g}, which a release does not raise. If it "
            f"is to be raised: pramble ledger --people {name!r} --budget {local.shown:.6g}."
        )
    central, limit = asked.central, known.central
    if central is not None and limit is not None and not limit.allows(central):
        raise PrivacyError(
            f"The central budget of {name!r} is {limit.number}, which a release does not "
            f"raise. If it is to be raised: pramble ledger --people {name!r} --central-budget "
            f"{central.shown:.6g},{central.shown_delta:.6g}."
        )


def as_central(budget: Any) -> CentralPromise:
    try:
        epsilon, delta = map(float, () if isinstance(budget, str) else budget)
    except (TypeError, ValueError):
        raise InvalidPlan(f"A central budget is a pair (ε, δ); found {budget!r}.") from None
    if not 0 < epsilon < math.inf or not 0 <= delta < 1:
        raise InvalidPlan(f"A central budget has ε > 0 and 0 ≤ δ < 1; found {budget!r}.")
    return CentralPromise(Fraction(epsilon), Fraction(delta))


def new_name(file: str, taken: set[str]) -> str:
    """Return a name for new people, after their file.

    >>> new_name("people.csv.gz", {"People "})
    'people-2'
    """
    base, taken = file.split(".", maxsplit=1)[0] or "people", set(map(fold, taken))
    names = (base if i == 1 else f"{base}-{i}" for i in count(1))
    return next(name for name in names if fold(name) not in taken)
