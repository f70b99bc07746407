"""Step 4: the plan, a dry run, and the release itself."""

import re
import shlex
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app import tasks
from pramble.app.columns import QUESTIONS
from pramble.app.forms import Form, change_plan, state
from pramble.app.view import (
    PageView,
    cards,
    event_button,
    notice,
    refusal_lines,
    refused,
    status,
    step_section,
    table,
    text_tags,
    when,
)
from pramble.app.wizard import PROMISE, SourceFile, Wizard
from pramble.app.worker import PATIENCE
from pramble.errors import InvalidInput, PrambleError
from pramble.information.accuracy import verdict_of
from pramble.outcome import ReleaseOutcome
from pramble.releasing.folder.build import check_target
from pramble.releasing.folder.layout import SUMMARY
from pramble.releasing.prepare import refuse_untouched
from pramble.releasing.spec.document import PLAN, spec_from
from pramble.report.outcome_text import headline_figures, release_text
from pramble.words import visible

PLAN_FILE = "plan.toml"
LEDGER = "Enter it in the ledger, which adds up releases of the same people"
# Settings that another step asks for; this one asks for all others.
ASKED_BEFORE = {*PROMISE, "drop", *(name for _, names in QUESTIONS.values() for name in names)}


def obstacles(wizard: Wizard) -> list[tuple[str, str]]:
    """Return what stands in the way of a release, each with the step that mends it."""
    if wizard.survey is None:
        return [("No file is open.", "open")]
    if not wizard.columns:
        return [("No column is randomised. Choose at least one.", "columns")]
    found = []
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


def released_state(wizard: Wizard) -> tuple[str, ...]:
    """Return all that a dry run holds for: the file, the plan, the target and the ledger."""
    assert wizard.source is not None
    path, target = wizard.source.path, target_of(wizard)
    return str(path), wizard.toml(), str(target), str(wizard.has_ledger)


def command(wizard: Wizard) -> str:
    assert wizard.source is not None
    file = wizard.source.name if wizard.source.is_ours else str(wizard.source.path.absolute())
    words = ["pramble", "release", file, "--plan", PLAN_FILE, "--out", str(target_of(wizard))]
    return shlex.join(words if wizard.has_ledger else [*words, "--no-ledger"])


def warnings_of(outcome: ReleaseOutcome) -> TagList:
    """Return every warning; that there is none is said too."""
    found = [notice("warning", visible(one)) for one in outcome.warnings]
    return TagList(*found or [tags.p("There are no warnings.")])


def release_panel(wizard: Wizard) -> TagChild:
    """Return where the last release is, what is in it, and both its pages."""
    if "release" not in wizard.found:
        return None
    found: tasks.ReleasedFolder = wizard.found["release"]["is"]
    outcome = found.outcome
    rows = [[visible(name), numbers.size(size)] for name, size in found.files]
    summary = Path(found.folder) / SUMMARY
    return TagList(
        tags.h3("Released"),
        notice(
            "good",
            tags.p(tags.strong(visible(found.folder))),
            tags.p(
                f"{numbers.count(outcome.rows)} rows, in {outcome.seconds:.1f} s. This folder is "
                "what may be published, and all that an analyst needs."
            ),
        ),
        table(["file", "size"], rows, caption="What is in the folder"),
        tags.p(
            "The report beside it stays with you, for it holds figures of the confidential file: ",
            tags.code(visible(found.report)),
        ),
        tags.p("What all releases of these people have spent: pramble ledger."),
        tags.ul(
            *[tags.li(f"Checked: {one.name}. {visible(one.detail)}") for one in outcome.checks]
        ),
        warnings_of(outcome),
        tags.p(ui.input_action_button("read", "Read it as an analyst", class_="btn-primary")),
        page_in_place("The summary, which may be published", summary, is_open=True),
        page_in_place("The report, for you alone", Path(found.report)),
    )


