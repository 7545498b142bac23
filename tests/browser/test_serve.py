"""`weft serve` for real: a stream in Spark, the page in Chromium, changes by the page and the command line, a kill."""

from __future__ import annotations

import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.served_project import Feed, Served, make_project, weft

pytestmark = pytest.mark.long
HIGH = "SELECT symbol, window.end AS at, max(price) AS high FROM trades GROUP BY symbol, window(ts, '2 seconds')"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = make_project(tmp_path_factory.mktemp("served"))
    feed = Feed(folder / "incoming")
    yield folder
    feed.stop()


@pytest.fixture(scope="module")
def served(project: Path) -> Iterator[Served]:
    made = Served(project)
    yield made
    made.end()


def test_the_page_of_a_running_stream(served: Served, open_page: Callable[..., Page]) -> None:
    page = open_page(served.address)
    expect(page.locator("#status")).to_have_text("Running, streaming", timeout=30_000)
    expect(page.locator("#plan svg.weft text", has_text="mean").first).to_be_visible()
    expect(page.locator("#charts path.line").first).to_be_attached(timeout=180_000)
    expect(page.locator("#answers-table tbody tr").first).to_be_visible(timeout=180_000)
    expect(page.locator("#letters")).to_contain_text("no row", timeout=30_000)


def test_a_query_is_typed_added_seen_and_dropped(served: Served, open_page: Callable[..., Page]) -> None:
    page = open_page(served.address)
    expect(page.locator("#queries tbody tr")).to_have_count(2, timeout=30_000)
    page.get_by_label("Name").fill("high")
    page.get_by_label("SQL").fill(HIGH.replace("max(price)", "max(pricee)"))
    expect(page.locator(".fault")).to_contain_text("Line 1, column 38", timeout=30_000)
    page.get_by_label("SQL").fill(HIGH)
    expect(page.locator("#verdict")).to_contain_text("Shares the scan of trades", timeout=30_000)
    page.get_by_role("button", name="Add", exact=True).click()
    row = page.locator("#queries tbody tr", has_text="high")
    expect(row).to_be_visible(timeout=180_000)
    live = served.client.get("/api/state").json()["changes_at_once"]
    if live:
        served.until("/api/queries/high/answers", lambda found: found["rows"])
        row.get_by_role("button", name="Show the answers of high").click()
        expect(page.locator("#answers-table thead")).to_contain_text("high", timeout=30_000)
    else:
        expect(row).to_contain_text("waits")
    row.get_by_role("button", name="Drop high").click()
    page.get_by_role("button", name="Drop it").click()
    expect(row).to_have_count(0, timeout=180_000)
    assert not (served.folder / "queries/high.sql").exists()


def test_the_api_of_a_running_stream(served: Served) -> None:
    ask = served.client
    found = {one["name"]: one for one in ask.get("/api/queries").json()["queries"]}
    assert found["mean"]["state"] == "runs" and found["mean"]["alone"] > 0 and not found["mean"]["kept_here"]
    assert ask.get("/api/queries/mean").json()["plan"]["source"] == "trades"
    bad = ask.post("/api/queries", json={"name": "bad", "sql": HIGH.replace("max(price)", "maxx(price)")})
    assert bad.status_code == 422 and bad.json()["errors"][0]["column"] == 39
    called = "max(reflect('java.lang.System', 'exit', 1))"
    code = ask.post("/api/check", json={"sql": HIGH.replace("max(price)", called)})
    assert not code.json()["ok"] and "reflect" in code.json()["errors"][0]["reason"]
    assert "weft_rows_total{" in ask.get("/metrics").text and ask.get("/health").status_code == 200
    served.until("/api/live", lambda live: live["triggers"] and live["scans"][0]["totals"]["rows"] > 0)
    served.until("/api/dead-letters", lambda dead: dead["dead"] == 1 and "no row" in dead["letters"][0])


def test_the_command_line_asks_the_service(served: Served) -> None:
    folder = served.folder
    (folder / "high.sql").write_text(HIGH)
    dry = weft(folder, "add", "top", "high.sql", "--dry-run")
    assert dry.returncode == 0 and "top would cost" in dry.stdout, dry.stderr
    assert not (folder / "queries/top.sql").exists()
    (folder / "bad.sql").write_text(HIGH.replace("price", "pricee"))
    bad = weft(folder, "add", "bad", "bad.sql")
    assert bad.returncode == 1 and "bad.sql:1:38" in bad.stderr
    assert weft(folder, "drop", "none").returncode == 1
    added = weft(folder, "add", "kept", "high.sql")
    assert added.returncode == 0, added.stderr
    assert (folder / "queries/kept.sql").read_text().startswith("-- Kept by weft serve")
    assert stat.S_IMODE((folder / ".weft/serve/serve.json").stat().st_mode) == 0o600
    second = weft(folder, "serve")
    assert second.returncode == 1 and f"process {served.process.pid}" in second.stderr and "s ago" in second.stderr


def test_killed_and_started_again_it_goes_on(served: Served, project: Path) -> None:
    """Comes last: it kills the service of the others."""
    before = served.until("/api/live", lambda live: live["triggers"])["triggers"][-1]["batch"]
    assert served.end(signal.SIGKILL) == -signal.SIGKILL
    again = Served(project)
    try:
        assert {one["name"] for one in again.client.get("/api/queries").json()["queries"]} == {"mean", "total", "kept"}
        assert again.until("/api/live", lambda live: live["triggers"])["triggers"][0]["batch"] >= before
        assert weft(project, "drop", "kept").returncode == 0
    finally:
        assert again.end() == 0
    assert not (project / ".weft/serve/serve.json").exists()
