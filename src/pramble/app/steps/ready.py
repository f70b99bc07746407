"""Whether a desk is ready to release: what stands in the way, where to, and by which command."""

import shlex
from itertools import count
from pathlib import Path
from typing import Any

from pramble.app.desk import Desk, Source
from pramble.errors import InvalidInput, PrambleError
from pramble.releasing.folder.build import check_target
from pramble.releasing.prepare.prepare import refuse_untouched
from pramble.releasing.spec.parse import spec_from
from pramble.report.promise import joined
from pramble.words import visible

PLAN_FILE = "plan.toml"


def obstacles(desk: Desk) -> list[tuple[str, str]]:
    """Return what stands in the way of a release, each with the step that mends it."""
    if desk.survey is None:
        return [("No file is open.", "open")]
    if not desk.columns:
        return [("No column is randomised. Choose at least one.", "columns")]
    found = []
    if desk.undeclared:
        names = joined([visible(name) for name in desk.undeclared])
        seen = f"The categories of {names} are values seen in the file."
        found.append((f"{seen} Say in step 2 that they are all there can be.", "columns"))
    try:
        spec = spec_from(desk.plan)
        refuse_untouched([look.name for look in desk.survey.looks], spec)
    except PrambleError as error:
        found.append((str(error), "columns"))
    return found


def proposed_target(source: Source) -> Path:
    """Return a folder that does not exist: beside the file, or at home for one that the desk made.

    >>> proposed_target(Source(Path("/nowhere/people.csv.gz"), "people.csv.gz")).as_posix()
    '/nowhere/people-release'
    """
    place = Path.home() if source.is_ours else source.path.absolute().parent
    stem = f"{source.name.split('.')[0] or 'people'}-release"
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(place / name for name in names if not (place / name).exists())


def target_of(desk: Desk) -> Path:
    """Return the folder to release to."""
    assert desk.source is not None
    if desk.target:
        return Path(desk.target).expanduser().absolute()
    return proposed_target(desk.source)


def refuse_target(desk: Desk) -> None:
    """Refuse a folder that cannot be made, or that is the confidential file's own."""
    target = target_of(desk)
    check_target(target)
    if target.exists():
        raise InvalidInput(f"The folder {str(target)!r} exists; choose one that does not.")
    above = next(parent for parent in target.parents if parent.exists())
    if not above.is_dir():
        raise InvalidInput(f"{str(above)!r} is no folder; choose another place.")


def settled(desk: Desk) -> dict[str, Any]:
    """Return all that a dry run holds for: the file, the plan, the target and the ledger."""
    assert desk.source is not None
    return {
        "path": str(desk.source.path),
        "plan": desk.toml(),
        "target": str(target_of(desk)),
        "ledger": desk.has_ledger,
    }


def command(desk: Desk) -> str:
    """Return the command that does the same in a terminal."""
    assert desk.source is not None
    file = desk.source.name if desk.source.is_ours else str(desk.source.path.absolute())
    words = ["pramble", "release", file, "--plan", PLAN_FILE, "--out", str(target_of(desk))]
    return shlex.join(words if desk.has_ledger else [*words, "--no-ledger"])
