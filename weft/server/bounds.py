"""Bounds on requests: how large one may be, and how many a client may send in a second."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.server.replies import RefusedRequest, refusal

# Clients that are remembered: more than that at once, and the oldest begin anew.
REMEMBERED = 1024


@dataclass(frozen=True)
class RequestBounds:
    """Bytes of a request's body, and requests a second and at once of one address."""

    bytes: int = 256 * 1024
    rate: float = 500.0
    burst: float = 1000.0


class Bounded:
    """An app whose requests are bounded; what is refused costs nothing more."""

    def __init__(self, app: ASGIApp, bounds: RequestBounds = RequestBounds(), clock: Callable[[], float] = monotonic):
        self.app, self.bounds, self._clock = app, bounds, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # by address: requests left, and when

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if not self._take(scope["client"][0] if scope.get("client") else ""):
            await refusal(429, "too many requests: slow down.", {"Retry-After": "1"})(scope, receive, send)
            return
        too_large = f"a request may have {self.bounds.bytes / 1024:g} KiB."
        if declared_bytes(scope) > self.bounds.bytes:
            await refusal(413, too_large, {"Connection": "close"})(scope, receive, send)
            return
        seen = 0

        async def receive_some() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.bounds.bytes:
                raise RefusedRequest(413, too_large)
            return message

        await self.app(scope, receive_some, send)

    def _take(self, client: str) -> bool:
        """Whether a client may ask once more."""
        now = self._clock()
        left, before = self._left.pop(client, (self.bounds.burst, now))
        left = min(left + (now - before) * self.bounds.rate, self.bounds.burst)
        self._left[client] = (max(left - 1, 0.0), now)
        if len(self._left) > REMEMBERED:
            self._left.popitem(last=False)
        return left >= 1


def declared_bytes(scope: Scope) -> int:
    """How long a request says that it is; one that says nonsense never gets here."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length" and value.isdigit()), 0)
