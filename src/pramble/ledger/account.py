"""Entering a release in the ledger: which people, how much, up to which limit."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

from pramble.errors import InvalidPlan, PrambleError, PrivacyError
from pramble.ledger.book import (
    NOTHING,
    KnownFile,
    Ledger,
    central_text,
    default_ledger,
    refuse_beyond,
)
from pramble.privacy.promise import CentralPromise, LocalPromise
from pramble.values import frozen


@frozen(eq=False)
class Account:
    """Where a release is entered: the ledger, the people, and their limit; or nowhere.

    The budgets are those asked for with this release; the ledger knows what was asked before.
    """

    ledger: Ledger | None = None
    people: str = ""
    file: KnownFile | None = None
    budget: LocalPromise | None = None
    central_budget: CentralPromise | None = None
    warning: str = ""

    def before(self) -> LocalPromise:
        nothing = LocalPromise(Fraction(0))
        return nothing if self.ledger is None else self.ledger.total(self.people)

    def before_central(self) -> CentralPromise:
        return NOTHING if self.ledger is None else self.ledger.central_total(self.people)

    def check(self, more: LocalPromise, central: CentralPromise) -> None:
        """Refuse early what `entered` would refuse for certain."""
        local, other = (None, None) if self.ledger is None else self.ledger.budgets(self.people)
        for limit in (self.budget, local):
            refuse_beyond(limit, before=self.before(), more=more)
        for most in (self.central_budget, other):
            refuse_beyond(most, before=self.before_central(), more=central)

    @contextmanager
    def entered(
        self,
        spent: LocalPromise,
        *,
        columns: Sequence[str],
        target: Path,
        central: CentralPromise | None = None,
        any_target: bool = False,
    ) -> Iterator[Callable[[Path], None]]:
        """Enter a release; confirm it when it is complete, cancel it on any error.

        The function that this gives is told which folder or file is being built.
        """
        built: list[tuple[int, int]] = []
        if self.ledger is None or self.file is None:
            yield lambda folder: built.append(folder_identity(folder))
            return
        entry = self.ledger.enter(
            self.people,
            spent,
            file=self.file,
            columns=columns,
            target=str(target.resolve()),
            central=central,
            budget=self.budget,
            central_budget=self.central_budget,
        )
        try:
            yield lambda folder: built.append(folder_identity(folder))
        except BaseException:
            # An interrupt may come after what was built got the target's name, and then it was
            # spent: the entry stays if that one stands there; with `any_target` if anything does.
            if not (target.exists() and (any_target or folder_identity(target) in built)):
                self.ledger.cancel(entry.id)
            raise
        self.ledger.confirm(entry)


def folder_identity(folder: Path) -> tuple[int, int]:
    """Return what stays the same when a folder is renamed."""
    found = folder.stat()
    return found.st_dev, found.st_ino


def open_book(
    *,
    ledger: str | Path | Ledger | bool,
    budget: float | None,
    central_budget: Any = None,
    dry_run: bool = False,
) -> tuple[Ledger | None, str]:
    """Open a ledger, with a warning: the user's own may be out of reach, or be a new one.

    A dry run makes no ledger.
    """
    if budget is not None and not 0 < budget < math.inf:
        raise InvalidPlan(f"A budget must be a positive number; found {budget!r}.")
    budget = budget if central_budget is None else as_central(central_budget).shown
    if ledger is False:
        if budget is not None:
            raise InvalidPlan("A budget over several releases needs a ledger.")
        return None, ""
    path: Any = default_ledger() if ledger is True else ledger
    if dry_run and not isinstance(path, Ledger) and not Path(path).exists():
        return None, (
            f"There is no ledger yet ({str(path)!r}): the release makes one, which knows of no "
            "earlier release. If another ledger knows these people, use that one (--ledger)."
        )
    try:
        book = path if isinstance(path, Ledger) else Ledger(path)
    except PrambleError as error:
        if ledger is not True or budget is not None:
            raise
        return None, f"{error} This release is not in any ledger."
    made = (
        f"A new ledger was made ({str(book.path)!r}): it knows of no earlier release. If another "
        "ledger knows these people, use that one (--ledger)."
    )
    return book, made if book.is_new else ""


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
    limit = None if budget is None else LocalPromise(Fraction(budget))
    central = None if central_budget is None else as_central(central_budget)
    if book is None:
        return Account(budget=limit, central_budget=central, warning=warning)
    file = KnownFile(fingerprint=book.fingerprint(digest), **facts)
    entries = book.entries()
    # A file of the very same content holds the same people. One that may hold them, since it looks
    # like a file that was released, is refused until it is said whether it does.
    same = [e.people for e in entries if e.file.fingerprint == file.fingerprint]
    if people is not None and same and people not in same:
        raise PrivacyError(
            f"This very file was released before, of people called {same[-1]!r}. Call them so "
            "(people, --set people=NAME), or leave the name out."
        )
    alike = [e for e in entries if file.may_hold_the_people_of(e.file, e.columns)]
    if people is None and not same and alike:
        last = alike[-1]
        raise PrivacyError(
            f"This file may hold the people of {last.file.name or 'a frame'!r}, released on "
            f"{last.created[:10]} under the name {last.people!r} (α = {last.spent.shown:.6g}): it "
            "has the same columns. Name these people (people, --set people=NAME): the same name if "
            "they are the same people, even in part, so that their α adds up; another if they are "
            "not."
        )
    name = people or (same[-1] if same else new_name(file.name, {e.people for e in entries}))
    stored, known = book.budgets(name)
    if limit is not None and stored is not None and not stored.allows(limit):
        raise PrivacyError(
            f"The budget of {name!r} is {stored.shown:.6g}, which a release does not raise. If it "
            f"is to be raised: pramble ledger --people {name!r} --budget {limit.shown:.6g}."
        )
    if central is not None and known is not None and not known.allows(central):
        raise PrivacyError(
            f"The central budget of {name!r} is {central_text(known)}, which a release does not "
            f"raise. If it is to be raised: pramble ledger --people {name!r} --central-budget "
            f"{central.shown:.6g},{central.shown_delta:.6g}."
        )
    return Account(book, name, file, limit, central, warning)


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

    >>> new_name("people.csv.gz", {"people"})
    'people-2'
    """
    base = file.split(".", maxsplit=1)[0] or "people"
    return next(name for i in count(1) if (name := base if i == 1 else f"{base}-{i}") not in taken)
