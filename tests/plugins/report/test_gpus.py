"""The GPUs of a run's environment, in the report, in the placement's answer and in the summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import strategy_profiles
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.analysis.summary import summarize
from strategy_profiles.questions.placement import placement
from strategy_report.export import report
from strategy_report.html import as_html
from tests.profiles.analysis.test_comparison import change_environment
from tests.synthetic import write_run

CARD = {
    "model": "NVIDIA A",
    "compute_capability": "9.0",
    "driver": "570",
    "memory_bytes": 80 << 30,
    "max_clock_mhz": 1980,
    "max_power_w": 700.0,
}


def report_and_answer(run: Path) -> list[str]:
    """The report and the page's answer."""
    profile = strategy_profiles.load(run)
    return [
        report(profile),
        as_html(placement(profile, gather_facts(profile, profile.segments[0]))),
    ]


def test_gpus_are_shown_with_the_other_facts_of_the_machine(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=30)
    for text in report_and_answer(run):
        assert "compute capability" not in text
    assert "gpus" not in _environment(run)
    cards = [{"name": f"GPU:{i}", **CARD} for i in range(2)] + [{"name": "GPU:2"}]
    change_environment(run, lambda environment: environment | {"gpus": cards})
    facts = "compute capability 9.0, driver 570, 85.9 GB, at most 1980 MHz, at most 700 W"
    for text in report_and_answer(run):
        assert f"2 × NVIDIA A, {facts}; 1 × unknown model" in text
    assert _environment(run)["gpus"] == cards


def _environment(run: Path) -> dict[str, Any]:
    environment: dict[str, Any] = summarize(strategy_profiles.load(run))["environment"]
    return environment
