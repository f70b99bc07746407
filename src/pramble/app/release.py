"""Step 4: the plan, a dry run, and the release itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app import release_form as ready
from pramble.app import tasks
from pramble.app.parts import (
    cards,
    notice,
    refusal_lines,
    refused,
    table,
    verdict_lines,
    work_line,
    worth_table,
)
from pramble.app.release_form import form, set_in
from pramble.app.tasks import Released
from pramble.app.view import Controls, View
from pramble.app.worker import PATIENCE
from pramble.errors import InvalidInput, PrambleError
from pramble.information.accuracy import verdict_of
from pramble.outcome import ReleaseOutcome
from pramble.report.pages import SUMMARY, plan_sentences, protected_sentences
from pramble.report.pages import headline_figures as figures_of
from pramble.words import visible

GONE = "This page is not where it was written: {path}."


def rehearsed(outcome: ReleaseOutcome) -> TagList:
    """Return what a dry run has found: promise, worth, risk, loss, size, time, every warning."""
    verdict = verdict_of(outcome.tables) if outcome.tables else None
    shown = [(one["value"], one["label"]) for one in figures_of(outcome, verdict)]
    shown = [(numbers.count(outcome.rows), "rows"), *shown]
    if outcome.data_bytes:
        shown.append((numbers.size(outcome.data_bytes), "of disk, about"))
    shown.append((f"{outcome.seconds:.1f} s", "of time, about"))
    sentences = [] if outcome.record is None else plan_sentences(outcome.record)
    if outcome.protected is not None:
        sentences = protected_sentences(outcome.protected)
    if outcome.record is not None:
        sentences.append(f"Prior: {outcome.record.prior_detail}")
    return TagList(
        cards(shown),
        warnings_of(outcome),
        None if verdict is None else verdict_lines(verdict),
        *[tags.p(visible(sentence)) for sentence in sentences],
        worth_table(outcome.tables) if outcome.tables else None,
    )


def warnings_of(outcome: ReleaseOutcome) -> TagList:
    """Return every warning; that there is none is said too."""
    if not outcome.warnings:
        return TagList(tags.p("There are no warnings."))
    return TagList(*[notice("warning", visible(one)) for one in outcome.warnings])


def released(found: Released, *, onwards: TagChild) -> TagList:
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
        return notice("note", GONE.format(path=visible(str(path))))
    return tags.details(
        tags.summary(title),
        tags.iframe(class_="page", sandbox="", srcdoc=text, title=title),
        open="" if is_open else None,
    )


DOINGS = ("dry run", "release")
MENDS = {"open": "Go to the file", "columns": "Go to the columns", "promise": "Go to the promise"}
UNDONE = "Stopped: nothing was released, and the ledger has no entry of it."
CUT_OFF = (
    "Ended by force: nothing was released. What it had begun lies hidden beside the target until "
    "the next release to it, and the ledger may count it as pending: see `pramble ledger`."
)
COMPLETE = "The release was complete before it could be stopped: the folder is there."


@module.ui
def release_ui() -> Tag:
    """Return what is shown."""
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
    """Do what the step offers."""
    desk = view.desk

    def stated() -> tuple[Any, ...]:
        names = ("output", "copies", "shuffle", "synthetic", "people")
        kept = [repr(desk.document.get(name)) for name in names]
        where = None if desk.source is None else str(ready.target_of(desk))
        return desk.survey is None, desk.kind, where, desk.has_ledger, *kept

    controls = Controls(view, settings=stated)

    def is_running(*names: str) -> bool:
        return any(name in desk.works and desk.works[name].is_running for name in names)

    def is_rehearsed() -> bool:
        """Whether the last dry run was of this very plan, target and file."""
        found = desk.found.get("dry run")
        if found is None or ready.obstacles(desk):
            return False
        return bool(found["for"] == ready.settled(desk))

    # What is settled --------------------------------------------------------------------------

    @render.ui
    def missing() -> TagChild:
        view.watch("plan", "source")
        return TagList(
            *[
                notice(
                    "warning",
                    *refusal_lines(sentence),
                    tags.button(
                        MENDS[step],
                        type="button",
                        value=step,
                        class_="btn btn-default btn-sm",
                        data_tells=session.ns("mend"),
                    ),
                )
                for sentence, step in ready.obstacles(desk)
            ]
        )

    @reactive.effect
    @reactive.event(input.mend)
    def _() -> None:
        if input.mend() in MENDS:
            view.go(input.mend())

    @render.ui
    def settings() -> TagChild:
        controls.watch("settings")
        view.watch("source")
        return None if desk.survey is None else form(session, desk)

    @reactive.effect
    @reactive.event(input.setting)
    def _() -> None:
        told = input.setting()

        def change() -> None:
            set_in(desk, str(told["about"]), told["value"])
            controls.used("settings")
            view.changed("plan")
            if told["about"] == "target":
                ready.refuse_target(desk)

        view.attempt("target", change)

    @render.ui
    def target_refused() -> TagChild:
        return refused(view, "target")

    @render.ui
    def plan() -> TagChild:
        view.watch("plan", "source")
        if desk.survey is None:
            return None
        try:
            text = desk.toml()
        except PrambleError:
            return None  # said above
        return tags.div(
            tags.h3("The plan"),
            tags.pre(visible(text), class_="plan", tabindex="0", aria_label="The plan"),
            ui.download_button("plan_file", "Download plan.toml", class_="btn-sm"),
            tags.h3("The same in a terminal"),
            tags.pre(visible(ready.command(desk)), class_="plan command"),
            class_="panel",
        )

    @render.download(filename=ready.PLAN_FILE)
    def plan_file() -> Iterator[str]:
        yield desk.toml()

    # What is done -----------------------------------------------------------------------------

    @render.ui
    def actions() -> TagChild:
        view.watch("plan", "source", "dry run", "release")
        if desk.survey is None or ready.obstacles(desk):
            return None
        busy = is_running(*DOINGS)
        return tags.div(
            tags.p(
                "A dry run does everything but write, and shows what the release will be worth "
                "and every warning. After it, the release itself can be made.",
                class_="lead-in",
            ),
            ui.input_action_button(
                "rehearse", "Dry run", class_="btn-primary" if not is_rehearsed() else "",
                disabled=busy,
            ),
            " ",
            ui.input_action_button(
                "release_now", "Release now", class_="btn-primary" if is_rehearsed() else "",
                disabled=busy or not is_rehearsed(),
            ),
            class_="actions",
        )  # fmt: skip

    def begin(name: str, task: Any, then: Any) -> None:
        assert desk.source is not None
        desk.found.pop("stopped", None)
        desk.found["doing"], desk.found["going to"] = name, (target := ready.target_of(desk))
        view.begin(
            name, task, desk.source.path, target, desk.plan,
            ledger=desk.has_ledger, progress=True, then=then,
        )  # fmt: skip

    @reactive.effect
    @reactive.event(input.rehearse)
    def _() -> None:
        def change() -> None:
            refuse_obstacles()
            ready.refuse_target(desk)
            made_for = ready.settled(desk)
            desk.found.pop("dry run", None)
            begin(
                "dry run",
                tasks.rehearse,
                lambda outcome: desk.found.update({"dry run": {"for": made_for, "is": outcome}}),
            )

        view.attempt("target", change)

    @reactive.effect
    @reactive.event(input.release_now)
    def _() -> None:
        def change() -> None:
            refuse_obstacles()
            if not is_rehearsed():
                raise InvalidInput("The plan or the target has changed: make a dry run of it.")
            ready.refuse_target(desk)
            desk.found.pop("released", None)
            begin("release", tasks.release, take_release)

        view.attempt("target", change)

    def take_release(made: tasks.Released) -> None:
        desk.found["released"] = made
        desk.target = ""  # that folder is taken: the next one is proposed

    def refuse_obstacles() -> None:
        for sentence, _ in ready.obstacles(desk):
            raise InvalidInput(sentence)

    @reactive.effect
    @reactive.event(input.stop)
    def _() -> None:
        if is_running("release"):
            undone = desk.worker.stop("release", patience=PATIENCE)
            there = desk.found["going to"].exists()
            desk.found["stopped"] = COMPLETE if there else UNDONE if undone else CUT_OFF
        desk.worker.stop("dry run")
        view.changed("work")

    @render.ui
    def working() -> TagChild:
        stop = ui.input_action_button("stop", "Stop", class_="btn-sm")
        view.watch("release", "dry run")
        said = desk.found.get("stopped")
        if said is not None:
            return notice("note", said)
        last = desk.found.get("doing")
        return None if last is None else work_line(view, last, stop=stop)

    @render.ui
    def dry() -> TagChild:
        view.watch("plan", "source", "dry run", "release")
        found = desk.found.get("dry run")
        if found is None:
            return None
        fresh = is_rehearsed()
        released_since = "released" in desk.found
        changed = (
            None
            if fresh or released_since
            else notice(
                "warning",
                "The plan, the file or the target has changed since this dry run: make another "
                "one before you release.",
            )
        )
        shown = rehearsed(found["is"])
        return tags.details(
            tags.summary("The dry run: nothing was written", class_="h3 fs-5"),
            changed,
            shown,
            open=None if released_since else "",
        )

    @render.ui
    def done() -> TagChild:
        view.watch("source", "release")
        made = desk.found.get("released")
        if made is None:
            return None
        read = ui.input_action_button("read", "Read it as an analyst", class_="btn-primary")
        return released(made, onwards=tags.p(read))

    @reactive.effect
    @reactive.event(input.read)
    def _() -> None:
        desk.reading_folder = desk.found["released"].folder
        view.changed("read folder")
        view.go("read")

    @reactive.effect
    def _() -> None:  # the proposed target is taken once something was released to it
        view.watch("release")
        view.changed("plan")
