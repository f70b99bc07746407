"""The page of a wizard: parts of it are drawn again when what they show has changed.

A control that is drawn again loses the keyboard's focus. So it is drawn again only when something
else has changed what it shows: another control, another step, or another file.
"""

from collections.abc import Callable
from typing import Any

from shiny import reactive

from pramble.app.wizard import Wizard
from pramble.errors import PrambleError

POLL = 0.2
"""Seconds between looks at what goes on in the background."""


class View:
    """A desk, with topics that parts of a page watch and others say to have changed.

    Topics are "source" (the file), "plan", "step", and the names of work in the background: "open",
    "counts", "trial", "dry run", "release", "read" and whatever steps begin.
    """

    def __init__(self, desk: Wizard) -> None:
        self.desk = desk
        self.topics: dict[str, reactive.Value[int]] = {}
        self.refused: dict[str, PrambleError | None] = {}

        @reactive.effect
        def _() -> None:
            self.watch("work")
            for name in desk.take():
                self.changed(name)
            if desk.is_busy:
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
        self.desk.begin(name, task, *given, **more)
        self.changed(name, "work")

    def go(self, step: str) -> None:
        """Show another step."""
        self.desk.step = step
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
