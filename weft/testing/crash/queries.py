"""The queries of the crash test, and what its processes agree on."""

from __future__ import annotations

SHORT, LONG = "window(ts, '7 seconds', '3 seconds')", "window(ts, '2 minutes', '10 seconds')"
# A grouping and one that is derived from it, all rows and those of two predicates, windows that cut time oddly, a bag.
# Some have the same columns and are written together: a process that lives for seconds shall spend them on triggers.
QUERIES = {
    "users": "SELECT region, user, window.end AS until, count(*) AS c, sum(x) AS s, avg(n) AS a FROM events "
             f"GROUP BY region, user, {SHORT}",
    "regions": f"SELECT region, window.end AS until, count(*) AS c, sum(x) AS s FROM events GROUP BY region, {SHORT}",
    "high": "SELECT region, user, window.end AS until, count(*) AS c, sum(x) AS s, avg(n) AS a FROM events "
            f"WHERE x > 50 GROUP BY region, user, {SHORT}",
    "odd": "SELECT region, window.end AS until, count(n) AS c, sum(x) AS s FROM events "
           f"WHERE n % 2 <> 0 GROUP BY region, {SHORT}",
    "middle": "SELECT region, user, window.end AS until, median(x) AS m FROM events "
              f"GROUP BY region, user, {LONG}",
}
# The columns that name an answer; the others are its values.
KEYS, UNTIL = ("region", "user", "until"), "until"
PARTITIONS = 2
SCAN = "scan-0"
# What a process prints when its stream runs.
STARTED = "the stream has started"
