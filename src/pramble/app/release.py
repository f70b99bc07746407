"""Step 4: the plan, a dry run, and the release itself."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app import tasks
from pramble.app.release_form import (
    PLAN_FILE,
    command,
    form,
    obstacles,
    refuse_target,
    set_in,
    settled,
    target_of,
)
from pramble.app.view import (
    Controls,
    View,
    button,
    cards,
    fill_output,
    notice,
    refusal_lines,
    refused,
    table,
    verdict_lines,
    when,
    work_line,
    worth_table,
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
    """Return what a dry run has found."""
    verdict = verdict_of(outcome.tables) if outcome.tables else None
    shown = [(one["value"], one["label"]) for one in figures_of(outcome, verdict)]
    shown = [(numbers.count(outcome.rows), "rows"), *shown]
    if outcome.data_bytes:
        shown.append((numbers.size(outcome.data_bytes), "of disk, about"))
    shown.append((f"{outcome.seconds:.1f} s", "of time, about"))
    sentences = []
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
        worth_table(outcome.tables) if outcome.tables else None,
    )


def warnings_of(outcome: ReleaseOutcome) -> TagList:
    """Return every warning; that there is none is said too."""
    found = [notice("warning", visible(one)) for one in outcome.warnings]
    return TagList(*found or [tags.p("There are no warnings.")])


def release_panel(found: tasks.Released, *, onwards: TagChild) -> TagList:
    """Return where a release is, what is in it, and both its pages."""
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
        onwards,
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
    "Ended by force: nothing was released. What it had begun lies hidden beside the target until "
    "the next release to it, and the ledger may count it as pending: see `pramble ledger`."
)
COMPLETE = "The release was complete before it could be stopped: the folder is there."
EXPLAINED = (
    "A dry run does everything but write, and shows what the release will be worth and every "
    "warning. After it, the release itself can be made."
)
CHANGED = (
    "The plan, the file or the target has changed since this dry run: make another one before you "
    "release."
)


@module.ui
def release_ui() -> Tag:
    return tags.section(
        tags.h2("Release"),
        ui.output_ui("missing"),
        tags.div(
            tags.div(ui.output_ui("settings"), ui.output_ui("target_refused")),
            ui.output_ui("plan"),
            class_="columns-of",
        ),
        ui.output_ui("actions"),
        ui.output_ui("working"),
        ui.output_ui("dry"),
        ui.output_ui("done"),
        aria_label="Release",
    )


@module.server
def release_server(input: Inputs, output: Outputs, session: Session, view: View) -> None:
    serve_obstacles(input, session, view)
    serve_settings(input, session, view)
    serve_plan(view)
    serve_actions(input, view)
    serve_progress(input, view)
    serve_results(input, view)


def serve_obstacles(input: Inputs, session: Session, view: View) -> None:
    """Show what stands in the way of a release, and go to the step that mends it."""

    @render.ui
    def missing() -> TagChild:
        view.watch("plan", "source")
        return TagList(
            *[
                notice(
                    "warning",
                    *refusal_lines(sentence),
                    button(session, "mend", MENDS[step], step, class_="btn btn-default btn-sm"),
                )
                for sentence, step in obstacles(view.wizard)
            ]
        )

    @reactive.effect
    @reactive.event(input.mend)
    def _() -> None:
        if input.mend()["about"] in MENDS:
            view.go(input.mend()["about"])


def settings_state(wizard: Wizard) -> tuple[Any, ...]:
    """Return all that the form of settings depends on."""
    names = ("output", "copies", "shuffle", "synthetic", "people")
    kept = [repr(wizard.document.get(name)) for name in names]
    target = None if wizard.source is None else str(target_of(wizard))
    return wizard.survey is None, wizard.kind, target, wizard.has_ledger, *kept


def serve_settings(input: Inputs, session: Session, view: View) -> None:
    """Show the settings that are no part of the promise, and take what is chosen."""
    wizard = view.wizard
    controls = Controls(view, settings=lambda: settings_state(wizard))

    @render.ui
    def settings() -> TagChild:
        controls.watch("settings")
        view.watch("source")
        return None if wizard.survey is None else form(session, wizard)

    @reactive.effect
    @reactive.event(input.setting)
    def _() -> None:
        event = input.setting()

        def change() -> None:
            set_in(wizard, str(event["about"]), event["value"])
            controls.used("settings")
            view.changed("plan")
            if event["about"] == "target":
                refuse_target(wizard)

        view.attempt("target", change)

    fill_output("target_refused", lambda: refused(view, "target"))

    @reactive.effect
    def _() -> None:  # the proposed target is taken once something was released to it
        view.watch("release")
        view.changed("plan")


def serve_plan(view: View) -> None:
    """Show the plan, to be downloaded, and the command that does the same."""
    wizard = view.wizard

    @render.ui
    def plan() -> TagChild:
        view.watch("plan", "source")
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

    @render.download(filename=PLAN_FILE)
    def plan_file() -> Iterator[str]:
        yield wizard.toml()


def is_rehearsed(wizard: Wizard) -> bool:
    """Whether the last dry run was of this very plan, target and file."""
    found = wizard.found.get("dry run")
    if found is None or obstacles(wizard):
        return False
    return bool(found["for"] == settled(wizard))


def refuse_obstacles(wizard: Wizard) -> None:
    """Refuse to go on while anything stands in the way, or the target cannot be made."""
    for sentence, _ in obstacles(wizard):
        raise InvalidInput(sentence)
    refuse_target(wizard)


def begin(view: View, name: str, task: Callable[..., Any], then: Callable[[Any], None]) -> None:
    """Begin a dry run or a release."""
    wizard = view.wizard
    assert wizard.source is not None
    target = target_of(wizard)
    wizard.found.pop("stopped", None)
    wizard.found["doing"], wizard.found["going to"] = name, target
    view.begin(
        name, task, wizard.source.path, target, wizard.plan,
        ledger=wizard.has_ledger, progress=True, then=then,
    )  # fmt: skip


def begin_dry_run(view: View) -> None:
    wizard = view.wizard
    refuse_obstacles(wizard)
    made_for = settled(wizard)
    wizard.found.pop("dry run", None)

    def take(outcome: ReleaseOutcome) -> None:
        wizard.found["dry run"] = {"for": made_for, "is": outcome}

    begin(view, "dry run", tasks.rehearse, take)


def begin_release(view: View) -> None:
    """Begin the release itself, which must have been rehearsed as it is."""
    wizard = view.wizard
    refuse_obstacles(wizard)
    if not is_rehearsed(wizard):
        raise InvalidInput("The plan or the target has changed: make a dry run of it.")
    wizard.found.pop("released", None)

    def take(made: tasks.Released) -> None:
        wizard.found["released"] = made
        wizard.target = ""  # that folder is taken: the next one is proposed

    begin(view, "release", tasks.release, take)


def serve_actions(input: Inputs, view: View) -> None:
    """Offer a dry run, and after it the release."""
    wizard = view.wizard

    @render.ui
    def actions() -> TagChild:
        view.watch("plan", "source", "dry run", "release")
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

    when(input.rehearse, lambda: view.attempt("target", lambda: begin_dry_run(view)))
    when(input.release_now, lambda: view.attempt("target", lambda: begin_release(view)))


def serve_progress(input: Inputs, view: View) -> None:
    """Show how far the work is, and stop it."""
    wizard = view.wizard

    @render.ui
    def working() -> TagChild:
        stop = ui.input_action_button("stop", "Stop", class_="btn-sm")
        view.watch("release", "dry run")
        said = wizard.found.get("stopped")
        if said is not None:
            return notice("note", said)
        last = wizard.found.get("doing")
        return None if last is None else work_line(view, last, stop=stop)

    @reactive.effect
    @reactive.event(input.stop)
    def _() -> None:
        if "release" in wizard.running:
            undone = wizard.worker.stop("release", patience=PATIENCE)
            there = wizard.found["going to"].exists()
            wizard.found["stopped"] = COMPLETE if there else UNDONE if undone else CUT_OFF
        wizard.worker.stop("dry run")
        view.changed("work")


def serve_results(input: Inputs, view: View) -> None:
    """Show what the dry run found, and what was released."""
    wizard = view.wizard

    @render.ui
    def dry() -> TagChild:
        view.watch("plan", "source", "dry run", "release")
        found = wizard.found.get("dry run")
        if found is None:
            return None
        released_since = "released" in wizard.found
        is_current = is_rehearsed(wizard) or released_since
        return tags.details(
            tags.summary("The dry run: nothing was written", class_="h3 fs-5"),
            None if is_current else notice("warning", CHANGED),
            dry_run_panel(found["is"]),
            open=None if released_since else "",
        )

    @render.ui
    def done() -> TagChild:
        view.watch("source", "release")
        made = wizard.found.get("released")
        if made is None:
            return None
        read = ui.input_action_button("read", "Read it as an analyst", class_="btn-primary")
        return release_panel(made, onwards=tags.p(read))

    @reactive.effect
    @reactive.event(input.read)
    def _() -> None:
        wizard.reading_folder = wizard.found["released"].folder
        view.changed("read folder")
        view.go("read")
