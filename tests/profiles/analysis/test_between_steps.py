"""The usual time between two steps, in a synthetic run whose steps follow each other at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from strategy_lab import profiles
from strategy_lab.profiles.analysis.between_steps import BetweenSteps, between_steps
from strategy_lab.profiles.analysis.epoch_ends import EpochEnds
from strategy_lab.profiles.analysis.findings import findings, gather_facts
from strategy_lab.profiles.run.events import EpochEnded
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> profiles.Profile:
    return profiles.load(write_run(tmp_path_factory.mktemp("gaps") / "run", replicas=2, steps=300))


def test_steps_that_follow_each_other_have_no_gap(profile: profiles.Profile) -> None:
    found = between_steps(profile, 0)
    assert found.gaps_ms.size > 100
    assert found.median_ms == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(("gap_ms", "is_found"), [(0.9, False), (5.0, False), (12.0, True)])
def test_a_gap_of_a_quarter_of_the_loop_has_a_finding(
    profile: profiles.Profile, gap_ms: float, is_found: bool
) -> None:
    """Steps take about 24 ms."""
    facts = gather_facts(profile, profile.segments[0])
    facts = replace(facts, between=BetweenSteps(np.full(50, gap_ms)))
    assert ("between-steps" in {item.key for item in findings(facts)}) is is_found


@pytest.mark.parametrize(
    ("every", "gap_ms", "is_found"), [(10, 100.0, True), (10, 20.0, False), (40, 400.0, False)]
)
def test_some_long_gaps_have_a_finding_if_they_take_much_together(
    profile: profiles.Profile, every: int, gap_ms: float, is_found: bool
) -> None:
    """Steps take about 24 ms; two gaps of 400 ms may have been anything."""
    facts = gather_facts(profile, profile.segments[0])
    gaps_ms = np.zeros(100)
    gaps_ms[every - 1 :: every] = gap_ms
    facts = replace(facts, between=BetweenSteps(gaps_ms))
    told = [item for item in findings(facts) if item.key == "between-steps"]
    assert bool(told) is is_found
    for item in told:
        assert item.sentence.startswith(
            "After 10 of 100 steps the program does something else, 1.00 s in all: 30 % of the time"
        )
        assert item.cost is not None
        assert item.cost.ms == pytest.approx(10.0)


def test_gaps_after_every_second_step_are_not_those_of_every_step(
    profile: profiles.Profile,
) -> None:
    """Their median, 50 ms, is a length that no gap has."""
    facts = gather_facts(profile, profile.segments[0])
    facts = replace(facts, between=BetweenSteps(np.tile([0.5, 99.5], 50)))
    (told,) = [item for item in findings(facts) if item.key == "between-steps"]
    assert told.sentence.startswith(
        "After 50 of 100 steps the program does something else, 4.97 s in all: 68 % of the time"
    )
    assert told.advice.startswith("Do it less often")


@pytest.mark.parametrize("gaps_ms", [np.full(90, 30.0), np.tile([0.0, 60.0], 45)])
def test_shares_of_gaps_and_of_ends_of_epochs_add_up_to_less_than_all(
    profile: profiles.Profile, gaps_ms: np.ndarray
) -> None:
    """Steps take about 24 ms: of the loop 2.4 s; the gaps take 2.7 s, the ends 5 s."""
    facts = gather_facts(profile, profile.segments[0])
    ends = tuple(EpochEnded(segment=0, step=18 * n, start_ns=0, wall_ms=500.0) for n in range(10))
    facts = replace(facts, between=BetweenSteps(gaps_ms), epoch_ends=EpochEnds(ends))
    shares = {item.key: item.cost.share for item in findings(facts) if item.cost}
    assert shares["between-steps"] == pytest.approx(0.27, abs=0.02)
    assert shares["epoch-end"] == pytest.approx(0.50, abs=0.02)


def test_a_gap_longer_than_a_step_leads_whatever_the_step_waits_for(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=300, input_ms=20.0)
    profile = profiles.load(run)
    facts = gather_facts(profile, profile.segments[0])
    longer = replace(facts, between=BetweenSteps(np.full(50, 60.0)))
    assert findings(longer)[0].key == "between-steps"
    shorter = replace(facts, between=BetweenSteps(np.full(50, 18.0)))
    assert findings(shorter)[0].key == "input-bound"
