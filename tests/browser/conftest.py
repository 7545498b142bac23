"""What the tests of the page share: Chromium, and pages that must log no error."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome")
# A page of the tests reaches this machine alone, and the browser asks nobody else for anything.
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks every test here with `browser`."""
    for item in (item for item in items if HERE in item.path.parents):
        item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")  # not of the session: while it is there, no other test may run an event loop
def chromium() -> Iterator[Browser]:
    """A browser; `make test` installs one where it can, and where there is none these tests fail and say so."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    assert path, "there is no Chromium: run scripts/chromium.sh, or set CHROMIUM."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Opens an address; at the end no page may have logged an error."""
    said: list[str] = []
    contexts = []

    def opened(address: str, **options: object) -> Page:
        contexts.append(chromium.new_context(**options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.goto(address)
        return page

    opened.said = said  # type: ignore[attr-defined]
    yield opened
    for context in contexts:
        context.close()
    assert not said
