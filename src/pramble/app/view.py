"""A desk as one page shows it: what has changed is drawn anew."""

from collections.abc import Callable
from typing import Any

from shiny import reactive

from pramble.app.desk import Desk
from pramble.errors import PrambleError

POLL = 0.2
"""Seconds between looks at what goes on in the background."""


class View:
    """A desk, with topics that parts of a page watch and others say to have changed.

    Topics are "source" (the file), "plan", "step", and the names of work in the background: "open",
    "counts", "trial", "dry run", "release", "read" and whatever steps begin.
    """

    def __init__(self, desk: Desk) -> None:
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