def page_in_place(title: str, path: Path, *, is_open: bool = False) -> Tag:
    """Return a page that was written, shown in a frame where nothing in it can run."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return notice("note", f"This page is not where it was written: {visible(str(path))}.")
    # The explorer of the summary works where the file itself is opened.
    text = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    return tags.details(
        tags.summary(title),
        tags.iframe(class_="page", sandbox="", srcdoc=text, title=title),
        open="" if is_open else None,
    )


TASKS = ("dry run", "release")
MENDS = {"open": "Go to the file", "columns": "Go to the columns", "promise": "Go to the promise"}
UNDONE = "Stopped: nothing was released, and the ledger has no entry of it."
CUT_OFF = (
    "Ended by force: nothing was released. What it had begun lies hidden next to the target until "
    "the next release to it, and the ledger may count it as pending: see `pramble ledger`."
)
COMPLETE = "The release was complete before it could be stopped: the folder is there."
EXPLAINED = (
    "A dry run does everything but write, and shows how precise the release will be and every "
    "warning. After it, the release itself can be made."
)
CHANGED = (
    "The plan, the file or the target has changed since this dry run: make another one before you "
    "release."
)


@module.ui
def release_ui() -> Tag:
    settings = tags.div(ui.output_ui("settings"), ui.output_ui("target_refused"))
    shown = tags.div(settings, ui.output_ui("plan"), class_="columns-of")
    parts = ("missing", shown, "actions", "working", "dry", "done")
    return step_section("Release", "Release", "", *parts)


@module.server
def release_server(input: Inputs, output: Outputs, session: Session, view: PageView) -> None:
    wizard = view.wizard
    view.fill("missing", partial(obstacle_notices, session, wizard), "plan", "source")
    when(input.mend, lambda: view.go(input.mend()["about"]))
    serve_settings(input, session, view)
    view.fill("plan", partial(plan_panel, wizard), "plan", "source")

    @render.download(filename=PLAN_FILE)
    def plan_file() -> Iterator[str]:
        yield wizard.toml()

    view.fill("actions", partial(release_actions, wizard), "plan", "source", *TASKS)
    when(input.rehearse, lambda: view.attempt("target", partial(begin_task, view, "dry run")))
    when(input.release_now, lambda: view.attempt("target", partial(begin_task, view, "release")))
    view.fill("working", lambda: TagList(*[status(view, name) for name in TASKS]))
    view.fill("dry", partial(dry_run_details, wizard), "plan", "source", *TASKS)
    view.fill("done", partial(release_panel, wizard), "source", "release")

    def read_it() -> None:
        wizard.reading_folder = wizard.found["release"]["is"].folder
        view.changed("read folder")
        view.go("read")

    when(input.read, read_it)


def obstacle_notices(session: Session, wizard: Wizard) -> TagList:
    """Return what stands in the way of a release, each with a way to the step that mends it."""
    mend = partial(event_button, session.ns("mend"), class_="btn btn-default btn-sm")
    return TagList(
        *[
            notice("warning", *refusal_lines(sentence), mend(MENDS[step], step))
            for sentence, step in obstacles(wizard)
        ]
    )


def serve_settings(input: Inputs, session: Session, view: PageView) -> None:
    """Show the settings that no other step asks for, and take what is chosen."""
    wizard = view.wizard

    def take() -> None:
        about, given = input.setting()["about"], input.setting()["value"]
        if about == "target":
            wizard.target = given.strip()
            view.attempt("target", partial(refuse_target, wizard), "plan")
        elif about == "ledger":
            wizard.has_ledger = given
            view.changed("plan")
        else:
            change_plan(view, "target", partial(set_in, wizard, about, given))

    # Not drawn again when its own controls change the plan: they would lose the focus.
    view.fill(
        "settings", partial(settings_form, session, wizard), "source", "release", "draw exact"
    )
    when(input.setting, take)
    view.fill("target_refused", lambda: refused(view, "target"))

    @reactive.effect
    def _() -> None:  # the proposed target is taken once something was released to it
        view.watch("release")
        view.changed("plan")


def set_in(wizard: Wizard, about: str, given: Any) -> None:
    plan = wizard.document
    state(plan, PLAN[about], given)
    # Tables come last, as in a file.
    wizard.document = dict(sorted(plan.items(), key=lambda item: isinstance(item[1], dict)))


def settings_form(session: Session, wizard: Wizard) -> TagChild:
    """Return the settings that the design has and no other step asks for, as they stand."""
    if wizard.survey is None:
        return None
    form, plan = Form(session, "setting"), wizard.plan
    rows = [
        row
        for name, row in PLAN.items()
        if name not in ASKED_BEFORE and wizard.design in row.designs
    ]
    return tags.div(
        tags.h3("Settings"),
        form.text("target", "Folder to make", str(target_of(wizard))),
        form.tick("ledger", LEDGER, is_on=wizard.has_ledger),
        *form.settings(rows, plan, wizard.names),
        class_="panel",
    )


def plan_panel(wizard: Wizard) -> TagChild:
    """Return the plan, to be downloaded, and the command that does the same."""
    if wizard.survey is None:
        return None
    try:
        text = wizard.toml()
    except PrambleError:
        return None  # said among the obstacles
    return tags.div(
        tags.h3("The plan"),
        tags.pre(visible(text), class_="plan", tabindex="0", aria_label="The plan"),
        ui.download_button("plan_file", "Download plan.toml", class_="btn-sm"),
        tags.h3("The same in a terminal"),
        tags.pre(visible(command(wizard)), class_="plan command"),
        class_="panel",
    )


def is_rehearsed(wizard: Wizard) -> bool:
    """Whether the last dry run was of this very plan, target and file."""
    found = wizard.found.get("dry run")
    return found is not None and not obstacles(wizard) and found["for"] == released_state(wizard)


def begin_task(view: PageView, name: str) -> None:
    """Begin a dry run, or the release that was rehearsed, unless anything stands in the way."""
    wizard, is_dry = view.wizard, name == "dry run"
    for sentence, _ in obstacles(wizard):
        raise InvalidInput(sentence)
    refuse_target(wizard)
    if not (is_dry or is_rehearsed(wizard)):
        raise InvalidInput("The plan or the target has changed: make a dry run of it.")
    assert wizard.source is not None
    target, made_for = target_of(wizard), released_state(wizard)

    def take(made: tasks.ReleasedFolder) -> None:
        wizard.found[name] = {"for": made_for, "is": made}
        if not is_dry:
            wizard.target = ""  # that folder is taken: the next one is proposed

    wizard.found.pop(name, None)
    # What became of the last one would stand next to the progress of this one.
    for other in set(TASKS) - wizard.running:
        wizard.works.pop(other, None)
    work = view.begin(
        name, tasks.make_release, wizard.source.path, target, wizard.plan,
        ledger=wizard.has_ledger, dry_run=is_dry, then=take,
    )  # fmt: skip
    if not is_dry:
        work.patience = PATIENCE
        work.stopped = lambda undone: COMPLETE if target.exists() else UNDONE if undone else CUT_OFF


def release_actions(wizard: Wizard) -> TagChild:
    if wizard.survey is None or obstacles(wizard):
        return None
    busy, ready = bool(wizard.running & set(TASKS)), is_rehearsed(wizard)
    first, second = ("", "btn-primary") if ready else ("btn-primary", "")
    return tags.div(
        tags.p(EXPLAINED, class_="lead-in"),
        ui.input_action_button("rehearse", "Dry run", class_=first, disabled=busy),
        " ",
        ui.input_action_button(
            "release_now", "Release now", class_=second, disabled=busy or not ready
        ),
        class_="actions",
    )


def dry_run_details(wizard: Wizard) -> TagChild:
    found = wizard.found.get("dry run")
    if found is None:
        return None
    outcome: ReleaseOutcome = found["is"].outcome
    verdict = verdict_of(outcome.tables) if outcome.tables else None
    released_since = "release" in wizard.found
    is_current = is_rehearsed(wizard) or released_since
    return tags.details(
        tags.summary("The dry run: nothing was written", class_="h3 fs-5"),
        None if is_current else notice("warning", CHANGED),
        cards([(numbers.count(outcome.rows), "rows"), *headline_figures(outcome, verdict)]),
        warnings_of(outcome),
        text_tags(*release_text(outcome)),
        open=None if released_since else "",
    )
