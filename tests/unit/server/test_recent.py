"""Replies that were made a moment ago."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from weft.server.recent import MOST, RecentReplies


def request(path: str, query: bytes = b"") -> Request:
    return Request({"type": "http", "path": path, "query_string": query, "headers": []})


class Asked:
    """Counts how often something is looked up."""

    def __init__(self, fresh: float = 0.25):
        self.now, self.made = 0.0, 0
        self.recent = RecentReplies(fresh, lambda: self.now)

    async def make(self) -> PlainTextResponse:
        self.made += 1
        return PlainTextResponse(str(self.made))

    def ask(self, path: str, query: bytes = b"") -> str:
        return bytes(asyncio.run(self.recent.reply(request(path, query), self.make)).body).decode()


def test_what_was_told_a_moment_ago_is_told_again_and_then_looked_up_anew():
    asked = Asked()
    assert [asked.ask("/a"), asked.ask("/a")] == ["1", "1"]
    assert asked.ask("/a", b"rows=1") == "2" and asked.ask("/b") == "3"
    asked.now = 0.26
    assert asked.ask("/a") == "4"


def test_after_a_change_everything_is_looked_up_anew():
    asked = Asked()
    asked.ask("/a")
    asked.recent.forget()
    assert asked.ask("/a") == "2"


def test_what_was_begun_before_a_change_is_not_kept():
    asked = Asked()

    async def slow() -> PlainTextResponse:
        asked.recent.forget()
        return PlainTextResponse("old")

    asyncio.run(asked.recent.reply(request("/a"), slow))
    assert asked.ask("/a") == "1"


def test_addresses_that_are_made_up_do_not_pile_up():
    asked = Asked()
    for i in range(3 * MOST):
        asked.ask(f"/{i}")
    assert len(asked.recent._made) <= MOST
