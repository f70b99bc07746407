"""Entering a release in the ledger: which people, how much, up to which limit."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from pramble.errors import InvalidPlan, PrambleError
from pramble.privacy.guarantee import RecordPrivacy
from pramble.releasing.folder.ledger import Ledger, default_ledger, refuse_beyond
from pramble.values import value


@value(eq=False)
class Account:
    """Where a release is entered: the ledger, the people, and their limit; or nowhere."""

    ledger: Ledger | None = None
    people: str = ""
    budget: RecordPrivacy | None = None
    warning: str = ""

    def before(self) -> RecordPrivacy:
        """Return what was spent on these people before."""
        nothing = RecordPrivacy(Fraction(0))
        return nothing if self.ledger is None else self.ledger.total(self.people)

    def check(self, more: RecordPrivacy) -> None:
        """Refuse early what `entered` would refuse for certain."""
        refuse_beyond(self.budget, before=self.before(), more=more)

    @contextmanager
    def entered(
        self, spent: RecordPrivacy, *, columns: Sequence[str], target: Path
    ) -> Iterator[Callable[[Path], None]]:
        """Enter a release; confirm it when it is complete, cancel it on any error.

        An interrupt may come after the folder got the target's name, and then it was spent: the
        function that this gives is told which folder is being built, and if that one stands under
        the name, the entry is kept.
        """
        built: list[tuple[int, int]] = []
        if self.ledger is None:
            yield lambda folder: built.append(identity(folder))
            return
        entry = self.ledger.enter(
            self.people, spent, columns=columns, target=str(target.resolve()), budget=self.budget
        )
        try:
            yield lambda folder: built.append(identity(folder))
        except BaseException:
            if not (target.exists() and identity(target) in built):
                self.ledger.cancel(entry.id)
            raise
        self.ledger.confirm(entry)


def identity(folder: Path) -> tuple[int, int]:
    """Return what stays the same when a folder is renamed."""
    found = folder.stat()
    return found.st_dev, found.st_ino


def open_account(
    digest: str, *, ledger: str | Path | Ledger | bool, people: str | None, budget: float | None
) -> Account:
    """Open the ledger and recognise the people; the user's own ledger may be out of reach."""
    if budget is not None and not 0 < budget < math.inf:
        raise InvalidPlan(f"A budget must be a positive number; found {budget!r}.")
    if ledger is False:
        if budget is not None:
            raise InvalidPlan("A budget over several releases needs a ledger.")
        return Account()
    if ledger is True:
        try:
            book = Ledger(default_ledger())
        except PrambleError as error:
            if budget is not None:
                raise
            return Account(warning=f"{error} This release is not in any ledger.")
    else:
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    limit = None if budget is None else RecordPrivacy(Fraction(budget))
    known = book.fingerprint(digest) if people is None else book.fingerprint_of_name(people)
    return Account(book, known, limit)
