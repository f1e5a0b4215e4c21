"""The README's pictures, taken from a real run: four replicas, then one slowed by 60 ms.

`lab.png` is the live page, `film.png` the film of the last captured step.

python -m benchmarks.picture [docs/images]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, ViewportSize

from benchmarks.measuring.browser import chromium, serve_lab
from tests.lab_access import with_token

SIZE: ViewportSize = {"width": 1600, "height": 1000}
FILM_SIZE: ViewportSize = {"width": 1280, "height": 720}
SETTLE_S = 8.0
SLOWED = 2
DELAY_MS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs/images"))
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as runs, serve_lab(Path(runs)) as address:
        time.sleep(SETTLE_S)  # the spare worker's import is over
        with chromium() as browser:
            page = browser.new_page(viewport=SIZE)
            take(page, address, folder / "lab.png")
            take_film(page, folder / "film.png")
    print(folder)


def take(page: Page, address: str, path: Path) -> None:
    page.goto(with_token(f"{address}/?steps=5000"))
    page.get_by_role("button", name="Run").filter(has_text="Ctrl").click()
    wait_for_step(page, 250)
    page.get_by_role("slider", name=f"Replica {SLOWED}").fill(str(DELAY_MS))
    page.get_by_role("button", name="step", exact=True).click()
    page.get_by_text("applied at step").wait_for(timeout=120_000)
    wait_for_step(page, int(page.locator(".live").get_attribute("data-step") or 0) + 250)
    page.mouse.move(SIZE["width"] - 5, SIZE["height"] - 5)
    page.screenshot(path=str(path))
    page.locator(".st-key-stop_button").get_by_role("button", name="Stop").click()
    page.locator(".live[data-status=stopped]").wait_for(timeout=60_000)


def take_film(page: Page, path: Path) -> None:
    """Of the last captured step, in which the others wait for the slowed replica."""
    page.set_viewport_size(FILM_SIZE)
    for link in ("Timeline", "Step film"):
        page.get_by_role("link", name=link, exact=True).click()
    steps = page.get_by_role("combobox", name="Captured step")
    steps.click()
    page.get_by_role("option").last.click()
    steps.blur()
    late = page.frame_locator("iframe").locator(".caption", has_text=f"Replica {SLOWED} is")
    late.wait_for(timeout=60_000)
    page.wait_for_timeout(1000)
    page.screenshot(path=str(path))


def wait_for_step(page: Page, step: int) -> None:
    deadline = time.monotonic() + 300
    while int(page.locator(".live").get_attribute("data-step") or -1) < step:
        if time.monotonic() > deadline:
            raise RuntimeError(f"the run did not come to step {step}")
        page.wait_for_timeout(50)


if __name__ == "__main__":
    main()
