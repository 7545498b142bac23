"""Adding the 101st query to a running stream of 100: how long the stream pauses, and when the query answers.

    .venv/bin/python bench/live.py [--queries 100] [--rows 20000] [--triggers 6]

A thread drops a file of trades for each trigger into a folder, as soon as the one before is read. The pause is the time
between the ends of the last trigger before the change and of the first one under it, in ordinary triggers: the median
of the time between the ends of two triggers before. Where no query of Spark's is touched it is the longest such time
until two triggers after. `phases` say where the time of the change itself went (proposing goes on beside the stream),
and `first_phases` what Spark says of the first trigger under it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import DOCS, machine, save_json
from pages import fill_numbers

from weft import Loom
from weft.spark.session.session import local_session
from weft.spark.stream import handle
from weft.spark.stream.answer_counts import read_counts

SCHEMA = "ts timestamp, symbol string, price double, size bigint"
STOP = handle.stop_queries
BEGIN, KEYS, PIECE = 1_767_225_600, 100, 60  # a file has the trades of PIECE seconds
TEXT = "SELECT symbol, window.end AS at, {} AS v FROM trades GROUP BY symbol, window(ts, '{} seconds', '10 seconds')"
CALLS = ("sum(size)", "avg(price)", "max(price)", "count(*)")
WARM = 12
PHASES = ("propose", "choose_swaps", "build_early", "next_page", "describe", "prepare_swap", "start")
GROUPS = {"kept": ("a window over slices and columns that are there", "1.2"), "longer": ("a longer window", "1.2"),
          "drop": ("dropping a query", "1.2"), "column": ("a new column", "3"),
          "finer": ("a window that cuts finer: a new scan beside the others", "")}
# What is added: windows over slices and columns that are there, a longer one, new columns, and one that cuts finer.
OTHER = TEXT.replace("10 seconds", "20 seconds")
ADDED = {**{f"kept{length}": OTHER.format("sum(size)", length) for length in (70, 90, 110, 130, 150)},
         "longer": TEXT.format("sum(size)", 7200),
         **{f"column{i}": TEXT.format(call, 60) for i, call in enumerate(("min(price)", "min(size)", "max(size)"))},
         "finer": TEXT.format("sum(size)", 70).replace("'10 sec", "'7 sec")}


def trades(rows: int, number: int) -> pa.Table:
    """The trades of one file."""
    draw = np.random.default_rng(number)
    at = (BEGIN + number * PIECE) * 1_000_000 + np.sort(draw.integers(0, PIECE * 1_000_000, rows))
    return pa.table({"ts": pa.array(at, pa.timestamp("us", "UTC")),
                     "symbol": pa.array(np.char.add("S", draw.integers(0, KEYS, rows).astype(str))),
                     "price": draw.lognormal(3, 0.5, rows), "size": draw.integers(1, 100, rows)})


class Feed(threading.Thread):
    """Keeps a few files waiting, one a trigger."""

    def __init__(self, folder: Path, rows: int, stream: Any):
        super().__init__(daemon=True)
        self.folder, self.rows, self.stream, self.number, self.ended = folder, rows, stream, 0, False

    def run(self) -> None:
        """Drop files as the stream reads them."""
        while not self.ended:
            progress = [p for p in self.stream.lastProgress.values() if p]
            if self.number < 3 + max((p["batchId"] for p in progress), default=0):
                pq.write_table(trades(self.rows, self.number), self.folder.parent / "part")
                (self.folder.parent / "part").rename(self.folder / f"{self.number:06d}.parquet")
                self.number += 1
            time.sleep(0.02)


class Ends(threading.Thread):
    """Notes when triggers of the first scan end, and which queries they answer."""

    def __init__(self, stream: Any):
        super().__init__(daemon=True)
        self.stream, self.ended = stream, False
        self.ends: list[tuple[float, int, frozenset[str], dict[str, int]]] = []

    def run(self) -> None:
        """Look at the last trigger often."""
        seen = None
        while not self.ended:
            scan = self.stream.scans[0]
            last = scan.query.lastProgress if scan.query.isActive else None
            if last and last["numInputRows"] and (last["batchId"], last["timestamp"]) != seen:
                seen = (last["batchId"], last["timestamp"])
                told = json.loads(last.json)
                counts = read_counts(told["observedMetrics"]["answers"]["counts"], scan.labels)
                answered = {name for names, size in counts if size for name in names}
                self.ends.append((time.monotonic(), last["batchId"], frozenset(answered), told["durationMs"]))
            time.sleep(0.005)

    def wait(self, more: int) -> None:
        """Wait for so many triggers."""
        goal = len(self.ends) + more
        while len(self.ends) < goal:
            time.sleep(0.01)


def timed(control: Any) -> dict[str, float]:
    """Let the phases of changes be timed from now on."""
    spent: dict[str, float] = dict.fromkeys((*PHASES, "stop", "finish"), 0.0)

    def wrap(name: str, real: Any) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            begun = time.monotonic()
            try:
                return real(*args, **named)
            finally:
                spent[name] += time.monotonic() - begun
        return call

    for name in PHASES:
        setattr(control, name, wrap(name, getattr(type(control), name).__get__(control)))
    handle.stop_queries = wrap("stop", STOP)
    control.stream.scans = tuple(replace(scan, finish=wrap("finish", scan.finish)) for scan in control.stream.scans)
    return spent


def measure(stream: Any, ends: Ends, triggers: int, name: str, act: Any) -> dict[str, Any]:
    """The pause that a change makes."""
    ends.wait(triggers)
    ordinary = statistics.median(np.diff([end for end, *_ in ends.ends[-triggers:]]))
    spent, begun, before = timed(stream.live), time.monotonic(), len(ends.ends)
    change = act()
    took = time.monotonic() - begun
    ends.wait(2)
    key = stream.scans[0].name.removeprefix("scan-")
    first = stream.live.page.changes[-1]["triggers"].get(key)
    gaps = np.diff([end for end, *_ in ends.ends])
    place = next((i for i, (_, number, *_) in enumerate(ends.ends) if first is not None and number >= first), None)
    pause = max(gaps[before - 1:]) if place is None else gaps[place - 1]
    answered = next((number for _, number, names, _ in ends.ends[before:] if name in names), None)
    whole = change.complete_from.get(name)
    return show({"change": name, "kind": change.kind, "ordinary_trigger": ordinary, "call": took, "pause": pause,
            "pause_in_triggers": pause / ordinary, "complete_from": whole.isoformat() if whole else None,
            "first_trigger": first, "first_answers": answered, "phases": dict(spent), "reason": change.reason,
            "first_phases": None if place is None else ends.ends[place][3]})


def show(each: dict[str, Any]) -> dict[str, Any]:
    """Prints a case as it is measured."""
    print(f"{each['change']:8} {each['kind']:8} trigger {each['ordinary_trigger']:.2f} s, "
          f"call {each['call']:.2f} s, pause {each['pause']:.2f} s = "
          f"{each['pause_in_triggers']:.2f} triggers; whole from "
          f"{each['complete_from']}, from trigger {each['first_trigger']}, answered in {each['first_answers']}; "
          f"{ {name: round(spent, 2) for name, spent in each['phases'].items()} } {each['first_phases']}", flush=True)
    return each


def summary(found: list[dict[str, Any]]) -> str:
    """The table of the page: the median, and the longest, of changes of a kind."""
    lines = ["| change, how often | kind | ordinary trigger | call | pause | pause, in triggers: median, most | aim |",
             "|---|---|---:|---:|---:|---:|---:|"]
    for begin, (title, aim) in GROUPS.items():
        mine = [one for one in found if one["change"].startswith(begin)]
        trigger, call, pause = (statistics.median(one[key] for one in mine)
                                for key in ("ordinary_trigger", "call", "pause"))
        ratios = [one["pause_in_triggers"] for one in mine]
        kinds = ", ".join(dict.fromkeys(one["kind"] for one in mine))
        lines.append(f"| {title}, {len(mine)} | {kinds} | {trigger:.2f} s | {call:.2f} s | {pause:.2f} s | "
                     f"{statistics.median(ratios):.2f}, {max(ratios):.2f} | {aim} |")
    return "\n".join(lines)


def main() -> None:
    """Runs the stream and adds to it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--triggers", type=int, default=6)
    options = parser.parse_args()
    spark = local_session("weft-live", cores="2", **{"spark.sql.shuffle.partitions": "2"})
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "in"
        folder.mkdir()
        loom = Loom(spark)
        loom.source("trades", str(folder), time="ts", format="parquet", schema=SCHEMA, watermark="5 seconds",
                    options={"maxFilesPerTrigger": "1"})
        loom.add_queries({f"q{i}": TEXT.format(CALLS[i % 4], 10 * (i // 4 + 1)) for i in range(options.queries)})
        stream = loom.start(Path(home) / "checkpoint", sink="noop")
        feed, ends = Feed(folder, options.rows, stream), Ends(stream)
        feed.start()
        ends.start()
        ends.wait(WARM)
        found = [measure(stream, ends, options.triggers, name, partial(stream.add, name, sql))
                 for name, sql in ADDED.items()]
        found += [measure(stream, ends, options.triggers, f"drop q{i}", partial(stream.drop, f"q{i}"))
                  for i in range(3)]
        feed.ended = ends.ended = True
        stream.stop()
    save_json("live", {"machine": machine(), "options": vars(options), "cases": found})
    fill_numbers(DOCS / "live.md", summary(found))
    spark.stop()


if __name__ == "__main__":
    main()
