"""What a stream carries through a join: the columns that conditions and queries read, and no others."""

from __future__ import annotations

import pytest

from weft.aggregates import Argument, find
from weft.errors import RunError
from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.workload import BoundQuery
from weft.spark.stream.checkpoint import joined_state
from weft.spark.stream.join import carried_columns, require_joinable
from weft.sql import SourceSchema, parse_query
from weft.stages.build import build

SOURCES = {name: SourceSchema(name, (("ts", "timestamp"), ("k", "string"), ("a`b", "int"), ("x", "double")), "ts")
           for name in ("a", "b")}


def graph_of(where: str = "", time: str = "a.ts"):
    """The stages of a query over a join."""
    parsed = parse_query("q", "SELECT a.k, sum(b.x) FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + "
                              f"INTERVAL 1 MINUTE{where} GROUP BY a.k, window({time}, '1 minute')", SOURCES)
    lowered = find("sum").lower((Argument("`b.x`", "double"),), "")
    bound = BoundQuery(parsed.query, "timestamp", ("string",), (lowered,))
    return build(SharedPlan("no_share", (Scan((Tree((bound,)),)),))).scans[0]


def test_columns_are_those_that_something_reads():
    """Keys, times, arguments and predicates, in the order of the inputs; odd names too."""
    scan = graph_of()
    join = scan.nodes[2].stage.join
    assert carried_columns(join, scan.root.stage) == ("a.ts", "a.k", "b.ts", "b.k", "b.x")
    assert joined_state(scan)["join"] == {"id": join.digest, "order": [0, 1],
                                          "columns": ["a.ts", "a.k", "b.ts", "b.k", "b.x"]}
    odd = graph_of(" WHERE a.`a``b` > 1")
    assert "a.a`b" in carried_columns(join, odd.root.stage)


def test_a_stream_follows_an_event_time():
    """Of one of the streams, as it is."""
    scan = graph_of(time="greatest(a.ts, b.ts)")
    with pytest.raises(RunError, match="follows the event time of one of its sources"):
        require_joinable(scan.nodes[2].stage.join, scan.root.stage)
