"""Controls that stay as they are while they are used.

A control that is drawn anew loses the keyboard's focus. So it is drawn anew only when something
else has changed what it shows: another control, another step, or another file.
"""

from collections.abc import Callable
from typing import Any

from shiny import reactive

from pramble.app.view import View


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
