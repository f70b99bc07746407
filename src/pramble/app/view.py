"""The page of a wizard: what its parts watch, and the pieces that several steps show.

A control that is drawn again loses the keyboard's focus. So it is drawn again only when something
else has changed what it shows: another control, another step, or another file.
"""

from collections.abc import Callable, Sequence
from typing import Any

from shiny import reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble.app.wizard import STEPS, Wizard
from pramble.app.worker import Work
from pramble.errors import PrambleError
from pramble.shown import Grid
from pramble.words import time_left, visible

# Seconds between looks at what goes on in the background.
POLL = 0.2


class PageView:
    """A wizard with topics that parts of a page watch: "source", "plan", "step", names of work."""

    def __init__(self, wizard: Wizard) -> None:
        self.wizard = wizard
        self.topics: dict[str, reactive.Value[int]] = {}
        self.refused: dict[str, PrambleError | None] = {}

        @reactive.effect
        def _() -> None:
            self.watch("work")
            for name in wizard.take():
                self.changed(name)
            if wizard.is_busy:
                reactive.invalidate_later(POLL)
                self.changed("progress")

    def topic(self, name: str) -> "reactive.Value[int]":
        """Return the count of changes of a topic."""
        return self.topics.setdefault(name, reactive.Value(0))

    def watch(self, *names: str) -> None:
        """Let the caller be drawn again when one of these changes."""
        for name in names:
            self.topic(name).get()

    def changed(self, *names: str) -> None:
        for name in names:
            # A reader of the count would be called again by its own change, without end.
            with reactive.isolate():
                count = self.topic(name).get()
            self.topic(name).set(count + 1)

    def begin(self, name: str, task: Callable[..., Any], *given: Any, **more: Any) -> Work:
        """Begin work in the background; its topic changes when it begins and when it ends."""
        work = self.wizard.begin(name, task, *given, **more)
        self.changed(name, "work")
        return work

    def stop(self, name: str) -> None:
        self.wizard.stop(name)
        self.changed(name, "work")

    def fill(self, name: str, content: Callable[[], TagChild], *topics: str) -> None:
        """Fill an output of the present step, again whenever one of the topics has changed."""

        def shown() -> TagChild:
            self.watch(*topics)
            return content()

        shown.__name__ = name  # by which Shiny knows the output
        render.ui(shown)

    def go(self, step: str) -> None:
        if step in STEPS:
            self.wizard.step = step
            self.changed("step")

    def attempt(self, place: str, change: Callable[[], Any], *topics: str) -> bool:
        """Make a change; what refuses it is said in its place."""
        try:
            change()
        except PrambleError as error:
            self.refused[place] = error
            self.changed(place)
            return False
        self.refused[place] = None
        self.changed(place, *topics)
        return True


def when(event: Callable[[], Any], action: Callable[[], Any], *, at_first: bool = True) -> None:
    """Act whenever a control is used."""

    @reactive.effect
    @reactive.event(event, ignore_init=not at_first)
    def _() -> None:
        action()


def step_section(label: str, title: str, lead: str, *shown: TagChild) -> Tag:
    """Return a step of the page: its title, what it is for, and its outputs in order."""
    parts = [ui.output_ui(one) if isinstance(one, str) else one for one in shown]
    lead_in = tags.p(lead, class_="lead-in") if lead else None
    return tags.section(tags.h2(title), lead_in, *parts, aria_label=label)


MARKS = {"note": "ℹ", "warning": "⚠", "error": "✕", "good": "✓"}
WORDS = {"note": "Note", "warning": "Warning", "error": "Error", "good": "Done"}


def notice(kind: str, *said: TagChild) -> Tag:
    """Return a sentence that stands out: a "note", "warning", "error" or what went "good"."""
    role = {"error": "alert"}.get(kind, "status")
    mark = tags.span(MARKS[kind], class_="sign", aria_hidden="true")
    word = tags.span(f"{WORDS[kind]}: ", class_="visually-hidden")
    return tags.div(mark, tags.div(word, *said), class_=f"notice {kind}", role=role)


