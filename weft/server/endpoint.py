"""The endpoint that tells monitoring of a stream or a runner: /metrics for Prometheus, /health for who restarts it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR
from threading import Lock, Thread
from time import monotonic
from typing import Any

from weft.errors import RunError
from weft.server.prometheus import CONTENT_TYPE, render
from weft.spark.stream.progress import ScanMetrics, format_time, watermark_lag

HOST = "127.0.0.1"
Page = tuple[HTTPStatus, str, str]
Read = Callable[[], Any]
PageAt = Callable[[str, Any, datetime], Page]  # the page at a path, of what is read, now
PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Limits:
    """How many seconds a client may take from its connection to the last byte, and how many clients are served."""

    seconds: float = 10.0
    clients: int = 64


@contextmanager
def serving(port: int, read: Read, host: str = HOST, limits: Limits = Limits(),
            page_at: PageAt | None = None) -> Iterator[str]:
    """Serves pages of what `read` gives until the body is done, those of a stream unless others are given; the body
    gets the address. Port 0 is any that is free."""
    server = open_server(port, read, host, limits, page_at or page)
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
    """A server with the function that gives the readings; it hangs up on clients that take too long.

    A client that sends a byte now and then would pass any limit on the time between two bytes, so each connection has
    a deadline as a whole. Where there are too many, the oldest goes: whoever asks and reads is done long before that.
    """

    daemon_threads = True

    def __init__(self, address: tuple[str, int], read: Read, limits: Limits, page_at: PageAt):
        self.read, self.limits, self.page_at = read, limits, page_at
        self.deadlines: dict[Any, float] = {}  # by connection, the oldest first
        self.changing = Lock()
        super().__init__(address, Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a client in a thread of its own, until its deadline."""
        with self.changing:
            self.deadlines[request] = monotonic() + self.limits.seconds
        self.hang_up(len(self.deadlines) - self.limits.clients)
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Hang up on those whose time is over; the loop that accepts clients calls this several times a second."""
        now = monotonic()
        with self.changing:
            over = sum(deadline <= now for deadline in self.deadlines.values())
        self.hang_up(over)

    def hang_up(self, count: int) -> None:
        """End so many connections, the oldest; the thread of each sees that nobody is there and ends."""
        with self.changing:
            oldest = list(self.deadlines)[: max(count, 0)]
            for request in oldest:
                del self.deadlines[request]
        for request in oldest:
            with suppress(OSError):  # it has just ended by itself
                request.shutdown(SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """Forget a client that is done."""
        with self.changing:
            self.deadlines.pop(request, None)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Leave no client waiting."""
        super().server_close()
        self.hang_up(len(self.deadlines))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away: stderr is for what the user can mend."""


def open_server(port: int, read: Read, host: str, limits: Limits, page_at: PageAt) -> Server:
    """A server that listens, or an error that says why it cannot."""
    try:
        return Server((host, port), read, limits, page_at)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RunError(f"cannot serve metrics on {host}:{port}: {reason}. Name another with --metrics-port.") from error


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    server: Server
    server_version = "weft"
    sys_version = ""

    def do_GET(self) -> None:
        """Sends the page."""
        self.wfile.write(self.head())

    def do_HEAD(self) -> None:
        """Sends what precedes the page."""
        self.head()

    def head(self) -> bytes:
        """Sends the status and the headers, and gives the page."""
        status, kind, text = self.server.page_at(self.path.partition("?")[0], self.server.read(), datetime.now(UTC))
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return body

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a scrape every few seconds is no news."""


def page(path: str, readings: Sequence[ScanMetrics], now: datetime) -> Page:
    """The page of a stream at a path."""
    return page_of(path, lambda: render(readings, now), lambda: health(readings, now))


def page_of(path: str, metrics: Callable[[], str], health: Callable[[], dict[str, Any]]) -> Page:
    """The page at a path, of what metrics and health are there."""
    if path == "/metrics":
        return HTTPStatus.OK, CONTENT_TYPE, metrics()
    if path == "/health":
        found = health()
        status = HTTPStatus.OK if found["ok"] else HTTPStatus.SERVICE_UNAVAILABLE
        return status, "application/json", json.dumps(found) + "\n"
    return HTTPStatus.NOT_FOUND, PLAIN, "There is /metrics and /health.\n"


def health(readings: Sequence[ScanMetrics], now: datetime) -> dict[str, Any]:
    """Whether every scan runs, and how far each is."""
    return {"ok": bool(readings) and all(one.active for one in readings),
            "scans": [scan_health(one, now) for one in readings]}


def scan_health(reading: ScanMetrics, now: datetime) -> dict[str, Any]:
    """How far one scan is."""
    last = reading.last
    watermark = last.watermark if last else None
    return {"scan": reading.scan, "active": reading.active, "triggers": reading.totals.triggers,
            "batch": last.batch if last else None, "at": format_time(last.at if last else None),
            "watermark": format_time(watermark), "lag_seconds": watermark_lag(watermark, now)}
