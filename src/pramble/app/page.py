"""The whole page: five steps, any of which can be gone to at any time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from shiny import App, Inputs, Outputs, Session, reactive, ui
from shiny.ui import Tag, tags
from starlette.requests import Request

import pramble
from pramble.app.columns import columns_server, columns_ui
from pramble.app.open import open_server, open_ui
from pramble.app.promise import promise_server, promise_ui
from pramble.app.read import read_server, read_ui
from pramble.app.release import release_server, release_ui
from pramble.app.view import View
from pramble.app.wizard import STEPS, Wizards

STATIC = Path(__file__).parent / "static"
TITLES = {
    "open": "Open",
    "columns": "Columns",
    "promise": "Promise",
    "release": "Release",
    "read": "Read",
}
SHOWN: dict[str, Callable[..., Any]] = {
    "open": open_ui,
    "columns": columns_ui,
    "promise": promise_ui,
    "release": release_ui,
    "read": read_ui,
}
SERVED: dict[str, Callable[..., Any]] = {
    "open": open_server,
    "columns": columns_server,
    "promise": promise_server,
    "release": release_server,
    "read": read_server,
}


def desk_app(desks: Wizards) -> App:
    """Return the application that shows desks."""

    def desk_of(connection: Any) -> Any:
        asked = connection.query_params.get("desk") or ""
        return desks.of(connection.scope["browser"], asked)

    def page(request: Request) -> Tag:
        return whole_page(desk_of(request).step)

    def serve(input: Inputs, output: Outputs, session: Session) -> None:
        view: list[View] = []

        @reactive.effect
        def _() -> None:  # the address of the page tells which desk it shows
            search = input[".clientdata_url_search"]()
            if view:
                return
            with reactive.isolate():
                asked = dict(part.partition("=")[::2] for part in search.lstrip("?").split("&"))
                browser = connection_of(session).scope["browser"]
                view.append(View(desks.of(browser, asked.get("desk", ""))))
                show_desk(view[0], input)

    return App(page, serve, static_assets=STATIC)


def connection_of(session: Session) -> Any:
    return session.http_conn  # type: ignore[attr-defined]


def show_desk(view: View, input: Inputs) -> None:
    """Serve every step of a desk."""
    for step, served in SERVED.items():
        served(step, view)

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
        ui.nav_panel(f"{number}. {TITLES[name]}", SHOWN[name](name), value=name)
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
