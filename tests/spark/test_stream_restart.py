"""Starting a stream again: queries may be written otherwise, and what would change answers is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.spark.test_stream import TRADES, drop, trade
from weft import Loom, SettingError
from weft.errors import RunError, StreamWarning
from weft.spark.session.session import temporary_settings
from weft.spark.stream.checkpoint import PAGE, VERSION
from weft.spark.stream.checkpoint_files import BY_FILE_SYSTEM, MANAGER, checkpoint_file_settings
from weft.spark.stream.sinks import FileSink, trigger_prefix

FIRST = {
    "volume": "SELECT symbol, window.end AS at, sum(size) AS volume FROM trades WHERE size > 0 AND venue IS NOT NULL "
              "GROUP BY symbol, window(ts, '20 seconds', '5 seconds') HAVING count(*) > 0",
    "high": "SELECT symbol, window.end AS at, max(coalesce(price, 0.0)) AS high FROM trades "
            "GROUP BY symbol, window(ts, '6 seconds')",
    "rows": "SELECT symbol, min(price) FILTER (WHERE size > 1) AS low FROM trades [ROWS 3 SLIDE 1] GROUP BY symbol",
}
AGAIN = {
    "volume": "select symbol,window.end as at,SUM(size) volume --all\nfrom trades where (size>0) and venue is not null"
              "\n group by symbol, WINDOW(ts,'20000 milliseconds', '5 seconds') having COUNT(*)>0;",
    "high": "/* the highest */ Select symbol, Window.End As at, Max(Coalesce(price,0.0)) As high From trades\n"
            "Group By symbol, Window(ts, '6000 milliseconds')",
    "rows": "select symbol, MIN(price) filter (where size>1) as low from trades [rows 3 slide 1] group by symbol",
}


def loom_over(spark, folder, texts: dict[str, str]) -> Loom:
    loom = Loom(spark)
    loom.source("trades", str(folder), time="ts", format="json", schema=TRADES, watermark="0 seconds")
    for name, text in texts.items():
        loom.query(name, text)
    return loom


def set_version(checkpoint: Path, version: int) -> int:
    """Give a checkpoint's page another version, and tell the one it had."""
    page = json.loads((checkpoint / PAGE).read_text())
    (checkpoint / PAGE).write_text(json.dumps({**page, "version": version}))
    return page["version"]


def test_only_a_checkpoint_on_this_disk_is_written_without_processes_and_not_if_a_manager_was_chosen(spark, tmp_path):
    for name in ("plain", "odd [0-9]{a}"):
        (tmp_path / name).mkdir()
        (tmp_path / name / PAGE).write_text("{}")
    found = {name: checkpoint_file_settings(spark, str(tmp_path / name)) for name in ("plain", "odd [0-9]{a}", "none")}
    assert found == {"plain": {MANAGER: BY_FILE_SYSTEM}, "odd [0-9]{a}": {}, "none": {}}
    assert checkpoint_file_settings(spark, "hdfs://nobody/checkpoint") == {}
    with temporary_settings(spark, {MANAGER: "com.example.Manager"}):
        assert checkpoint_file_settings(spark, str(tmp_path / "plain")) == {}


@pytest.mark.usefixtures("interpreted")
def test_rewritten_queries_go_on_and_other_surroundings_are_refused(spark, tmp_path):
    for name in ("in", "other"):
        (tmp_path / name).mkdir()
    first, again = (loom_over(spark, tmp_path / "in", texts) for texts in (FIRST, AGAIN))
    moved = loom_over(spark, tmp_path / "other", FIRST)
    place, sink = tmp_path / "checkpoint", str(tmp_path / "out")
    with first.start(place, sink) as stream:
        drop(tmp_path / "in", trade(1, size=2), trade(2, size=3))
        stream.processAllAvailable()
    set_version(place, 4)  # a version before, which goes on
    with again.start(place, sink) as stream:
        drop(tmp_path / "in", trade(100))
        stream.processAllAvailable()
    assert {row["at"].second: row["volume"] for row in spark.read.parquet(f"{sink}/volume").collect()} == {
        5: 5, 10: 5, 15: 5, 20: 5}
    assert set_version(place, 3) == VERSION
    with pytest.raises(RunError, match=r"checkpoint' was made by another version of Weft: start with a new one"):
        first.start(place, sink)
    set_version(place, VERSION)
    with pytest.raises(RunError, match=r"made over source 'trades' as json at .*in, and now it is json at .*other"):
        moved.start(place, sink)
    with pytest.raises(RunError, match=r"go to parquet in .*out, and would now go to csv in .*elsewhere"):
        first.start(place, {"format": "csv", "path": str(tmp_path / "elsewhere")})
    for name in ("spark.sql.ansi.enabled", "spark.sql.jsonGenerator.ignoreNullFields"):
        with temporary_settings(spark, {name: "false"}):
            with pytest.raises(SettingError, match=r"was true and is false now"):
                first.start(place, sink)
            other = loom_over(spark, tmp_path / "in", FIRST)
            with pytest.raises(RunError, match=rf"made with {name} true, and in this session it is false"):
                other.start(place, sink)
    changed = loom_over(spark, tmp_path / "in", {**FIRST, "high": FIRST["high"].replace("0.0", "1.0")})
    with pytest.raises(RunError, match=r"this start changes 'high'\."):
        changed.start(place, sink)
    for loom in (first, again, moved, changed):
        loom.close()


@pytest.mark.usefixtures("interpreted")
def test_a_trigger_that_is_repeated_in_the_same_process_replaces_what_its_first_attempt_left(spark, tmp_path,
                                                                                              monkeypatch):
    """Spark finds no worker when the files of a trigger are in place already; the second attempt numbers them anew."""
    publish, failed = FileSink.publish, []

    def fail_once(sink: FileSink, staging: str, number: int, made: Sequence[tuple[str, str]]) -> None:
        publish(sink, staging, number, made)
        written = list((tmp_path / "out").rglob(f"{trigger_prefix(number)}*"))
        if written and not failed:
            failed.extend(path.rename(path.with_name(f"{trigger_prefix(number)}9{i}.parquet"))
                          for i, path in enumerate(written))
            raise RuntimeError("Python worker failed to connect back.")

    monkeypatch.setattr(FileSink, "publish", fail_once)
    monkeypatch.setattr("weft.spark.stream.handle.PAUSE", 0.0)
    (tmp_path / "in").mkdir()
    loom = loom_over(spark, tmp_path / "in", {"high": FIRST["high"]})
    with loom.start(tmp_path / "checkpoint", str(tmp_path / "out")) as stream:
        drop(tmp_path / "in", trade(1, size=2), trade(100))
        with pytest.warns(StreamWarning, match="was started again, try 1"):
            stream.processAllAvailable()
    assert failed and not any(path.exists() for path in failed)
    assert [row["high"] for row in spark.read.parquet(str(tmp_path / "out" / "high")).collect()] == [2.0]
    loom.close()
