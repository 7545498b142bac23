"""Schedules on Spark: parts of a plan share its kept slices, and answers by a schedule equal those of a plain run."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.harness.differential import collect, compare
from tests.spark.test_incremental import HOURS, PLAIN, QUERIES, WINDOW, rows
from weft import CatalogError, Loom, PlanError, QueryError, RunError, SourceError
from weft.catalog.database import FILE, open_catalog
from weft.catalog.scheduled import query_states, scheduled_runs
from weft.model.stages import AnswerStage, FinalStage
from weft.optimize.schedule.dispatch import BackOff
from weft.runner.runner import RunnerOptions

MINUTE = 60_000_000
BOUNDS = {"plain": "2 minutes", "some": "2 minutes", "even": "3 minutes", "exact": "5 minutes", "all": "5 minutes"}


class HandClock:
    """A clock that only moves where somebody waits, or a run calls for it."""

    def __init__(self, moment: int = 0):
        self.moment = moment

    def now(self) -> int:
        return self.moment

    def wait_until(self, moment: int) -> bool:
        self.moment = moment
        return True


@pytest.fixture
def home(spark: SparkSession, tmp_path: Path):
    """A function that makes a loom over a folder of files with a store, as in a new process."""
    (tmp_path / "data").mkdir()
    pq.write_table(rows(1), tmp_path / "data" / "a.parquet")
    made = []

    def loom(queries=QUERIES, every=BOUNDS, **options) -> Loom:
        found = Loom(spark, **{"store": tmp_path / "store", **options})
        made.append(found)
        found.source("r", tmp_path / "data", time="ts", format="parquet")
        found.add_queries(queries, every={name: bound for name, bound in every.items() if name in queries})
        return found

    yield loom
    for found in made:
        found.close()


def answers(spark: SparkSession, folder: Path, name: str):
    return spark.read.parquet(str(folder / name))


def require_equal(spark: SparkSession, loom: Loom, folder: Path, names) -> None:
    ours = collect({name: answers(spark, folder, name) for name in names})
    theirs = collect({name: loom.native(name) for name in names})
    assert [text for name in ours for text in compare(name, ours[name], theirs[name])] == []


def test_a_part_of_a_plan_shares_what_the_whole_keeps(spark, home, tmp_path):
    loom = home()
    plan = loom.plan(incremental=True)
    part = plan.stages.narrow(["plain", "all"])
    whole = {node.id: node.stage for node in plan.stages.slices}
    assert 0 < len(part.slices) <= len(whole)
    assert all(whole[node.id] == node.stage for node in part.slices), "ids and columns are those of the whole"
    assert sorted(part.queries()) == ["all", "plain"]
    assert len(part.of(AnswerStage)) <= len(plan.stages.of(AnswerStage))
    assert {node.id for node in part.of(FinalStage)} <= {node.id for node in plan.stages.of(FinalStage)}

    out = tmp_path / "out"
    plan.run(sink=str(out), incremental=True)
    pq.write_table(rows(2, start=30), tmp_path / "data" / "b.parquet")
    results = plan.run(sink=str(out), incremental=True, queries=["plain", "all"])
    (said,) = results.sources
    assert (said["new_files"], said["anew"]) == (1, None), "kept slices served it"
    assert sorted(one["query"] for one in results.report) == ["all", "plain"]
    require_equal(spark, loom, out, ["plain", "all"])
    old = answers(spark, out, "exact").count()
    results = plan.run(sink=str(out), incremental=True)
    (said,) = results.sources
    assert said["anew"] is None, "and what the part kept serves the whole"
    require_equal(spark, loom, out, QUERIES)
    assert answers(spark, out, "exact").count() > old
    with open_catalog(tmp_path / "store" / FILE) as catalog:
        caches = catalog.rows("SELECT count(*) FROM slice_caches")[0][0]
        assert catalog.rows("SELECT count(*) FROM plans") == [(1,)], "one plan, whatever runs of it"
    assert caches == len(plan.stages.roots)
    with pytest.raises(QueryError, match="there is no query of this name"):
        plan.run(queries=["plan"])


def test_answers_by_a_schedule_equal_those_of_a_plain_run(spark, home, tmp_path):
    """Files come while it runs; each query's answers are those over the files that were there when its run started."""
    loom, clock, out = home(), HandClock(100 * MINUTE), tmp_path / "out"
    with loom.schedule(sink=str(out), policy="hybrid", clock=clock) as runner:
        seen = []
        for number, run in enumerate(runner.runs(until=106 * MINUTE)):
            assert not run.failed
            seen.append((run.at // MINUTE, run.queries))
            require_equal(spark, loom, out, run.queries[:2])
            pq.write_table(rows(number + 2, start=number), tmp_path / "data" / f"{number}.parquet")
    assert seen[0] == (100, ("plain", "some", "even", "exact", "all"))
    times = {name: [at for at, queries in seen if name in queries] for name in QUERIES}
    for name, bound in {"plain": 2, "even": 3, "exact": 5}.items():
        gaps = [b - a for a, b in zip(times[name], [*times[name][1:], 106], strict=True)]
        assert max(gaps) <= bound
    clock.moment = 200 * MINUTE
    with home().schedule(sink=str(out), clock=clock) as runner:
        (last,) = runner.runs(once=True)
        assert set(last.late) == set(QUERIES) and last.new_files > 0
        assert runner.chosen.measured > 0, "the runs before are measured"
    require_equal(spark, loom, out, QUERIES)
    with open_catalog(tmp_path / "store" / FILE) as catalog:
        assert len(scheduled_runs(catalog, 100)) == len(seen) + 1
        assert {state.started for state in query_states(catalog).values()} == {200 * MINUTE}


def test_a_query_that_fails_holds_up_no_other(spark, home, tmp_path):
    """A folder that is not Weft's stands where one query's answers would go, and an overflow is in another's data."""
    bad = f"SELECT k, window.start AS at, sum(n) * 9000000000000000000 AS s FROM r GROUP BY k, {WINDOW}"
    loom = home({"plain": PLAIN, "hours": HOURS, "bad": bad, "taken": HOURS},
                dict.fromkeys(("plain", "hours", "bad", "taken"), "2 minutes"))
    clock, out = HandClock(100 * MINUTE), tmp_path / "out"
    (out / "taken").mkdir(parents=True)
    (out / "taken" / "mine.txt").write_text("mine")
    options = RunnerOptions(back_off=BackOff(MINUTE, 4 * MINUTE))
    with loom.schedule(sink="noop", policy="conservative", clock=clock) as runner:
        assert set(next(iter(runner)).failed) == {"bad"}
    with pytest.raises(RunError, match="taken"):
        loom.schedule(sink=str(out))
    (out / "taken" / "mine.txt").rename(tmp_path / "mine.txt")
    (out / "taken").rmdir()
    with loom.schedule(sink=str(out), policy="conservative", clock=clock, options=options) as runner:
        done = list(runner.runs(count=1))
        (out / "taken" / "mine.txt").write_text("mine")
        done += list(runner.runs(count=3))
    assert set(done[0].failed) == {"bad"} and "overflow" in done[0].failed["bad"].lower()
    assert any("taken" in run.failed for run in done[1:]) and (out / "taken" / "mine.txt").read_text() == "mine"
    assert [run.at for run in done if "hours" in run.answered] == [100 * MINUTE, 102 * MINUTE]
    require_equal(spark, loom, out, ["plain", "hours"])


def test_what_cannot_be_scheduled_is_said(spark, home, tmp_path):
    with pytest.raises(PlanError, match="no query has a bound"):
        home({"plain": PLAIN}, {}).schedule(sink="noop")
    with pytest.raises(PlanError, match="there is none for hours"):
        home({"plain": PLAIN, "hours": HOURS}, {"plain": "1 minute"}).schedule(sink="noop")
    with pytest.raises(RunError, match="needs a folder to keep slices in"):
        home({"plain": PLAIN}, {"plain": "1 minute"}, store=None).schedule(sink="noop")
    with pytest.raises(PlanError, match=r"every 1 ms for plain is less than a run takes.*The least that can be kept"):
        home({"plain": PLAIN}, {"plain": "1 millisecond"}).schedule(sink="noop")
    with pytest.raises(PlanError, match="did you mean 'cyclic'"):
        home({"plain": PLAIN}, {"plain": "1 minute"}).schedule(sink="noop", policy="cyclik")
    with Loom(spark, store=tmp_path / "other", every="1 minute") as loom:
        loom.source("r", spark.createDataFrame(rows(1).to_pandas()), time="ts")
        loom.query("plain", PLAIN)
        with pytest.raises(SourceError, match="nobody knows which of its rows are new"):
            loom.schedule(sink="noop")
    with pytest.raises(CatalogError):
        (tmp_path / "broken").write_text("")
        home({"plain": PLAIN}, {"plain": "1 minute"}, store=tmp_path / "broken")


def test_two_runners_of_a_store(home):
    loom = home({"plain": PLAIN}, {"plain": "1 minute"})
    with loom.schedule(sink="noop"), pytest.raises(RunError, match="is another runner's: process"):
        home({"plain": PLAIN}, {"plain": "1 minute"}).schedule(sink="noop").__enter__()
