"""Incremental runs: new files, changed files, lost files, other queries, other processes, and kills at every step."""

from __future__ import annotations

import os
import random
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
from pyspark.sql import functions as F

from tests.fixtures.java import CHILD_JAVA
from tests.harness.differential import collect, compare
from weft import Loom, SourceError
from weft.catalog import slice_caches as kept
from weft.catalog.database import FILE, open_catalog
from weft.errors import RunError
from weft.spark.incremental import run as runs
from weft.spark.incremental import slice_cache as cache
from weft.spark.incremental.fingerprint import answer_settings
from weft.spark.session.session import temporary_settings

NOON = 1_709_294_400_000_000
MINUTE = 60_000_000
SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("k", pa.string()), ("x", pa.float64()), ("n", pa.int64()),
                    ("d", pa.decimal128(12, 2)), ("f", pa.float64())])
WINDOW = "window(ts, '10 minutes', '3 minutes')"
PLAIN = ("SELECT k, window.start AS at, count(*) AS c, sum(n) AS s, avg(x) AS a, max(ts) AS t "
         f"FROM r GROUP BY k, {WINDOW}")
HOURS = "SELECT k, window.start AS at, count(*) AS c, sum(n) AS s FROM r GROUP BY k, window(ts, '1 hour')"
ONE = {"plain": PLAIN}
QUERIES = {
    "plain": PLAIN,
    "some": PLAIN.replace("FROM r", "FROM r WHERE n > 50"),
    "even": f"SELECT k, window, max_by(k, x) AS m, min(x) AS l FROM r WHERE n % 2 = 0 GROUP BY k, {WINDOW}",
    "exact": "SELECT f, window.end AS at, sum(d) AS s, avg(d) AS a, stddev(x) AS v, skewness(x) AS u FROM r "
             "GROUP BY f, window(ts, '7 minutes', '5 minutes')",
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

    def run(self, queries: dict[str, str] = ONE, **options: str) -> dict:
        """Run incrementally, compare with Spark's own rows over everything, and give what is said of the source."""
        loom = self.loom(queries, **options)
        with loom.run(incremental=True) as results:
            require_equal(loom, results)
            (said,) = results.sources
        loom.close()
        return said

    def counts(self) -> dict:
        """The counts of an incremental run by key and hour: little work for Spark."""
        loom = self.loom({"hours": HOURS})
        with loom.run(incremental=True) as results:
            return {(k, at): (c, s) for k, at, c, s in results["hours"].collect()}

    def expected(self) -> dict:
        """The same counts, made without Spark."""
        found: dict = {}
        for row in (row for path in self.data.glob("*.parquet") for row in pq.read_table(path).to_pylist()):
            place = row["k"], row["ts"].replace(minute=0, second=0, microsecond=0, tzinfo=None)
            c, s = found.get(place, (0, 0))
            found[place] = c + 1, s + row["n"]
        return found

    def caches(self) -> list[tuple[kept.SliceCache, set[str]]]:
        """Every cache with the names of the files it was made of."""
        with open_catalog(self.store / FILE) as catalog:
            found = catalog.rows("SELECT fingerprint, columns FROM slice_caches")
            taken = [kept.find_slice_cache(catalog, mark, kept.json.loads(columns), False) for mark, columns in found]
            return [(s, {Path(path).name for path in kept.covered_files(catalog, s)}) for s in taken if s]


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
    old, asked = home.put("one.parquet", rows(1)), {name: QUERIES[name] for name in ("plain", "exact")}
    (said,) = home.loom(asked).run(incremental=True).sources
    assert (said["files"], said["new_files"], said["anew"]) == (1, 1, "nothing is kept of these queries yet")
    home.put("odd name 100%.parquet", rows(2, start=40, keys="bcxyz"))  # old times and new, old keys and new
    home.put("ü=[1]{2}#?.parquet", rows(3, size=3, start=-90))
    mend = spoil(old)
    loom = home.loom(asked)
    results = loom.run(incremental=True)
    mend()
    require_equal(loom, results)
    assert results.sources == ({**results.sources[0], "source": "r", "files": 3, "new_files": 2, "anew": None},)
    results.close()
    before = [found.generations for found, _ in home.caches()]
    (said,) = home.loom(asked).run(incremental=True).sources
    assert said["new_files"] == 0 and [found.generations for found, _ in home.caches()] == before
    home.put("empty.parquet", rows(4, size=0))
    assert home.run()["files"] == 4


def test_files_that_changed_or_went_are_read_anew_and_that_is_said(home):
    for i in range(3):
        home.put(f"{i}.parquet", rows(i))
    home.counts()
    home.put("1.parquet", rows(9, size=150))
    assert home.counts() == home.expected()
    (home.data / "2.parquet").unlink()
    loom = home.loom({"hours": HOURS})
    (said,) = loom.run(incremental=True).sources
    assert said["new_files"] == said["files"] == 2 and said["anew"].endswith("2.parquet is gone")
    ((found, _),) = home.caches()
    next((home.store / "slices" / found.ids[0]).glob("*.parquet")).unlink()
    (said,) = loom.run(incremental=True).sources
    assert said["anew"] == "what was kept of it is damaged" and home.counts() == home.expected()
    home.put("1.parquet", rows(8, size=150))
    (said,) = loom.run(incremental=True).sources
    assert said["anew"].endswith("1.parquet has changed")


def test_other_queries_have_shelves_of_their_own_and_wider_ones_serve(home):
    positive = pa.compute.field("n") > 0
    home.put("0.parquet", rows(0).filter(positive))
    wide = {"wide": PLAIN.replace("SELECT k", "SELECT k, min(n) AS l, sum(1 / n) AS r"), "all": QUERIES["all"]}
    bare = {"narrow": f"SELECT k, window.end AS at, min(n) AS l FROM r GROUP BY k, {WINDOW}"}
    home.loom(wide).run(incremental=True)
    home.put("1.parquet", rows(1).filter(positive))
    said = home.run(bare)
    assert (said["new_files"], said["anew"]) == (1, None) and len(home.caches()) == 2  # that of `wide` served
    home.put("2.parquet", rows(2))  # now n is 0 somewhere, and 1 / n fails for `wide`, not for `narrow`
    (said,) = home.loom(bare).run(incremental=True).sources
    assert said["anew"] == "nothing is kept of these queries yet" and len(home.caches()) == 3
    home.put("3.parquet", rows(3))
    assert home.run(bare)["anew"] is None


def test_folders_that_are_columns_and_a_loom_that_lives_on(home, spark):
    def put(name: str, seed: int) -> None:
        home.put(f"day={name}/part.parquet", rows(seed, start=int(name) * 60))

    put("01", 1)
    by_day = {"days": f"SELECT day, window, max(ts) AS t, min(day) AS d FROM r WHERE day > 0 GROUP BY day, {WINDOW}"}
    loom = home.loom(by_day)
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS")  # kept slices must not be rounded
    try:
        loom.run(incremental=True)
        put("02", 2)
        results = loom.run(incremental=True)
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    assert results.sources[0]["new_files"] == 1
    require_equal(home.loom(by_day), results)
    home.put("day=x/part.parquet", rows(3))
    with pytest.raises(SourceError, match="Make a new Loom"):
        loom.run(incremental=True)  # the column has become text


def test_text_files_and_patterns(home, spark):
    home.data.joinpath("1.csv").write_text("ts,k,n\n2024-03-01T12:00:00,a,1\n")
    loom = Loom(spark, store=home.store)
    loom.source("r", home.data / "*.csv", time="ts")
    loom.query("hours", HOURS)
    assert [row.s for row in loom.run(incremental=True)["hours"].collect()] == [1]
    home.data.joinpath("2.csv").write_text("ts,k,n\n2024-03-01T12:01:00,a,2\n")
    results = loom.run(incremental=True)
    assert [row.s for row in results["hours"].collect()] == [3] and results.sources[0]["new_files"] == 1


@pytest.mark.parametrize("most", [200, 0], ids=["filters", "shards"])
def test_several_predicates(home, monkeypatch, most):
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: most)
    asked = {name: QUERIES[name] for name in ("plain", "some", "even")}
    home.put("0.parquet", rows(0))
    home.loom(asked).run(incremental=True)
    home.put("1.parquet", rows(1, start=20, keys="cd"))
    assert home.run(asked)["anew"] is None


