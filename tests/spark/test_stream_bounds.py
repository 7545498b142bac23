"""Streams whose queries have bounds: the trigger they ask for, and what explain says of it by earlier triggers."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from tests.spark.test_incremental import rows
from tests.spark.test_refresh import short
from weft import Loom
from weft.catalog.trigger_loads import trigger_loads
from weft.errors import PlanError

SQL = "SELECT k, window.end AS at, count(*) AS c FROM {} GROUP BY k, window(ts, '10 minutes')"


@pytest.fixture
def loom(spark, tmp_path):
    for name in ("r", "s"):
        (tmp_path / name).mkdir()
        pq.write_table(rows(1), tmp_path / name / "0.parquet")
    with Loom(spark, store=tmp_path / "store") as made:
        for name in ("r", "s"):
            made.source(name, tmp_path / name, time="ts", format="parquet", watermark="1 minute")
        yield made


def test_each_scan_has_the_trigger_its_queries_ask_for(loom, tmp_path):
    with pytest.raises(PlanError, match="none of these has one: give every="):
        loom.query("free", SQL.format("r"))
        loom.start(tmp_path / "checkpoint", "noop", trigger="bounds")
    loom.drop("free")
    loom.query("often", SQL.format("r"), every="1 millisecond")
    loom.query("seldom", SQL.format("s"), every="1 hour")
    first, second = loom.plan().explain().to_dict()["triggers"]
    assert not first["measured"] and first["misses"] == ["often"] and second["keeps"] == ["seldom"]
    assert first["shortest"] >= first["fixed"] > 0
    assert "estimated, for no stream of it has ended yet: misses often (every 1 ms)" in str(loom.plan().explain())
    with loom.start(tmp_path / "checkpoint", "noop", trigger="bounds") as stream:
        name = next(scan.name for scan in stream.scans if scan.queries == ("often",))
        for number in range(5):  # the other one waits for an hour after its first trigger
            stream.process_scan(name)
            pq.write_table(short(number, 10 * number), tmp_path / "r" / f"{number + 1}.parquet")
        triggers = {scan.queries[0]: len(scan.query.recentProgress) for scan in stream.scans}
    assert triggers["often"] > triggers["seldom"]
    loads = trigger_loads(loom._context.store.catalog)
    told = {tuple(one["misses"] + one["keeps"]): one for one in loom.plan().explain().to_dict()["triggers"]}
    assert told["often",]["measured"] and told["often",]["scan"] in loads
    assert told["often",]["shortest"] == pytest.approx(loads[told["often",]["scan"]].shortest, abs=0.001)
    assert "measured by its last stream" in str(loom.plan().explain())


def test_queries_of_one_source_have_triggers_of_their_own_where_they_share_no_scan(loom, tmp_path):
    loom.query("often", SQL.format("r"), every="1 millisecond")
    loom.query("seldom", SQL.format("r").replace("10 minutes", "20 minutes"), every="1 hour")
    (together,) = loom.plan().explain().to_dict()["triggers"]
    assert together["misses"] == ["often"] and together["keeps"] == ["seldom"], "one scan serves both"
    with loom.start(tmp_path / "checkpoint", "noop", trigger="bounds", optimizer="no_share") as stream:
        names = {scan.queries: scan.name for scan in stream.scans}
        for number in range(3):
            stream.process_scan(names["often",])
            pq.write_table(short(number, 10 * number), tmp_path / "r" / f"{number + 1}.parquet")
        triggers = {scan.queries[0]: len(scan.query.recentProgress) for scan in stream.scans}
    assert triggers["often"] > triggers["seldom"]
