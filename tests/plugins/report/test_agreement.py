"""The report says what the pages and the command line say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.compare.run_comparison import compare_runs
from strategy_profiles.exports import write
from strategy_profiles.questions.comparison import comparison
from strategy_report.export import report
from strategy_report.html import as_html
from strategy_report.page import ASSETS
from tests.app.test_gains_everywhere import SENTENCE, late
from tests.app.test_segments_everywhere import run
from tests.profiles.questions.test_loop import loop_answer
from tests.profiles.reporting.test_palette import REPORT_GROUNDS
from tests.profiles.test_earlier_version import RECORDED
from tests.synthetic import HOSTILE, write_run
from tests.synthetic.stacks import stack_place

__all__ = ["late", "run"]


def test_the_report_shows_it(late: Path) -> None:
    assert report(strategy_profiles.load(late)).count(SENTENCE) == 1


def test_the_report_names_the_segment_of_its_sentence(run: Path) -> None:
    said = "Sentence and numbers are of segment 1, the last one with a step"
    assert said in report(strategy_profiles.load(run))


def test_on_paper_the_figures_stand_below_what_they_are_of(tmp_path: Path) -> None:
    a, b = (
        strategy_profiles.load(write_run(tmp_path / name, steps=61, windows=0)) for name in "ab"
    )
    written = as_html(comparison(compare_runs(a, b)))
    captions = [title.strip() for title in re.findall(r"<caption>(.*?)</caption>", written)]
    assert "Every figure: The loop with what is between steps, without its first step" in captions
    assert "Every figure: Last step" in captions
    assert written.count("loop_time_ms") == 1


def test_text_of_the_program_stays_text_in_the_report(tmp_path: Path) -> None:
    slow = stack_place("python", 40, HOSTILE)
    run = write_run(tmp_path / "run", steps=20, gaps=[(step, 30.0, slow) for step in range(5, 20)])
    assert "<script>" not in as_html(loop_answer(run))


def test_the_grounds_of_the_report_are_those_tested() -> None:
    style = (ASSETS / "report.css").read_text(encoding="utf-8")
    light, dark = REPORT_GROUNDS[:2], REPORT_GROUNDS[2:]
    assert f"--ground: {light[0]}; --card: {light[1]};" in style
    assert f"--ground: {dark[0]}; --card: {dark[1]};" in style


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mirrored", "servers", "tpu", "workers"])
def test_a_recorded_run_of_an_earlier_version_has_its_report(name: str, tmp_path: Path) -> None:
    profile = strategy_profiles.load(RECORDED / name)
    assert write(profile, "html", tmp_path / "report.html").stat().st_size > 10_000
