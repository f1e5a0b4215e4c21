"""Each reason for slowness is found where it is, and not where it is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from strategy_lab import profiles
from strategy_lab.profiles.analysis.findings import Finding, findings, gather_facts
from tests.synthetic import write_run


def found_in(folder: Path, **options: Any) -> dict[str, Finding]:
    profile = profiles.load(write_run(folder, **options))
    return {item.key: item for item in findings(gather_facts(profile, profile.segments[0]))}


def test_a_healthy_run_has_no_finding(tmp_path: Path) -> None:
    assert found_in(tmp_path / "run", replicas=2, steps=1000, step_ms=100.0) == {}


@pytest.mark.parametrize(
    ("key", "options"),
    [
        ("straggler", {"straggler": (1, 15.0)}),
        ("input-bound", {"input_ms": 10.0}),
        ("communication-exposed", {"transfer_ms": 12.0}),
        ("many-small-collectives", {"collective_bytes": (1000,) * 20}),
        ("tiny-batch", {"global_batch_size": 4, "step_ms": 1.0}),
        ("idle", {"idle_ms": 15.0}),
        ("shared-cores", {"replicas": 4}),
        ("tracing", {"tracing_ms": 20_000.0}),
        ("unsteady", {"noise": 0.8}),
        ("costly-capture", {"steps": 60}),
        ("loss-lost", {"nan_loss_from": 40}),
    ],
)
def test_a_reason_is_found_with_evidence_and_advice(
    tmp_path: Path, key: str, options: dict[str, Any]
) -> None:
    healthy = found_in(tmp_path / "healthy", replicas=2, steps=300)
    ill = found_in(tmp_path / "ill", **{"replicas": 2, "steps": 300, **options})
    assert key not in healthy
    assert ill[key].sentence.endswith(".")
    assert ill[key].advice.endswith(".")
    assert ill[key].evidence


def test_the_largest_share_comes_first(tmp_path: Path) -> None:
    found = found_in(tmp_path / "run", replicas=2, steps=300, straggler=(1, 60.0), input_ms=20.0)
    assert list(found)[:2] == ["straggler", "input-bound"]
    lost = found_in(tmp_path / "lost", replicas=2, steps=300, input_ms=20.0, nan_loss_from=40)
    assert list(lost)[:2] == ["loss-lost", "input-bound"], "what is wrong, before what is slow"


def test_advice_names_only_knobs_that_the_strategy_has(tmp_path: Path) -> None:
    small = {"replicas": 2, "steps": 300, "collective_bytes": (1000,) * 20}
    ring = found_in(tmp_path / "ring", **small)["many-small-collectives"]
    assert "bytes_per_pack" in ring.advice
    run = write_run(tmp_path / "tpu", strategy="tpu", **small)
    profile = profiles.load(run)
    segment = replace(profile.segments[0], cross_device_ops="cross-replica-sum")
    found = {item.key: item for item in findings(gather_facts(profile, segment))}
    assert "pack" not in found["many-small-collectives"].advice.lower()


@pytest.mark.parametrize(
    ("slowdown", "advice"), [(1.003, "begins its steps later"), (1.5, "1.50 times as fast")]
)
def test_a_straggler_that_works_no_longer_than_the_others_has_begun_later(
    slowdown: float, advice: str, tmp_path: Path
) -> None:
    profile = profiles.load(write_run(tmp_path / "run", straggler=(1, 15.0)))
    facts = gather_facts(profile, profile.segments[0])
    worst = facts.stragglers.straggler
    assert worst is not None
    known = replace(facts.stragglers, straggler=replace(worst, slowdown=slowdown))
    found = {item.key: item for item in findings(replace(facts, stragglers=known))}
    assert advice in found["straggler"].advice
