"""The typer application: its verbs, its global options, how errors end; and ``pramble app``."""

import sys
import traceback
import warnings
import webbrowser
from collections.abc import Callable
from contextlib import nullcontext, redirect_stderr
from typing import Annotated, Any, NoReturn

import typer

from pramble.cli import console
from pramble.cli.assess import assess, calibrate, try_
from pramble.cli.certify import certify
from pramble.cli.console import VERBOSITY, answers, messages
from pramble.cli.demo import demo
from pramble.cli.design import design
from pramble.cli.estimate import estimate, impute, synthesize
from pramble.cli.init import init
from pramble.cli.inputs import option
from pramble.cli.ledger import ledger
from pramble.cli.release import audit, dossier, release
from pramble.cli.study import study
from pramble.errors import InvalidInput, PrambleError
from pramble.words import visible


def app_(
    port: Annotated[int | None, option("The port to listen on; a free one by default.")] = None,
    browser: Annotated[
        bool, option("Open the page in a browser.", "--browser/--no-browser")
    ] = True,
) -> None:
    """Open the app in a browser: from a file to a release by looking and sliding.

    It listens on this machine alone (127.0.0.1), and only for those with the token in the address
    that is printed. Nothing is sent anywhere. Stop it with Ctrl+C: uploads are deleted then.

    Examples
    --------
      pramble app

      pramble app --port 8765 --no-browser
    """
    try:
        from pramble.app.serve import RedactedLog, serve
    except ImportError as error:
        raise InvalidInput(
            f"The desk needs Shiny ({error.name} is missing): pip install 'pramble[app]'."
        ) from None

    own = sys.stderr

    def ready(address: str) -> None:
        answers().print(address, soft_wrap=True)
        with redirect_stderr(own):
            messages().print("Open this address in a browser; Ctrl+C ends the desk.")
        if browser:
            webbrowser.open(address)

    said = nullcontext() if VERBOSITY.values else redirect_stderr(RedactedLog(own))
    with said:
        serve(port, ready=ready)


app = typer.Typer(
    name="pramble",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Release categorical microdata under differential privacy, "
    "with the most information that privacy allows.",
)

# Every command, in the order that --help shows.
VERBS: list[Callable[..., None]] = [
    init, design, certify, try_, release, audit, dossier, estimate, impute, synthesize,
    assess, calibrate, ledger, study, demo, app_,
]  # fmt: skip

for verb in VERBS:
    app.command(verb.__name__.removesuffix("_"))(verb)


def show_version(wanted: bool) -> None:
    if wanted:
        from pramble import __version__

        typer.echo(f"pramble {__version__}")
        raise typer.Exit


@app.callback()
def options(
    quiet: Annotated[bool, option("Print answers only.", "--quiet", "-q")] = False,
    verbose: Annotated[bool, option("Print more on the way.", "--verbose", "-v")] = False,
    show_values: Annotated[
        bool,
        option("Let messages show values of the data; they may be confidential.", "--show-values"),
    ] = False,
    _version: Annotated[
        bool, option("Show the version.", "--version", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Set what holds for every command."""
    console.VERBOSITY.level = 0 if quiet else 2 if verbose else 1
    console.VERBOSITY.values = show_values


def run() -> None:
    """Run a command: exit 0 when done, 1 when refused for data or plan, 2 for usage."""
    # Warnings of libraries may quote values of the data.
    warnings.showwarning = remark
    try:
        # Not standalone: typer would print errors itself, with values of the data in them.
        code = app(standalone_mode=False) or 0
    except PrambleError as error:
        refuse(str(error), error.values)
    except typer.Abort:
        refuse("aborted")
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001 (its message may hold values of the data)
        if hasattr(error, "format_message"):
            wrong_usage(error)
        frames = "".join(traceback.format_tb(error.__traceback__))
        refuse(f"{frames}unexpected {type(error).__name__}; please report it", str(error))
    if code == INTERRUPTED:  # typer takes most interrupts for an exit
        console.complain(f"interrupted: {undone(sys.argv[1:])}")
    sys.exit(code)


# What a shell reports of a program that Ctrl+C ended: 128 and the number of the signal.
INTERRUPTED = 130


def undone(words: list[str]) -> str:
    """Say what an interrupted command has and has not done.

    >>> undone(["release", "people.csv"]), undone(["--verbose", "design"])
    ('nothing was released, and nothing was spent.', 'nothing was written.')
    """
    verb = next((word for word in words if not word.startswith("-")), "")
    return {
        "release": "nothing was released, and nothing was spent.",
        "study": "no page was written.",
        "demo": "the folder may hold a part of the demonstration; delete it.",
    }.get(verb, "nothing was written.")


def remark(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
) -> None:
    """Print a library's warning with --verbose; its words may hold values of the data."""
    if console.VERBOSITY.level == 2:
        words = f": {message}" if console.VERBOSITY.values else ""
        console.messages().print(f"{category.__name__} in {filename}, line {lineno}{words}")


def refuse(message: str, values: str = "") -> NoReturn:
    """Say why a command stopped, and leave; values of the data only if asked for."""
    console.complain(message)
    if values and console.VERBOSITY.values:
        console.complain(f"the values: {values}")
    elif values:
        console.complain("`pramble --show-values …` shows the values, which may be confidential.")
    sys.exit(1)


def wrong_usage(error: Any) -> NoReturn:
    """Say how a command is used, as typer does, and leave."""
    from typer.rich_utils import rich_format_error

    error.message = visible(str(error.message))
    rich_format_error(error)
    sys.exit(error.exit_code)
