"""A phase has one name and one colour, and a colour one meaning, on every page."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from strategy_profiles.exports import formats
from strategy_profiles.reporting.palette import PHASE_COLOURS, phase_name
from tests.e2e.conftest import Server
from tests.e2e.drawn import go, wait_until_drawn

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
DELAY = {"replica": 2, "ms": 30.0}
SWATCHES = """parts => Object.fromEntries(parts.map(part => [
    part.innerText.trim(), getComputedStyle(part.querySelector('i, .key')).backgroundColor]))"""
"""Names and colours of a legend's entries."""
COLOURS = """plots => plots.map(plot => Object.fromEntries(plot.data.map(
    trace => [trace.name, trace.type === 'bar' ? trace.marker.color : trace.line?.color])))"""
"""Names and colours of the traces of each chart."""


@pytest.fixture(scope="module")
def agreeing(server: Server) -> Server:
    late = {"straggler": (2, 30.0), "also_late": (1, 12.0)}
    server.write_run("two-late", steps=200, **late)
    server.write_run("delayed", steps=200, straggler=(2, 30.0), inject=[DELAY])
    server.write_run("even", steps=200, seed=4)
    return server


@pytest.fixture
def visit(open_page: Callable[..., Page], agreeing: Server) -> Visit:
    """Open a page; later ones of the test in its place, without a load."""
    opened: list[Page] = []

    def visited(name: str, **query: str) -> Page:
        address = agreeing.address(name, **query)
        if opened:
            go(opened[0], address)
        else:
            opened.append(open_page(address))
            wait_until_drawn(opened[0])
        return opened[0]

    return visited


def legend_of(entries: Locator) -> dict[str, str]:
    expect(entries.first).to_be_visible()
    return {name: as_hex(colour) for name, colour in entries.evaluate_all(SWATCHES).items()}


def as_hex(colour: str) -> str:
    numbers = [int(number) for number in re.findall(r"\d+", colour)[:3]]
    return colour.upper() if colour.startswith("#") else "#" + "".join(f"{n:02X}" for n in numbers)


def chart_colours(page: Page) -> list[dict[str, str]]:
    """Names and colours of what each chart shows, and the bars of the phases."""
    plots = page.locator(".js-plotly-plot")
    expect(plots.first).to_be_visible()
    found = plots.evaluate_all(COLOURS)
    bars = page.locator(".lab-bars .legend li")
    return [
        *([legend_of(bars)] if bars.count() else []),
        *(
            {name: as_hex(colour) for name, colour in chart.items() if isinstance(colour, str)}
            for chart in found
        ),
    ]


def is_of_phases(chart: dict[str, str]) -> bool:
    return "compute" in chart


def test_a_phase_has_one_name_and_one_colour_on_every_page(
    visit: Visit, open_page: Callable[..., Page], agreeing: Server
) -> None:
    words = {phase_name(phase): colour for phase, colour in PHASE_COLOURS.items()}
    words["other"] = PHASE_COLOURS["idle"]
    live = visit("", run="delayed").locator(".live .phases > span:visible")
    pages = {"live": legend_of(live)}
    timeline = visit("timeline", run="delayed").locator(".timeline .phases > span")
    pages["timeline"] = legend_of(timeline)
    for name in ("overview", "compare"):
        query = {"a": "delayed", "b": "even"} if name == "compare" else {"run": "delayed"}
        pages[name] = next(filter(is_of_phases, chart_colours(visit(name, **query))))
    if "html" in formats():
        report = open_page(f"{agreeing.url}/report/delayed")
        pages["report"] = legend_of(report.locator("ul.legend").first.locator("li"))
    for name, legend in pages.items():
        assert {"compute", "injected delay", "wait", "transfer"} <= legend.keys(), name
        assert legend.items() <= words.items(), name


def test_colours_of_charts_beside_each_other_mean_one_thing(visit: Visit) -> None:
    for name, query in (
        ("overview", {"run": "two-late"}),
        ("compare", {"a": "two-late", "b": "even"}),
    ):
        meanings: dict[str, set[str]] = {}
        for chart in chart_colours(visit(name, **query)):
            for what, colour in chart.items():
                meanings.setdefault(colour, set()).add("phase" if is_of_phases(chart) else what)
        of_phases = {colour for colour, found in meanings.items() if "phase" in found}
        assert of_phases <= set(PHASE_COLOURS.values())
        assert len(meanings) > len(of_phases) > 2
        assert not [found for found in meanings.values() if "phase" in found and len(found) > 1]
