"""Listening: an ASGI app on a port, in a thread of its own, with deadlines for clients that take too long."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from weft.errors import RunError

HOST = "127.0.0.1"
# How many bytes the head of a request may have.
HEAD = 16 * 1024
# Seconds that running requests get when the server ends, and that an idle connection is kept.
GRACE, IDLE = 2, 5


@dataclass(frozen=True)
class Limits:
    """How many seconds a client may take to send a request and to take its answer, and how many clients are served."""

    seconds: float = 10.0
    clients: int = 64


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate and of its key."""

    file: Path
    key: Path


@contextmanager
def listening(app: ASGIApp, port: int, host: str = HOST, limits: Limits = Limits(),
              certificate: Certificate | None = None, option: str = "--port") -> Iterator[str]:
    """Serves the app until the body is done, which gets the address; port 0 is any that is free."""
    server = uvicorn.Server(configure(app, limits, certificate))
    place = open_socket(host, port, option)
    number = place.getsockname()[1]
    thread = Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True, name="weft-http")
    thread.start()
    try:
        while not server.started and thread.is_alive():
            sleep(0.01)
        yield f"{'https' if certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{number}"
    finally:
        server.should_exit = True
        thread.join()


def open_socket(host: str, port: int, option: str) -> socket.socket:
    """A socket that listens, or an error that says why it cannot."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        place = socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RunError(f"cannot listen on {host}:{port}: {reason}. Name another with {option}.") from error
    # Its connections inherit it: else the body of an answer waits 40 ms until the client has confirmed the head.
    place.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return place


def configure(app: ASGIApp, limits: Limits, certificate: Certificate | None) -> uvicorn.Config:
    """The settings of the server; it logs nothing, as a scrape every few seconds is no news."""
    config = uvicorn.Config(
        app, http=connection_type(limits), ws="none", loop="asyncio", lifespan="off", interface="asgi3",
        log_config=None, access_log=False, proxy_headers=False, server_header=False, timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE, h11_max_incomplete_event_size=HEAD,
        ssl_certfile=certificate.file if certificate else None, ssl_keyfile=certificate.key if certificate else None)
    try:
        config.load()  # here, where a certificate that cannot be read is told
    except OSError as error:  # ssl's errors are among these
        raise RunError(f"the certificate cannot be used: {error}. Give the files of a certificate and its key in PEM."
                       ) from error
    return config


def connection_type(limits: Limits) -> type[H11Protocol]:
    """The class of this server's connections, which know their limits and each other."""
    return type("Connection", (BoundedConnection,), {"limits": limits, "opened": {}})


class BoundedConnection(H11Protocol):
    """A connection with a deadline for each request and each answer.

    A client that sends a byte now and then would pass any limit on the time between two bytes. Where there are too many
    clients the oldest that waits for nothing of ours goes: whoever asks and reads is done long before that.
    """

    limits: Limits
    opened: dict[BoundedConnection, None]  # the oldest first; its server's, not all servers'

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the time that the first request may take."""
        super().connection_made(transport)
        self.opened[self] = None
        self._deadline = self.loop.call_later(self.limits.seconds, self.end_late)
        if len(self.opened) > self.limits.clients:
            next((each for each in self.opened if not each.is_answering), self).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.opened.pop(self, None)
        self._deadline.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Begin the time of the next request; an idle connection is closed before it is over."""
        self._renew()
        super().on_response_complete()

    @property
    def is_answering(self) -> bool:
        """Whether a request is here and its answer is being made: that takes as long as it takes."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.more_body and not cycle.response_started

    def end_late(self) -> None:
        """Hang up on a client whose time is over."""
        if self.is_answering:
            self._renew()
        else:
            self.transport.abort()

    def _renew(self) -> None:
        self._deadline.cancel()
        self._deadline = self.loop.call_later(self.limits.seconds, self.end_late)
