"""Every page of every sort of run names it, fits a projector and a phone, and shows no error."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from strategy_app.widgets.places import RUN, place_called, titles
from tests.e2e.conftest import Server, served
from tests.e2e.drawn import go, wait_until, wait_until_drawn
from tests.plugins.leaves import from_doors
from tests.profiles.served_run import write_served_run

pytestmark = [pytest.mark.browser, pytest.mark.slow]
DATA = Path(__file__).parents[1] / "data"
LONG = "a-rather-long-name-of-a-run-as-scripts-make-them-2026-11-25-learning-rate-0.001-batch-4096"
RECIPES = {
    "one-replica": {"replicas": 1, "strategy": "one-device"},
    "sixteen-replicas": {"replicas": 16, "straggler": (11, 30.0)},
    "two-workers": {"replicas": 4, "workers": 2, "strategy": "multi-worker-mirrored"},
    "tpu": {"replicas": 4, "strategy": "tpu", "cores_per_replica": 2},
    "cut-off": {"ending": None},
    "no-step": {"steps": 0, "windows": 0, "ending": "failed"},
    LONG: {"prefix": "model_with_a_long_name/encoder/layer_11/attention/output/"},
}
OTHERS = ("servers", "imported", "captured")
RUN_PAGES = {"": "Steps"} | {
    page: titles()[page]
    for page in (*place_called(RUN).pages, *chain(*from_doors("RUN_PAGES")), "compare")
}
"""Title by address."""
OF_SOME = {"cores": "tpu", "servers": "servers"}
"""Pages that only this run has something to show on."""
SIZES = ((1280, 720), (390, 844))
FITS = """width =>
    [document.documentElement, document.querySelector("[data-testid=stMain]")]
        .every(part => part.scrollWidth <= width)"""

CUT = """() => [...document.querySelectorAll("button *")]
    .filter(text => text.clientWidth && text.scrollWidth > text.clientWidth + 1)
    .filter(text => text.getBoundingClientRect().right > 0)
    .map(text => text.textContent)"""
"""Texts of buttons that are not whole; beside the window is what a phone's menu holds."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A lab with a folder of its own: these runs are not among those of other tests."""
    with served(tmp_path_factory.mktemp("every-sort")) as started:
        for name, recipe in RECIPES.items():
            started.write_run(name, **{"steps": 40, "windows": 1, "window_steps": 4, **recipe})
        write_served_run(started.runs / "servers")
        shutil.copytree(DATA / "imported" / "gpu_gemm", started.runs / "imported")
        shutil.copytree(DATA / "captured_step", started.runs / "captured")
        yield started


@pytest.mark.long(keep=3)
@pytest.mark.parametrize("name", [*RECIPES, *OTHERS])
def test_every_page_is_named_fits_and_shows_no_error(
    name: str, open_page: Callable[..., Page], server: Server
) -> None:
    sizes = SIZES
    page = open_page(server.address(run=name), viewport=size_of(sizes[0]))
    for path, title in RUN_PAGES.items():
        if OF_SOME.get(path, name) != name:
            continue
        query = {"a": name, "b": "two-workers"} if path == "compare" else {"run": name}
        if path:
            go(page, server.address(path, **query))
        wait_until_drawn(page)
        begins = re.escape(f"{title}: {name[:20]}")  # of a long name, titles leave out the middle
        expect(page).to_have_title(re.compile(f"^{begins}.* · Strategy Lab$"))
        expect(page.get_by_test_id("stException"), path).to_have_count(0)
        for size in sizes:
            page.set_viewport_size(size_of(size))
            # Charts follow the width a moment later.
            fits = partial(page.evaluate, FITS, size[0])
            wait_until(page, fits, f"{path or 'lab'} is wider than {size[0]} px")
            assert page.evaluate(CUT) == [], path
        sizes = sizes[::-1]  # the next page begins with this one's last: charts are drawn once less


def size_of(size: tuple[int, int]) -> ViewportSize:
    return {"width": size[0], "height": size[1]}
