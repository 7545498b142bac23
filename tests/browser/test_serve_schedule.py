"""`weft serve` by a schedule, for real: runs in Spark, a query that comes and goes, and what the API and page tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.served_project import SCHEDULED, Feed, Served, make_project, weft

pytestmark = pytest.mark.long
HIGH = "SELECT symbol, window.end AS at, max(price) AS high FROM trades GROUP BY symbol, window(ts, '2 seconds')"


def test_a_schedule_is_served(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    project = make_project(tmp_path, SCHEDULED)
    feed = Feed(project / "incoming")
    served = Served(project)
    try:
        state = served.client.get("/api/state").json()
        assert state["schedules"] and not state["streams"]
        first = served.until("/api/runs", lambda found: len(found["runs"]) > 1)["runs"]
        assert not any(run.get("error") for run in first)
        served.until("/api/queries/mean/answers", lambda found: found["rows"])
        (project / "high.sql").write_text(HIGH)
        added = weft(project, "add", "high", "high.sql")
        assert added.returncode == 0, added.stderr
        served.until("/api/queries/high/answers", lambda found: found["rows"])
        decided = served.client.get("/api/decisions").json()["schedule"]
        assert {name for group in decided["groups"] for name in group["queries"]} == {"mean", "total", "high"}
        page = open_page(served.address)
        expect(page.locator("#status")).to_have_text("Running, by schedule", timeout=30_000)
        expect(page.locator("#schedule li").first).to_be_visible(timeout=30_000)
        expect(page.locator("#answers-table tbody tr").first).to_be_visible(timeout=60_000)
        page.close()  # it would go on asking a service that has ended
        assert weft(project, "drop", "high").returncode == 0
        served.until("/api/decisions", lambda found: "high" not in str(found["schedule"]))
        before = len(served.client.get("/api/runs").json()["runs"])
        served.until("/api/runs", lambda found: len(found["runs"]) > before)
        assert served.client.get("/metrics").status_code == served.client.get("/health").status_code == 200
    finally:
        code = served.end()
        feed.stop()
    assert code == 0, served.said()
