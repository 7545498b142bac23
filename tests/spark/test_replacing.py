"""What Weft replaces: results that it wrote, and nothing else, neither in runs nor in streams."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from weft import Loom
from weft.errors import RunError
from weft.io.sinks import Sink
from weft.spark.write.owned import MARK

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SUM = "SELECT k, window.end AS at, sum(x) AS s FROM t GROUP BY k, window(ts, '5 minutes')"
SCHEMA = "ts timestamp, k string, x int"


@pytest.fixture(scope="module")
def rows(spark):
    return spark.createDataFrame([(NOON + i * dt.timedelta(minutes=1), "ab"[i % 2], i) for i in range(20)], SCHEMA)


@pytest.fixture
def loom(spark, rows, tmp_path):
    """A loom over a folder of CSV files."""
    rows.coalesce(1).write.option("header", "true").csv(str(tmp_path / "in"))
    made = Loom(spark)
    made.source("t", tmp_path / "in", time="ts", format="csv", schema=SCHEMA, watermark="0 seconds")
    made.query("q", SUM)
    yield made
    made.close()


def tree(folder):
    """All files below a folder with what is in them."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refuses(loom, folder, sink, text, act=None):
    """Whether a run is refused with these words, and all files are as they were."""
    before = tree(folder)
    with pytest.raises(RunError, match=text):
        (act or loom.run)(sink=sink)
    assert tree(folder) == before


@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "json"])
def test_own_results_are_replaced_and_read_as_before(loom, spark, tmp_path, format):
    sink = {"format": format, "path": f"file:{tmp_path}/out" if format == "orc" else str(tmp_path / "out")}
    for _ in range(2):
        loom.run(sink=sink)
    assert json.loads((tmp_path / "out/q" / MARK).read_text())["query"] == "q"
    (tmp_path / "out/q/.DS_Store").touch()
    loom.run(sink=sink)
    options = {"header": "true"} if format == "csv" else {}
    found = spark.read.format(format).options(**options).load(str(tmp_path / "out/q"))
    assert found.count() == 8 and set(found.columns) == {"k", "at", "s"}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["q"]


def test_what_others_wrote_is_refused_before_anything_runs(loom, tmp_path, monkeypatch):
    monkeypatch.setattr(Loom, "plan", lambda *_: pytest.fail("it must be refused before that"))
    out = tmp_path / "out"
    (out / "q").mkdir(parents=True)
    (out / "q" / "thesis.txt").write_text("years of work")
    refuses(loom, tmp_path, str(out), "would replace .*/out/q', a folder that Weft did not write")
    refuses(loom, tmp_path, Sink("csv", str(out)), "a folder that Weft did not write")
    (out / "q" / "thesis.txt").unlink()
    (out / "q").rmdir()
    (out / "q").write_text("a plain file")
    refuses(loom, tmp_path, str(out), "a file that Weft did not write")
    refuses(loom, tmp_path, str(out / "q"), "out/q' is a file")
    refuses(loom, tmp_path, str(out / "q/deeper"), "out/q' is a file")
    (out / "q").unlink()
    (out / "q").symlink_to(tmp_path / "in")
    refuses(loom, tmp_path, str(out), "overlaps source 't'")
    (tmp_path / "far").mkdir()
    (out / "q").unlink()
    (out / "q").symlink_to(tmp_path / "far")
    refuses(loom, tmp_path, str(out), "which is a link")


def test_folders_that_weft_wrote_and_others_added_to_are_refused(loom, spark, rows, tmp_path):
    loom.run(sink=str(tmp_path / "out"))
    (tmp_path / "out/q/notes.txt").write_text("mine")
    refuses(loom, tmp_path, str(tmp_path / "out"), "'notes.txt' in it was not written by Weft")
    (tmp_path / "out/q/notes.txt").unlink()
    rows.coalesce(1).write.mode("append").parquet(str(tmp_path / "out/q"))
    refuses(loom, tmp_path, str(tmp_path / "out"), "'part-.*' in it was not written by Weft")
    (tmp_path / "out/q").rename(tmp_path / "out/other")
    loom.query("other", SUM)
    refuses(loom, tmp_path, str(tmp_path / "out"), "query 'other' would replace")


def test_sources_stay(spark, loom, rows, tmp_path):
    refuses(loom, tmp_path, str(tmp_path / "in"), r"query 'q' would be written to '.*/in/q', which overlaps source 't'")
    refuses(loom, tmp_path, f"file:///{tmp_path}/in/deeper", "overlaps source 't'")
    (tmp_path / "link").symlink_to(tmp_path)
    refuses(loom, tmp_path, str(tmp_path / "link/in"), "overlaps source 't'")
    other = Loom(spark)
    rows.write.parquet(str(tmp_path / "out/q/table"))
    (tmp_path / "out/q" / MARK).write_text(json.dumps({"query": "q", "run": "x", "files": []}))
    other.source("t", spark.read.parquet(str(tmp_path / "out/q/table")), time="ts")
    other.query("q", SUM)
    refuses(other, tmp_path, str(tmp_path / "out"), "where source 't' reads '.*/out/q/table/part-")
    other.close()


