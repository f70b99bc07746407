"""Serves the app on this machine alone: who gets in, and what its log may say.

Every user of a machine can reach its loopback address, and every page of the web can make a browser
send requests there. So the address that is opened holds a token; it is exchanged for a cookie that
no other site's request carries, and requests are refused that come from other pages (``Origin``) or
under another name (``Host``, against rebound names). Messages of libraries may hold values of the
data: the log has where errors happened and of what kind they were, and nothing else.
"""

import io
import re
import secrets
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

import uvicorn
from shiny import App, Inputs, Outputs, Session, reactive, ui
from shiny.ui import Tag, tags
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import pramble
from pramble.app.columns import columns_server, columns_ui
from pramble.app.open import open_server, open_ui
from pramble.app.promise import promise_server, promise_ui
from pramble.app.read import read_server, read_ui
from pramble.app.release import release_server, release_ui
from pramble.app.view import PageView, when
from pramble.app.wizard import STEPS, Wizards
from pramble.errors import InvalidInput

STATIC = Path(__file__).parent / "static"
PARTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "open": (open_ui, open_server),
    "columns": (columns_ui, columns_server),
    "promise": (promise_ui, promise_server),
    "release": (release_ui, release_server),
    "read": (read_ui, read_server),
}


def wizards_app(wizards: Wizards) -> App:

    def wizard_of(connection: Any) -> Any:
        asked = connection.query_params.get("desk") or ""
        return wizards.of(connection.scope["browser"], asked)

    def page(request: Request) -> Tag:
        return whole_page(wizard_of(request).step)

    def serve(input: Inputs, output: Outputs, session: Session) -> None:
        view: list[PageView] = []

        @reactive.effect
        def _() -> None:  # the address of the page says which wizard it shows
            search = input[".clientdata_url_search"]()
            if view:
                return
            with reactive.isolate():
                asked = dict(part.partition("=")[::2] for part in search.lstrip("?").split("&"))
                browser = session.http_conn.scope["browser"]  # type: ignore[attr-defined]
                view.append(PageView(wizards.of(browser, asked.get("desk", ""))))
                serve_steps(view[0], input)

    return App(page, serve, static_assets=STATIC)


def serve_steps(view: PageView, input: Inputs) -> None:
    for step, (_ui, server) in PARTS.items():
        server(step, view)

    when(input.stop_work, lambda: view.stop(input.stop_work()["about"]))

    @reactive.effect
    def _() -> None:
        view.wizard.step = input.step()
        view.changed("shown")

    @reactive.effect  # not at first: the page came with its step, and may have been moved on since
    @reactive.event(lambda: view.topic("step").get(), ignore_init=True)
    def _() -> None:
        ui.update_navset("step", selected=view.wizard.step)


def whole_page(step: str) -> Tag:
    panels = [
        ui.nav_panel(f"{number}. {name.capitalize()}", PARTS[name][0](name), value=name)
        for number, name in enumerate(STEPS, 1)
    ]
    return ui.page_fluid(
        ui.head_content(
            tags.link(rel="icon", href="data:,"),
            tags.link(rel="stylesheet", href="desk.css"),
            tags.script(src="desk.js", defer=""),
        ),
        tags.header(
            tags.h1("pramble"),
            tags.span("a curator’s desk", class_="subtitle"),
            tags.span(ui.input_dark_mode(id="mode"), class_="mode"),
            class_="desk-header",
        ),
        tags.main(ui.navset_pill(*panels, id="step", selected=step)),
        tags.footer(
            f"pramble {pramble.__version__}. Everything on this page is computed on this machine."
        ),
        title="pramble: a curator’s desk",
        lang="en",
    )


