"""Whether a release can be made, where to, and the settings that are no part of its promise."""

import shlex
from itertools import count
from pathlib import Path
from typing import Any

from shiny import Session
from shiny.ui import Tag, TagChild, TagList, tags

from pramble.app.wizard import Source, Wizard
from pramble.errors import InvalidInput, PrambleError
from pramble.releasing.folder.build import check_target
from pramble.releasing.prepare import refuse_untouched
from pramble.releasing.spec.document import spec_from
from pramble.releasing.spec.spec import COPIES, OUTPUTS
from pramble.report.pages import names_in_words
from pramble.words import visible

PLAN_FILE = "plan.toml"


def obstacles(desk: Wizard) -> list[tuple[str, str]]:
    """Return what stands in the way of a release, each with the step that mends it."""
    if desk.survey is None:
        return [("No file is open.", "open")]
    if not desk.columns:
        return [("No column is randomised. Choose at least one.", "columns")]
    found = []
    if desk.undeclared:
        names = names_in_words([visible(name) for name in desk.undeclared])
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


def target_of(desk: Wizard) -> Path:
    """Return the folder to release to."""
    assert desk.source is not None
    if desk.target:
        return Path(desk.target).expanduser().absolute()
    return proposed_target(desk.source)


def refuse_target(desk: Wizard) -> None:
    """Refuse a folder that cannot be made, or that is the confidential file's own."""
    target = target_of(desk)
    check_target(target)
    if target.exists():
        raise InvalidInput(f"The folder {str(target)!r} exists; choose one that does not.")
    above = next(parent for parent in target.parents if parent.exists())
    if not above.is_dir():
        raise InvalidInput(f"{str(above)!r} is no folder; choose another place.")


def settled(desk: Wizard) -> dict[str, Any]:
    """Return all that a dry run holds for: the file, the plan, the target and the ledger."""
    assert desk.source is not None
    return {
        "path": str(desk.source.path),
        "plan": desk.toml(),
        "target": str(target_of(desk)),
        "ledger": desk.has_ledger,
    }


def command(desk: Wizard) -> str:
    """Return the command that does the same in a terminal."""
    assert desk.source is not None
    file = desk.source.name if desk.source.is_ours else str(desk.source.path.absolute())
    words = ["pramble", "release", file, "--plan", PLAN_FILE, "--out", str(target_of(desk))]
    return shlex.join(words if desk.has_ledger else [*words, "--no-ledger"])


COPY_NAMES = {"csv": "CSV", "stata": "Stata", "spss": "SPSS", "excel": "Excel"}
TABLES_GIVE = (
    (
        "synthetic.parquet",
        "complete records, as many as the file has, drawn from the tables alone: to open and count",
    ),
    ("tables.parquet", "tables of counts with exact noise: what estimates and intervals come from"),
)
"""The files of protected tables, and what they are."""


def set_in(desk: Wizard, about: str, given: Any) -> None:
    """Settle one setting: in the plan, or of this desk."""
    plan = desk.document
    if about == "target":
        desk.target = str(given).strip()
    elif about == "ledger":
        desk.has_ledger = bool(given)
    elif about == "output" and given in OUTPUTS:
        plan["output"] = given
    elif about in ("shuffle", "synthetic"):
        plan[about] = bool(given)
    elif about == "people":
        plan.pop("people", None)
        if str(given).strip():
            plan["people"] = str(given).strip()
    elif about.startswith("copy "):
        asked = {*plan.get("copies", ()), about.removeprefix("copy ")}
        asked -= set() if given else {about.removeprefix("copy ")}
        plan["copies"] = [name for name in COPIES if name in asked]
    if "copies" in plan:  # a copy is in another format than the data
        plan["copies"] = [name for name in plan["copies"] if name != desk.plan.get("output")]
    desk.document = plan_order(plan)


def plan_order(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan whose tables come last, as in a file."""
    tables = {name: own for name, own in plan.items() if isinstance(own, dict)}
    return {**{name: own for name, own in plan.items() if name not in tables}, **tables}


def form(session: Session, desk: Wizard) -> Tag:
    """Return the settings, as the desk has them."""
    plan, of_tables = desk.plan, desk.kind == "central"
    return tags.div(
        tags.h3("Settings"),
        text_field(session, "target", "Folder to make", str(target_of(desk))),
        what_tables_give()
        if of_tables
        else choice_field(session, "output", "Format of the data", plan.get("output", "parquet")),
        tags.fieldset(
            tags.legend(
                f"The {'complete' if of_tables else 'same'} records again, for other programs",
                class_="fs-6",
            ),
            *[
                tick(session, f"copy {one}", COPY_NAMES[one], ticked=one in plan.get("copies", ()))
                for one in COPIES
                if one != plan.get("output")
            ],
        ),
        None if of_tables else ticks_of_records(session, desk),
        tick(
            session,
            "ledger",
            "Enter it in the ledger, which adds up releases of the same people",
            ticked=desk.has_ledger,
        ),
        text_field(
            session,
            "people",
            "Name of these people in the ledger",
            str(plan.get("people") or ""),
            hint="Empty: by the file. The same name for files that hold the same people.",
        ),
        class_="panel",
    )


def what_tables_give() -> Tag:
    """Say what readers of protected tables get."""
    return tags.div(
        tags.p("Readers get:"),
        tags.ul(*[tags.li(tags.code(file), f": {what}") for file, what in TABLES_GIVE]),
    )


def ticks_of_records(session: Session, desk: Wizard) -> TagList:
    """Return what can be ticked where records are randomised."""
    shuffled = desk.kind == "shuffled"
    return TagList(
        tick(
            session,
            "shuffle",
            "Rows in a random order"
            + (": part of the central promise" if shuffled else ", so that places reveal nothing"),
            ticked=shuffled or bool(desk.plan.get("shuffle")),
            fixed=shuffled,
        ),
        tick(
            session,
            "synthetic",
            "Complete synthetic records in addition, drawn from the release alone",
            ticked=bool(desk.plan.get("synthetic")),
        ),
    )


def text_field(session: Session, about: str, label: str, shown: str, *, hint: str = "") -> Tag:
    own = session.ns(f"field_{about}")
    return tags.div(
        tags.label(label, for_=own, class_="form-label"),
        tags.input(
            type="text",
            id=own,
            value=shown,
            class_="form-control",
            spellcheck="false",
            data_tells=session.ns("setting"),
            data_about=about,
            aria_describedby=f"{own}-hint" if hint else None,
        ),
        tags.div(hint, id=f"{own}-hint", class_="form-text") if hint else None,
        class_="mb-2",
    )


def choice_field(session: Session, about: str, label: str, shown: str) -> Tag:
    """Return the choice of a format."""
    own = session.ns(f"field_{about}")
    return tags.div(
        tags.label(label, for_=own, class_="form-label"),
        tags.select(
            *[
                tags.option(one, value=one, selected="" if one == shown else None)
                for one in OUTPUTS
            ],
            id=own,
            class_="form-select",
            data_tells=session.ns("setting"),
            data_about=about,
        ),
        class_="mb-2",
    )


def tick(
    session: Session, about: str, label: str, *, ticked: bool, fixed: bool = False
) -> TagChild:
    """Return something to be ticked."""
    own = session.ns(f"field_{about.replace(' ', '_')}")
    return tags.div(
        tags.input(
            type="checkbox",
            id=own,
            checked="" if ticked else None,
            disabled="" if fixed else None,
            class_="form-check-input",
            data_tells=session.ns("setting"),
            data_about=about,
        ),
        tags.label(label, for_=own, class_="form-check-label"),
        class_="form-check",
    )