def fails(slices, stage):
    return slices.withColumn(stage.columns[0].name, F.expr("raise_error('does not fit')").cast("bigint"))


@pytest.mark.parametrize("joined", [cache.merge_slices, fails])
def test_many_generations_become_one_though_a_sum_on_the_way_may_not_fit(home, monkeypatch, joined):
    monkeypatch.setattr(runs, "MOST", 2)
    monkeypatch.setattr(runs, "merge_slices", joined)
    top = 2**63 - 1
    for i, n in enumerate((top, -top, top)):
        home.put(f"{i}.parquet", rows(0, size=1).set_column(3, "n", pa.array([n])))
        assert home.counts() == home.expected()
    ((found, files),) = home.caches()
    assert len(found.generations) == 1 and files == {"0.parquet", "1.parquet", "2.parquet"}
    home.put("3.parquet", rows(3, start=600))
    assert home.counts() == home.expected()


def test_derived_slices_are_merged_where_spark_has_no_aggregate_for_it(home):
    """Else there were as many by k as by k and f."""
    text = ("SELECT {0} window.end AS at, stddev(x) AS s, count(*) AS c FROM r "
            "GROUP BY {0} window(ts, '2 minutes', '1 minute')")
    asked = {"fine": text.format("k, f,"), "coarse": text.format("k,")}
    home.put("0.parquet", rows(0, size=60_000))
    scans = home.loom(asked).explain().to_dict()["scans"]
    assert [scan["read_from"] is None for scan in scans].count(False) == 1
    home.run(asked)
    counts = sorted(sum(pq.read_metadata(path).num_rows for g in found.generations
                        for path in (home.store / "slices" / g.id).rglob("*.parquet")) for found, _ in home.caches())
    assert counts[0] <= 4 * 60 * 2 < counts[1] == 4 * 3 * 60, "keys, minutes and partitions"


