"""The tab in TensorBoard, in a real TensorBoard and Chromium: `make test-tensorboard`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, FrameLocator, Page, expect

from strategy_core.processes.free_port import free_port
from strategy_profiles.run.layout import RUN_FILE
from tests import lab_access
from tests.engines.serving import serving
from tests.server_process import ServerProcess, server_process
from tests.synthetic import write_run

PREFIX = "/board"
REMOTE = "http://board.example"
"""TensorBoard as a browser on another machine names it."""


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs at different depths, one whose `run.json` is damaged, and one without an address."""
    folder = tmp_path_factory.mktemp("logs")
    write_run(folder / os.fsdecode(b"\xff") / "unnamed")
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


def test_without_a_lab_the_tab_shows_the_command_that_starts_one(
    board: str, logdir: Path, page: Page
) -> None:
    tab = open_tab(page, board, "models/resnet/delayed")
    expect(tab.locator("header code")).to_have_text(
        f"strategy-lab ui --runs {logdir}/models/resnet"
    )
    expect(tab.get_by_role("link", name="Open in the lab")).to_have_count(0)


@pytest.fixture
def lab(logdir: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    """A lab for one of the folders below the log directory."""
    runs = str(logdir / "models" / "resnet")
    with server_process(tmp_path / "lab.log", "--runs", runs) as server:
        yield server


def test_once_a_lab_runs_the_tab_links_to_the_page_of_the_run(
    board: str, logdir: Path, browser: Browser, tmp_path: Path
) -> None:
    context = browser.new_context()
    page = context.new_page()
    tab = open_tab(page, board, "models/resnet/delayed")
    link = tab.get_by_role("link", name="Open in the lab")
    expect(link).to_have_count(0)
    runs = str(logdir / "models" / "resnet")
    with server_process(tmp_path / "lab.log", "--runs", runs) as lab:
        expect(link).to_have_attribute("href", f"{lab.url}/overview?run=delayed")
        context.add_cookies([lab_access.cookie(lab.url)])
        with page.expect_popup() as popup:
            link.click()
        expect(popup.value.get_by_role("heading", name="Input pipeline")).to_be_visible()
        tab.get_by_role("button", name="plain").click()  # of another folder
        expect(link).to_have_count(0)
    context.close()


def test_who_has_no_token_of_the_lab_gets_none_from_tensorboard(
    board: str, lab: ServerProcess, page: Page
) -> None:
    route = f"{board}/data/plugin/strategy_lab/lab"
    answer = requests.get(route, params={"run": "models/resnet/delayed"}, timeout=60)
    assert answer.json() == {"page": f"{lab.url}/overview?run=delayed"}
    tab = open_tab(page, board, "models/resnet/delayed")
    with page.expect_popup() as popup:
        tab.get_by_role("link", name="Open in the lab").click()
    lab_page = popup.value
    lab_page.get_by_label("Token").fill(lab_access.TOKEN)
    lab_page.get_by_role("button", name="Open the lab").click()
    lab_page.wait_for_url(f"{lab.url}/overview?run=delayed")


def test_a_browser_on_another_machine_gets_the_address_and_no_link(
    board: str, lab: ServerProcess, page: Page
) -> None:
    origin = board.removesuffix(PREFIX)
    page.route(
        f"{REMOTE}/**",
        lambda it: it.fulfill(response=it.fetch(url=it.request.url.replace(REMOTE, origin))),
    )
    tab = open_tab(page, f"{REMOTE}{PREFIX}", "models/resnet/delayed")
    expect(tab.get_by_text("on TensorBoard's machine")).to_contain_text(lab.url)
    expect(tab.get_by_role("link")).to_have_count(0)
    page.unroute_all(behavior="ignoreErrors")


def open_tab(page: Page, board: str, run: str) -> FrameLocator:
    page.goto(f"{board}/#strategy_lab")
    tab = page.frame_locator("iframe")
    tab.get_by_role("button", name=run).click()
    return tab


def test_a_damaged_run_is_named_and_what_is_left_of_it_is_shown(board: str, page: Page) -> None:
    page.goto(f"{board}/#strategy_lab")
    tab = page.frame_locator("iframe")
    damaged = tab.get_by_role("button", name="models/damaged")
    expect(damaged).to_contain_text("run.json is damaged")
    damaged.click()
    expect(tab.frame_locator("iframe").locator("body")).to_contain_text(re.compile(r"\w"))