HOST = "127.0.0.1"
REFUSED = (
    "This desk opens by the whole address that `pramble app` printed in the terminal, "
    "with its token, and from its own page."
)
# What every answer tells the browser: nothing from or to elsewhere, and nothing stored.
SAFE = {
    "content-security-policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-src 'self'; "
        "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


class Guard:
    """Lets requests through to an application, or refuses them.

    Attributes
    ----------
    token : str
        Those who know it get in.
    browsers : set of str
        The cookies that were given out; each is one browser.
    """

    def __init__(self, application: ASGIApp, *, port: int, token: str | None = None) -> None:
        self.application, self.port = application, port
        self.token = secrets.token_urlsafe(24) if token is None else token
        self.browsers: set[str] = set()

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The cookie's name: cookies are shared by all ports of a host."""
        return f"pramble-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        known = asked.cookies.get(self.cookie)
        at_door = scope["type"] == "http" and scope["path"] == "/"
        # In constant time, lest the answer's delay say how much of a guess is right.
        has_token = secrets.compare_digest(
            asked.query_params.get("token", "").encode(), self.token.encode()
        )
        # A wizard that nobody has used, at an address without the token.
        fresh = f"/?desk={secrets.token_urlsafe(9)}"
        answer: Response | None = None
        if not self.is_here(asked.headers, needs_origin=scope["type"] == "websocket"):
            answer = PlainTextResponse(REFUSED, status_code=403)
        elif at_door and has_token:
            if known not in self.browsers:
                known = secrets.token_urlsafe(24)
                self.browsers.add(known)
            answer = RedirectResponse(fresh, status_code=303)
            cookie = f"{self.cookie}={known}; Path=/; HttpOnly; SameSite=Strict"
            answer.headers["set-cookie"] = cookie
        elif known not in self.browsers:
            answer = PlainTextResponse(REFUSED, status_code=403)
        elif at_door and not asked.query_params.get("desk"):
            answer = RedirectResponse(fresh, status_code=303)
        if answer is None:
            scope["browser"] = known
            await self.application(scope, receive, guarded(send))
        elif scope["type"] == "websocket":  # closed before it opens
            await send({"type": "websocket.close", "code": 4403})
        else:
            await answer(scope, receive, guarded(send))

    def is_here(self, headers: Mapping[str, str], *, needs_origin: bool) -> bool:
        """Whether a request names this server, and comes from its own page or from none."""
        hosts = {f"{name}:{self.port}" for name in (HOST, "localhost")}
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in hosts:
            return False
        return not needs_origin if origin is None else origin == f"http://{host}"


def guarded(send: Send) -> Send:
    """Return what sends answers with the headers that protect them."""

    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(raw=message.setdefault("headers", [])).update(SAFE)
        await send(message)

    return send_guarded


def port_of(asked: int | None) -> int:
    """Return the port that was asked for, or any; refuse one that is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            # Tried here, because uvicorn would end the process instead of raising.
            probe.bind((HOST, asked or 0))
        except (OSError, OverflowError) as error:
            raise InvalidInput(
                f"The desk cannot listen on port {asked}: {error}. Leave --port out for a free one."
            ) from None
        found: int = probe.getsockname()[1]
        return found


def serve(port: int | None = None, *, ready: Callable[[str], None]) -> None:
    """Serve the app until interrupted; ``ready`` is given the address once it can be opened."""
    wizards = Wizards()
    guard = Guard(wizards_app(wizards), port=port_of(port))
    # Pages that are open hold a WebSocket, for which the server would wait for ever.
    settings = uvicorn.Config(
        guard, host=HOST, port=guard.port, log_level="error", access_log=False,
        timeout_graceful_shutdown=2,
    )  # fmt: skip

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready(guard.address)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await super().shutdown(sockets)
            wizards.close()  # here, because a signal that ended the server ends the process too

    Server(settings).run()


# Lines of a traceback that hold no values: where it begins, and the places in the code.
PASSED_ON = re.compile(r"Traceback |  File ")
# The last line of a traceback: the kind of the error, and a message that may hold values.
ERROR = re.compile(r"([A-Za-z_][\w.]*(Error|Exception|Warning|Interrupt|Exit))\b.*")

CLOSED = "CancelledError"


class RedactedLog(io.TextIOBase):
    r"""A stream that passes on where errors happened and of what kind they were, and nothing else.

    >>> import sys
    >>> log = RedactedLog(sys.stdout)
    >>> _ = log.write('  File "x.py", line 3, in f\n    f(age)\nValueError: Jane is 41\n')
      File "x.py", line 3, in f
    ValueError

    Work that ends because its page was closed is no error.

    >>> _ = log.write("Traceback (most recent call last):\nasyncio.exceptions.CancelledError\n")
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.begun = stream, ""
        self.held: list[str] = []

    def write(self, text: str) -> int:
        *lines, self.begun = (self.begun + text).split("\n")
        for line in lines:
            error = ERROR.fullmatch(line.strip())
            if PASSED_ON.match(line):
                self.held.append(line)
            elif error is not None and not line.startswith(" "):
                kind = error.group(1)
                if not kind.endswith(CLOSED):
                    self.stream.write("\n".join([*self.held, kind, ""]))
                self.held = []
        return len(text)

    def flush(self) -> None:
        self.stream.flush()
