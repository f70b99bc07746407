"""``pramble app``: the desk in the browser."""

import sys
import webbrowser
from contextlib import nullcontext, redirect_stderr
from typing import Annotated

import typer

from pramble.cli.console import VERBOSITY, answers, messages
from pramble.errors import InvalidInput


def app_(
    port: Annotated[
        int | None, typer.Option(help="The port to listen on; a free one by default.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Open a curator's desk in the browser: from a file to a release by looking and sliding.

    It listens on this machine alone (127.0.0.1), and only for who has the token in the address that
    is printed. Nothing is sent anywhere. Stop it with Ctrl+C: uploads are deleted then.

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
