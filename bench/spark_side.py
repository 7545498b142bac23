"""Spark's own side of the bench: one pass over the data, the queries as Spark runs them, and a fit for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import seconds

from weft.model import Window

ONE_PASS = """
SELECT symbol, unix_micros(ts) DIV 60000000 AS slice,
       sum(price), count(price), max(price), sum(volume), count(*)
FROM trades GROUP BY ALL
"""


def query(window: Window) -> str:
    """The bench's query over one window."""
    spans = ", ".join(f"'{micros // 1_000_000} seconds'" for micros in (window.range, window.slide))
    return (
        "SELECT symbol, window.end AS at, avg(price) AS average, max(price) AS high, sum(volume) AS volume, "
        f"count(*) AS trades FROM trades GROUP BY symbol, window(ts, {spans})"
    )


def to_noop(frame: Any) -> None:
    """Computes every value of a frame and throws it away."""
    frame.write.format("noop").mode("overwrite").save()


def one_pass(spark: Any) -> None:
    """Scan, one-minute slices by symbol, the components of the bench's query: what any shared plan must do once."""
    to_noop(spark.sql(ONE_PASS))


def native(spark: Any, window: Window) -> float:
    """Seconds that Spark's own plan takes for one window."""
    return seconds(lambda: to_noop(spark.sql(query(window))))


def fit(samples: list[tuple[Window, float]]) -> tuple[float, float]:
    """Least squares for seconds = a + b · range / slide: Spark copies each row range / slide times."""
    overlaps = np.array([float(window.overlap) for window, _ in samples])
    taken = np.array([taken for _, taken in samples])
    slope, start = np.polyfit(overlaps, taken, 1)
    return float(start), float(slope)


def estimate(windows: list[Window], samples: list[tuple[Window, float]]) -> float:
    """Seconds for all windows: measured where sampled, else by the fit and never less than the fastest sample."""
    start, slope = fit(samples)
    least, measured = min(taken for _, taken in samples), dict(samples)
    return sum(measured.get(window, max(start + slope * float(window.overlap), least)) for window in windows)