def refusal_lines(message: str) -> list[Tag]:
    """Return a message that may have several lines."""
    return [tags.p(visible(line)) for line in message.splitlines() if line.strip()]


def refusal(message: str, values: str = "") -> Tag:
    """Return why something was refused; values of the data are shown if asked for."""
    about = "Show the values of the data that this is about"
    shown = tags.details(tags.summary(about), tags.pre(values)) if values else None
    return notice("error", *refusal_lines(message), shown)


def refused(view: PageView, place: str) -> Tag | None:
    """Return what refused the last change in a place, if anything did."""
    view.watch(place)
    error = view.refused.get(place)
    return None if error is None else refusal(str(error), error.values)


def table(
    head: Sequence[TagChild],
    rows: Sequence[Sequence[TagChild]],
    *,
    caption: str = "",
    left: Sequence[int] = (0,),
) -> Tag:
    """Return a table; columns are of figures, but for those on the ``left``."""

    def line(cells: Sequence[TagChild], cell: Callable[..., Tag], **more: str) -> Tag:
        sides = ["text-start" if place in left else "text-end" for place in range(len(cells))]
        return tags.tr(
            [cell(one, class_=side, **more) for one, side in zip(cells, sides, strict=True)]
        )

    shown = tags.table(
        tags.caption(caption) if caption else None,
        tags.thead(line(head, tags.th, scope="col")),
        tags.tbody([line(row, tags.td) for row in rows]),
        class_="table table-sm",
    )
    return scrolled(shown, caption or "table")


def scrolled(shown: Tag, label: str) -> Tag:
    """Let something wide scroll in a narrow window, by keyboard too."""
    return tags.div(shown, class_="scroll", tabindex="0", role="region", aria_label=label)


def figure(svg: str, caption: str = "") -> Tag:
    """Return a drawn figure with its caption; in a narrow window it scrolls, by keyboard too."""
    shown = tags.figcaption(caption) if caption else None
    return tags.figure(ui.HTML(svg), shown, class_="figure-box", tabindex="0")


def cards(shown: Sequence[tuple[str, str]]) -> Tag:
    each = [tags.div(tags.dd(own), tags.dt(what), class_="figure-card") for own, what in shown]
    return tags.dl(each, class_="figure-cards")


def text_tags(*parts: Any) -> TagList:
    """Return sentences and tables as they stand on a page."""
    return TagList(
        *[
            table(
                list(map(visible, one.head)),
                [list(map(visible, row)) for row in one.rows],
                caption=visible(one.title),
                left=range(one.left),
            )
            if isinstance(one, Grid)
            else tags.p(visible(one))
            for one in parts
        ]
    )


def status(view: PageView, name: str) -> TagChild:
    """Return what refused the last request for some work, how far it is, or why it failed."""
    said, work = refused(view, name), view.wizard.works.get(name)
    if work is None or work.state == "done":
        return said
    if work.is_running:
        view.watch("progress")
        return TagList(said, progress_line(work))
    if work.state == "stopped":
        return TagList(said, notice("note", work.stopped(work.undone)))
    return TagList(said, refusal(work.error, work.values))


def progress_line(work: Work) -> Tag:
    """Return how far a piece of work is, and a button that stops it."""
    what, share = work.progress.what, round(100 * work.progress.share)
    return tags.div(
        tags.progress(value=str(share), max="100", aria_label=f"{what}, share done"),
        tags.span(f"{what} … {time_left(work.progress.seconds_left)}", class_="doing"),
        event_button("stop_work", "Stop", work.name, class_="btn btn-default btn-sm"),
        class_="progress-line",
    )


def event_button(event: str, words: str, about: str = "", **more: Any) -> Tag:
    """Return a button that tells an input what it is about."""
    return tags.button(words, more, type="button", data_sends=event, data_about=about or None)
