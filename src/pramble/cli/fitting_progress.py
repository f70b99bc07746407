"""A progress bar on standard error for fits that take long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from pramble.cli.console import messages


@contextmanager
def fitting_progress() -> Iterator[Callable[[str, float], None]]:
    """Yield a function of what is being done and the share done; nothing is left on the screen."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    console = messages()
    shown = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not shown) as bar:
        task = bar.add_task("", total=1.0)

        def tell(doing: str, share: float) -> None:
            bar.update(task, description=doing, completed=share)

        yield tell
