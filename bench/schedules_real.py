"""The real runner of schedules: what hybrid saves over conservative, and what late-pending executes under overload.

    python bench/schedules.py --real [--quick]

Files of trades keep coming while Weft's runner follows schedules on the machine's clock, with answers in Parquet.
Bounds are seconds, so that a schedule repeats in 20 s. (a) Three groups of queries, bounds of 4, 5 and 10 s: after a
warm-up one period by conservative, to which the prediction is fitted, then hybrid and conservative for two periods
each. (b) Six groups, bounds such that each apart would need twice the time there is: what is executed, merged, apart.
"""

from __future__ import annotations

import argparse
import json
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from common import RESULTS, uniform_trades
from plan_common import say

from weft.optimize.schedule.cost_rate import cost_rate
from weft.runner.choice import choose_schedule
from weft.runner.runner import RunnerOptions, ScheduledRun

Record = dict[str, Any]
SECOND = 1_000_000
ROWS, KEYS, HOURS = 100_000, 100, 10
FILES_EVERY, FILE_ROWS = 2.0, 500
BOUNDS, PERIOD, PERIODS, WARM = (4, 5, 10), 20, 2, 15
SHAPES = (("10 minutes", "1 minute"), ("1 hour", "5 minutes"), ("4 hours", "10 minutes"))
# Bounds ask for somewhat more than twice the time there is, since runs still get faster; the results have what it was.
OVERLOAD, SPREAD, SECONDS = 2.3, (1.0, 1.1, 1.2, 1.3, 1.4, 1.5), 30
HOME = RESULTS / "tmp" / "schedules"


