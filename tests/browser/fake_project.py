"""A service that shows a plan and figures from memory, with names that would be HTML if a page took them for it."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.unit.server.fake_service import FakeService
from weft.errors import CheckError, Place
from weft.model.plan import Scan, SharedPlan, Tree
from weft.optimize.cost_breakdown import break_down_plan
from weft.server.history import TriggerHistory
from weft.server.replies import faults_of
from weft.server.service import ShownPlan
from weft.spark.stream.progress import TriggerMetrics
from weft.stages.build import build, projection
from weft.stages.explain import Explanation

NASTY = '<img src=x onerror="document.title=1">'
NAMES = ("vwap", "high", "spread_2h")


def explanation() -> Explanation:
    """A plan of a few queries in two trees."""
    from tests.unit.stages.test_explain import MODEL, workload

    queries = workload()
    plan = SharedPlan("tri_weave", (Scan(tuple(Tree(tuple(queries[i] for i in group))
                                               for group in ((0, 1, 2), (8, 9), (10,)))),))
    account = break_down_plan(plan, lambda b: MODEL, projection)
    return Explanation(plan, build(plan), account, drift=0.12, tolerance=0.25)


class ShownService(FakeService):
    """A service whose figures move and whose names are nasty."""

    def __init__(self) -> None:
        super().__init__()
        self.found = explanation()
        self.texts = {**dict.fromkeys(self.found.to_dict()["queries"], "SELECT 1"), NASTY: f"SELECT '{NASTY}'"}
        self.history, self.count = TriggerHistory(), 0

    def state(self) -> dict[str, Any]:
        return {"project": f"demo {NASTY}", "ready": True, "failure": "", "streams": True, "schedules": False,
                "changes_at_once": True}

    def plan(self) -> ShownPlan:
        return ShownPlan.of(self.found)

    def queries(self) -> list[dict[str, Any]]:
        costs = self.found.to_dict()["queries"]
        return [{"name": name, "sql": sql, "state": "runs", "note": "", "streams": True, "scheduled": False,
                 "kept_here": name == "added", "answers": 7,
                 **costs.get(name, {"cost": None, "alone": None, "saved": None})} for name, sql in self.texts.items()]

    def live(self, after: int, now: datetime) -> dict[str, Any]:
        self.count += 1
        at = datetime(2024, 5, 1, 12, tzinfo=UTC) + timedelta(seconds=2 * self.count)
        wave = math.sin(self.count / 5)
        self.history.add(TriggerMetrics("scan-27c5", at, self.count, 500, 250 + 40 * wave, {"vwap": 6, NASTY: 3}, 4.5,
                                        at - timedelta(minutes=10), 600 + 5 * wave, 1.2 + 0.3 * wave, 15, 3 << 20,
                                        dead=self.count % 2))
        return {**self.history.after(after), "schedule": None, "scans": [{
            "scan": "scan-27c5", "active": True, "watermark": "2024-05-01T12:00:00.000Z", "lag_seconds": 600.0,
            "totals": {"rows": 5000, "late": 2, "dead": 1, "shed": 0, "answers": {}}}]}

    def answers(self, name: str, count: int) -> dict[str, Any]:
        rows = [[key, f"2024-05-01T12:{minute:02d}:00", 10 + minute % 7 + len(key)] for minute in range(40)
                for key in ("A", NASTY)]
        return {"columns": [{"name": "symbol", "type": "string"}, {"name": "at", "type": "timestamp[us]"},
                            {"name": "high", "type": "double"}], "rows": rows, "more": True, "note": ""}

    def dead_letters(self, count: int) -> dict[str, Any]:
        return {"dead": 1, "late": 2, "shed": 0, "letters": [f'{{"row": "{NASTY}"}}']}

    def decisions(self) -> dict[str, Any]:
        woven = {"act": "reweave", "query": "", "kind": "swap", "reason": "At a drift of 31%: woven anew."}
        return {"shedding": [{"at": "2024-05-01T12:00:00Z", "kind": "shed", "reason": f"too much to do {NASTY}"}],
                "schedule": None, "changes": [{"at": "2024-05-01T12:00:00Z", **woven}]}

    def check(self, name: str, sql: str) -> dict[str, Any]:
        if "pricee" in sql:
            line = sql.split("\n").index(next(each for each in sql.split("\n") if "pricee" in each))
            column = sql.split("\n")[line].index("pricee") + 1
            error = CheckError(name or "new_query", "there is no column 'pricee'.", place=Place(line + 1, column),
                               hint="Did you mean price?")
            return {"ok": False, "errors": faults_of(error)}
        return {"ok": True, "errors": [], "change": {"kind": "free", "drift": 0.14,
                                                     "reason": "It runs from the next trigger on."},
                "price": {"cost": 0.1, "alone": 0.8, "saved": 0.7, "cost_before": 1.0, "cost_after": 1.1,
                          "source": "trades", "keys": ["symbol"], "window": "10 min / 1 min", "needs": ["max(price)"],
                          "shares": ["max(price)"], "shares_scan": True, "shares_window": False}}

    def check_drop(self, name: str) -> dict[str, Any]:
        return {"ok": True, "errors": [], "price": {"cost_before": 1.1, "cost_after": 1.0},
                "change": {"kind": "free", "reason": "Its state is freed."}}

    def add(self, name: str, sql: str) -> dict[str, Any]:
        found = super().add(name, sql)
        self.texts[name] = sql
        return found

    def drop(self, name: str) -> dict[str, Any]:
        del self.texts[name]
        return {"ok": True, "change": {"kind": "free", "reason": ""}}
