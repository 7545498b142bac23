"""The queries of the crash test, and what its processes agree on."""

from __future__ import annotations

SHORT, LONG = "window(ts, '7 seconds', '3 seconds')", "window(ts, '2 minutes', '10 seconds')"
# A grouping and one that is derived from it, all rows and those of two predicates, windows that cut time oddly. Some
# have the same columns and are written together: a process that lives for seconds shall spend them on triggers.
FOLDED = {
    "users": "SELECT region, user, window.end AS until, count(*) AS c, sum(x) AS s, avg(n) AS a FROM events "
             f"GROUP BY region, user, {SHORT}",
    "regions": f"SELECT region, window.end AS until, count(*) AS c, sum(x) AS s FROM events GROUP BY region, {SHORT}",
    "high": "SELECT region, user, window.end AS until, count(*) AS c, sum(x) AS s, avg(n) AS a FROM events "
            f"WHERE x > 50 GROUP BY region, user, {SHORT}",
    "odd": "SELECT region, window.end AS until, count(n) AS c, sum(x) AS s FROM events "
           f"WHERE n % 2 <> 0 GROUP BY region, {SHORT}",
    "spread": "SELECT region, user, window.end AS until, max(x) AS h, stddev(x) AS d FROM events "
              f"GROUP BY region, user, {LONG}",
}
JOIN = ("FROM events JOIN side ON user = who AND region = place AND "
        "at BETWEEN ts - INTERVAL '4' SECOND AND ts + INTERVAL '2' SECOND")
# What decides who cuts the stream into slices: workers, or Spark's own aggregation where a query keeps bags of values.
# The source of "shedding" drops another share of its rows at each start.
WORKLOADS = {
    "folded": FOLDED,
    "joined": {name: text.replace("FROM events", JOIN) for name, text in FOLDED.items()},
    "shedding": {**FOLDED, "spread": FOLDED["spread"].replace("stddev(x) AS d", "error(sum(x)) AS d")},
    "bags": {**FOLDED, "spread": FOLDED["spread"].replace("max(x) AS h, stddev(x) AS d", "median(x) AS d")},
}
WORKLOAD = "workload.txt"  # names the workload of a folder
# The columns that name an answer; the others are its values.
KEYS, UNTIL = ("region", "user", "until"), "until"
PARTITIONS = 2
# What a process prints when its stream runs.
STARTED = "the stream has started"
