"""Write docs/cli.rst from the commands' own help: ``python scripts/cli_reference.py [--check]``."""

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import typer

from pramble.cli.app import app

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.rst"

HEAD = """\
The command line
================

.. This page is written by scripts/cli_reference.py from the commands' own help.

``pramble COMMAND --help`` shows the same. Exit codes: 0 done, 1 refused for the data or the plan,
2 wrong usage. ``--json`` answers a script; ``-q`` prints answers only; ``NO_COLOR`` is heeded;
``pramble --install-completion`` completes commands in your shell.
"""


def page() -> str:
    """Return the whole page."""
    group: Any = typer.main.get_command(app)
    return HEAD + "".join(section(name, command) for name, command in group.commands.items())


def section(name: str, command: Any) -> str:
    """Return one command: what it does, its examples, its options."""
    title = f"pramble {name}"
    text = inspect.cleandoc(command.help or "")
    prose, _, examples = text.partition("Examples\n--------\n")
    lines = ["", title, "-" * len(title), "", literal(prose.strip()), ""]
    if examples:
        lines += [".. code-block:: console", ""]
        told = inspect.cleandoc(examples).splitlines()
        lines += [f"    {line}" for line in told if line.strip()]
        lines.append("")
    lines += [line for param in command.params for line in entry(param)]
    return "\n".join(lines) + "\n"


def entry(param: Any) -> list[str]:
    """Return one argument or option as a definition."""
    if param.name == "help":
        return []
    if param.param_type_name == "argument":
        term = param.name.upper()
    else:
        term = ", ".join([*param.opts, *param.secondary_opts])
    said = literal(getattr(param, "help", None) or "")
    return [f"``{term}``", f"    {said}".rstrip(), ""]


def literal(text: str) -> str:
    """Return a text whose options and quoted values stand as they are typed.

    >>> literal("With --plan: a `pramble init` file, or 'age=under 15'.")
    "With ``--plan``: a ``pramble init`` file, or ``'age=under 15'``."
    """
    text = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)
    parts = re.split(r"(``[^`]+``)", text)
    typed = re.compile(r"""(?<![\w`-])(--[a-z][\w-]*|'[^' ][^']*[^']'|"[^"]+")(?!\w)""")
    return "".join(part if part.startswith("``") else typed.sub(r"``\1``", part) for part in parts)


def main() -> None:
    """Write the page, or check that it is up to date."""
    text = page()
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text(encoding="utf-8") != text:
            sys.exit("docs/cli.rst is out of date: run `python scripts/cli_reference.py`.")
        return
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
