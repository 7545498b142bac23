"""Calibrate Spark: time a few small workloads and find what rows, slices, projections and answers take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.cost.model import SparkModel
from weft.cost.spark import SparkCosts, SparkRun, fit_costs
from weft.loom import Loom
from weft.model.edges import edge_density, progressions
from weft.model.statistics import Statistics
from weft.model.window import Window

ROWS = 1_000_000
KEYS = 100
SECOND = 1_000_000
SPAN = 36_000
ROUNDS = 5
MANY = ("sum(volume)", "min(volume)", "max(volume)", "sum(price)", "min(price)", "max(price)")

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Trial:
    """Windows (range, slide) in seconds, each asked for with each of the projections, over a part of the rows."""

    name: str
    windows: tuple[tuple[int, int], ...]
    projections: tuple[str, ...]
    part: int = 1

    def queries(self) -> dict[str, str]:
        """The trial's queries by name."""
        return {
            f"q{i}_{j}": f"SELECT symbol, window.end AS at, {items} FROM trades "
                         f"GROUP BY symbol, window(ts, '{range_} seconds', '{slide} seconds')"
            for i, (range_, slide) in enumerate(self.windows) for j, items in enumerate(self.projections)
        }


TRIALS = (
    Trial("few rows", ((3600, 3600),), ("count(*) AS n",), 20),
    Trial("rows", ((3600, 3600),), ("count(*) AS n",)),
    Trial("components", ((3600, 3600),), (", ".join(f"{call} AS c{i}" for i, call in enumerate(MANY)),)),
    Trial("few slices", ((60, 60),), ("sum(volume) AS v",)),
    Trial("slices", ((10, 10),), ("sum(volume) AS v",)),
    Trial("projections", ((10, 10),), ("sum(volume) AS v", "max(price) AS high", "min(price) AS low")),
    Trial("answers", ((10, 10), (30, 10), (60, 10), (120, 10), (300, 10)), ("sum(volume) AS v",)),
    Trial("slides", ((10, 10), (20, 20), (30, 30), (40, 40), (60, 60)), ("sum(volume) AS v",)),
)


def calibrate_spark(spark: SparkSession, progress: Progress) -> SparkCosts:
    """The figures of this Spark, from trials over a million rows in a folder of their own.

    All trials are run in turn, again and again, and the best time of each counts: others may use the machine.
    """
    took: dict[str, list[float]] = {trial.name: [] for trial in TRIALS}
    rounds = ROUNDS + 1
    with TemporaryDirectory(prefix="weft-calibrate-") as folder:
        progress(0, rounds, "making trades for Spark")
        looms = {trial.name: prepared(spark, folder, trial) for trial in TRIALS}
        for done in range(rounds):
            progress(done, rounds, "warming Spark up" if done == 0 else "timing Spark")
            for name, loom in looms.items():
                took[name].append(timed(loom))
        for loom in looms.values():
            loom.close()
        progress(rounds, rounds, "done")
    runs = [replace(counted(trial), seconds=min(took[trial.name][1:])) for trial in TRIALS]
    return fit_costs(runs, SparkCosts())


def trades(spark: SparkSession, rows: int) -> DataFrame:
    """Rows at random times and keys, the same every time."""
    chance = F.pmod(F.xxhash64("id"), F.lit(SPAN * SECOND))
    return spark.range(0, rows, 1, 4).select(
        F.timestamp_micros(chance + F.lit(1_700_000_000 // 3600 * 3600 * SECOND)).alias("ts"),
        F.concat(F.lit("S"), F.pmod(F.xxhash64("id", F.lit(1)), F.lit(KEYS))).alias("symbol"),
        (F.pmod(F.xxhash64("id", F.lit(2)), F.lit(10_000)) / 100.0).alias("price"),
        F.pmod(F.xxhash64("id", F.lit(3)), F.lit(1000)).alias("volume"),
    )


def prepared(spark: SparkSession, folder: str, trial: Trial) -> Loom:
    """A loom with the trial's queries over its rows."""
    path = Path(folder) / f"trades_{trial.part}"
    if not path.exists():
        trades(spark, ROWS // trial.part).write.parquet(str(path))
    loom = Loom(spark)
    loom.source("trades", str(path), time="ts")
    loom.add_queries(trial.queries())
    return loom


def timed(loom: Loom) -> float:
    """The seconds of a run whose answers are thrown away."""
    began = time.perf_counter()
    loom.run(sink="noop", optimizer="share_all")
    return time.perf_counter() - began


def counted(trial: Trial) -> SparkRun:
    """How often a trial does each thing, as the model counts it."""
    windows = [Window(range_ * SECOND, slide * SECOND) for range_, slide in trial.windows]
    facts = Statistics(ROWS / trial.part, KEYS, SPAN * SECOND)
    model = SparkModel(facts.rows / facts.span, facts.keys, facts.span)
    slices = model.slices(float(edge_density(progressions(windows)).value)) * facts.span
    slides, each = len({w.slide for w in windows}), len(trial.projections)
    components = sum(items.count("(") for items in trial.projections)
    answers = model.answers(windows) * facts.span * each
    return SparkRun(facts.rows, facts.rows * components, slices, slices * each, slices * slides, answers, 1 + each)
