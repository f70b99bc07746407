"""The page of a wizard: what its parts watch, and the pieces that several steps show.

A control that is drawn again loses the keyboard's focus. So it is drawn again only when something
else has changed what it shows: another control, another step, or another file.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shiny import Session, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.wizard import Wizard
from pramble.app.worker import Work
from pramble.errors import PrambleError
from pramble.information.accuracy import TableOutcome, Verdict, worst_first
from pramble.report.pages import table_row
from pramble.words import time_left, visible

# Seconds between looks at what goes on in the background.
POLL = 0.2


class View:
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
        """Let the caller be drawn anew when one of these changes."""
        for name in names:
            self.topic(name).get()

    def changed(self, *names: str) -> None:
        """Say what has changed."""
        for name in names:
            with reactive.isolate():
                count = self.topic(name).get()
            self.topic(name).set(count + 1)

    def begin(self, name: str, task: Callable[..., Any], *given: Any, **more: Any) -> None:
        """Begin work in the background; its topic changes when it begins and when it ends."""
        self.wizard.begin(name, task, *given, **more)
        self.changed(name, "work")

    def go(self, step: str) -> None:
        """Show another step."""
        self.wizard.step = step
        self.changed("step")

    def attempt(self, place: str, change: Callable[[], Any], *topics: str) -> bool:
        """Make a change; what refuses it is kept, to be said in its place."""
        try:
            change()
        except PrambleError as error:
            self.refused[place] = error
            self.changed(place)
            return False
        self.refused[place] = None
        self.changed(place, *topics)
        return True


class Controls:
    """What the controls of a step show, by their names."""

    def __init__(self, view: View, **states: Callable[[], Any]) -> None:
        self.view, self.states = view, states
        self.shown: dict[str, Any] = {}

        @reactive.effect
        def _() -> None:
            view.watch("plan", "source")
            for name, state in states.items():
                now = state()
                if name in self.shown and self.shown[name] != now:
                    view.changed(f"control {name}")
                self.shown[name] = now

    def watch(self, name: str) -> None:
        """Let the caller draw this control anew when something else has changed its state."""
        self.view.watch(f"control {name}")

    def used(self, name: str) -> None:
        """Note that a control was used itself: it shows what was chosen."""
        self.shown[name] = self.states[name]()


def when(event: Callable[[], Any], action: Callable[[], Any], *, at_first: bool = True) -> None:
    """Act whenever a control is used."""

    @reactive.effect
    @reactive.event(event, ignore_init=not at_first)
    def _() -> None:
        action()


def fill_output(name: str, content: Callable[[], TagChild]) -> None:
    """Fill an output of the present step, again whenever what its content watches has changed."""

    def shown() -> TagChild:
        return content()

    shown.__name__ = name  # by which Shiny knows the output
    render.ui(shown)


MARKS = {"note": "ℹ", "warning": "⚠", "error": "✕", "good": "✓"}
MOST_TABLES = 20
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


def refused(view: View, place: str) -> TagChild:
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

    def side(place: int) -> str:
        return "text-start" if place in left else "text-end"

    def line(cells: Sequence[TagChild], cell: Callable[..., Tag], **more: str) -> Tag:
        return tags.tr([cell(one, class_=side(i), **more) for i, one in enumerate(cells)])

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
    """Return figures that matter, each with what it is."""
    each = [tags.div(tags.dd(own), tags.dt(what), class_="figure-card") for own, what in shown]
    return tags.dl(each, class_="figure-cards")


def worth_table(tables: Sequence[TableOutcome]) -> Tag:
    """Return what tables will be worth, the worst first; those that are noise are called so."""
    shown = worst_first(tables)[:MOST_TABLES]
    more, noisy = len(tables) - len(shown), any(one.noise == one.noise for one in tables)
    rows = [(one, table_row(one)) for one in shown]
    return table(
        [
            "table",
            *(["noise, people a cell"] if noisy else []),
            "95 % interval of a typical cell",
            "typical cell",
            "cells",
            "smallest group",
        ],
        [
            [
                visible(row["name"]),
                *([f"± {numbers.few_digits(one.noise)}"] if noisy else []),
                row["error"],
                row["typical"],
                row["cells"],
                tags.strong("noise") if row["bad"] else row["group"],
            ]
            for one, row in rows
        ],
        caption="Widest for their cells first" + (f"; {more} more, narrower" if more else ""),
    )


def verdict_lines(verdict: Verdict) -> TagList:
    """Return what a release is good for, and what not."""
    good = verdict.good or "Nothing useful is left."
    return TagList(
        tags.p(visible(good)), tags.p(tags.strong(visible(verdict.bad))) if verdict.bad else None
    )


def progress(work: Work) -> Tag:
    """Return how far a piece of work is."""
    what, share = work.progress.what, round(100 * work.progress.share)
    bar = tags.progress(value=str(share), max="100", aria_label=f"{what}, share done")
    words = f"{what} … {time_left(work.progress.seconds_left)}"
    return tags.div(bar, tags.span(words, class_="doing"), class_="progress-line")


def work_line(view: View, name: str, *, stop: TagChild = None) -> TagChild:
    """Return what there is to say of some work: how far it is, or why it failed."""
    view.watch(name)
    work = view.wizard.works.get(name)
    if work is None or work.state == "done":
        return None
    if work.is_running:
        view.watch("progress")
        return TagList(progress(work), stop)
    if work.state == "stopped":
        return notice("note", "Stopped; nothing was changed.")
    return refusal(work.error, work.values)


def under_label(own: str, label: str, control: Tag, *below: TagChild) -> Tag:
    """Return a control under its label."""
    above = tags.label(label, for_=own, class_="form-label")
    return tags.div(above, control, *below, class_="mb-2")


def text_input(
    session: Session, event: str, own: str, label: str, shown: str, *, hint: str = "", **more: Any
) -> Tag:
    """Return a field whose content is sent as an event when it is left."""
    own = session.ns(own)
    control = tags.input(
        {"type": "text", **more},
        id=own,
        value=shown,
        class_="form-control",
        spellcheck="false",
        data_tells=session.ns(event),
        aria_describedby=f"{own}-hint" if hint else None,
    )
    below = tags.div(hint, id=f"{own}-hint", class_="form-text") if hint else None
    return under_label(own, label, control, below)


def selection(
    session: Session, event: str, options: Mapping[str, str], now: str, **more: Any
) -> Tag:
    """Return options of which the chosen one is sent as an event."""
    return tags.select(
        [
            tags.option(words, value=name, selected="" if name == now else None)
            for name, words in options.items()
        ],
        {"class_": "form-select", **more},
        data_tells=session.ns(event),
    )


def tick(
    session: Session, event: str, own: str, label: TagChild, *, is_on: bool, **more: Any
) -> Tag:
    """Return a box to tick, or a radio button, that is sent as an event."""
    own = session.ns(own)
    control = tags.input(
        {"type": "checkbox", **more},
        id=own,
        checked="" if is_on else None,
        class_="form-check-input",
        data_tells=session.ns(event),
    )
    words = tags.label(label, for_=own, class_="form-check-label")
    return tags.div(control, words, class_="form-check")


def button(session: Session, event: str, words: str, about: str = "", **more: Any) -> Tag:
    """Return a button that sends what it is about as an event."""
    return tags.button(
        words, more, type="button", data_tells=session.ns(event), data_about=about or None
    )
