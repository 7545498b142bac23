"""The page over a service that answers from memory: what it shows, what it takes for text, keys, width and colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.fake_project import NASTY, ShownService
from weft.cli.what_if_api import answer_windows
from weft.server.app import service_app
from weft.server.guard import Access
from weft.server.listen import listening
from weft.server.worker import SparkWorker

Open = Callable[..., Page]
SQL = "SELECT symbol, window.end AS at,\n  max(pricee) AS high\nFROM trades GROUP BY symbol, window(ts, '10 minutes')"
TOKEN = "a-token-of-many-signs"


@pytest.fixture(scope="module")
def service() -> ShownService:
    return ShownService()


@pytest.fixture(scope="module")
def address(service: ShownService) -> Iterator[str]:
    worker = SparkWorker()
    with listening(service_app(service, worker, answer_windows), 0) as found:
        yield found
    worker.close()


def test_the_page_shows_what_runs_and_moves(address: str, open_page: Open) -> None:
    page = open_page(address)
    expect(page.locator("#plan svg.weft")).to_be_visible()
    assert page.locator("#plan svg title", has_text="saves").count() > 0
    expect(page.locator("#status")).to_have_text("Running, streaming")
    expect(page.locator("#summary")).to_contain_text("costs 12 % more than was expected of as many, and is woven anew "
                                                     "beyond 25 %")
    expect(page.locator("#changes")).to_contain_text("reweave: At a drift of 31%")
    expect(page.locator("#queries tbody tr")).to_have_count(len(ShownService().texts))
    expect(page.locator("#charts figure")).to_have_count(6)
    line = page.locator("#charts path.line").first
    before = line.get_attribute("d")
    expect(line).not_to_have_attribute("d", before or "", timeout=10_000)
    expect(page.locator("#answers-chart path.line")).to_have_count(2)
    expect(page.locator("#answers-table tbody tr")).to_have_count(50)
    expect(page.locator("#letters li")).to_have_count(1)


def test_names_and_rows_are_texts_and_never_html(address: str, open_page: Open) -> None:
    page = open_page(address)
    expect(page.locator("#queries button.link", has_text=NASTY)).to_be_visible()
    expect(page.locator("#letters")).to_contain_text(NASTY)
    expect(page.locator("#shedding")).to_contain_text(NASTY)
    expect(page.locator("#answers-table")).to_contain_text(NASTY)
    expect(page.locator("h1")).to_contain_text(NASTY)
    assert page.locator("img").count() == 0 and page.title() == f"demo {NASTY} – Weft"


def test_a_query_is_typed_mended_added_and_dropped(address: str, open_page: Open, service: ShownService) -> None:
    page = open_page(address)
    page.get_by_label("Name").fill("added")
    page.get_by_label("SQL").fill(SQL)
    fault = page.locator(".fault")
    expect(fault).to_contain_text("Line 2, column 7: there is no column 'pricee'. Did you mean price?")
    assert fault.locator("pre").inner_text() == "  max(pricee) AS high\n      ^"
    expect(page.get_by_role("button", name="Add", exact=True)).to_be_disabled()
    fault.get_by_role("button", name="Go there").click()
    start = page.evaluate("document.getElementById('sql').selectionStart")
    assert SQL[start:start + 6] == "pricee"
    page.get_by_label("SQL").fill(SQL.replace("pricee", "price"))
    expect(page.locator("#verdict")).to_contain_text("Shares the scan of trades; max(price).")
    expect(page.locator("#verdict")).to_contain_text("The plan then costs 14 % more than was expected of as many.")
    page.get_by_label("SQL").press("Control+Enter")
    row = page.locator("#queries tbody tr", has_text="added")
    expect(row).to_be_visible()
    expect(page.locator("#verdict")).to_contain_text("added is added.")
    row.get_by_role("button", name="Drop added").click()
    expect(page.locator("#confirm-text")).to_contain_text("Its state is freed.")
    page.get_by_role("button", name="Keep it").click()
    expect(row).to_be_visible()
    row.get_by_role("button", name="Drop added").click()
    page.get_by_role("button", name="Drop it").click()
    expect(row).to_have_count(0)
    assert "added" not in service.texts


def test_everything_is_reached_by_keys_and_has_a_name(address: str, open_page: Open) -> None:
    page = open_page(address)
    expect(page.locator("#queries tbody tr").first).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    nameless = page.evaluate("""[...document.querySelectorAll('button, input, select, textarea, [tabindex]')].filter(
        (one) => !(one.labels?.length || one.ariaLabel || one.textContent.trim())).map((one) => one.outerHTML)""")
    assert nameless == []
    assert page.locator("[role=status][aria-live=polite]").count() == 1
    charts = page.locator("#charts figure > svg[role=img][aria-label]")
    expect(charts).to_have_count(6)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_it_fits_narrow_and_wide_light_and_dark(address: str, open_page: Open, width: int, scheme: str) -> None:
    page = open_page(address, viewport={"width": width, "height": 900}, color_scheme=scheme)
    expect(page.locator("#charts figure")).to_have_count(6)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(245, 247, 250)" if scheme == "light" else "rgb(16, 22, 29)")


def test_the_page_asks_for_the_token(service: ShownService, open_page: Open) -> None:
    worker = SparkWorker()
    with listening(service_app(service, worker, answer_windows, Access(TOKEN)), 0) as address:
        page = open_page(address)
        page.get_by_label("This service asks for its token.").fill("wrong")
        page.get_by_role("button", name="Go on").click()
        expect(page.locator("#token-error")).to_contain_text("a token is needed")
        page.get_by_label("This service asks for its token.").fill(TOKEN)
        page.get_by_role("button", name="Go on").click()
        expect(page.locator("#plan svg.weft")).to_be_visible()
        expect(page.locator("#token-form")).to_be_hidden()
    said = open_page.said  # type: ignore[attr-defined]
    assert all("401" in one or "Failed to fetch" in one or "ERR_CONN" in one for one in said)
    said.clear()
    worker.close()
