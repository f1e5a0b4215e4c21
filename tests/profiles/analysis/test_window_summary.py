"""A capture window in short: a collective counts once, however many replicas take part."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_profiles.analysis.window_summary import summarise_window
from tests.synthetic import write_run


def test_means_per_replica_and_traffic_per_step(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1, straggler=(1, 30.0))
    summary = summarise_window(run / "worker-0-0" / "window-000000").to_json()
    late, other = summary["replicas"][1], summary["replicas"][0]
    assert late["compute_ms"] - other["compute_ms"] == pytest.approx(30, rel=0.1)
    phases = ("compute_ms", "wait_ms", "transfer_ms", "input_ms", "idle_ms")
    assert sum(other[phase] for phase in phases) == pytest.approx(other["wall_ms"])
    (reduce,) = summary["collectives"]
    assert (reduce["op"], reduce["per_step"], reduce["group_size"]) == ("all-reduce", 2, 4)
    assert reduce["bytes"] == 2_097_152 + 262_144


def test_one_replica_has_no_collectives(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1, replicas=1, strategy="one-device")
    summary = summarise_window(run / "worker-0-0" / "window-000000")
    assert summary.communication.collectives == ()


def test_a_window_without_its_tables_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="replica_steps"):
        summarise_window(tmp_path)
