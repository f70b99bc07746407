"""A dry run, and the release itself."""

from pathlib import Path
from typing import Any

import pramble
from pramble import numbers
from pramble.ledger.book import Ledger, default_ledger
from pramble.ledger.budgets import pair
from pramble.outcome import ReleaseOutcome
from pramble.releasing.folder.build import report_path
from pramble.values import Watcher, value


@value
class Released:
    """A release that was made.

    Attributes
    ----------
    folder, report : str
        What may be published, and the curator's page beside it.
    files : tuple of (str, int)
        What is in the folder, with sizes in bytes.
    outcome : ReleaseOutcome
    ledger : str
        What the ledger says of these people; empty where it was not entered.
    """

    folder: str
    report: str
    files: tuple[tuple[str, int], ...]
    outcome: ReleaseOutcome
    ledger: str


def rehearse(
    path: Path,
    target: Path,
    document: dict[str, Any],
    *,
    ledger: bool,
    progress: Watcher | None = None,
) -> ReleaseOutcome:
    """Do everything but write."""
    result = pramble.release(
        path, target, plan=document, dry_run=True, ledger=ledger, progress=progress
    )
    assert result.outcome is not None
    return result.outcome


def release(
    path: Path,
    target: Path,
    document: dict[str, Any],
    *,
    ledger: bool,
    progress: Watcher | None = None,
) -> Released:
    """Release a file."""
    result = pramble.release(path, target, plan=document, ledger=ledger, progress=progress)
    assert result.outcome is not None
    inside = sorted(one for one in target.rglob("*") if one.is_file())
    files = tuple((one.relative_to(target).as_posix(), one.stat().st_size) for one in inside)
    told = ledger_sentence(target) if ledger else ""
    return Released(str(target), str(report_path(target)), files, result.outcome, told)


def ledger_sentence(target: Path) -> str:
    """Say what all releases of the people of a release have spent, as the user's ledger has it."""
    book = Ledger(default_ledger())
    own = [entry for entry in book.entries() if entry.target == str(target.resolve())]
    if not own:
        return "This release is in no ledger."
    people = own[-1].people
    spent, central = book.total(people), book.central_total(people)
    several = [entry for entry in book.entries() if entry.people == people]
    count = "1 release" if len(several) == 1 else f"{len(several)} releases"
    local = "" if spent.is_none else f"α = {numbers.alpha_text(spent.shown)} together, and "
    return (
        f"In the ledger these people are called {people!r}: {count}, which have spent "
        f"{local}{pair(central)} against readers."
    )
