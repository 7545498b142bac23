"""Incremental runs: new files, changed files, lost files, other queries, other processes, and kills at every step."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from weft import Loom, RunError, SourceError
from weft.catalog import kept
from weft.catalog.database import FILE, open_catalog
from weft.spark import incremental as runs
from weft.spark.differential import collect, compare

NOON = 1_709_294_400_000_000
MINUTE = 60_000_000
SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("k", pa.string()), ("x", pa.float64()), ("n", pa.int64()),
                    ("d", pa.decimal128(12, 2)), ("f", pa.float64())])
WINDOW = "window(ts, '10 minutes', '3 minutes')"
PLAIN = f"SELECT k, window.start AS at, count(*) AS c, sum(n) AS s, avg(x) AS a, max(ts) AS t FROM r GROUP BY k, {WINDOW}"
QUERIES = {
    "plain": PLAIN,
    "some": PLAIN.replace("FROM r", "FROM r WHERE n > 50"),
    "even": f"SELECT k, window, max_by(k, x) AS m, min(x) AS l FROM r WHERE n % 2 = 0 GROUP BY k, {WINDOW}",
    "exact": "SELECT f, window.end AS at, sum(d) AS s, avg(d) AS a, stddev(x) AS v, kurtosis(x) AS u, corr(x, n) AS c "
             "FROM r GROUP BY f, window(ts, '7 minutes', '5 minutes')",
    "all": "SELECT window.start AS at, bit_xor(n) AS b, count(x) AS c FROM r GROUP BY window(ts, '1 hour')",
}


def rows(seed: int, size: int = 200, start: int = 0, keys: str = "abc") -> pa.Table:
    """Made-up rows of an hour from `start` minutes after noon on; some values are missing."""
    random = np.random.default_rng(seed)
    times = NOON + start * MINUTE + random.integers(0, 60 * MINUTE, size)
    numbers = random.integers(0, 100, size)
    return pa.table([
        pa.array(times, SCHEMA[0].type),
        pa.array([keys[i % len(keys)] if i % 17 else None for i in range(size)]),
        pa.array(random.normal(50, 20, size), mask=numbers % 11 == 0),
        pa.array(numbers),
        pa.array([Decimal(int(n)) / 8 * 2 for n in numbers], pa.decimal128(12, 2)),
        pa.array(np.array([0.0, -0.0, np.nan, 1.5])[numbers % 4]),
    ], schema=SCHEMA)


class Home:
    """A folder of files and a store; every run is by a new loom, as in a new process."""

    def __init__(self, spark: SparkSession, folder: Path):
        self.spark, self.data, self.store = spark, folder / "data", folder / "store"
        self.data.mkdir()

    def put(self, name: str, table: pa.Table) -> Path:
        path = self.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
        return path

    def loom(self, queries: dict[str, str], **options: str) -> Loom:
        loom = Loom(self.spark, store=self.store)
        loom.source("r", self.data, time="ts", format="parquet", options=options)
        for name, sql in queries.items():
            loom.query(name, sql)
        return loom

    def run(self, queries: dict[str, str] = QUERIES) -> dict:
        """Run incrementally, compare with Spark's own rows over everything, and give what is said of the source."""
        loom = self.loom(queries)
        with loom.run(incremental=True) as results:
            require_equal(loom, results)
            (said,) = results.sources
        loom.close()
        return said

    def shelves(self) -> list[tuple[kept.Shelf, set[str]]]:
        """Every shelf with the names of the files it was made of."""
        with open_catalog(self.store / FILE) as catalog:
            found = catalog.rows("SELECT fingerprint, columns FROM shelves")
            taken = [kept.find_shelf(catalog, mark, kept.json.loads(columns), False) for mark, columns in found]
            return [(s, {Path(path).name for path in kept.covered(catalog, s)}) for s in taken if s]


def require_equal(loom: Loom, results) -> None:
    ours = collect({query.name: results[query.name] for query in loom.queries})
    theirs = collect({query.name: loom.native(query.name) for query in loom.queries})
    assert [text for name in ours for text in compare(name, ours[name], theirs[name])] == []


@pytest.fixture
def home(spark: SparkSession, tmp_path: Path) -> Iterator[Home]:
    yield Home(spark, tmp_path)


def spoil(path: Path) -> Callable[[], None]:
    """Make a file unreadable without its size and time telling; gives the way back."""
    before, body = path.stat(), path.read_bytes()

    def write(content: bytes) -> None:
        path.write_bytes(content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    write(bytes(len(body)))
    return lambda: write(body)


def test_only_new_files_are_read_and_answers_are_those_of_all(home):
    old = home.put("one.parquet", rows(1))
    said = home.run()
    assert (said["files"], said["new_files"], said["anew"]) == (1, 1, "nothing is kept of these queries yet")
    home.put("odd name 100%.parquet", rows(2, start=40, keys="bcxyz"))  # old times and new, old keys and new
    home.put("ü=[1]{2}#?.parquet", rows(3, size=3, start=-90))
    mend = spoil(old)
    loom = home.loom(QUERIES)
    results = loom.run(incremental=True)
    mend()
    require_equal(loom, results)
    assert results.sources == ({**results.sources[0], "source": "r", "files": 3, "new_files": 2, "anew": None},)
    results.close()
    jobs = [s.generations for s, _ in home.shelves()]
    assert home.run()["new_files"] == 0 and [s.generations for s, _ in home.shelves()] == jobs
    home.put("empty.parquet", rows(4, size=0))
    assert home.run()["new_files"] == 1


def test_files_that_changed_or_went_are_read_anew_and_that_is_said(home):
    for i in range(3):
        home.put(f"{i}.parquet", rows(i))
    home.run()
    home.put("1.parquet", rows(9, size=150))
    said = home.run()
    assert said["new_files"] == 3 and said["anew"].endswith("1.parquet has changed")
    (home.data / "2.parquet").unlink()
    said = home.run()
    assert said["new_files"] == said["files"] == 2 and said["anew"].endswith("2.parquet is gone")
    (shelf, _), *_ = home.shelves()
    next((home.store / "slices" / shelf.ids[0]).glob("*.parquet")).unlink()
    assert home.run()["anew"] == "what was kept of it is damaged"
    assert home.run()["anew"] is None


def test_other_queries_have_shelves_of_their_own_and_wider_ones_serve(home):
    home.put("0.parquet", rows(0))
    wide = {"wide": PLAIN.replace("SELECT k", "SELECT k, min(n) AS l, sum(1 / n) AS r"), "all": QUERIES["all"]}
    bare = {"narrow": f"SELECT k, window.end AS at, min(n) AS l FROM r GROUP BY k, {WINDOW}"}
    home.put("0.parquet", rows(0).filter(pa.compute.field("n") > 0))
    home.run(wide)
    assert len(home.shelves()) == 2
    home.put("1.parquet", rows(1).filter(pa.compute.field("n") > 0))
    said = home.run(bare)
    assert (said["new_files"], said["anew"]) == (1, None)
    assert len(home.shelves()) == 2  # that of `wide` served
    home.put("2.parquet", rows(2))  # now n is 0 somewhere, and 1 / n fails for `wide`, not for `narrow`
    assert home.run(bare)["anew"] == "nothing is kept of these queries yet" and len(home.shelves()) == 3
    home.put("3.parquet", rows(3))
    assert home.run(bare)["anew"] is None
