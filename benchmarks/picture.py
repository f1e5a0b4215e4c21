"""The README's picture of the lab, taken from a real run: four replicas, then one slowed by 60 ms.

python -m benchmarks.picture [docs/images/lab.png]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, ViewportSize

from benchmarks.browser import chromium, serve_lab
from tests.lab_access import with_token

SIZE: ViewportSize = {"width": 1600, "height": 1000}
SETTLE_S = 8.0
SLOWED = 2


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/lab.png")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as runs, serve_lab(Path(runs)) as address:
        time.sleep(SETTLE_S)  # the spare worker's import is over
        with chromium() as browser:
            take(browser.new_page(viewport=SIZE), address, path)
    print(path)


def take(page: Page, address: str, path: Path) -> None:
    page.goto(with_token(f"{address}/?steps=5000"))
    page.get_by_role("button", name="Run").filter(has_text="Ctrl").click()
    wait_for_step(page, 250)
    drag_to_the_middle(page, SLOWED)
    page.get_by_role("button", name="step", exact=True).click()
    page.get_by_text("applied at step").wait_for(timeout=120_000)
    wait_for_step(page, int(page.locator(".live").get_attribute("data-step") or 0) + 250)
    page.mouse.move(SIZE["width"] - 5, SIZE["height"] - 5)
    page.screenshot(path=str(path))
    page.locator(".st-key-stop_button").get_by_role("button", name="Stop").click()
    page.locator(".live[data-status=stopped]").wait_for(timeout=60_000)


def wait_for_step(page: Page, step: int) -> None:
    deadline = time.monotonic() + 300
    while int(page.locator(".live").get_attribute("data-step") or -1) < step:
        if time.monotonic() > deadline:
            raise RuntimeError(f"the run did not come to step {step}")
        page.wait_for_timeout(50)


def drag_to_the_middle(page: Page, slider: int) -> None:
    """One change, where keys would send one for each press."""
    thumb = page.get_by_role("slider").nth(slider).bounding_box()
    track = page.locator("[data-testid=stSlider]").nth(slider).bounding_box()
    assert thumb is not None
    assert track is not None
    y = thumb["y"] + thumb["height"] / 2
    page.mouse.move(track["x"] + 6, y)
    page.mouse.down()
    page.mouse.move(track["x"] + track["width"] * 0.4, y)
    page.mouse.move(track["x"] + track["width"] * 0.6, y)
    page.mouse.up()


if __name__ == "__main__":
    main()
