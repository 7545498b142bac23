"""Planning windows that count rows: they share by rows, keys and predicate, and never with windows of time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weft.aggregates import Argument, find
from weft.aggregates.times import lower_times
from weft.cost.model import SparkModel
from weft.errors import PlanError
from weft.model.plan import Scan, SharedPlan, Tree, check_plan
from weft.model.query import Call, Output, Query
from weft.model.stages import AnswerStage
from weft.model.window import Window, rows_window
from weft.model.workload import BoundQuery
from weft.optimize import EVERY_OPTIMIZER
from weft.optimize.cost_breakdown import break_down_plan
from weft.optimize.groupings import may_derive
from weft.optimize.plan import find_optimizer, plan_workload
from weft.stages.build import build, projection
from weft.stages.explain import Explanation

MODEL = SparkModel(1000, 1000, 2000)
ROWS = rows_window(100, 10)
NAMES = [o.name for o in EVERY_OPTIMIZER if o.most is None]


def bound(name, window=ROWS, where=None, keys=("symbol",), call="sum"):
    lowered = find(call).lower((Argument("volume", "bigint"),), "")
    query = Query(name, "", "trades", "ts", window, where, keys, (Call(call, ("volume",)),),
                  (Output("__call_0", "x"), Output("__window.end", "at")), None, "")
    made = BoundQuery(query, "timestamp", ("string",) * len(keys), (lowered,))
    if not window.counts_rows:
        return made
    return replace(made, query=replace(query, order=("ts", "volume")), times=lower_times("ts", "timestamp"))


def workload():
    return (bound("rows"), bound("time", Window(100, 10)), bound("more", rows_window(200, 20), call="max"),
            bound("some", where="volume > 1"), bound("others", where="volume > 2"), bound("all", keys=()),
            bound("finer", keys=("symbol", "venue")), bound("slow", Window(100, 10), keys=()))


def planned(name, queries, sizes=None):
    found = plan_workload(queries, find_optimizer(name), lambda b: MODEL, projection, sizes)
    return check_plan(found, queries, name)


@pytest.mark.parametrize("name", NAMES)
def test_time_and_rows_are_never_mixed(name, monkeypatch):
    """Not even where everything that may be shared is, whatever it costs."""
    monkeypatch.setattr("weft.optimize.groupings.pays", may_derive)
    monkeypatch.setattr("weft.optimize.predicates.FINER", 1000)
    plan = planned(name, workload(), lambda scan, keys: MODEL)
    for scan in plan.scans:
        if scan.counts_rows:
            assert len(scan.predicates) == 1 and not scan.derived and not scan.union
            assert len({b.query.keys for b in scan.served}) == 1
    stages = build(plan)
    found = [node.stage for node in stages.roots if node.stage.counts_rows]
    assert all(stage.order == ("ts", "ts", "volume") for stage in found)
    assert len(found) >= 5


def test_windows_of_rows_share_a_scan_and_their_components():
    plan = planned("tri_weave", (bound("a"), bound("b", rows_window(7, 3)), bound("c", call="avg")))
    graph = build(plan)
    assert [str(c) for c in graph.root.stage.components] == ["count(1)", "sum(volume)", "min(ts)", "max(ts)",
                                                         "sum(CAST(volume AS DOUBLE))", "count(volume)"]
    assert graph.of(AnswerStage)[0].stage.window == "named_struct('start', c2_value, 'end', c3_value)"


def test_a_plan_that_mixes_them_is_a_bug_and_said_so():
    both = (bound("a"), bound("b", Window(100, 10)))
    with pytest.raises(PlanError, match="pass 'x' cut slices both of time and of rows"):
        check_plan(SharedPlan("x", (Scan((Tree(both),)),)), both, "x")


def test_explain_names_the_unit():
    plan = planned("tri_weave", (bound("a"), bound("b", rows_window(7, 3))))
    found = Explanation(plan, build(plan), break_down_plan(plan, lambda b: MODEL, projection))
    text = str(found)
    assert "partial: 21 slices every 30 rows (0.7 a row), by symbol" in text
    assert "100 rows / 10 rows: a" in text and "7 rows / 3 rows: b" in text
    assert "2,000,000 rows of 1000 keys, assumed" in text and " h," not in text
    assert "30 rows" in found.svg()
    assert found.to_dict()["scans"][0]["estimated_for"]["hours"] is None
