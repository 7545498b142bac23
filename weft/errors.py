"""The errors Weft raises, each naming the query, the place in its SQL and what to do next."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A one-based line and column in a query's text."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class WeftError(Exception):
    """The base of every error that Weft raises on purpose."""


class QueryError(WeftError):
    """A query that cannot run: who, where, why, and what to write instead."""

    def __init__(self, query: str, reason: str, *, place: Place | None = None, hint: str = ""):
        self.query, self.reason, self.place, self.hint = query, reason, place, hint
        where = f", {place}" if place else ""
        super().__init__(f"query '{query}'{where}: {reason}" + (f" {hint}" if hint else ""))


class QueriesError(WeftError):
    """Some of many queries that were to be added together cannot run, so none was added: the errors of all."""

    def __init__(self, errors: tuple[QueryError, ...]):
        self.errors = errors
        super().__init__("\n".join(map(str, errors)))


class ParseError(QueryError):
    """The text is not SQL that Weft can read."""


class RefusedError(QueryError):
    """The SQL is good, but Weft does not run it (yet)."""


class CheckError(QueryError):
    """Spark cannot resolve or type the query against its source."""


class SourceError(WeftError):
    """A source that is missing, unreadable or has no event time."""


class AggregateError(WeftError):
    """A user-defined aggregate that cannot be used: which, why, and what to write instead."""

    def __init__(self, aggregate: str, reason: str, hint: str = ""):
        self.aggregate, self.reason, self.hint = aggregate, reason, hint
        super().__init__(f"aggregate '{aggregate}': {reason}" + (f" {hint}" if hint else ""))


class SettingError(WeftError):
    """A setting of the Spark session under which answers would not be Spark's: which, why, and what to do."""

    def __init__(self, setting: str, reason: str, hint: str):
        self.setting, self.reason, self.hint = setting, reason, hint
        super().__init__(f"setting '{setting}' {reason} {hint}")


class PlanError(WeftError):
    """A plan that breaks an invariant or a choice that is not legal."""


class RunError(WeftError):
    """A run that failed; nothing it wrote is left as if complete."""


class StreamWarning(UserWarning):
    """What is worth knowing of a stream that runs on."""


class ScheduleWarning(UserWarning):
    """A schedule that runs, though some of its bounds cannot be kept."""


class ProjectError(WeftError):
    """A project folder or its weft.toml that cannot be used."""


class CatalogError(WeftError):
    """A catalog that cannot be opened, read or written; nothing in it is changed."""
