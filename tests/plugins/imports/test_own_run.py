"""The lab's own XPlane files, imported, say what the run itself says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.exports import write
from strategy_profiles.importers import import_profile
from strategy_profiles.tables.store import Profile

pytestmark = pytest.mark.run

NEVER_AN_EVENT = "_Recv"
"""The run derives its waits from the graph, which the file does not have."""


def op_sums(profile: Profile, steps: set[int]) -> Counter[tuple[str, str]]:
    """Nanoseconds by name and op in these steps."""
    sums_ns: Counter[tuple[str, str]] = Counter()
    for row in profile.table("spans").to_pylist():
        if row["step"] in steps and row["op"] and row["op"] != NEVER_AN_EVENT:
            sums_ns[row["name"], row["op"]] += row["duration_ns"]
    return sums_ns


def test_an_exported_capture_has_the_runs_steps_replicas_and_ops(
    finished_run: Path, tmp_path: Path
) -> None:
    own = strategy_profiles.load(finished_run)
    write(own, "xplane", tmp_path / "exported")
    imported = strategy_profiles.load(import_profile(tmp_path / "exported", tmp_path / "run"))
    assert not imported.notes
    steps = {row["step"] for row in imported.table("steps").to_pylist()}
    captured = [row for row in own.table("steps").to_pylist() if row["step"] in steps]
    assert steps
    assert all(row["captured"] for row in captured)
    for row, theirs in zip(imported.table("steps").to_pylist(), captured, strict=True):
        assert row["step"] == theirs["step"]
        assert row["wall_ms"] == pytest.approx(theirs["wall_ms"], rel=0.1)
    segment = own.segments[captured[0]["segment"]]
    assert imported.segments[0].num_replicas == segment.num_replicas
    assert op_sums(imported, steps) == op_sums(own, steps)