def test_another_process_that_was_first_is_not_added_to(home, monkeypatch):
    home.put("0.parquet", rows(0))
    home.counts()
    home.put("1.parquet", rows(1))
    real, others = runs.cut_files, []

    def cut(*args):
        if not others:
            others.append(True)
            assert home.counts() == home.expected()  # the other one reads the new file, too, and is done first
        return real(*args)

    monkeypatch.setattr(runs, "cut_files", cut)
    assert home.counts() == home.expected()
    ((found, _),) = home.caches()
    assert len(found.generations) == 2 and len(list((home.store / "slices").iterdir())) == 2


class Killed(BaseException):
    """Stands for a kill: nothing catches it, and nothing is tidied up."""


NAMES = ("begin_generation", "to_disk")
STEPS = [*((name, 8) for name in (*NAMES, "cut_files", "commit_increment")),
         *((name, 1) for name in (*NAMES, "write_slices", "commit_merged"))]


@pytest.mark.long
def test_after_a_kill_at_any_step_the_next_run_is_right(home, monkeypatch):
    for number, (name, most) in enumerate(STEPS):
        monkeypatch.setattr(runs, "MOST", most)
        home.put(f"{number}.parquet", rows(number, size=20))
        with monkeypatch.context() as patch:
            patch.setattr(runs, name, killing(getattr(runs, name), nth=2 if most == 1 and name in NAMES else 1))
            with pytest.raises(Killed):
                home.counts()
        assert home.counts() == home.expected(), (name, most)


def killing(real: Callable, nth: int) -> Callable:
    """The same function, which kills the run when it has been called so many times."""
    calls = []

    def call(*args):
        found = real(*args)
        calls.append(found)
        if len(calls) == nth:
            raise Killed
        return found

    return call


RUNNER = """
import sys
from weft import Loom
from weft.spark.session.session import local_session
store, data, sql, java = sys.argv[1:]
spark = local_session("killed", cores="1", **{"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "512m",
                                              "spark.sql.session.timeZone": "UTC",
                                              "spark.driver.extraJavaOptions": java})
while True:
    loom = Loom(spark, store=store)
    loom.source("r", data, time="ts", format="parquet")
    loom.query("hours", sql)
    loom.run(incremental=True)
    loom.close()
    print("ran", flush=True)
"""


