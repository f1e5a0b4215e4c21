"""Every core of a TPU's replicas has its own share of the step, in the summary too."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.cores import cores
from strategy_profiles.tables.schema import CATEGORIES
from tests.synthetic import write_run


@pytest.fixture
def profile(tmp_path: Path) -> strategy_profiles.Profile:
    return strategy_profiles.load(
        write_run(tmp_path / "run", strategy="tpu", replicas=2, cores_per_replica=2, steps=60)
    )


def test_a_cores_phases_are_its_own_and_add_up(profile: strategy_profiles.Profile) -> None:
    core_use = cores(profile, profile.segments[0])
    assert [(core.replica, core.core) for core in core_use.cores] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]
    for core in core_use.cores:
        parts = [core.phase_ms(phase) or 0.0 for phase in CATEGORIES]
        assert sum(parts) == pytest.approx(core.phase_ms("wall"))
    first, second = (core.phase_ms("compute") for core in core_use.cores[:2])
    assert first is not None
    assert second == pytest.approx(first / 2)


def test_the_summary_has_every_core(profile: strategy_profiles.Profile) -> None:
    (segment,) = profile.summary()["segments"]
    assert [core["device"] for core in segment["cores"]] == [
        device for devices in profile.segments[0].core_devices or () for device in devices
    ]
    assert all(core["num_steps"] and core["compute_ms"] > 0 for core in segment["cores"])


def test_without_a_capture_a_core_has_no_time_and_a_reason(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", strategy="tpu", replicas=2, steps=30, windows=0)
    (segment,) = strategy_profiles.load(run).summary()["segments"]
    for core in segment["cores"]:
        assert core["compute_ms"] is None
        assert "captured" in core["compute_ms_reason"]


def test_a_replica_that_is_one_device_has_no_cores(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=30)
    (segment,) = strategy_profiles.load(run).summary()["segments"]
    assert segment["cores"] == []
