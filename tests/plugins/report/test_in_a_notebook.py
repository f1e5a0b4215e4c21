"""A profile that is the last value of a notebook's cell is shown as its report, in a frame."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import strategy_profiles
from strategy_report.export import report
from tests.synthetic import HOSTILE, write_run
from tests.timeouts import MAX_WAIT_S


class Frames(HTMLParser):
    """The elements of a piece of HTML, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_profile_shows_its_whole_report_in_one_sandboxed_frame(tmp_path: Path) -> None:
    hostile = 'late"><script>alert(1)</script>'
    write_run(tmp_path / "run", prefix=HOSTILE + hostile, straggler=(2, 30.0))
    profile = strategy_profiles.load(tmp_path / "run")
    frames = Frames()
    frames.feed(profile._repr_html_())
    ((tag, attributes),) = frames.found
    assert tag == "iframe"
    assert attributes["srcdoc"] == report(profile)
    assert attributes["sandbox"] == "allow-scripts allow-downloads"
    assert "Replica 2" in (attributes["srcdoc"] or "")


@pytest.mark.run
def test_a_real_kernel_draws_the_report_below_the_cell(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=100)
    cell = nbformat.v4.new_code_cell("import strategy_profiles\nstrategy_profiles.load('run')")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=MAX_WAIT_S, kernel_name="python3", resources=where).execute()
    (output,) = notebook.cells[0].outputs
    assert output.output_type == "execute_result"
    assert output.data["text/html"] == strategy_profiles.load(run)._repr_html_()


def test_the_text_of_a_profile_is_one_line_without_its_events(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=30)
    assert repr(strategy_profiles.load(run)) == f"<Profile '{run}': finished, 1 segment>"
