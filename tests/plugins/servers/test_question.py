"""The answer on parameter servers: steps per second over time."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.answers.answer import Lines
from strategy_servers.shown.question import STEPS_PER_BIN, servers
from tests.profiles.served_run import write_served_run


def test_the_rate_of_a_short_run_has_no_jumps_between_whole_steps(tmp_path: Path) -> None:
    write_served_run(tmp_path / "served", counts=(40, 16))
    profile = strategy_profiles.load(tmp_path / "served")
    answer = servers(profile, gather_facts(profile, profile.segments[0]))
    (rates,) = (part for part in answer.parts if part.key == "served_rates")
    assert isinstance(rates, Lines)
    for line, steps in zip(rates.lines, (40, 16), strict=True):
        assert len(line.x) <= 40 // STEPS_PER_BIN
        assert sum(line.y) * (line.x[1] - line.x[0]) == pytest.approx(steps)
