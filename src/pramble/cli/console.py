r"""Where the command line prints: answers on standard output, everything else on standard error.

Labels and file names come from strangers: what would steer a terminal is printed as ``\x1b``.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from pramble import values
from pramble.errors import PrambleWarning
from pramble.shown import Display, Grid, csv_text
from pramble.words import STEERING, time_left, visible


@contextmanager
def without_remarks() -> Iterator[None]:
    """Silence the warnings that the command itself prints with its result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrambleWarning)
        yield


@dataclass
class Verbosity:
    """How much is said beside the answer: 0 quiet, 1 normal, 2 verbose; and of the data."""

    level: int = 1
    values: bool = False


VERBOSITY = Verbosity()


class VisibleConsole(Console):
    """A console on which texts are only texts: no markup, and nothing that steers a terminal."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as rich shows it."""
        return Console.render_str(self, visible(text), **options)


def answers() -> Console:
    """Return the console for answers; colour follows the terminal and ``NO_COLOR``."""
    return VisibleConsole(highlight=False, soft_wrap=False, markup=False, emoji=False)


def messages() -> Console:
    """Return the console for progress and remarks; silent with ``--quiet``."""
    quiet = VERBOSITY.level == 0
    return VisibleConsole(stderr=True, highlight=False, quiet=quiet, markup=False, emoji=False)


def complain(text: str) -> None:
    """Print why a command failed, on standard error, whatever else is quiet."""
    print(visible(f"pramble: {text}"), file=sys.stderr)  # noqa: T201 (the one place)


def print_json(document: Any) -> None:
    """Print a document as JSON on standard output; NaN and infinity become null."""
    # Labels stay readable, so that only what would steer a terminal is escaped.
    text = json.dumps(finite(document), indent=2, ensure_ascii=False)
    print(STEERING.sub(lambda found: f"\\u{ord(found.group()):04x}", text))  # noqa: T201 (the answer)


def print_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table as CSV on standard output: as it is into a file, visible in a terminal."""
    whole = csv_text(headings, rows)
    sys.stdout.write(visible(whole) if sys.stdout.isatty() else whole)


def finite(value: Any) -> Any:
    """Return the value with what JSON cannot say replaced by None."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if hasattr(value, "tolist"):
        return finite(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def attributes(of: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return some attributes of a result, by their names."""
    return {name: getattr(of, name) for name in names}


def print_answer(as_json: bool, document: Callable[[], Any], *shown: Any) -> None:
    """Print an answer: as a document for scripts, or as people read it."""
    if as_json:
        print_json(document())
    else:
        show(*shown)


def show(*shown: Any, console: Console | None = None, **style: Any) -> None:
    """Print results, tables and sentences; None is nothing to print."""
    console = console or answers()
    for one in shown:
        if isinstance(one, Grid):
            console.print(rich_table(one))
            show(*one.notes, *filter(None, [one.below]), console=console)
        elif one is not None:
            text = repr(one) if isinstance(one, Display) else str(one)
            console.print(text, soft_wrap=True, **style)


def rich_table(grid: Grid) -> Table:
    """Return a table that folds its cells where the terminal is narrow."""
    table = Table(title=grid.title or None, title_justify="left", show_header=any(grid.head))
    for place, heading in enumerate(grid.head):
        table.add_column(heading, justify="left" if place < grid.left else "right", overflow="fold")
    for row in grid.rows:
        table.add_row(*row)
    return table


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
    # A bar that is redrawn would fill a log with its steps.
    hidden = console.quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=1.0, left="")

        def update(now: values.Progress) -> None:
            left = time_left(now.seconds_left)
            bar.update(task, description=escape(visible(now.what)), completed=now.share, left=left)

        yield update
