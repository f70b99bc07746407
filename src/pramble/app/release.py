"""Step 4: the plan, a dry run, and the release itself."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app import tasks
from pramble.app.release_form import (
    PLAN_FILE,
    command,
    form_state,
    obstacles,
    refuse_target,
    released_state,
    set_in,
    settings_form,
    target_of,
)
from pramble.app.view import (
    Controls,
    PageView,
    cards,
    event_button,
    notice,
    precision_table,
    refusal_lines,
    refused,
    status,
    step_section,
    table,
    verdict_lines,
    when,
)
from pramble.app.wizard import Wizard
from pramble.app.worker import PATIENCE
from pramble.errors import InvalidInput, PrambleError
from pramble.information.accuracy import verdict_of
from pramble.outcome import ReleaseOutcome
from pramble.report.pages import SUMMARY, plan_sentences, protected_sentences
from pramble.report.pages import headline_figures as figures_of
from pramble.words import visible


def dry_run_panel(outcome: ReleaseOutcome) -> TagList:
    verdict = verdict_of(outcome.tables) if outcome.tables else None
    shown = [(one["value"], one["label"]) for one in figures_of(outcome, verdict)]
    shown = [(numbers.count(outcome.rows), "rows"), *shown]
    sentences: list[str] = []
    if outcome.protected is not None:
        sentences = protected_sentences(outcome.protected)
    elif outcome.record is not None:
        prior = f"Prior: {outcome.record.prior_detail}"
        sentences = [*plan_sentences(outcome.record), prior]
    return TagList(
        cards(shown),
        warnings_of(outcome),
        None if verdict is None else verdict_lines(verdict),
        *[tags.p(visible(sentence)) for sentence in sentences],
        precision_table(outcome.tables) if outcome.tables else None,
    )


def warnings_of(outcome: ReleaseOutcome) -> TagList:
    """Return every warning; that there is none is said too."""
    found = [notice("warning", visible(one)) for one in outcome.warnings]
    return TagList(*found or [tags.p("There are no warnings.")])


def release_panel(wizard: Wizard) -> TagChild:
    """Return where the last release is, what is in it, and both its pages."""
    found: tasks.ReleasedFolder | None = wizard.found.get("release")
    if found is None:
        return None
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
        tags.p(visible(found.ledger or "It was entered in no ledger.")),
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
    when(input.rehearse, lambda: view.attempt("target", partial(begin_dry_run, view)))
    when(input.release_now, lambda: view.attempt("target", partial(begin_release, view)))
    view.fill("working", lambda: TagList(*[status(view, name) for name in TASKS]))
    view.fill("dry", partial(dry_run_details, wizard), "plan", "source", *TASKS)
    view.fill("done", partial(release_panel, wizard), "source", "release")

    def read_it() -> None:
        wizard.reading_folder = wizard.found["release"].folder
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
    """Show the settings that are no part of the promise, and take what is chosen."""
    wizard = view.wizard
    controls = Controls(view, settings=partial(form_state, wizard))

    def settings() -> TagChild:
        controls.watch("settings")
        return None if wizard.survey is None else settings_form(session, wizard)

    def take() -> None:
        about, given = input.setting()["about"], input.setting()["value"]
        set_in(wizard, about, given)
        controls.used("settings")
        view.changed("plan")
        if about == "target":
            refuse_target(wizard)

    view.fill("settings", settings, "source")
    when(input.setting, lambda: view.attempt("target", take))
    view.fill("target_refused", lambda: refused(view, "target"))

    @reactive.effect
    def _() -> None:  # the proposed target is taken once something was released to it
        view.watch("release")
        view.changed("plan")


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


def begin_task(
    view: PageView, name: str, task: Callable[..., Any], then: Callable[[Any], None]
) -> None:
    """Begin a dry run or a release, unless anything stands in the way."""
    wizard = view.wizard
    for sentence, _ in obstacles(wizard):
        raise InvalidInput(sentence)
    refuse_target(wizard)
    assert wizard.source is not None
    target = target_of(wizard)
    wizard.found.pop(name, None)
    # What became of the last one would stand next to the progress of this one.
    for other in set(TASKS) - wizard.running:
        wizard.works.pop(other, None)
    work = view.begin(
        name, task, wizard.source.path, target, wizard.plan, ledger=wizard.has_ledger, then=then
    )
    if name == "release":
        work.patience, work.stopped = PATIENCE, partial(words_of_stop, target)


def words_of_stop(target: Path, undone: bool) -> str:  # noqa: FBT001 (what `Work.stopped` is given)
    return COMPLETE if target.exists() else UNDONE if undone else CUT_OFF


def begin_dry_run(view: PageView) -> None:
    wizard = view.wizard

    def take(made_for: dict[str, Any], outcome: ReleaseOutcome) -> None:
        wizard.found["dry run"] = {"for": made_for, "is": outcome}

    begin_task(view, "dry run", tasks.dry_run, partial(take, released_state(wizard)))


def begin_release(view: PageView) -> None:
    """Begin the release itself, which must have been rehearsed as it is."""
    wizard = view.wizard
    if not is_rehearsed(wizard):
        raise InvalidInput("The plan or the target has changed: make a dry run of it.")

    def take(made: tasks.ReleasedFolder) -> None:
        wizard.found["release"] = made
        wizard.target = ""  # that folder is taken: the next one is proposed

    begin_task(view, "release", tasks.make_release, take)


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
    released_since = "release" in wizard.found
    is_current = is_rehearsed(wizard) or released_since
    return tags.details(
        tags.summary("The dry run: nothing was written", class_="h3 fs-5"),
        None if is_current else notice("warning", CHANGED),
        dry_run_panel(found["is"]),
        open=None if released_since else "",
    )
