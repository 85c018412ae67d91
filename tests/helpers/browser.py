"""Pages in a real browser: a pytest plugin, for `pytest_plugins = ["browser"]`.

Debian's Chromium through Playwright; neither is downloaded. Where one is missing, tests skip.
"""

import os
import shutil
from pathlib import Path

import pytest


def chromium():
    """The path of a Chromium, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found is not None:
            return found
    return None


@pytest.fixture(scope="module")
def chrome():
    """One browser for the tests of a module. While it runs, `asyncio.run` does not, in any test."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on this machine: apt install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("Playwright is not installed: pip install playwright")
    # A sanitizer for Python is none for a browser, but tests after it still want theirs.
    preload = os.environ.pop("LD_PRELOAD", None)
    try:
        driver = sync_playwright().start()
        # Its own sandbox needs rights that containers and root do not have.
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
    finally:
        if preload is not None:
            os.environ["LD_PRELOAD"] = preload
    yield started
    started.close()
    driver.stop()


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory):
    """Where pictures go, for looking at: $TRACETIME_SCREENSHOTS, or a temporary folder."""
    wanted = os.environ.get("TRACETIME_SCREENSHOTS")
    folder = Path(wanted) if wanted else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def visit(chrome):
    """Open a file in a page of its own; complaints and requests of the page fail the test."""
    pages, complaints = [], []

    def visit(path, **options):
        page = chrome.new_page(**{"viewport": {"width": 1200, "height": 900}, **options})
        page.on(
            "console",
            lambda message: (
                message.type in ("error", "warning") and complaints.append(message.text)
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:", "blob:"))
                or complaints.append(f"requested {request.url}")
            ),
        )
        pages.append(page)
        page.goto(Path(path).resolve().as_uri())
        page.wait_for_selector("html[data-drawn=all]", timeout=600_000)
        return page

    yield visit
    for page in pages:
        page.close()
    assert complaints == []
