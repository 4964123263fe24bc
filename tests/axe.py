"""What axe finds on pages in a browser: rules that a reader with a screen reader relies on."""

from collections.abc import Iterable
from pathlib import Path

import pytest

__all__ = ["findings", "sheets_before"]


def findings(browser: str, pages: Iterable[Path], width: int) -> list[str]:
    """Page, rule and first element for each rule that a page of this width breaks."""
    playwright = pytest.importorskip("playwright.sync_api")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    broken = []
    with playwright.sync_playwright() as play:
        window = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        # The pages of a report allow no script from elsewhere, and axe is one.
        context = window.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
        page = context.new_page()
        for path in pages:
            page.goto(path.as_uri())
            broken += [
                f"{path.name}: {rule['id']}: {rule['nodes'][0]['html'][:90]}"
                for rule in axe.run(page).response["violations"]
            ]
        window.close()
    return broken


def sheets_before(browser: str, page: Path, selector: str) -> float:
    """How many printed sheets of A4 stand before an element, with margins of 15 mm."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as play:
        window = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        printed = window.new_page(viewport={"width": 680, "height": 1009})
        printed.emulate_media(media="print")
        printed.goto(page.as_uri())
        top = printed.locator(selector).bounding_box()["y"]
        window.close()
    return float(top) / 1009
