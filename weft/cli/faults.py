"""Faults: errors of the user's files, with the file, line and column in which they stand."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from weft.errors import QueryError, WeftError


@dataclass(frozen=True)
class Fault:
    """One thing to mend: what is wrong, where, and what to do."""

    reason: str
    query: str = ""
    file: str = ""
    line: int | None = None
    column: int | None = None
    hint: str = ""
    kind: str = "ProjectError"

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        parts = (place, f"query '{self.query}'" if self.query else "", self.reason)
        text = ": ".join(part for part in parts if part)
        return f"{text if text.endswith(('.', '?', '!')) else text + '.'} {self.hint}".strip()

    def to_dict(self) -> dict[str, Any]:
        """The fault for machines."""
        return asdict(self)


class Faulty(WeftError):
    """Some of the project's files are at fault; all of it is said at once."""

    def __init__(self, faults: tuple[Fault, ...]):
        self.faults = faults
        super().__init__("\n".join(map(str, faults)))


def fault_of(error: WeftError, query: str = "", file: str = "", skipped: int = 0) -> Fault:
    """The fault that an error stands for; a place in the query becomes the place in its file."""
    kind = type(error).__name__
    if not isinstance(error, QueryError):
        return Fault(str(error), query, file, skipped + 1 if file else None, kind=kind)
    line = error.place.line + skipped if error.place else skipped + 1
    column = error.place.column if error.place else None
    return Fault(error.reason, error.query, file, line if file else None, column, error.hint, kind)


def faults_of(error: WeftError) -> tuple[Fault, ...]:
    """Every fault of an error."""
    return error.faults if isinstance(error, Faulty) else (fault_of(error),)
