"""Slicers on Spark: whatever cuts time, the answers are Spark's own, and what cannot run says so."""

from __future__ import annotations

import datetime as dt

import pytest

from weft import Loom
from weft.errors import PlanError
from weft.slicing import PANES
from weft.stages.build import build

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SCHEMA = "ts timestamp, symbol string, venue int, volume bigint"
QUERIES = {
    "uneven": "SELECT symbol, window.end AS at, sum(volume) AS v FROM t GROUP BY symbol, window(ts, '10 seconds', "
              "'4 seconds')",
    "odd": "SELECT symbol, window.end AS at, max(volume) AS v, count(*) AS n FROM t GROUP BY symbol, "
           "window(ts, '9 seconds', '6 seconds', '1 second')",
    "by_venue": "SELECT symbol, venue, window.start AS at, avg(volume) AS v FROM t WHERE volume > 3 "
                "GROUP BY symbol, venue, window(ts, '10 seconds', '4 seconds')",
    "in_rows": "SELECT symbol, window.end AS at, sum(volume) AS v FROM t [ROWS 5 SLIDE 3] GROUP BY symbol",
}


def rows(first: int, last: int) -> list[tuple]:
    """A row every second."""
    return [(NOON + dt.timedelta(seconds=i), "abc"[i % 3], i % 2, i * 7 % 11) for i in range(first, last)]


@pytest.fixture
def loom(spark):
    made = Loom(spark)
    made.source("t", spark.createDataFrame(rows(0, 90), SCHEMA), time="ts", watermark="1 second")
    for name, text in QUERIES.items():
        made.query(name, text)
    yield made
    made.close()


def test_a_plan_cut_by_panes_runs_with_sparks_answers(loom, interpreted):
    plan = loom.plan(slicer="panes")
    assert plan.slicers == ("panes",)
    for scan, node in zip(plan.nodes, build(plan).slices, strict=True):
        assert node.stage.progressions == PANES.edges(scan.cut_for)
        assert len(node.stage.progressions) == 1
    assert loom.verify(slicer="panes").ok
    fine, few = (loom.explain(["odd"], slicer=name) for name in ("panes", "pairs"))
    assert fine.to_dict()["slicer"] == "panes" and "cut by Panes: " in str(fine) and "cut by" not in str(few)
    rates = [shown.to_dict()["scans"][0]["slices"]["edge_rate"] for shown in (fine, few)]
    costs = [shown.to_dict()["cost"]["cost"] for shown in (fine, few)]
    assert rates == [pytest.approx(1 / 3), pytest.approx(2 / 6)] and costs[0] == pytest.approx(costs[1])
    assert loom.explain(["uneven"], slicer="panes").to_dict()["scans"][0]["slices"]["edge_rate"] == pytest.approx(0.5)


def test_cutty_is_explained_and_not_run(loom, tmp_path):
    assert loom.plan(slicer="cutty").slicers == ("cutty",)
    shown = loom.explain(["uneven"], slicer="cutty")
    assert shown.to_dict()["scans"][0]["slices"]["edge_rate"] == pytest.approx(0.25)
    assert "does not keep (decision 0011)" in str(shown)
    for act in (loom.run, loom.verify, lambda **more: loom.start(tmp_path / "checkpoint", "noop", **more)):
        with pytest.raises(PlanError, match=r"reads slices that are still open, .*\. Choose panes or pairs\."):
            act(slicer="cutty")
    with pytest.raises(PlanError, match="there is no slicer 'pains'"):
        loom.plan(slicer="pains")


def test_a_stream_cut_by_panes_goes_on_with_them(spark, tmp_path, interpreted):
    for part, (first, last) in enumerate(((0, 50), (50, 120))):
        spark.createDataFrame(rows(first, last), SCHEMA).coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
        loom = Loom(spark)
        loom.source("t", str(tmp_path / "in"), time="ts", format="parquet", schema=SCHEMA, watermark="1 second")
        for name in ("uneven", "odd"):
            loom.query(name, QUERIES[name])
        more = {} if part else {"slicer": "panes"}  # the checkpoint knows
        stream = loom.start(tmp_path / "checkpoint", str(tmp_path / "out"), trigger="available", max_clock_skew=None,
                            **more)
        stream.awaitTermination()
        assert stream.plan.slicers == ("panes",)
    closed = f"at <= timestamp_seconds({(NOON + dt.timedelta(seconds=118)).timestamp()})"
    for name in ("uneven", "odd"):
        found = spark.read.parquet(str(tmp_path / "out" / name))
        assert sorted(found.collect()) == sorted(loom.native(name).where(closed).collect())
