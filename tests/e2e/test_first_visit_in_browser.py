"""A first visit: the browser loads each of Streamlit's modules early, and no segment is cut off."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from strategy_lab.app.server.assets import NEEDED
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until_drawn
from tests.e2e.layout_shift import GOOD, layout_shift, watch_layout
from tests.profiles.served_run import write_served_run

pytestmark = pytest.mark.browser
MODULE = re.compile(r"static/js/([\w.-]+\.js)")
QUERIES = {
    "/": {},
    "/compare": {"a": "seen", "b": "seen-again"},
    "/contexts": {},
    "/cores": {"run": "seen-on-tpu"},
    "/servers": {"run": "seen-with-servers"},
    "/sweep": {"sweep": "New sweep"},
}
SEEN = {"run": "seen"}
IS_CUT = "group => group.scrollWidth > group.clientWidth"


@pytest.fixture(scope="module")
def seen(server: Server) -> Server:
    for name in ("seen", "seen-again"):
        server.write_run(name, steps=60, windows=1, straggler=(2, 30.0))
    server.write_run("seen-on-tpu", strategy="tpu", replicas=2, cores_per_replica=3)
    shutil.rmtree(server.runs / "seen-with-servers", ignore_errors=True)
    write_served_run(server.runs / "seen-with-servers")
    return server


@pytest.mark.parametrize("path", NEEDED)
def test_all_modules_of_a_page_are_announced_with_it(
    path: str, open_page: Callable[..., Page], seen: Server
) -> None:
    address = seen.address(path.lstrip("/"), **QUERIES.get(path, SEEN))
    page = open_page("about:blank")
    loaded: set[str] = set()
    page.on("request", lambda request: loaded.update(MODULE.findall(request.url)))
    answer = page.goto(address)
    assert answer is not None
    named = set(MODULE.findall(answer.headers["link"] + answer.text()))
    wait_until_drawn(page)
    assert loaded - named == set()


def test_no_segment_of_a_run_is_cut_off(open_page: Callable[..., Page], seen: Server) -> None:
    changes = [{}, {"replicas": 2}, {"strategy": "central-storage"}, {"replicas": 3}]
    seen.write_run("many-segments", steps=80, segments=changes)
    page = open_page(
        seen.address("compare", a="many-segments", b="many-segments"),
        viewport={"width": 390, "height": 844},
    )
    wait_until_drawn(page)
    groups = page.get_by_role("radiogroup").all()
    assert len(groups) == 2
    assert not any(group.evaluate(IS_CUT) for group in groups)


def test_the_timeline_of_a_run_without_captures_keeps_no_place_for_them(
    open_page: Callable[..., Page], server: Server
) -> None:
    server.write_run("never-captured", steps=30, windows=0)
    page = open_page("about:blank")
    watch_layout(page)
    page.goto(server.address("timeline", run="never-captured"))
    wait_until_drawn(page)
    page.get_by_text("No step of this run was captured in full").wait_for()
    assert layout_shift(page) < GOOD
