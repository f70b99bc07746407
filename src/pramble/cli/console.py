r"""Where the command line prints: answers on standard output, everything else on standard error.

Labels and file names come from strangers: what would steer a terminal is printed as ``\x1b``.
"""

import csv
import io
import json
import sys
import warnings
from collections.abc import Container, Iterable, Iterator, Sequence
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
from pramble.words import STEERING, time_left, visible


@contextmanager
def said_later() -> Iterator[None]:
    """Keep Python quiet about what the command itself will say of a result."""
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
    text = json.dumps(finite(document), indent=2, ensure_ascii=False)
    print(STEERING.sub(lambda found: f"\\u{ord(found.group()):04x}", text))  # noqa: T201 (the answer)


def print_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table as CSV on standard output: as it is into a file, visible in a terminal."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    whole = text.getvalue()
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


def table_of(title: str | None, *headings: str, left: Container[str] = (), **more: Any) -> Table:
    """Return an empty table; its columns are of figures, but for those that stand to the left."""
    table = Table(title=title, **more)
    for heading in headings:
        justify = "left" if heading in left else "right"
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    return table


def facts_table(title: str) -> Table:
    """Return an empty table of names and what they are, without headings."""
    table = Table(title=title, show_header=False)
    table.add_column()
    table.add_column(justify="right")
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
    hidden = console.quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=1.0, left="")

        def show(told: values.Progress) -> None:
            left = time_left(told.seconds_left)
            bar.update(
                task, description=escape(visible(told.what)), completed=told.share, left=left
            )

        yield show
