"""The demo's run: trades made, queries added, one shared run, Spark's own sampled; every step timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds

from examples.demo.catalogue import Shipped, shipped
from examples.demo.native import Estimate, estimate, sample
from weft.cli.sample_trades import Trades, is_made, make
from weft.cli.start import start_session

if TYPE_CHECKING:
    from weft.loom import Loom

Progress = Callable[[int, int, str], None]


@dataclass
class Times:
    """Seconds of each step, in order."""

    steps: dict[str, float] = field(default_factory=dict)

    def __call__(self, step: str, work: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        done = work()
        self.steps[step] = time.perf_counter() - begun
        return done


@dataclass(frozen=True)
class Outcome:
    """All that the report tells."""

    trades: Trades
    kept: bool
    loom: Loom
    queries: tuple[Shipped, ...]
    answers: dict[str, int]
    folder: Path
    times: dict[str, float]
    spark: Estimate


def run(trades: Trades, out: Path, progress: Progress, say: Callable[[str], None]) -> Outcome:
    """Runs the whole demo below the folder `out`."""
    times, data, folder = Times(), out / "trades", out / "answers"
    kept = is_made(data, trades)
    say(f"{'taking' if kept else 'making'} {trades.rows:,} trades of {trades.keys:,} symbols over {trades.hours} hours")
    times("trades", lambda: make(data, trades))
    say("starting Spark")
    spark = times("session", start)
    say(f"adding and planning {len(shipped())} queries")
    loom = times("plan", lambda: weave(spark, data))
    say("running them over shared scans, Parquet a query")
    times("run", lambda: loom.run(sink={"format": "parquet", "path": str(folder)}, progress=progress))
    say("sampling Spark's own")
    samples = times("native", lambda: sample(spark, str(data), loom.queries))
    return Outcome(trades, kept, loom, shipped(), rows_in(folder), folder, times.steps, estimate(samples, loom.queries))


def start() -> Any:
    """A local session."""
    return start_session("weft demo")


def weave(spark: Any, data: Path) -> Loom:
    """A loom with the trades and every shipped query."""
    from weft.loom import Loom

    loom = Loom(spark)
    loom.source("trades", str(data), time="ts", format="parquet")
    loom.add_queries({query.name: query.sql for query in shipped()})
    loom.plan()
    return loom


def rows_in(folder: Path) -> dict[str, int]:
    """How many answers each query's folder holds, read from the Parquet footers."""
    return {query.name: ds.dataset(folder / query.name, format="parquet").count_rows() for query in shipped()}
