"""The typer application: its verbs, its global options, and how errors end."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from pramble.cli import console
from pramble.cli.assess import assess
from pramble.cli.calibrate import calibrate
from pramble.cli.certify import certify
from pramble.cli.demo import demo
from pramble.cli.design import design
from pramble.cli.estimate import estimate
from pramble.cli.init import init
from pramble.cli.ledger import ledger
from pramble.cli.release import release
from pramble.cli.study import study
from pramble.errors import PrambleError

app = typer.Typer(
    name="pramble",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Release categorical microdata under differential privacy, "
    "with the most information that privacy allows.",
)

VERBS: list[Callable[..., None]] = [
    init,
    design,
    certify,
    release,
    estimate,
    assess,
    calibrate,
    ledger,
    study,
    demo,
]
"""Every command, in the order that --help shows."""

for verb in VERBS:
    app.command()(verb)


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        from pramble import __version__

        typer.echo(f"pramble {__version__}")
        raise typer.Exit


@app.callback()
def options(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print answers only.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print more on the way.")
    ] = False,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Set what holds for every command."""
    console.VERBOSITY.level = 0 if quiet else 2 if verbose else 1


def run() -> None:
    """Run a command: exit 0 when done, 1 when refused for data or plan, 2 for usage."""
    try:
        app()
    except PrambleError as error:
        typer.echo(f"pramble: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        typer.echo("pramble: interrupted", err=True)
        sys.exit(130)
