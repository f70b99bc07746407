"""Whether a release can be made, where to, and the settings that are no part of its promise."""

import shlex
from itertools import count
from pathlib import Path
from typing import Any

from shiny import Session
from shiny.ui import Tag, TagList, tags

from pramble.app.view import selection, text_input, tick, under_label
from pramble.app.wizard import Source, Wizard
from pramble.errors import InvalidInput, PrambleError
from pramble.releasing.folder.build import check_target
from pramble.releasing.prepare import refuse_untouched
from pramble.releasing.spec.document import spec_from
from pramble.releasing.spec.spec import COPIES, OUTPUTS
from pramble.report.pages import names_in_words
from pramble.words import visible

PLAN_FILE = "plan.toml"


def obstacles(wizard: Wizard) -> list[tuple[str, str]]:
    """Return what stands in the way of a release, each with the step that mends it."""
    if wizard.survey is None:
        return [("No file is open.", "open")]
    if not wizard.columns:
        return [("No column is randomised. Choose at least one.", "columns")]
    found = []
    if wizard.undeclared:
        names = names_in_words([visible(name) for name in wizard.undeclared])
        seen = f"The categories of {names} are values seen in the file."
        found.append((f"{seen} Say in step 2 that they are all there can be.", "columns"))
    try:
        spec = spec_from(wizard.plan)
        refuse_untouched([look.name for look in wizard.survey.profiles], spec)
    except PrambleError as error:
        found.append((str(error), "columns"))
    return found


def proposed_target(source: Source) -> Path:
    """Return a folder that does not exist: beside the file, or at home for one that the app made.

    >>> proposed_target(Source(Path("/nowhere/people.csv.gz"), "people.csv.gz")).as_posix()
    '/nowhere/people-release'
    """
    place = Path.home() if source.is_ours else source.path.absolute().parent
    stem = f"{source.name.split('.')[0] or 'people'}-release"
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(place / name for name in names if not (place / name).exists())


def target_of(wizard: Wizard) -> Path:
    """Return the folder to release to."""
    assert wizard.source is not None
    if wizard.target:
        return Path(wizard.target).expanduser().absolute()
    return proposed_target(wizard.source)


def refuse_target(wizard: Wizard) -> None:
    """Refuse a folder that cannot be made, or that is the confidential file's own."""
    target = target_of(wizard)
    check_target(target)
    if target.exists():
        raise InvalidInput(f"The folder {str(target)!r} exists; choose one that does not.")
    above = next(parent for parent in target.parents if parent.exists())
    if not above.is_dir():
        raise InvalidInput(f"{str(above)!r} is no folder; choose another place.")


def settled(wizard: Wizard) -> dict[str, Any]:
    """Return all that a dry run holds for: the file, the plan, the target and the ledger."""
    assert wizard.source is not None
    return {
        "path": str(wizard.source.path),
        "plan": wizard.toml(),
        "target": str(target_of(wizard)),
        "ledger": wizard.has_ledger,
    }


def command(wizard: Wizard) -> str:
    """Return the command that does the same in a terminal."""
    assert wizard.source is not None
    file = wizard.source.name if wizard.source.is_ours else str(wizard.source.path.absolute())
    words = ["pramble", "release", file, "--plan", PLAN_FILE, "--out", str(target_of(wizard))]
    return shlex.join(words if wizard.has_ledger else [*words, "--no-ledger"])


COPY_NAMES = {"csv": "CSV", "stata": "Stata", "spss": "SPSS", "excel": "Excel"}
# The files of protected tables, and what they are.
TABLES_GIVE = (
    (
        "synthetic.parquet",
        "complete records, as many as the file has, drawn from the tables alone: to open and count",
    ),
    ("tables.parquet", "tables of counts with exact noise: what estimates and intervals come from"),
)


def set_in(wizard: Wizard, about: str, given: Any) -> None:
    """Settle one setting: in the plan, or of this wizard."""
    plan = wizard.document
    if about == "target":
        wizard.target = str(given).strip()
    elif about == "ledger":
        wizard.has_ledger = bool(given)
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
        plan["copies"] = [name for name in plan["copies"] if name != wizard.plan.get("output")]
    wizard.document = plan_order(plan)


def plan_order(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan whose tables come last, as in a file."""
    tables = {name: own for name, own in plan.items() if isinstance(own, dict)}
    return {**{name: own for name, own in plan.items() if name not in tables}, **tables}


def form(session: Session, wizard: Wizard) -> Tag:
    """Return the settings, as they stand."""
    plan, of_tables = wizard.plan, wizard.kind == "central"
    output, which = plan.get("output", "parquet"), "complete" if of_tables else "same"
    return tags.div(
        tags.h3("Settings"),
        setting_text(session, "target", "Folder to make", str(target_of(wizard))),
        what_tables_give() if of_tables else choice_of_format(session, output),
        tags.fieldset(
            tags.legend(f"The {which} records again, for other programs", class_="fs-6"),
            *[
                setting_tick(
                    session, f"copy {one}", COPY_NAMES[one], is_on=one in plan.get("copies", ())
                )
                for one in COPIES
                if one != plan.get("output")
            ],
        ),
        None if of_tables else ticks_of_records(session, wizard),
        setting_tick(
            session,
            "ledger",
            "Enter it in the ledger, which adds up releases of the same people",
            is_on=wizard.has_ledger,
        ),
        setting_text(
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
    files = [tags.li(tags.code(file), f": {what}") for file, what in TABLES_GIVE]
    return tags.div(tags.p("Readers get:"), tags.ul(*files))


def choice_of_format(session: Session, now: str) -> Tag:
    own, options = session.ns("field_output"), {one: one for one in OUTPUTS}
    control = selection(session, "setting", options, now, id=own, data_about="output")
    return under_label(own, "Format of the data", control)


def ticks_of_records(session: Session, wizard: Wizard) -> TagList:
    """Return what can be ticked where records are randomised."""
    is_shuffled = wizard.kind == "shuffled"
    why = ": part of the central promise" if is_shuffled else ", so that places reveal nothing"
    return TagList(
        setting_tick(
            session,
            "shuffle",
            f"Rows in a random order{why}",
            is_on=is_shuffled or bool(wizard.plan.get("shuffle")),
            is_fixed=is_shuffled,
        ),
        setting_tick(
            session,
            "synthetic",
            "Complete synthetic records in addition, drawn from the release alone",
            is_on=bool(wizard.plan.get("synthetic")),
        ),
    )


def setting_text(session: Session, about: str, label: str, shown: str, *, hint: str = "") -> Tag:
    own = f"field_{about}"
    return text_input(session, "setting", own, label, shown, hint=hint, data_about=about)


def setting_tick(
    session: Session, about: str, label: str, *, is_on: bool, is_fixed: bool = False
) -> Tag:
    own, disabled = f"field_{about.replace(' ', '_')}", "" if is_fixed else None
    return tick(session, "setting", own, label, is_on=is_on, data_about=about, disabled=disabled)
