"""A query as Weft understands it: one source, one predicate, one grouping, one window, calls and outputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from weft.model.join import Join
from weft.model.window import Window

# Columns that `outputs` and `having` may read: the keys, the calls and the window of one answer.
KEY, CALL, WINDOW = "__key_{}", "__call_{}", "__window"
# How the name of an aggregate begins that is the standard error of another.
ERROR_OF = "error "


@dataclass(frozen=True)
class Call:
    """One aggregate call: a function of AGGREGATES over argument SQL, under an optional FILTER."""

    function: str
    args: tuple[str, ...] = ()
    filter: str | None = None

    def __str__(self) -> str:
        if self.function.startswith(ERROR_OF):  # Spark has no such function, and reads all rows
            return f"if({replace(self, function=self.function.removeprefix(ERROR_OF))} IS NULL, NULL, 0.0D)"
        only = f" FILTER (WHERE {self.filter})" if self.filter else ""
        name, _, distinct = self.function.partition(" ")  # count distinct
        return f"{name}({distinct.upper()}{' ' if distinct else ''}{', '.join(self.args) or '*'}){only}"


@dataclass(frozen=True)
class Output:
    """One column of the result: SQL over `__key_i`, `__call_i` and `__window`; name and type (JSON) are Spark's."""

    sql: str
    name: str
    type: str = ""


@dataclass(frozen=True)
class Query:
    """One window query; every SQL text in it is in Spark's dialect over the source's own column names.

    Where its window counts rows, `order` says by what rows of one time are ordered. `every` is the longest time between
    two answers, in microseconds: it says when answers come, never what they are, so queries that differ in it alone are
    equal. `slide_bound` is the longest slide that the text allows, where it names no slide. `shed` is the relative
    error that the user accepts where rows are dropped: without it none may be, and where it is infinite any may. `join`
    is what its source is, where that is no registered one.
    """

    name: str
    text: str
    source: str
    time: str
    window: Window
    where: str | None
    keys: tuple[str, ...]
    calls: tuple[Call, ...]
    outputs: tuple[Output, ...]
    having: str | None
    native: str
    order: tuple[str, ...] = ()
    every: int | None = field(default=None, compare=False)
    shed: float | None = field(default=None, compare=False)
    slide_bound: int | None = None
    join: Join | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The registered sources that it reads: its own, or those that its join reads."""
        return self.join.sources if self.join else (self.source,)

    @property
    def streams(self) -> tuple[str, ...]:
        """The sources that it reads as streams: all but the tables of its join."""
        return tuple(each.source for each in self.join.inputs if each.time) if self.join else (self.source,)
