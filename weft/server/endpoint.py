"""The endpoint that tells monitoring of a stream: /metrics for Prometheus, /health for whoever restarts things."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from weft.errors import RunError
from weft.server.prometheus import CONTENT_TYPE, render
from weft.spark.figures import Reading, lag, stamp

HOST = "127.0.0.1"
Read = Callable[[], Sequence[Reading]]
Page = tuple[HTTPStatus, str, str]
PLAIN = "text/plain; charset=utf-8"


@contextmanager
def serving(port: int, read: Read, host: str = HOST) -> Iterator[str]:
    """Serves what `read` gives until the body is done; the body gets the address. Port 0 is any that is free."""
    server = open_server(port, read, host)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True, name="weft-metrics")
    thread.start()
    try:
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Server(ThreadingHTTPServer):
    """A server with the function that gives the readings."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], read: Read):
        self.read = read
        super().__init__(address, Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away: stderr is for what the user can mend."""


def open_server(port: int, read: Read, host: str) -> Server:
    """A server that listens, or an error that says why it cannot."""
    try:
        return Server((host, port), read)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RunError(f"cannot serve metrics on {host}:{port}: {reason}. Name another with --metrics-port.") from error


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    server: Server
    server_version = "weft"
    sys_version = ""
    # A client that connects and says nothing must not hold a thread for ever.
    timeout = 10

    def do_GET(self) -> None:
        """Sends the page."""
        self.wfile.write(self.head())

    def do_HEAD(self) -> None:
        """Sends what precedes the page."""
        self.head()

    def head(self) -> bytes:
        """Sends the status and the headers, and gives the page."""
        status, kind, text = page(self.path.partition("?")[0], self.server.read(), datetime.now(UTC))
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return body

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a scrape every few seconds is no news."""


def page(path: str, readings: Sequence[Reading], now: datetime) -> Page:
    """The page at a path."""
    if path == "/metrics":
        return HTTPStatus.OK, CONTENT_TYPE, render(readings, now)
    if path == "/health":
        found = health(readings, now)
        status = HTTPStatus.OK if found["ok"] else HTTPStatus.SERVICE_UNAVAILABLE
        return status, "application/json", json.dumps(found) + "\n"
    return HTTPStatus.NOT_FOUND, PLAIN, "There is /metrics and /health.\n"


def health(readings: Sequence[Reading], now: datetime) -> dict[str, Any]:
    """Whether every scan runs, and how far each is."""
    return {"ok": bool(readings) and all(one.active for one in readings),
            "scans": [scan_health(one, now) for one in readings]}


def scan_health(reading: Reading, now: datetime) -> dict[str, Any]:
    """How far one scan is."""
    last = reading.last
    watermark = last.watermark if last else None
    return {"scan": reading.scan, "active": reading.active, "triggers": reading.totals.triggers,
            "batch": last.batch if last else None, "at": stamp(last.at if last else None),
            "watermark": stamp(watermark), "lag_seconds": lag(watermark, now)}