def test_a_store_stays(loom, tmp_path):
    (tmp_path / "store").mkdir()
    loom.attach(tmp_path / "store")
    refuses(loom, tmp_path, str(tmp_path / "store"), "overlaps the store")


def test_names_that_cannot_be_folders_side_by_side(loom, tmp_path):
    loom.query("Q", SUM)
    refuses(loom, tmp_path, str(tmp_path / "out"), "queries 'q' and 'Q' differ in the case of letters only")
    loom.query("n" * 243, SUM)
    loom.query("_weft_x", SUM)
    for name, text in (("n" * 243, "its name has 243 letters"), ("_weft_x", "are Weft's own")):
        refuses(loom, tmp_path, None, text, lambda sink, name=name: loom.run(str(tmp_path / "out"), [name]))
    loom.query("m" * 242, SUM)
    loom.run(str(tmp_path / "out"), ["m" * 242])
    assert (tmp_path / "out" / ("m" * 242)).is_dir()


def stream_refuses(loom, folder, text, **arguments):
    """Whether a stream is refused with these words, and all files are as they were."""
    given = {"checkpoint": folder / "checkpoint", "sink": str(folder / "out")} | arguments
    refuses(loom, folder, None, text, lambda sink: loom.start(**given))


@pytest.mark.usefixtures("interpreted")
def test_streams_write_where_nothing_else_lies(loom, tmp_path):
    stream_refuses(loom, tmp_path, "overlaps source 't'", sink=str(tmp_path / "in"))
    stream_refuses(loom, tmp_path, "the checkpoint would be .* overlaps source", checkpoint=tmp_path / "in/c")
    stream_refuses(loom, tmp_path, "dead letters would be .* overlaps source", dead_letters=str(tmp_path / "in/dead"))
    stream_refuses(loom, tmp_path, "overlaps the checkpoint", checkpoint=tmp_path / "out/q")
    stream_refuses(loom, tmp_path, "overlaps the dead letters", dead_letters=str(tmp_path / "out"))
    stream_refuses(loom, tmp_path, "among the files of the checkpoint",
                   dead_letters=str(tmp_path / "checkpoint/scan-0"))
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/thesis.txt").write_text("years of work")
    stream_refuses(loom, tmp_path, "cannot be a checkpoint: it holds 'thesis.txt'", checkpoint=tmp_path / "papers")
    (tmp_path / "dead/scan-0").mkdir(parents=True)
    stream_refuses(loom, tmp_path, "dead letters of another stream", dead_letters=str(tmp_path / "dead"))
    (tmp_path / "out/q").mkdir(parents=True)
    (tmp_path / "out/q/thesis.txt").write_text("years of work")
    stream_refuses(loom, tmp_path, "holds files of somebody else")
    (tmp_path / "out/q/thesis.txt").unlink()
    (tmp_path / "out/q" / MARK).write_text(json.dumps({"query": "q", "run": "x", "files": []}))
    stream_refuses(loom, tmp_path, "holds files of a batch run")


@pytest.mark.usefixtures("interpreted")
def test_a_stream_s_sink_that_is_moved_away_comes_back_with_its_marks(loom, spark, rows, tmp_path):
    loom.query("never", f"{SUM} HAVING sum(x) < 0")
    with loom.start(tmp_path / "checkpoint", str(tmp_path / "out"), dead_letters=str(tmp_path / "dead")) as stream:
        stream.processAllAvailable()
        stream_mark = (tmp_path / "out/_weft_stream.json").read_text()
        (tmp_path / "out").rename(tmp_path / "kept")
        (tmp_path / "in/more.csv").write_text("ts,k,x\n2024-03-01T13:00:00Z,a,1\n")
        stream.processAllAvailable()
    for folder in ("kept", "out"):
        assert (tmp_path / folder / "_weft_stream.json").read_text() == stream_mark
        assert json.loads((tmp_path / folder / "q" / MARK).read_text())["stream"] in stream_mark
        assert spark.read.parquet(str(tmp_path / folder / "never")).schema == loom.run()["never"].schema
    sums = [spark.read.parquet(str(tmp_path / folder / "q")).count() for folder in ("kept", "out")]
    assert sum(sums) == 8 and all(sums)
    refuses(loom, tmp_path, str(tmp_path / "out"), "holds the answers of a stream")
    stream_refuses(loom, tmp_path, "holds the answers of another stream", checkpoint=tmp_path / "another")
    stream_refuses(loom, tmp_path, "dead letters of another stream", checkpoint=tmp_path / "another",
                   sink=str(tmp_path / "elsewhere"), dead_letters=str(tmp_path / "dead"))
    loom.start(tmp_path / "checkpoint", str(tmp_path / "out"), dead_letters=str(tmp_path / "dead")).stop()
