"""Replies that were made a moment ago: many who look at once are told the same, and it is looked up once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import monotonic

from starlette.requests import Request
from starlette.responses import Response

# For so many seconds a reply is good: a page asks about once a second.
FRESH = 0.25
# Replies that are kept: addresses can be made up.
MOST = 256


class RecentReplies:
    """The last reply to each address, for the one thread that serves."""

    def __init__(self, fresh: float = FRESH, clock: Callable[[], float] = monotonic):
        self._fresh, self._clock = fresh, clock
        self._made: dict[tuple[str, bytes], tuple[float, Response]] = {}

    async def reply(self, request: Request, make: Callable[[], Awaitable[Response]]) -> Response:
        """A reply that is fresh, or a new one; one that was begun before a change is not kept."""
        address = request.scope["path"], request.scope["query_string"]
        now, made = self._clock(), self._made
        found = made.get(address)
        if found is not None and now - found[0] < self._fresh:
            return found[1]
        reply = await make()
        if len(made) >= MOST:
            made.clear()
        made[address] = now, reply
        return reply

    def forget(self) -> None:
        """Look everything up anew: something has changed."""
        self._made = {}
