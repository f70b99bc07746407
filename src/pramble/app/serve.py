"""Serves the desk on this machine alone."""

import socket
from collections.abc import Callable

import uvicorn

from pramble.app.desk import Desks
from pramble.app.guard import Guard
from pramble.app.page import desk_app
from pramble.errors import InvalidInput

HOST = "127.0.0.1"


def port_of(asked: int | None) -> int:
    """Return the port that was asked for, or any; refuse one that is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, asked or 0))
        except (OSError, OverflowError) as error:
            raise InvalidInput(
                f"The desk cannot listen on port {asked}: {error}. Leave --port out for a free one."
            ) from None
        found: int = probe.getsockname()[1]
        return found


def serve(port: int | None = None, *, ready: Callable[[str], None]) -> None:
    """Serve desks until interrupted; ``ready`` is told the address once it can be opened."""
    desks = Desks()
    guard = Guard(desk_app(desks), port=port_of(port))
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
            desks.close()  # here, because a signal that ended the server ends the process too

    Server(settings).run()