@pytest.mark.long
def test_two_processes_on_one_store_are_killed_and_nothing_is_lost_or_doubled(home):
    """Both keep the same slices, so that each finds the other's; they die in the middle of whatever they are at."""
    home.put("0.parquet", rows(0))
    command = [sys.executable, "-c", RUNNER, str(home.store), str(home.data), HOURS, CHILD_JAVA]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
            for _ in range(2)]
    try:
        for number, process in enumerate(both):
            assert process.stdout and process.stdout.readline() == "ran\n"
            home.put(f"_{number}.tmp", rows(number + 1)).rename(home.data / f"{number + 1}.parquet")
            time.sleep(random.Random(number).uniform(0.2, 1.0))
            process.kill()
    finally:
        for process in both:
            process.kill()
            process.wait()
            process.stdout.close()
    assert home.counts() == home.expected()


def test_what_cannot_be_run_incrementally_is_said(home, spark):
    home.put("0.parquet", rows(0))
    spark.udf.register("mine", lambda n: n, "bigint")
    loom = Loom(spark)
    loom.source("r", home.data, time="ts")
    loom.query("q", HOURS)
    with pytest.raises(RunError, match="needs a folder to keep slices in"):
        loom.run(incremental=True)
    loom = home.loom({"q": HOURS.replace("sum(n)", "sum(mine(n))")})
    with pytest.raises(RunError, match=r"calls mine\(\), a function of your own"):
        loom.run(incremental=True)
    spark.sql("DROP TEMPORARY FUNCTION mine")
    loom.source("frame", spark.read.parquet(str(home.data)), time="ts")
    loom.query("f", HOURS.replace("FROM r", "FROM frame"))
    with pytest.raises(SourceError, match="'frame' is no path of files"):
        loom.run(incremental=True, queries=["f"])
    loom = Loom(spark, store=home.data / "kept")
    loom.source("r", home.data, time="ts", format="parquet")
    loom.query("q", HOURS)
    with pytest.raises(SourceError, match="choose a folder elsewhere"):
        loom.run(incremental=True)


@pytest.mark.parametrize(("before", "step"), [(0, "write_slices"), (1, "cut_files")])
def test_a_file_that_changes_while_it_is_read_is_not_taken_for_read(home, monkeypatch, before, step):
    for number in range(before):
        home.put(f"{number}.parquet", rows(number))
        home.counts()
    path = home.put("new.parquet", rows(before))
    real = getattr(runs, step)

    def save(*args):
        made = real(*args)
        os.utime(path, ns=(1, 1))
        return made

    with monkeypatch.context() as patch:
        patch.setattr(runs, step, save)
        with pytest.raises(RunError, match="changed while it was read"):
            home.counts()
    assert len(list((home.store / "slices").iterdir())) == before
    assert home.counts() == home.expected()


def test_settings_that_change_answers_change_the_fingerprint(spark):
    before = answer_settings(spark)
    harmless = {"spark.sql.shuffle.partitions": "3", "spark.sql.parquet.outputTimestampType": "INT96"}
    with temporary_settings(spark, harmless):
        assert answer_settings(spark) == before
    for name, value in {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.ansi.enabled": "false",
                        "spark.sql.legacy.timeParserPolicy": "LEGACY"}.items():
        with temporary_settings(spark, {name: value}):
            assert answer_settings(spark) != before
    spark.conf.unset("spark.sql.legacy.timeParserPolicy")


def test_a_new_aggregate_reads_only_the_columns_that_lack(home):
    """002's horizontal expansion: what is kept serves, files that came since included, and what was read is told."""
    home.put("0.parquet", rows(0))
    home.run({"plain": PLAIN})
    home.put("1.parquet", rows(1, start=30, keys="cde"))
    more = {"plain": PLAIN, "more": f"SELECT k, window.end AS at, min(n) AS l, sum(d) AS d FROM r GROUP BY k, {WINDOW}"}
    said = home.run(more)
    assert said["anew"] is None and said["new_files"] == 2
    assert len(said["widened"]) >= 2
    assert not any("x" in sql for sql in said["widened"])
    home.put("2.parquet", rows(2, start=70))
    said = home.run(more)
    assert said["anew"] is None and said["new_files"] == 1 and "widened" not in said
