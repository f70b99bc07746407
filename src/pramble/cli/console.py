"""Where the command line prints: answers on standard output, everything else on standard error."""

import json
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass
class Verbosity:
    """How much is said beside the answer: 0 quiet, 1 normal, 2 verbose."""

    level: int = 1


VERBOSITY = Verbosity()


def answers() -> Console:
    """Return the console for answers; colour follows the terminal and ``NO_COLOR``."""
    return Console(highlight=False, soft_wrap=False)


def messages() -> Console:
    """Return the console for progress and remarks; silent with ``--quiet``."""
    return Console(stderr=True, highlight=False, quiet=VERBOSITY.level == 0)


def print_json(document: Any) -> None:
    """Print a document as JSON on standard output; NaN and infinity become null."""
    print(json.dumps(finite(document), indent=2, ensure_ascii=False))  # noqa: T201 (the answer itself)


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