@dataclass(frozen=True)
class Folder:
    """A folder of trades in which further files appear, each whole when it does."""

    path: Path
    rows: Any

    def add(self, number: int) -> None:
        """One more file: some rows again, later by their number."""
        part = self.rows.slice((number * FILE_ROWS) % (self.rows.num_rows - FILE_ROWS), FILE_ROWS)
        hidden = self.path / f".more{number}.parquet"
        pq.write_table(part, hidden)
        hidden.rename(self.path / f"more{number}.parquet")

    @contextmanager
    def growing(self) -> Iterator[None]:
        """A file every two seconds while the body runs."""
        over = threading.Event()
        first = len(list(self.path.glob("more*.parquet")))

        def feed() -> None:
            number = first
            while not over.wait(FILES_EVERY):
                self.add(number)
                number += 1

        thread = threading.Thread(target=feed, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def make_folder() -> Folder:
    """The history in a folder of its own."""
    shutil.rmtree(HOME, ignore_errors=True)
    (HOME / "data").mkdir(parents=True)
    table = pq.read_table(uniform_trades(ROWS, KEYS, HOURS)).sort_by("ts")
    pq.write_table(table, HOME / "data" / "history.parquet")
    return Folder(HOME / "data", table.take(pc.sort_indices(table["ts"])))


def loom_over(spark: Any, folder: Folder, bounds: Sequence[float], store: str) -> Any:
    """A loom with two queries a bound; the windows of the paper's shape, longer for rarer groups."""
    from weft import Loom

    loom = Loom(spark, store=HOME / store)
    loom.source("trades", folder.path, time="ts", format="parquet")
    for i, bound in enumerate(bounds):
        length, slide = SHAPES[i * len(SHAPES) // len(bounds)]
        for name, call in (("mean", "avg(price)"), ("range", "max(price) - min(price)")):
            sql = (f"SELECT symbol, window.end AS at, {call} AS x FROM trades "
                   f"GROUP BY symbol, window(ts, '{length}', '{slide}')")
            loom.query(f"g{i}_{name}", sql, every=f"{round(bound * 1000)} milliseconds")
    return loom


def follow(loom: Any, policy: str, seconds: float, merge: bool = True, aligned: int = 0) -> list[ScheduledRun]:
    """The runs of so many seconds, from a multiple of `aligned` seconds on and after a run that warms up."""
    runner = loom.schedule(sink=str(HOME / "out"), policy=policy, options=RunnerOptions(merge=merge))
    with runner:
        list(runner.runs(count=1))
        now = time.time()
        start = (now // aligned + 1) * aligned if aligned else now
        stop = int((start + seconds) * SECOND)
        return [run for run in runner.runs(until=stop) if start * SECOND <= run.at < stop]


def told(runs: Sequence[ScheduledRun], seconds: float) -> Record:
    """The figures of some runs, and the runs themselves."""
    groups = sum(len({name.split("_")[0] for name in run.answered}) for run in runs)
    return {"seconds": seconds, "busy": sum(run.seconds for run in runs), "runs": len(runs), "executed": groups,
            "executed_per_minute": groups * 60 / seconds, "late": sum(len(run.late) > 0 for run in runs),
            "failed": sum(len(run.failed) for run in runs),
            "raw": [[run.at, round(run.seconds, 4), len(run.queries), run.new_files] for run in runs]}


def saving(spark: Any, folder: Folder, options: argparse.Namespace) -> Record:
    """(a) Hybrid beside conservative: predicted by costs that the warm-up measured, and measured."""
    from weft.loom.schedule import price_groups

    seconds = PERIOD if options.quick else PERIOD * PERIODS
    say("(a) warming up, in a store of its own")
    warm = loom_over(spark, folder, BOUNDS, "store-warm")
    follow(warm, "conservative", 5 if options.quick else WARM)
    warm.close()
    loom = loom_over(spark, folder, BOUNDS, "store-a")
    say("(a) runs that the prediction is fitted to")
    fitted = told(follow(loom, "conservative", PERIOD), PERIOD)
    plan = loom.plan(incremental=True)
    priced = price_groups(plan, plan.workload)
    chosen = {name: choose_schedule(priced.groups, priced.problem, name) for name in ("conservative", "hybrid")}
    rates = {name: float(cost_rate(priced.problem, one.schedule).per_minute) for name, one in chosen.items()}
    costs = {"overhead": float(priced.problem.overhead), "runs": priced.measured,
             "groups": [[float(g.read), float(g.answers)] for g in priced.problem.groups],
             "periods": {name: [r.period / SECOND for r in one.schedule.rhythms] for name, one in chosen.items()}}
    found = {}
    for name in ("hybrid", "conservative"):
        say(f"(a) {name}")
        found[name] = told(follow(loom, name, seconds, aligned=PERIOD), seconds)
    loom.close()
    predicted, measured = (1 - each["hybrid"] / each["conservative"] for each in (
        rates, {name: one["busy"] for name, one in found.items()}))
    return {"bounds": BOUNDS, "costs": costs, "predicted_per_minute": rates, "predicted": predicted,
            "measured": measured, "fitted": fitted, **found}


def overload(spark: Any, folder: Folder, options: argparse.Namespace, alone: float) -> Record:
    """(b) Twice as much due as there is time for if each group runs apart."""
    seconds = 10 if options.quick else SECONDS
    for _ in range(3 if options.only else 1):  # a session that is new warms up first, else time would come to be left
        say("(b) what a group takes apart")
        loom = loom_over(spark, folder, overloading(alone), "store-b")
        first = told(follow(loom, "conservative", 15, merge=False), 15)
        alone = first["busy"] / first["executed"]
        loom.close()
    bounds = overloading(alone)
    loom = loom_over(spark, folder, bounds, "store-b")
    say(f"(b) bounds {bounds}")
    found = {}
    for name, merge in (("merged", True), ("apart", False)):
        say(f"(b) {name}")
        runs = follow(loom, "conservative", seconds, merge)
        end = runs[0].at + seconds * SECOND
        found[name] = told([run for run in runs if run.finished <= end], seconds)
    loom.close()
    apart = found["apart"]
    due = sum(60 / each for each in bounds)
    took = apart["busy"] / max(apart["executed"], 1)
    return {"bounds": bounds, "due_per_minute": due, "overload": took * due / 60,
            "ratio": found["merged"]["executed"] / max(apart["executed"], 1), **found}


def overloading(alone: float) -> list[float]:
    """Bounds at which groups that take so many seconds each need twice the time there is, if each runs apart."""
    base = alone / OVERLOAD * sum(1 / each for each in SPREAD)
    return [round(base * each, 3) for each in SPREAD]


def measure(options: argparse.Namespace) -> Record:
    """Both parts; with `--only b` the first is the one that was kept."""
    from weft.spark.session.session import local_session

    kept = json.loads((RESULTS / "schedules_real.json").read_text()) if options.only == "b" else {}
    folder, spark = make_folder(), local_session("schedules")
    with folder.growing():
        first = kept.get("saving") or saving(spark, folder, options)
        small = [seconds for _, seconds, count, _ in first["conservative"]["raw"] if count == 2]
        second = overload(spark, folder, options, sum(small) / len(small))
    spark.stop()
    shutil.rmtree(HOME, ignore_errors=True)
    return {"saving": first, "overload": second}
