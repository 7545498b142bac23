"""A service that answers from memory and remembers what it was asked, and one query that is at fault."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from weft.errors import ParseError, Place
from weft.server.replies import CONFLICT, UNKNOWN, RefusedRequest
from weft.server.service import ShownPlan

SVG = '<svg class="weft" xmlns="http://www.w3.org/2000/svg"><style>p{}</style></svg>'


class FakeService:
    """What the API asks of a service."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.texts = {"vwap": "SELECT 1"}

    def state(self) -> dict[str, Any]:
        self.asked.append(("state",))
        return {"project": "p", "ready": True}

    def health(self, now: datetime) -> dict[str, Any]:
        return {"ok": True, "ready": True}

    def metrics(self, now: datetime) -> bytes:
        return b"weft_up 1\n"

    def live(self, after: int, now: datetime) -> dict[str, Any]:
        return {"last": after, "triggers": [], "scans": [], "schedule": None}

    def plan(self) -> ShownPlan:
        return ShownPlan({"scans": []}, SVG, "<!doctype html><title>Plan</title>", "a plan")

    def queries(self) -> list[dict[str, Any]]:
        return [{"name": name, "sql": sql} for name, sql in self.texts.items()]

    def explain(self, name: str) -> dict[str, Any]:
        if name not in self.texts:
            raise RefusedRequest(UNKNOWN, f"there is no query '{name}'.")
        return {"name": name}

    def answers(self, name: str, count: int) -> dict[str, Any]:
        return {"columns": [], "rows": [], "asked": count}

    def dead_letters(self, count: int) -> dict[str, Any]:
        return {"letters": ["x"] * min(count, 2)}

    def decisions(self) -> dict[str, Any]:
        return {"shedding": [], "schedule": None, "changes": []}

    def runs(self) -> list[dict[str, Any]]:
        return []

    def check(self, name: str, sql: str) -> dict[str, Any]:
        self.asked.append(("check", name, sql))
        return {"ok": True, "errors": []}

    def check_drop(self, name: str) -> dict[str, Any]:
        self.asked.append(("check_drop", name))
        return {"ok": True, "errors": []}

    def add(self, name: str, sql: str) -> dict[str, Any]:
        self.asked.append(("add", name, sql))
        if "SELEC " in sql:
            raise ParseError(name, "this is no SQL.", place=Place(2, 7), hint="Write SELECT.")
        if name in self.texts:
            raise RefusedRequest(CONFLICT, f"there is already a query '{name}'.")
        return {"ok": True, "query": name, "change": {"kind": "free"}}

    def replace(self, name: str, sql: str) -> dict[str, Any]:
        self.asked.append(("replace", name, sql))
        return {"ok": True}

    def drop(self, name: str) -> dict[str, Any]:
        self.asked.append(("drop", name))
        return {"ok": True}
