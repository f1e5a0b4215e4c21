"""The lab through a real JupyterLab in Chromium, and a notebook in it: `make test-jupyter`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from strategy_core.processes.free_port import free_port
from strategy_core.processes.import_path import with_own_code
from tests.patience import wait_until
from tests.strategy_core.notebook.test_magic import FIRST, SETUP
from tests.synthetic import write_run

PREFIX = "/user/ann"
"""As JupyterHub serves one of its users."""
TOKEN = "a-token-of-jupyter"
SHOWN = """import strategy_core as lab
with lab.record("runs/shown") as recorder:
    for batch in recorder.dataset(batches):
        with recorder.step():
            train_step(batch)
recorder.show()"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, and a notebook with a recorded cell and one that calls `recorder.show()`."""
    folder = tmp_path_factory.mktemp("jupyter") / "notebooks"
    folder.mkdir()
    write_run(folder / "runs" / "made", straggler=(2, 30.0))
    cells = [nbformat.v4.new_code_cell(source) for source in (SETUP, FIRST, SHOWN)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "train.ipynb")
    return folder


@pytest.fixture(scope="module")
def jupyter(folder: Path) -> Iterator[str]:
    """The address of JupyterLab, below a prefix."""
    port = free_port("127.0.0.1")
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--port={port}", f"--ServerApp.base_url={PREFIX}/"]
    command += [f"--IdentityProvider.token={TOKEN}", "--LabApp.news_url=", "--no-browser"]
    # Of its own: Jupyter opens what was open last in the user's workspace.
    own = {
        "JUPYTER_CONFIG_DIR": str(folder.parent / "config"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder.parent / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder.parent / "workspaces"),
    }
    with (folder.parent / "jupyter.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env=with_own_code(os.environ) | own
        )
    address = f"http://127.0.0.1:{port}{PREFIX}"
    try:
        wait_until(lambda: answers(f"{address}/api"))
        yield address
    finally:
        process.terminate()
        process.wait(60)


def answers(address: str) -> bool:
    try:
        return requests.get(address, timeout=60).ok
    except requests.RequestException:
        return False


@pytest.fixture
def page(browser: Browser, jupyter: str) -> Iterator[Page]:
    """A page of someone who is logged in to Jupyter."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.goto(f"{jupyter}/lab?token={TOKEN}")
    yield page
    context.close()


def test_the_tile_of_the_launcher_opens_the_lab_and_all_it_loads_lies_below_the_prefix(
    jupyter: str, page: Page
) -> None:
    tile = page.locator(".jp-LauncherCard").filter(has_text="Strategy Lab")
    # The lab starts first, and the page is there with its first answer.
    with page.expect_popup(timeout=300_000) as popup:
        tile.click()
    lab = popup.value
    problems: list[str] = []
    lab.on("response", lambda it: problems.append(it.url) if it.status >= 400 else None)
    lab.on("request", lambda it: None if is_below(it.url) else problems.append(it.url))
    sockets: list[str] = []
    lab.on("websocket", lambda it: sockets.append(it.url))
    expect(lab.get_by_role("button", name="Run", exact=True)).to_be_visible()
    expect(lab).to_have_url(re.compile(f"{PREFIX}/strategy-lab/"))
    lab.goto(f"{jupyter}/strategy-lab/timeline?run=made")
    lab.locator(".strategy-lab canvas").first.wait_for()
    lab.goto(f"{jupyter}/strategy-lab/?run=made")
    wait_until(lambda: any("/api/runs/made/stream" in url for url in sockets))
    lab.goto(f"{jupyter}/strategy-lab/runs?run=made")
    link = lab.get_by_role("link", name="Open the report")
    expect(link).to_have_attribute("href", "report/made")
    with lab.expect_popup() as opened:
        link.click()
    expect(opened.value.get_by_text("Step time", exact=True).first).to_be_visible()
    assert not [url for url in sockets if f"{PREFIX}/strategy-lab/" not in url]
    assert not problems


def is_below(url: str) -> bool:
    return url.startswith(("data:", "blob:")) or f"{PREFIX}/strategy-lab/" in url


def test_only_who_is_logged_in_to_jupyter_reaches_the_lab(jupyter: str, page: Page) -> None:
    answer = requests.get(f"{jupyter}/strategy-lab/", timeout=60, allow_redirects=False)
    assert f"{PREFIX}/login" in answer.headers.get("Location", "")
    page.request.get(f"{jupyter}/strategy-lab/", timeout=60_000)  # starts it
    foreign = {"Authorization": f"token {TOKEN}", "Sec-Fetch-Site": "cross-site"}
    route = f"{jupyter}/strategy-lab/api/runs/made/timeline"
    assert requests.get(route, headers=foreign, timeout=60).status_code == 403
    assert page.request.get(route).ok


def test_a_notebook_draws_the_report_below_a_recorded_cell_and_after_show(
    jupyter: str, page: Page, folder: Path
) -> None:
    page.goto(f"{jupyter}/lab/tree/train.ipynb")
    page.locator(".lm-MenuBar-item").filter(has_text=re.compile("^Run$")).click()
    page.locator(".lm-Menu-item").filter(has_text=re.compile("^Run All Cells")).click()
    frames = page.locator(".jp-OutputArea-output iframe")
    expect(frames).to_have_count(2, timeout=300_000)
    for index in range(2):
        report = frames.nth(index).content_frame
        expect(report.get_by_text("Step time", exact=True).first).to_be_visible()
        expect(report.locator("canvas").first).to_be_attached()
    assert {path.name for path in (folder / "runs").iterdir()} >= {"first", "shown"}
