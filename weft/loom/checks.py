"""Checking the texts of many queries at once, so that Spark analyses them together and all errors are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from types import MappingProxyType
from typing import TypeVar

from weft.errors import QueriesError, QueryError
from weft.loom.context import Context
from weft.model.query import Query
from weft.model.workload import BoundQuery
from weft.optimize.shed.join_boxes import fixed_boxes, refuse_errors
from weft.sql import Parsed, parse_query

Before = TypeVar("Before")
After = TypeVar("After")


NONE: Mapping[str, str] = MappingProxyType({})


def parse(context: Context, name: str, sql: str, every: str | None = None,
          shed: str | float | None = None) -> Parsed:
    """What Weft's reader makes of a text; `every` is the longest time between two answers and `shed` the error that is
    accepted, if that is not in it. Of a source that drops rows, any error is. A join is a source from then on."""
    parsed = parse_query(name, sql, context.sources.schemas, context.checker.defined, every, shed)
    dropped = {each: context.sources[each].drop for each in parsed.query.inputs if context.sources[each].drop}
    if parsed.query.join and parsed.schema:
        refuse_shedding(parsed.query, dropped)
        context.sources.derive(parsed.query.join, parsed.schema)
    if parsed.query.shed is None and dropped:
        return replace(parsed, query=replace(parsed.query, shed=inf))
    return parsed


def refuse_shedding(query: Query, dropped: Mapping[str, float]) -> None:
    """Raise where what is dropped of a join's sources would not keep an error bound, or tell no error."""
    assert query.join is not None
    for name in dropped if query.shed is not None else ():
        raise QueryError(query.name, f"it accepts an error and joins '{name}', which drops rows whatever that makes of "
                         "the error.", hint=f"Leave out shed, or add '{name}' under another name without drop=.")
    if dropped:
        refuse_errors((query,), fixed_boxes(query.join, dropped, [query]))


def check_queries(
    context: Context,
    texts: Mapping[str, str],
    require_name: Callable[[str], None] = lambda name: None,
    require_size: Callable[[BoundQuery], None] = lambda bound: None,
    every: Mapping[str, str] = NONE,
    shed: Mapping[str, str | float] = NONE,
) -> list[BoundQuery]:
    """The queries of these texts by name, or one error with those of all that cannot run; `every` and `shed` have the
    bounds of some of them."""
    errors: dict[str, QueryError] = {}

    def read(name: str, sql: str) -> Parsed:
        require_name(name)
        return parse(context, name, sql, every.get(name), shed.get(name))

    def bind(_: str, parsed: Parsed) -> BoundQuery:
        bound = context.checker.bind(parsed)
        require_size(bound)
        return bound

    parsed = attempt_each(read, texts, errors)
    context.checker.learn(tuple(parsed.values()))
    bound = attempt_each(bind, parsed, errors)
    if errors:
        raise QueriesError(tuple(errors[name] for name in texts if name in errors))
    return list(bound.values())


def attempt_each(work: Callable[[str, Before], After], parts: Mapping[str, Before],
                 errors: dict[str, QueryError]) -> dict[str, After]:
    """What some work makes of each of the parts by name, and in `errors` why it cannot of the others."""
    done = {}
    for name, part in parts.items():
        try:
            done[name] = work(name, part)
        except QueryError as error:
            errors[name] = error
    return done
