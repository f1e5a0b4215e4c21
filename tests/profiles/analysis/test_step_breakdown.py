"""Where a replica's step goes, from captures or from marks: it always adds up."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import strategy_profiles
from strategy_profiles.analysis.breakdown import ReplicaBreakdown, step_breakdown
from strategy_profiles.tables.schema import CATEGORIES
from tests.synthetic import write_run


def adds_up(replica: ReplicaBreakdown) -> bool:
    parts = [replica.phase_ms(phase) for phase in CATEGORIES]
    assert replica.wall_ms is not None
    return sum(part or 0.0 for part in parts) == pytest.approx(replica.wall_ms, rel=0.01)


@pytest.mark.slow
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    replicas=st.sampled_from([1, 2, 4]),
    step_ms=st.floats(1, 50),
    input_ms=st.floats(0, 20),
    idle_ms=st.floats(0, 20),
    late_ms=st.floats(0, 50),
    captured=st.booleans(),
)
def test_phases_add_up_to_the_step(
    tmp_path_factory: pytest.TempPathFactory,
    replicas: int,
    step_ms: float,
    input_ms: float,
    idle_ms: float,
    late_ms: float,
    captured: bool,
) -> None:
    run = write_run(
        tmp_path_factory.mktemp("run") / "run",
        replicas=replicas,
        steps=24,
        windows=1 if captured else 0,
        step_ms=step_ms,
        input_ms=input_ms,
        idle_ms=idle_ms,
        straggler=(0, late_ms),
    )
    profile = strategy_profiles.load(run)
    breakdown = step_breakdown(profile, profile.segments[0])
    assert breakdown.source == ("measured" if captured else "marks")
    assert len(breakdown.replicas) == replicas
    assert all(adds_up(replica) for replica in breakdown.replicas)


def test_marks_and_captures_agree(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "a", steps=100))
    bare = strategy_profiles.load(write_run(tmp_path / "b", steps=100, windows=0))
    for one, other in zip(
        step_breakdown(profile, profile.segments[0]).replicas,
        step_breakdown(bare, bare.segments[0]).replicas,
        strict=True,
    ):
        assert one.device == other.device
        for phase in ("wall", *CATEGORIES):
            assert one.phase_ms(phase) == pytest.approx(other.phase_ms(phase), abs=0.4)


def test_without_marks_and_captures_it_is_unknown_and_says_so(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", marks=False, windows=0, steps=30))
    breakdown = step_breakdown(profile, profile.segments[0])
    assert breakdown.source is None
    assert breakdown.reason == "the segment has neither a capture window nor per-replica timestamps"
    assert [replica.compute_ms for replica in breakdown.replicas] == [None] * 4
    assert breakdown.mean_ms("compute") is None


def test_the_tracing_step_is_left_out(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=30, windows=0, tracing_ms=60_000.0)
    profile = strategy_profiles.load(run)
    wall = step_breakdown(profile, profile.segments[0]).mean_ms("wall")
    assert wall is not None
    assert wall < 30
