"""The lab through a real JupyterLab in Chromium: `make test-jupyter`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import requests
from playwright.sync_api import Browser, Page, expect

import strategy_profiles
from strategy_core.processes.free_port import free_port
from strategy_core.processes.import_path import with_own_code
from tests.engines.serving import serving
from tests.plugins.notebook.test_magic import FIRST, SETUP
from tests.synthetic import write_run

PREFIX = "/user/ann"
"""As JupyterHub serves one of its users."""
TOKEN = "a-token-of-jupyter"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which Jupyter is started, with a run."""
    folder = tmp_path_factory.mktemp("jupyter") / "notebooks"
    folder.mkdir()
    write_run(folder / "runs" / "made", straggler=(2, 30.0))
    cells = [nbformat.v4.new_code_cell(source) for source in (SETUP, FIRST)]
    # Without a kernel's name JupyterLab asks for it in a dialog.
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
    nbformat.write(notebook, folder / "training.ipynb")
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
    address, log = f"http://127.0.0.1:{port}{PREFIX}", folder.parent / "jupyter.log"
    environment = with_own_code(os.environ) | own
    with serving(command, f"{address}/api", log, environment=environment, folder=folder):
        yield address


@pytest.fixture
def page(browser: Browser, jupyter: str) -> Iterator[Page]:
    """A page of someone who is logged in to Jupyter."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.goto(f"{jupyter}/lab?token={TOKEN}")
    yield page
    context.close()


def test_the_tile_of_the_launcher_opens_the_lab_below_jupyters_prefix(
    jupyter: str, page: Page
) -> None:
    tile = page.locator(".jp-LauncherCard").filter(has_text="Strategy Lab")
    # The lab starts first, and the page is there with its first answer.
    with page.expect_popup(timeout=300_000) as popup:
        tile.click()
    lab = popup.value
    expect(lab.get_by_role("heading", name="New run")).to_be_visible()
    lab.get_by_role("link", name="All runs").click()
    expect(lab).to_have_url(re.compile(rf"{re.escape(jupyter)}/strategy-lab/runs\b"))
    expect(lab.get_by_text("made", exact=True).first).to_be_attached()


def test_only_who_is_logged_in_to_jupyter_reaches_the_lab(jupyter: str, page: Page) -> None:
    answer = requests.get(f"{jupyter}/strategy-lab/", timeout=60, allow_redirects=False)
    assert f"{PREFIX}/login" in answer.headers.get("Location", "")
    page.request.get(f"{jupyter}/strategy-lab/", timeout=60_000)  # starts it
    foreign = {"Authorization": f"token {TOKEN}", "Sec-Fetch-Site": "cross-site"}
    route = f"{jupyter}/strategy-lab/api/runs/made/timeline"
    assert requests.get(route, headers=foreign, timeout=60).status_code == 403
    assert page.request.get(route).ok


def test_a_recorded_cell_draws_its_profile_below_itself(
    jupyter: str, page: Page, folder: Path
) -> None:
    page.goto(f"{jupyter}/lab/tree/training.ipynb")
    expect(page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(2)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    outputs = page.locator(".jp-Notebook .jp-CodeCell").last.locator(".jp-OutputArea-output")
    expect(outputs.filter(has_text="recording into runs/first")).to_be_visible(timeout=300_000)
    report = outputs.frame_locator("iframe")
    headline = report.get_by_role("heading", level=1)
    expect(headline).to_contain_text("mirrored on 2 replicas", timeout=300_000)
    # JupyterLab scrolls as it goes on drawing, so Playwright's own scrolling finds it never still.
    outputs.locator("iframe").evaluate("frame => frame.scrollIntoView()")
    expect(headline).to_be_in_viewport()
    assert strategy_profiles.load(folder / "runs" / "first").table("steps").num_rows == 10
