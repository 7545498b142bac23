"""The Python that README.md shows, run as it stands there over a few trades."""

from __future__ import annotations

import datetime as dt
import json
import re

import pytest

from tests.harness.pages import ROOT, blocks

README = ROOT / "README.md"
NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SCHEMA = "ts timestamp, symbol string, price double, volume bigint"


@pytest.fixture
def folder(spark, tmp_path, monkeypatch):
    """A working directory with the trades of the demo, and some that come as a stream."""
    rows = [(NOON + dt.timedelta(seconds=40 * i), "AB"[i % 2], 100.0 + i % 7, i) for i in range(600)]
    spark.createDataFrame(rows, SCHEMA).coalesce(1).write.parquet(str(tmp_path / "demo-out/trades"))
    (tmp_path / "incoming").mkdir()
    lines = [{"ts": ts.isoformat(), "symbol": symbol, "price": price, "volume": volume}
             for ts, symbol, price, volume in rows]
    (tmp_path / "incoming/one.json").write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # the seconds that the file shows are by the figures Weft ships
    return tmp_path


def test_the_snippets_run_one_after_the_other(folder, capsys):
    names: dict = {}
    first, stream = blocks(README, "python")
    exec(compile(first, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    (explained,) = re.findall(r"`explain` prints what will run:\n\n```\n(.*?)```", README.read_text(), re.DOTALL)
    assert explained in printed
    assert "mean_10m: equal" in printed and "high_4h: equal" in printed
    assert {path.name for path in (folder / "out").iterdir()} == {"mean_10m", "high_4h"}
    exec(compile(stream, "README.md", "exec"), names)
    assert not names["stream"].isActive and list((folder / "stream-out/mean_10m").glob("*.parquet"))
    names["loom"].close()
