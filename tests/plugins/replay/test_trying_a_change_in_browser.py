"""Try it in real Chromium: a delayed run, its delay removed, prediction beside measurement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import strategy_profiles
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.spec.run_spec import RunSpec
from tests.e2e.conftest import Server, served
from tests.timeouts import MAX_WAIT_S

pytestmark = [pytest.mark.browser, pytest.mark.run, pytest.mark.timeout(1800)]
ALL_RUNS_MS = 1_200_000
"""Six runs, each in a process of its own."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A lab with a folder of its own: no change is tried while a run of another test goes on."""
    with served(tmp_path_factory.mktemp("trying")) as started:
        yield started


@pytest.fixture(scope="module")
def late(server: Server, launcher: Launcher) -> Path:
    """A captured run whose replica 1 sleeps 200 ms in each step."""
    folder = server.fresh("late")
    spec = RunSpec.model_validate(
        {
            "devices": "cpu:2",
            "workload": "digits-mlp",
            "global_batch_size": 32,
            "steps": 8,
            "capture": {"every_step": True, "window_steps": 4},
            "inject": [{"replica": 1, "ms": 200}],
        }
    )
    handle = launcher.launch(spec, folder)
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "finished", handle.message
    return folder


@pytest.mark.long
def test_a_delay_is_removed_and_measured(
    late: Path, server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(server.address("overview", run=late.name))
    page.get_by_role("button", name="Try it").first.click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(page.get_by_text("Run 1 of 6")).to_be_visible()
    again = page.get_by_role("button", name="Try it again")
    expect(again).to_be_visible(timeout=ALL_RUNS_MS)
    # How well they agree depends on the machine.
    agreement = re.compile("[Pp]rediction and measurement (dis)?agree")
    expect(page.get_by_text(agreement).first).to_be_visible()
    table = page.locator(".lab-table[aria-label='Prediction and measurement']")
    expect(table.get_by_text("With / without")).to_be_visible()
    assert table.evaluate("each => each.scrollWidth <= each.clientWidth"), "numbers out of sight"
    runs = [path for path in server.runs.glob(f"{late.name}-try-no-delay-1-*") if path.is_dir()]
    loaded = [strategy_profiles.load(path) for path in runs]
    assert [run.status.state for run in loaded] == 6 * ["finished"]
    delays = {run.path.name.split("-")[-2]: bool((run.spec or {})["inject"]) for run in loaded}
    assert delays == {"a": True, "b": False}
    page.get_by_role("link", name="Open in Compare").click()
    expect(page).to_have_url(re.compile(r"compare\?.*-b-1.*more_b=.*-b-2.*more_b=.*-b-3"))
    expect(page.get_by_text(re.compile("B is faster|Cannot tell which")).first).to_be_visible()


def test_its_timeline_draws_the_critical_path_of_a_step(
    late: Path, server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(server.address("timeline", run=late.name, step="5"))
    drawn = page.locator('.timeline[data-path]:not([data-path=""])')
    expect(page.locator(".timeline[data-settled=yes]")).to_be_visible()
    button = page.get_by_role("button", name="Show the critical path")
    button.click()
    expect(drawn).to_have_count(1)
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    expect(drawn).to_have_count(0)
