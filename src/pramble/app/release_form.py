"""Whether a release can be made, where to, and the settings that are no part of its promise."""

import shlex
from itertools import count
from pathlib import Path
from typing import Any

from shiny import Session
from shiny.ui import Tag, tags

from pramble.app.controls import Form, state
from pramble.app.wizard import LEFT_OUT, SourceFile, Wizard
from pramble.errors import InvalidInput, PrambleError
from pramble.releasing.folder.build import check_target
from pramble.releasing.prepare import refuse_untouched
from pramble.releasing.spec.document import PLAN, spec_from
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
        refuse_untouched(wizard.names, spec)
    except PrambleError as error:
        found.append((str(error), "columns"))
    return found


def proposed_target(source: SourceFile) -> Path:
    """Return a folder that does not exist: beside the file, or at home for one that the app made.

    >>> proposed_target(SourceFile(Path("/nowhere/people.csv.gz"), "people.csv.gz")).as_posix()
    '/nowhere/people-release'
    """
    # The folder of a file that the app made is deleted with it.
    place = Path.home() if source.is_ours else source.path.absolute().parent
    stem = f"{source.name.split('.')[0] or 'people'}-release"
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(place / name for name in names if not (place / name).exists())


def target_of(wizard: Wizard) -> Path:
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


def released_state(wizard: Wizard) -> dict[str, Any]:
    """Return all that a dry run holds for: the file, the plan, the target and the ledger."""
    assert wizard.source is not None
    return {
        "path": str(wizard.source.path),
        "plan": wizard.toml(),
        "target": str(target_of(wizard)),
        "ledger": wizard.has_ledger,
    }


def command(wizard: Wizard) -> str:
    assert wizard.source is not None
    file = wizard.source.name if wizard.source.is_ours else str(wizard.source.path.absolute())
    words = ["pramble", "release", file, "--plan", PLAN_FILE, "--out", str(target_of(wizard))]
    return shlex.join(words if wizard.has_ledger else [*words, "--no-ledger"])


# The settings that are no part of a promise, as they are shown.
OFFERED = ("output", "copies", "shuffle", "synthetic", "people")
# The files of protected tables, and what they are.
TABLES_GIVE = {
    "synthetic.parquet": (
        "complete records, as many as the file has, drawn from the tables alone: to open and count"
    ),
    "tables.parquet": ("tables of counts with exact noise: what estimates and intervals come from"),
}
PEOPLE_HINT = "Empty: by the file. The same name for files that hold the same people."
LEDGER = "Enter it in the ledger, which adds up releases of the same people"


def set_in(wizard: Wizard, about: str, given: Any) -> None:
    """Change one setting: in the plan, or of this wizard."""
    plan = wizard.document
    if about == "target":
        wizard.target = str(given).strip()
    elif about == "ledger":
        wizard.has_ledger = bool(given)
    elif about in OFFERED:
        state(plan, PLAN[about], given)
    if "copies" in plan:  # a copy is in another format than the data
        plan["copies"] = [name for name in plan["copies"] if name != wizard.plan.get("output")]
    # Tables come last, as in a file.
    wizard.document = dict(sorted(plan.items(), key=lambda item: isinstance(item[1], dict)))


def form_state(wizard: Wizard) -> tuple[Any, ...]:
    """Return all that the form of settings depends on."""
    target = None if wizard.source is None else str(target_of(wizard))
    said = [repr(wizard.document.get(name)) for name in OFFERED]
    return wizard.survey is None, wizard.kind, target, wizard.has_ledger, *said


def settings_form(session: Session, wizard: Wizard) -> Tag:
    """Return the settings that the promise leaves open, as they stand."""
    form, plan = Form(session, "setting"), wizard.plan
    formats = {word: word for word in PLAN["copies"].words if word != plan.get("output")}
    left_out = (*LEFT_OUT.get(wizard.kind, ()), *(() if formats else ("copies",)))
    controls = [
        form.setting(
            PLAN[name],
            plan.get(name, PLAN[name].default),
            options=formats if name == "copies" else None,
            hint=PEOPLE_HINT if name == "people" else "",
        )
        for name in OFFERED
        if name not in left_out
    ]
    files = [tags.li(tags.code(file), f": {what}") for file, what in TABLES_GIVE.items()]
    return tags.div(
        tags.h3("Settings"),
        form.text("target", "Folder to make", str(target_of(wizard))),
        tags.div(tags.p("Readers get:"), tags.ul(*files)) if wizard.kind == "central" else None,
        *controls,
        form.tick("ledger", LEDGER, is_on=wizard.has_ledger),
        class_="panel",
    )
