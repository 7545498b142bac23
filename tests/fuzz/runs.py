"""The ways in which a case's queries are run by Weft, and by Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from tests.fuzz.case import Case
from tests.fuzz.rows import Result, collect
from tests.fuzz.table import COLUMNS, frame_of, rows_of
from tests.fuzz.text import spark_text, weft_text
from weft import Loom
from weft.errors import PlanError
from weft.optimize.groupings import may_derive

DELAY = timedelta(seconds=4)
FAR = timedelta(days=60)  # longer than any window: a row so much later closes those of all others
OPTIONS = {"csv": {"header": "true"}}
VIEW = "t"


@dataclass
class World:
    """A case in a session: its rows, Spark's view of them, and a folder for what it writes."""

    spark: SparkSession
    case: Case
    home: Path

    def __post_init__(self) -> None:
        rows = rows_of(self.case.shape)
        self.rows = [row for row in rows if row["ts"]] if self.case.run.kind == "stream" else rows
        self.frame = frame_of(self.spark, self.case, self.rows)
        self.frame.createOrReplaceTempView(VIEW)
        self.time = self.case.names.get("ts", "ts")
        self.trial = 0
        self.plain = Loom(self.spark)
        self.plain.source("t", self.frame, time=self.time)

    def close(self) -> None:
        """Drop the views."""
        self.plain.close()
        self.spark.catalog.dropTempView(VIEW)

    def native(self, number: int) -> DataFrame:
        """A query as Spark itself runs it."""
        query = self.case.queries[number]
        if query.window.spelling == "rows":  # which Spark does not have: a text that numbers and copies rows
            return self.plain.native(f"q{number}")
        return self.spark.sql(spark_text(query, self.case.names))

    def accept(self, number: int) -> None:
        """Give Weft a query, which may refuse it."""
        self.plain.query(f"q{number}", weft_text(self.case.queries[number], self.case.names))

    def folder(self) -> Path:
        """A new folder."""
        self.trial += 1
        made = self.home / f"{self.trial}"
        made.mkdir()
        return made

    def theirs(self, numbers: Sequence[int]) -> dict[str, Result]:
        """Spark's own rows; what a format does not keep, they lose too."""
        frames = {f"q{i}": self.native(i) for i in numbers}
        run = self.case.run
        if run.kind in ("sink", "stream") and run.format != "parquet":
            return collect({name: self.kept(frame) for name, frame in frames.items()})
        return collect(frames)

    def kept(self, frame: DataFrame) -> DataFrame:
        """The frame written in the format of the sink, and read back."""
        place = str(self.folder() / "native")
        frame.write.format(self.case.run.format).options(**OPTIONS.get(self.case.run.format, {})).save(place)
        return self.reread(place, frame)

    def reread(self, place: str, like: DataFrame) -> DataFrame:
        """What was written in a place; nothing where there is no such place."""
        if not Path(place).exists():
            return self.spark.createDataFrame([], like.schema)
        reader = self.spark.read.schema(like.schema).format(self.case.run.format)
        return reader.options(**OPTIONS.get(self.case.run.format, {})).load(place)

    def ours(self, numbers: Sequence[int]) -> dict[str, Result]:
        """Weft's rows."""
        with shared(self.case.run.sharing):
            return RUNS[self.case.run.kind](self, numbers)

    def loom(self, numbers: Sequence[int], data: Any, **options: Any) -> Loom:
        """A loom with some of the queries."""
        store = options.pop("store", None)
        loom = Loom(self.spark, store=store)
        loom.source("t", data, time=self.time, **options)
        for i in numbers:
            loom.query(f"q{i}", weft_text(self.case.queries[i], self.case.names))
        return loom

    def forced(self, loom: Loom) -> dict[str, Any]:
        """How the case wants to be planned; an algorithm that may not fold its queries is left out."""
        run = self.case.run
        try:
            loom.plan(algorithm=run.algorithm, optimizer=run.optimizer)
        except PlanError:
            run = replace(run, algorithm=None)
        return {"optimizer": run.optimizer, "algorithm": run.algorithm}


@contextmanager
def shared(how: str) -> Iterator[None]:
    """Within, plans share all that they may: predicates however windows cut time, groupings whatever they cost."""
    if not how:
        yield
        return
    most = 10_000 if how == "filters" else 0
    with (patch("weft.optimize.predicates.FINER", 1000),
          patch("weft.optimize.predicates.most_filtered", lambda *_: most),
          patch("weft.optimize.groupings.pays", may_derive)):
        yield


def batch(world: World, numbers: Sequence[int]) -> dict[str, Result]:
    """Lazy results."""
    loom = world.loom(numbers, world.frame)
    try:
        with loom.run(**world.forced(loom)) as results:
            return collect({f"q{i}": results[f"q{i}"] for i in numbers})
    finally:
        loom.close()


def sink(world: World, numbers: Sequence[int]) -> dict[str, Result]:
    """Files, read back."""
    loom, out = world.loom(numbers, world.frame), world.folder() / "out"
    try:
        loom.run({"format": world.case.run.format, "path": str(out)}, **world.forced(loom)).close()
        return collect({f"q{i}": world.reread(str(out / f"q{i}"), world.native(i)) for i in numbers})
    finally:
        loom.close()


