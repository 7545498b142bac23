"""What a Spark engineer writes by hand today: slices once, then window functions for every window in one query.

"frames" is the plain form, an aggregate over a frame for each window. "offsets" is the cleverest we know: totals that
run from the start and are subtracted by `lag`, and maxima over 1, 2, 4 … minutes of which two cover any window. It
subtracts running sums of doubles, which Weft never does. Both fill each symbol's gaps first, so that windows end in
every minute, and give one wide row a minute with all windows in it, which is less to write than a row an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from spark_side import to_noop

from weft.model import Window

MINUTE = 60_000_000
SEGMENT_TREE = "spark.sql.window.segmentTree.enabled"
SLICES = """
SELECT symbol, unix_micros(ts) DIV 60000000 AS minute, sum(price) AS total, max(price) AS high,
       sum(volume) AS volume, count(*) AS trades
FROM trades GROUP BY ALL
"""
DENSE = """
WITH slices AS ({slices}),
grid AS (SELECT symbol, explode(sequence(min(minute), max(minute) + {longest})) AS minute FROM slices GROUP BY symbol)
SELECT symbol, minute, coalesce(total, 0D) AS total, high, coalesce(volume, 0L) AS volume,
       coalesce(trades, 0L) AS trades
FROM grid LEFT JOIN slices USING (symbol, minute)
"""
SUMS = ("total", "volume", "trades")
ORDER = "PARTITION BY symbol ORDER BY minute"


def dense(widths: Sequence[int]) -> str:
    """A row for every symbol and minute up to where the longest window ends."""
    return DENSE.format(slices=SLICES, longest=max(widths) - 1)


def frames(widths: Sequence[int]) -> str:
    """Every window as aggregates over a frame of rows."""
    columns = [f"sum(total) OVER w{n} / nullif(sum(trades) OVER w{n}, 0) AS average_{n}, "
               f"max(high) OVER w{n} AS high_{n}, sum(volume) OVER w{n} AS volume_{n}, "
               f"sum(trades) OVER w{n} AS trades_{n}" for n in widths]
    named = [f"w{n} AS (PARTITION BY symbol ORDER BY minute ROWS BETWEEN {n - 1} PRECEDING AND CURRENT ROW)"
             for n in widths]
    return f"SELECT symbol, minute, {', '.join(columns)} FROM ({dense(widths)}) WINDOW {', '.join(named)}"


def offsets(widths: Sequence[int]) -> str:
    """Every window as differences of running totals, and maxima as the greater of two that cover it."""
    running = ", ".join(f"sum({name}) OVER ({ORDER} ROWS UNBOUNDED PRECEDING) AS {name}" for name in SUMS)
    text = f"SELECT symbol, minute, high AS high_0, {running} FROM ({dense(widths)})"
    for level in range(max(widths).bit_length() - 1):
        wider = f"greatest(high_{level}, lag(high_{level}, {2**level}) OVER ({ORDER})) AS high_{level + 1}"
        text = f"SELECT *, {wider} FROM ({text})"
    return f"SELECT symbol, minute, {', '.join(covered(widths))} FROM ({text}) WINDOW w AS ({ORDER})"


def covered(widths: Sequence[int]) -> Iterator[str]:
    """The outputs of each window over running totals and maxima of powers of two."""
    for n in widths:
        level = n.bit_length() - 1
        sums = {name: f"({name} - lag({name}, {n}, 0) OVER w)" for name in SUMS}
        yield (f"{sums['total']} / nullif({sums['trades']}, 0) AS average_{n}, "
               f"greatest(high_{level}, lag(high_{level}, {n - 2**level}) OVER w) AS high_{n}, "
               f"{sums['volume']} AS volume_{n}, {sums['trades']} AS trades_{n}")


FORMS = {"frames": frames, "offsets": offsets}


def widths_of(windows: Sequence[Window]) -> list[int]:
    """The windows' ranges in minutes."""
    return sorted({window.range // MINUTE for window in windows})


def run(spark: Any, windows: Sequence[Window], form: str) -> None:
    """Compute every window's answers in one query and throw them away."""
    to_noop(spark.sql(FORMS[form](widths_of(windows))))


def answers(spark: Any, window: Window, form: str) -> Any:
    """The answers of one window, under the names that the bench's query gives them."""
    n = window.range // MINUTE
    rows = spark.sql(FORMS[form]([n]))
    return rows.where(f"trades_{n} > 0").selectExpr(
        "symbol", f"timestamp_micros((minute + 1) * {MINUTE}) AS at", f"average_{n} AS average", f"high_{n} AS high",
        f"volume_{n} AS volume", f"trades_{n} AS trades")
