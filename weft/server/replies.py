"""Replies: JSON for what went well, and for every error what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse

from weft.errors import QueriesError, QueryError, WeftError
from weft.server.worker import BusyError

CONFLICT, UNKNOWN, INVALID, BUSY, BAD = 409, 404, 422, 503, 400


class RefusedRequest(WeftError):
    """A request that is refused with a status and a sentence; nothing has changed."""

    def __init__(self, status: int, reason: str):
        self.status = status
        super().__init__(reason)


@dataclass(frozen=True)
class Fault:
    """One thing to mend: what is wrong, in which query, at which line and column, and what to do."""

    reason: str
    query: str = ""
    line: int | None = None
    column: int | None = None
    hint: str = ""
    kind: str = "RequestError"

    def to_dict(self) -> dict[str, Any]:
        """The fault as plain values."""
        return {"reason": self.reason, "query": self.query, "line": self.line, "column": self.column,
                "hint": self.hint, "kind": self.kind}


def faults_of(error: WeftError) -> list[dict[str, Any]]:
    """Every fault of an error, those of queries with their places."""
    each = error.errors if isinstance(error, QueriesError) else (error,)
    return [fault_of(one).to_dict() for one in each]


def fault_of(error: WeftError) -> Fault:
    """The fault that an error stands for."""
    if not isinstance(error, QueryError):
        return Fault(str(error), kind=type(error).__name__)
    line, column = (error.place.line, error.place.column) if error.place else (None, None)
    return Fault(error.reason, error.query, line, column, error.hint, type(error).__name__)


def status_of(error: WeftError) -> int:
    """The status that an error is told with."""
    if isinstance(error, RefusedRequest):
        return error.status
    if isinstance(error, BusyError):
        return BUSY
    return INVALID if isinstance(error, QueryError | QueriesError) else CONFLICT


def error_reply(error: WeftError) -> JSONResponse:
    """An error as JSON."""
    status = status_of(error)
    return JSONResponse({"ok": False, "errors": faults_of(error)}, status,
                        {"Retry-After": "2"} if status == BUSY else None)


def refusal(status: int, reason: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A refusal before anybody has looked at what is asked."""
    return JSONResponse({"ok": False, "errors": [Fault(reason).to_dict()]}, status, headers)
