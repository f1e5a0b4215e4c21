"""A real sweep on its page in Chromium: it goes on, survives a reload, and leads to Compare."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

import strategy_profiles
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_profiles.run.manifest import read_run_file
from strategy_profiles.spec.run_spec import RunSpec
from strategy_sweep.record import Budget, load, save
from strategy_sweep.sweeping import new_sweep
from tests.e2e.conftest import Server, served
from tests.e2e.drawn import wait_until_drawn

pytestmark = [pytest.mark.browser, pytest.mark.run, pytest.mark.timeout(1200)]
ALL_RUNS_MS = 600_000
"""Two runs, each in a process of its own."""
CPU = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A lab with a folder of its own: no sweep is made while a run of another test goes on."""
    with served(tmp_path_factory.mktemp("sweeping")) as started:
        yield started


CUT = """() => [...document.querySelectorAll("[data-testid=stMultiSelectTagsContainer]")]
    .filter((list) => list.scrollWidth > list.clientWidth || list.scrollHeight > list.clientHeight)
    .length"""


def test_everything_chosen_is_in_sight_on_a_projector(
    server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(
        server.address("sweep", sweep="New sweep"), viewport={"width": 1280, "height": 720}
    )
    wait_until_drawn(page)
    for strategy in ("OneDeviceStrategy", "MirroredStrategy", "CentralStorageStrategy"):
        expect(page.locator("[data-tag]", has_text=strategy)).to_be_in_viewport(ratio=1)
    assert page.evaluate(CUT) == 0


def test_a_sweep_goes_on_to_its_answer(server: Server, open_page: Callable[..., Page]) -> None:
    base = RunSpec(devices="cpu:2", workload="digits-mlp", global_batch_size=32)
    budget = Budget(length_s=0.3, rounds=1)
    sweep = new_sweep(base, {"devices": ["cpu:1", "cpu:2"]}, CPU, server.runs, budget)
    save(sweep, server.runs)
    page = open_page(server.address("sweep", sweep=sweep.name))
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    page.reload()
    expect(
        page.get_by_text("Fastest of 2 configurations in 1 round, too few to compare")
    ).to_be_visible(timeout=ALL_RUNS_MS)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    done = load(server.runs, sweep.name)
    assert [run.failure for run in done.runs] == [None, None]
    assert {run.num_replicas for run in done.runs} == {1, 2}
    for run in done.runs:
        folder = server.runs / run.run
        assert strategy_profiles.load(folder).status.state == "stopped"
        identity = read_run_file(folder)
        assert identity is not None
        assert identity.tags == [sweep.name]
    page.get_by_role("link", name="Why", exact=True).click()
    expect(page).to_have_url(re.compile(rf"overview\?run={sweep.name}-c"))
