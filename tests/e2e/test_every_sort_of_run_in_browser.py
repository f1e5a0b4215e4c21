"""Every page about a run, of every sort of run, fits a projector and a phone and shows no error."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from strategy_lab.app.widgets.links import RUN_PAGES
from strategy_lab.profiles.imports.import_run import import_profile
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until, wait_until_drawn
from tests.profiles.served_run import write_served_run

pytestmark = [pytest.mark.browser, pytest.mark.slow]
DATA = Path(__file__).parents[1] / "data"
LONG = "a-rather-long-name-of-a-run-as-scripts-make-them-2026-11-25-learning-rate-0.001-batch-4096"
RECIPES = {
    "one-replica": {"replicas": 1, "strategy": "one-device"},
    "sixteen-replicas": {"replicas": 16, "straggler": (11, 30.0)},
    "two-workers": {"replicas": 4, "workers": 2, "strategy": "multi-worker-mirrored"},
    "tpu": {"replicas": 4, "strategy": "tpu", "cores_per_replica": 2},
    "failed": {"ending": "failed"},
    "cut-off": {"ending": None},
    "no-step": {"steps": 0, "windows": 0, "ending": "failed"},
    LONG: {"prefix": "model_with_a_long_name/encoder/layer_11/attention/output/"},
}
OTHERS = ("servers", "imported", "captured")
PAGES = ("", *(name for name, _ in RUN_PAGES), "cores", "servers", "runs")
SIZES = ((390, 844), (1280, 720))
WIDER = """width =>
    [document.documentElement, document.querySelector("[data-testid=stMain]")]
        .some(part => part.scrollWidth > width)"""


@pytest.fixture(scope="module")
def runs(server: Server) -> Server:
    for name, recipe in RECIPES.items():
        server.write_run(name, **{"steps": 40, "windows": 1, "window_steps": 4, **recipe})
    for name in OTHERS:
        shutil.rmtree(server.runs / name, ignore_errors=True)
    write_served_run(server.runs / "servers")
    import_profile(DATA / "imported" / "gpu_gemm.xplane.pb", server.runs / "imported")
    shutil.copytree(DATA / "captured_step", server.runs / "captured")
    return server


@pytest.mark.parametrize("name", [*RECIPES, *OTHERS])
def test_every_page_fits_and_shows_no_error(
    name: str, open_page: Callable[..., Page], runs: Server
) -> None:
    page = open_page(runs.address("overview", run=name))
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for path in PAGES:
            query = {"a": name, "b": "two-workers"} if path == "compare" else {"run": name}
            page.goto(runs.address(path, **query))
            wait_until_drawn(page)
            what = f"{path or 'lab'} at {width} px"
            expect(page.get_by_test_id("stException"), what).to_have_count(0)
            # Charts follow the width a moment later.
            is_wider = partial(page.evaluate, WIDER, width)
            wait_until(page, lambda: not is_wider(), f"{what} is wider than the window")  # noqa: B023
