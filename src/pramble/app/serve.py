"""Serves the desk on this machine alone."""

import socket
from collections.abc import Callable

import uvicorn

from pramble.app.desk import Desks
from pramble.app.guard import Guard
from pramble.app.page import desk_app

HOST = "127.0.0.1"


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        found: int = probe.getsockname()[1]
        return found


def serve(port: int | None = None, *, ready: Callable[[str], None]) -> None:
    """Serve desks until interrupted; ``ready`` is told the address once it can be opened."""
    desks = Desks()
    guard = Guard(desk_app(desks), port=free_port() if port is None else port)
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
