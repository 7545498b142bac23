"""Bound queries and their plans, without Spark."""

from __future__ import annotations

from dataclasses import replace

from weft.aggregates import Argument, Lowered, find
from weft.aggregates.component import GUARD
from weft.cost.model import SparkModel
from weft.model.query import Call, Output, Query
from weft.model.window import Window
from weft.model.workload import BoundQuery
from weft.optimize.cost_breakdown import break_down_plan
from weft.optimize.plan import find_optimizer, plan_workload
from weft.sql.identity import Expressions
from weft.stages.build import build, projection
from weft.stages.explain import Explanation

MINUTE = 60_000_000
TYPES = {"ts": "timestamp", "symbol": "string", "price": "double", "volume": "bigint", "venue": "int"}


def identity(source: str, text: str) -> str:
    """The canonical form of a text over trades."""
    known = Expressions()
    known.register(source, TYPES)
    return known.identity(source, text)


def bound(name: str, minutes: int = 10, where: str | None = None, keys: tuple[str, ...] = ("symbol",),
          call: str = "sum", text: str = "SELECT 1") -> BoundQuery:
    """A query of one call, as Spark's check would bind it."""
    lowered = lower(call)
    query = Query(name, text, "trades", "ts", Window(minutes * MINUTE, MINUTE), where, keys,
                  (Call(call, ("volume",)),), (Output("__call_0", "x"),), None, "")
    return BoundQuery(query, "timestamp", ("string",) * len(keys), (lowered,))


def lower(call: str) -> Lowered:
    """A call over volume, with the columns that it has where predicates share a scan."""
    args = (Argument("volume", "bigint"),)
    lowered, guarded = find(call).lower(args, ""), find(call).lower(args, f" FILTER (WHERE {GUARD})")
    pairs = zip(lowered.components, guarded.components, strict=True)
    return replace(lowered, components=tuple(replace(c, guarded=g.columns) for c, g in pairs))


def explained(*queries: BoundQuery, rows: float = 2e7, optimizer: str = "cheapest") -> Explanation:
    """The plan of queries over a source of so many rows."""
    def model(_: BoundQuery) -> SparkModel:
        return SparkModel(rows / 3.6e10, 1000, 3.6e10)

    plan = plan_workload(queries, find_optimizer(optimizer), model, projection)
    return Explanation(plan, build(plan, identity=identity), break_down_plan(plan, model, projection))
