"""Clocks are shown with their uncertainty and checked by collectives; a late worker is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.analysis.clocks import worker_clocks
from strategy_profiles.analysis.stragglers import stragglers
from tests.replaced import replace
from tests.synthetic import TWO_HOSTS, write_run


def load(path: Path, **options: Any) -> strategy_profiles.Profile:
    known = TWO_HOSTS | {"steps": 200, "straggler": (3, 30.0)}
    return strategy_profiles.load(write_run(path / "run", **(known | options)))


def test_a_measured_clock_is_shown_and_confirmed_by_the_collectives(tmp_path: Path) -> None:
    reference, other = worker_clocks(load(tmp_path))
    assert (reference.source, reference.check) == ("reference", None)
    assert other.source == "measured"
    assert other.offset_ms == pytest.approx(50, rel=0.05)
    assert other.uncertainty_ms is not None
    assert other.uncertainty_ms < 0.1
    assert other.check is not None
    assert other.check.is_consistent
    assert other.check.common_end_ms == pytest.approx(0, abs=0.1)
    assert other.check.at_least_ms < 0 < other.check.at_most_ms
    assert "ms against the reference (±0.0" in other.sentence


def test_collectives_tell_when_a_clock_is_wrong(tmp_path: Path) -> None:
    # Named the same host, so taken for the same clock, which it is not; nothing was measured.
    profile = load(tmp_path, hosts=("a", "a"), clock_measured=False)
    worker_clock = worker_clocks(profile)[1]
    assert worker_clock.source == "same host"
    assert worker_clock.check is not None
    assert not worker_clock.check.is_consistent
    assert worker_clock.check.common_end_ms == pytest.approx(50, abs=1)


@pytest.mark.parametrize(("every", "is_consistent"), [(15, True), (2, False)])
def test_a_few_marks_that_were_taken_late_are_no_wrong_clock(
    tmp_path: Path, every: int, is_consistent: bool
) -> None:
    profile = load(tmp_path, hosts=("a", "a"), clock_ahead_ms=(0.0, 0.0), straggler=None)
    rows = profile.mark_rows
    late = (rows.worker == 0) & (rows.step % every == 0)
    late_ns = np.where(late, 80_000_000, 0)
    profile.__dict__["mark_rows"] = replace(rows, gradients_ns=rows.gradients_ns + late_ns)
    check = worker_clocks(profile)[1].check
    assert check is not None
    assert check.is_consistent == is_consistent


def test_an_unknown_clock_has_a_reason_and_no_number(tmp_path: Path) -> None:
    profile = load(tmp_path, clock_measured=False)
    clock = worker_clocks(profile)[1]
    assert (clock.source, clock.offset_ms, clock.uncertainty_ms, clock.check) == (None,) * 4
    assert "exchanged no messages" in clock.sentence
    summary = profile.summary()["clocks"][1]
    assert summary["offset_ms"] is None
    assert summary["offset_ms_reason"] == "it exchanged no messages with the reference worker"


@pytest.mark.parametrize("late", [0, 1, 2, 3])
def test_a_delay_in_one_worker_is_named(tmp_path: Path, late: int) -> None:
    profile = load(tmp_path, straggler=(late, 30.0))
    lateness_of_replicas = stragglers(profile, 0).straggler
    assert lateness_of_replicas is not None
    assert (lateness_of_replicas.replica, lateness_of_replicas.worker) == (late, late // 2)
    assert lateness_of_replicas.name == f"replica {late} of worker {late // 2}"
    assert lateness_of_replicas.late_ms == pytest.approx(30, rel=0.05)
    sentences = [item["sentence"] for item in profile.summary()["segments"][0]["findings"]]
    assert sentences[0].startswith(f"Replica {late} of worker {late // 2} is late by")


def test_every_replica_of_a_captured_run_names_its_source(tmp_path: Path) -> None:
    replicas = load(tmp_path).summary()["segments"][0]["replicas"]
    assert [replica["source"] for replica in replicas] == ["measured"] * 2 + ["marks"] * 2
    assert [replica["worker"] for replica in replicas] == [0, 0, 1, 1]
