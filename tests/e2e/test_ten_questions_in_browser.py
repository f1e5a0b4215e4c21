"""The ways of `docs/questions.md`, clicked at 1280x720: each answer is in sight after two clicks.

What holds a device's memory, and the tables behind a sentence, may need a scroll.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from strategy_app.widgets.places import place_called
from strategy_profiles.tables.schema import TABLES
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until_drawn

pytestmark = pytest.mark.browser
PROJECTOR = {"width": 1280, "height": 720}
PAGE = Path(__file__).parents[2] / "docs" / "questions.md"
RUN = "mirrored-asked"
ADDRESSES = {"Model": "placement", "Experiment": place_called("Experiment").pages[0]}
MOVED = "train_step/replica_3/MatMul_4"


class Reader:
    """Someone who reads why a run is slow, and counts what they click."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def open(self, link: str) -> None:
        self.page.get_by_role("link", name=link, exact=True).first.click()
        self.clicks += 1
        self.page.wait_for_url(re.compile(f"/{ADDRESSES.get(link, link.lower())}"))
        wait_until_drawn(self.page)

    def sees(self, text: str | re.Pattern[str], within: str = "body") -> None:
        expect(self.page.locator(within).get_by_text(text).first).to_be_in_viewport()


def slow_replica(reader: Reader) -> None:
    """Who, and the cause: replica 2 itself, and not its input or a message."""
    expect(reader.page.locator(".lab-headline")).to_contain_text("Replica 2 is late by")
    reader.sees("Its own work takes longer")


def phases(reader: Reader) -> None:
    reader.sees("Step time of each replica")
    for replica in range(4):
        reader.sees(re.compile(f"replica {replica}, CPU:{replica}"), ".lab-bars")


def memory(reader: Reader) -> None:
    reader.sees(re.compile(r"Peak memory"), ".lab-tile")
    reader.page.get_by_text("Held at the peak of CPU:0").scroll_into_view_if_needed()
    held = reader.page.locator("[role=row]", has_text="dense/kernel")
    expect(held.filter(has_text="MirroredVariable").first).to_be_attached()


def traffic(reader: Reader) -> None:
    reader.open("Communication")
    expect(reader.page.locator(".lab-headline")).to_contain_text(
        re.compile(r"A step moves 2\.36\sMB")
    )
    busiest = reader.page.locator(".lab-tile", has_text="Busiest link")
    expect(busiest).to_be_in_viewport(ratio=1)
    expect(busiest).to_contain_text(re.compile(r"3\.54\s*MB/?.*CPU:0 to CPU:1, per step"))


def collectives(reader: Reader) -> None:
    reader.open("Communication")
    reader.sees("Collectives")
    table = reader.page.locator("canvas[data-testid=data-grid-canvas]").first
    expect(table).to_be_in_viewport(ratio=0.95)


def moved(reader: Reader) -> None:
    reader.open("Model")
    expect(reader.page.get_by_text("Since segment 0, every variable stayed")).to_be_in_viewport()
    expect(reader.page.get_by_text("What the reconfiguration moved")).to_be_visible()


def changed_device(reader: Reader) -> None:
    reader.open("Model")
    expect(
        reader.page.get_by_text(re.compile(f"1 op changed device: .*{MOVED} from CPU:3 to CPU:0"))
    ).to_be_in_viewport()
    reader.page.get_by_text("Ops that changed device").scroll_into_view_if_needed()
    row = reader.page.locator("[role=row]", has_text=MOVED)
    expect(row.filter(has_text="CPU:3").filter(has_text="CPU:0").first).to_be_attached()


def ops(reader: Reader) -> None:
    reader.open("Timeline")
    expect(reader.page.locator(".timeline")).to_have_attribute("data-settled", "yes")
    reader.page.get_by_role("button", name="Select the step in the middle").click()
    reader.clicks += 1
    table = reader.page.get_by_role("region", name="Ops by self time")
    expect(table.locator("tbody tr").first).to_be_in_viewport(ratio=1)


def faster(reader: Reader) -> None:
    reader.open("Experiment")
    reader.open("Compare")
    # B is the newest other run, which may be one of another test.
    answer = re.compile(r"in B than in A|equally long (per step )?in A and B")
    expect(reader.page.locator(".lab-headline")).to_contain_text(answer)


def again(reader: Reader) -> None:
    reader.open("Runs")
    reader.page.get_by_role("button", name="Copy as …").click()
    reader.clicks += 1
    reader.sees(re.compile("strategy-lab run .*--strategy mirrored", re.DOTALL))


WAYS: dict[str, Callable[[Reader], None]] = {
    "Which replica is slow, and why?": slow_replica,
    "What does each replica do during a step?": phases,
    "How much memory does a device use, and what holds it?": memory,
    "How many bytes does a step move, and on which link?": traffic,
    "Which collective takes how long, and at which bandwidth?": collectives,
    "Which variables did a live change move to another device?": moved,
    "Which op changed device?": changed_device,
    "Which ops take the most time?": ops,
    "Is this run faster than another one?": faster,
    "How do I start this run again?": again,
}


def told_clicks() -> dict[str, int]:
    """The questions of the page with the clicks that it states."""
    rows = re.findall(r"^\| ([^|]+\?) \| (\d) \|", PAGE.read_text(), re.MULTILINE)
    return {question: int(clicks) for question, clicks in rows}


@pytest.fixture(scope="module")
def runs(server: Server) -> Path:
    options = {"steps": 120, "windows": 1, "straggler": (2, 30.0)}
    server.write_run("mirrored-other", steps=120, windows=1, seed=3)
    run = server.write_run(RUN, segments=[{}, {"replicas": 4}], **options)
    move_an_op(run / "worker-0-0" / "placement-001.parquet")
    return server.runs


def move_an_op(path: Path) -> None:
    """From the last device to the first, in one segment's placement."""
    rows = pq.read_table(path).to_pylist()
    moved = next(row for row in rows if row["name"] == MOVED)
    moved["device"] = rows[0]["device"]
    pq.write_table(pa.Table.from_pylist(rows, schema=TABLES["placement"]), path)


def test_each_question_is_answered_in_at_most_two_clicks(
    open_page: Callable[..., Page], server: Server, runs: Path
) -> None:
    """One reader, who goes back to Why after each answer."""
    assert runs.exists()
    page = open_page(server.address("overview", run=RUN), viewport=PROJECTOR)
    wait_until_drawn(page)
    for question, way in WAYS.items():
        reader = Reader(page)
        way(reader)
        assert reader.clicks == told_clicks()[question] <= 2, question
        page.keyboard.press("Escape")  # what the answer has opened
        back = page.get_by_test_id("stTopNav").get_by_role("link", name="Run", exact=True)
        back.click()
        page.wait_for_url(re.compile(f"/overview.*run={RUN}"))
        wait_until_drawn(page)


def test_every_question_of_the_page_is_clicked() -> None:
    assert list(told_clicks()) == list(WAYS)
