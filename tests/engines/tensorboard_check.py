"""The tab in TensorBoard, in a real TensorBoard and Chromium: `make test-tensorboard`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from strategy_core.processes.free_port import free_port
from strategy_lab.profiles.run.layout import RUN_FILE
from tests.engines.serving import serving
from tests.synthetic import write_run

PREFIX = "/board"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs at different depths, and one whose `run.json` is damaged."""
    folder = tmp_path_factory.mktemp("logs")
    write_run(folder / "plain")
    write_run(folder / "models" / "resnet" / "delayed")
    damaged = write_run(folder / "models" / "damaged")
    (damaged / RUN_FILE).write_text("{")
    return folder


@pytest.fixture(scope="module")
def board(logdir: Path) -> Iterator[str]:
    """The address of a TensorBoard, below a path prefix as behind a proxy."""
    port = free_port("127.0.0.1")
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--path_prefix", PREFIX]
    address, log = f"http://127.0.0.1:{port}{PREFIX}", logdir.parent / "tensorboard.log"
    with serving(command, f"{address}/data/plugins_listing", log):
        yield address


def test_tensorboard_lists_the_tab_as_active(board: str) -> None:
    listed = requests.get(f"{board}/data/plugins_listing", timeout=60).json()
    assert listed["strategy_lab"]["enabled"]
    assert listed["strategy_lab"]["tab_name"] == "Strategy Lab"


def test_a_name_outside_of_the_log_directory_is_not_found(board: str, logdir: Path) -> None:
    outside = write_run(logdir.parent / "outside")
    for name in ("../outside", str(outside), ""):
        route = f"{board}/data/plugin/strategy_lab/report"
        answer = requests.get(route, params={"run": name}, timeout=60)
        assert answer.status_code == 404
        assert answer.headers["Content-Type"].startswith("text/plain")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    yield page
    page.close()


def test_the_tab_shows_the_report_of_the_run_that_is_chosen(board: str, page: Page) -> None:
    failed: list[str] = []
    page.on("response", lambda it: failed.append(it.url) if it.status >= 400 else None)
    refused: list[str] = []
    page.on("console", lambda it: refused.append(it.text) if "Refused" in it.text else None)
    page.goto(f"{board}/#strategy_lab")
    tab = page.frame_locator("iframe")
    runs = tab.get_by_role("list", name="Runs").get_by_role("button")
    expect(runs).to_have_count(3)
    tab.get_by_role("button", name="models/resnet/delayed").click()
    expect(tab.get_by_text("strategy-lab ui --runs")).to_contain_text("models/resnet")
    report = tab.frame_locator("iframe")
    expect(report.get_by_text("Step time", exact=True).first).to_be_visible()
    expect(report.locator("canvas").first).to_be_attached()  # its own scripts ran
    assert not refused
    assert not [url for url in failed if "strategy_lab" in url]


def test_a_damaged_run_is_named_and_what_is_left_of_it_is_shown(board: str, page: Page) -> None:
    page.goto(f"{board}/#strategy_lab")
    tab = page.frame_locator("iframe")
    damaged = tab.get_by_role("button", name="models/damaged")
    expect(damaged).to_contain_text("run.json is damaged")
    damaged.click()
    expect(tab.frame_locator("iframe").locator("body")).to_contain_text(re.compile(r"\w"))