def incremental(world: World, numbers: Sequence[int]) -> dict[str, Result]:
    """A run over some of the files, then one over all of them."""
    home = world.folder()
    parts = split(world.rows, world.case.run.files)
    (home / "in").mkdir()
    for i, rows in enumerate(parts):
        write(world.case, rows, home / "in", i)
        if i not in (0, len(parts) - 1):
            continue
        loom = world.loom(numbers, str(home / "in"), format="parquet", store=home / "store")
        try:
            with loom.run(incremental=True, **world.forced(loom)) as results:
                found = collect({f"q{n}": results[f"q{n}"] for n in numbers})
        finally:
            loom.close()
    return found


def stream(world: World, numbers: Sequence[int]) -> dict[str, Result]:
    """Files in order of time but for a few seconds, then a row that closes all windows; perhaps with a restart."""
    home, run = world.folder(), world.case.run
    (home / "in").mkdir()
    rng = Random(world.case.shape.seed)
    rows = sorted(world.rows, key=lambda row: row["ts"] + DELAY * rng.random())
    last = [{**rows[0], "ts": max(row["ts"] for row in rows) + FAR}] if rows else []
    parts = with_late_rows(world.case, [*split(rows, run.files), last], rng)
    loom = world.loom(numbers, str(home / "in"), format="parquet", schema=ddl(world.case), watermark="4 seconds",
                      options={"maxFilesPerTrigger": "1"})
    try:
        for i, part in enumerate(parts):
            write(world.case, part, home / "in", i)
            if i == len(parts) - 1 or (run.restart and i == 0):
                sink = {"format": run.format, "path": str(home / "out")}
                started = loom.start(home / "checkpoint", sink, trigger="available", max_clock_skew=None,
                                     optimizer=run.optimizer)
                started.awaitTermination(300)
                started.stop()
        return collect({f"q{i}": world.reread(str(home / "out" / f"q{i}"), world.native(i)) for i in numbers})
    finally:
        loom.close()


def with_late_rows(case: Case, parts: list[list], rng: Random) -> list[list]:
    """The files of a stream with rows among them that come too late for all windows.

    Spark closes by the latest time of a trigger in the next one, and drops what is late by that in the one after; then
    a row is too late whose slice, which is no longer than a slide, was over.
    """
    slides = [query.window.slide for query in case.queries if query.window.spelling != "rows"]
    gap = DELAY + timedelta(milliseconds=max(slides, default=0), seconds=1)
    found = parts[:2]
    for i, part in enumerate(parts[2:]):
        before = [row for earlier in parts[:i + 1] for row in earlier]
        close = max((row["ts"] for row in before), default=None)
        late = [{**rng.choice(before), "ts": close - gap * (1 + rng.random())} for _ in range(case.run.late)
                if close is not None]
        found.append([*part, *late])
    return found


RUNS: dict[str, Callable[[World, Sequence[int]], dict[str, Result]]] = {
    "batch": batch, "sink": sink, "incremental": incremental, "stream": stream}


def split(rows: list, count: int) -> list[list]:
    """Rows in so many runs."""
    size = -(-len(rows) // count) or 1
    return [rows[i * size:(i + 1) * size] for i in range(count)]


def ddl(case: Case) -> str:
    """The schema of a case's table as text."""
    names = ["`" + case.names.get(role, role).replace("`", "``") + "`" for role in COLUMNS]
    fields = ["`" + case.names.get(f"addr.{name}", name).replace("`", "``") + "`" for name in ("city", "zip")]
    kinds = {**COLUMNS, "addr": f"struct<{fields[0]}: string, {fields[1]}: int>"}
    return ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds.values(), strict=True))


ARROW = {
    "timestamp_ltz": pa.timestamp("us", tz="UTC"), "timestamp_ntz": pa.timestamp("us"), "string": pa.string(),
    "int": pa.int32(), "double": pa.float64(), "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(),
    "bigint": pa.int64(), "float": pa.float32(), "date": pa.date32(), "binary": pa.binary(),
    "array<string>": pa.list_(pa.string()), "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(12,3)": pa.decimal128(12, 3),
    "decimal(38,6)": pa.decimal128(38, 6), "decimal(38,10)": pa.decimal128(38, 10),
}


def write(case: Case, rows: list[dict[str, Any]], folder: Path, number: int) -> None:
    """A Parquet file of rows, there at once; later files are newer."""
    arrays, names = [], []
    for role, kind in COLUMNS.items():
        values: list = [row[role] for row in rows]
        if role == "addr":
            fields = [case.names.get(f"addr.{name}", name) for name in ("city", "zip")]
            made: pa.DataType = pa.struct([(fields[0], pa.string()), (fields[1], pa.int32())])
            values = [None if value is None else dict(zip(fields, value, strict=True)) for value in values]
        else:
            made = ARROW[kind]
        arrays.append(pa.array(values, made))
        names.append(case.names.get(role, role))
    path = folder.parent / f"part-{number}.parquet"
    pq.write_table(pa.Table.from_arrays(arrays, names), path)
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    path.rename(folder / path.name)
