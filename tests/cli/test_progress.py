"""The one progress bar: what it shows, and when it is silent."""

import io

import pytest
from rich.console import Console

from pramble.cli import console
from pramble.values import Progress, Reporter


@pytest.fixture
def screen(monkeypatch):
    """Stand in for standard error."""

    def on(*, terminal, quiet=False):
        stream = io.StringIO()
        shown = Console(file=stream, force_terminal=terminal, width=100, quiet=quiet)
        monkeypatch.setattr(console, "messages", lambda: shown)
        return stream

    return on


def test_it_says_what_how_far_and_how_long(screen):
    stream = screen(terminal=True)
    with console.shown_progress() as watch:
        watch(Progress("fitting", 0.25, seconds=20.0))
    for words in ("fitting", "25%", "60 s left"):
        assert words in stream.getvalue()


@pytest.mark.parametrize("options", [{"terminal": False}, {"terminal": True, "quiet": True}])
def test_it_is_silent_without_a_terminal_and_when_asked(screen, options):
    stream = screen(**options)
    with console.shown_progress() as watch:
        Reporter(watch).report("fitting", 0.5)
    assert stream.getvalue() == ""


def test_quiet_is_the_command_line_s_own(monkeypatch):
    monkeypatch.setattr(console.VERBOSITY, "level", 0)
    assert console.messages().quiet
