"""The one progress bar of the command line."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from pramble import values
from pramble.cli.console import messages
from pramble.words import time_left, visible


@contextmanager
def shown_progress() -> Iterator[values.Watcher]:
    """Yield what ``progress=`` of any verb takes: a bar on standard error, gone when all is done.

    It says what is being done, the share done and the time left; nothing where standard error is no
    terminal, nor with ``--quiet``.
    """
    console = messages()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[left]}"),
    )
    hidden = console.quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=1.0, left="")

        def show(told: values.Progress) -> None:
            left = time_left(told.seconds_left)
            bar.update(
                task, description=escape(visible(told.what)), completed=told.share, left=left
            )

        yield show
