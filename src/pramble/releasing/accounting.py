"""Entering a release in the ledger: which people, how much, up to which limit."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from pramble.errors import InvalidPlan, PrambleError
from pramble.releasing.ledger import Ledger, default_ledger, refuse_beyond

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Account:
    """Where a release is entered: the ledger, the people, and their limit; or nowhere."""

    ledger: Ledger | None = None
    people: str = ""
    budget: float | None = None
    warning: str = ""

    def spent(self) -> Fraction:
        """Return α spent on these people before."""
        return Fraction(0) if self.ledger is None else self.ledger.total(self.people)

    def check(self, alpha: Fraction) -> None:
        """Refuse early what `entered` would refuse for certain."""
        refuse_beyond(self.budget, spent=self.spent(), alpha=alpha)

    @contextmanager
    def entered(
        self, alpha: Fraction, *, columns: Sequence[str], target: Path
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
            self.people, alpha, columns=columns, target=str(target.resolve()), budget=self.budget
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
    source: Path, *, ledger: str | Path | Ledger | bool, people: str | None, budget: float | None
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
    known = book.fingerprint(source) if people is None else book.fingerprint_of_name(people)
    return Account(book, known, budget)
