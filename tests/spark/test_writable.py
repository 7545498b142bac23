"""Outputs that a sink cannot write are refused before anything runs, and files that cannot be read are named."""

from __future__ import annotations

import gzip
import re

import pytest

from weft import Loom
from weft.errors import RefusedError, RunError

SCHEMA = "ts timestamp, k string, x double"
SUM = "SELECT k, window.end AS at, sum(x) AS s FROM t GROUP BY k, window(ts, '5 minutes')"
REFUSED = {
    "parquet": ("sum(x) AS a, max(x) AS A", "two columns named 'a'"),
    "csv": ("window, sum(x) AS a", "csv cannot hold column 'window'"),
    "orc": ("sum(x) AS a, NULL AS v", "orc cannot hold column 'v'"),
    "json": ("sum(x) AS a, make_interval(1) AS i", "json cannot hold column 'i'"),
}


@pytest.fixture
def loom(spark, tmp_path):
    (tmp_path / "in").mkdir()
    made = Loom(spark)
    made.source("t", tmp_path / "in", time="ts", format="csv", schema=SCHEMA, watermark="0 seconds")
    yield made
    made.close()


@pytest.mark.parametrize("format", REFUSED)
def test_what_spark_would_refuse_later_is_refused_now(spark, loom, tmp_path, format):
    """Spark itself is asked as well, so that what is refused is what it refuses."""
    items, said = REFUSED[format]
    loom.query("bad", f"SELECT {items} FROM t GROUP BY window(ts, '5 minutes')")
    sink = {"format": format, "path": str(tmp_path / "out")}
    for act in (lambda: loom.run(sink=sink), lambda: loom.start(tmp_path / "checkpoint", sink)):
        with pytest.raises(RefusedError, match=f"query 'bad': .*{said}"):
            act()
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    with pytest.raises(Exception, match=r"COLUMN_ALREADY_EXISTS|UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE"):
        loom.native("bad").write.format(format).save(str(tmp_path / "spark"))


@pytest.mark.usefixtures("interpreted")
def test_columns_of_one_name_are_fine_where_names_do_not_matter(loom, tmp_path):
    (tmp_path / "in/a.csv").write_text("ts,k,x\n2024-03-01T12:00:00Z,a,1\n")
    for name, where in (("a", "x > 0"), ("b", "x < 5")):
        loom.query(name, f"SELECT sum(x) AS v, max(x) AS v FROM t WHERE {where} GROUP BY window(ts, '5 minutes')")
    loom.run(sink={"format": "csv", "path": str(tmp_path / "out")})
    for name in ("a", "b"):
        (text,) = [path.read_text() for path in (tmp_path / "out" / name).glob("part-*")]
        assert text == "v,v\n1.0,1.0\n"


def broken_gzip(folder):
    body = gzip.compress("".join(f"2024-03-01T12:00:00Z,a{i},{i * 7919 % 1000}\n" for i in range(5000)).encode())
    (folder / "torn.csv.gz").write_bytes(body[: len(body) // 2])


def mistyped_parquet(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"ts": pa.array([1_709_294_400_000_000], pa.timestamp("us", "UTC")), "k": ["a"], "x": ["text"]})
    pq.write_table(table, folder / "torn.parquet")


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("format", "spoil"), [("csv", broken_gzip), ("parquet", mistyped_parquet)])
def test_a_file_that_cannot_be_read_is_named(spark, tmp_path, format, spoil):
    (tmp_path / "in").mkdir()
    spoil(tmp_path / "in")
    loom = Loom(spark)
    loom.source("t", tmp_path / "in", time="ts", format=format, schema=SCHEMA, watermark="0 seconds")
    loom.query("q", SUM)
    why = r"Unexpected end of input stream" if format == "csv" else r"column: \[x\]"
    told = re.compile(rf"cannot read file:///.*/in/torn\.\S+: .*{why}")
    with pytest.raises(RunError, match=told):
        loom.run(sink=str(tmp_path / "out"))
    stream = loom.start(tmp_path / "checkpoint", str(tmp_path / "stream"))
    with pytest.raises(RunError, match=told):
        stream.awaitTermination(120)
    loom.close()
