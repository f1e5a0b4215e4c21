"""A profile with more events than are kept still has its steps, and each device a share."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import strategy_profiles
from strategy_imports import file_pieces, xplane_file
from strategy_profiles.run.events import Note
from tests.plugins.imports.made import gpu_profile, opened

STEPS = 40


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> strategy_profiles.Profile:
    """Steps on two GPUs with 160 events each; 400 events are kept of 640."""
    monkeypatch.setattr(xplane_file, "MOST_EVENTS", 400)
    monkeypatch.setattr(file_pieces, "_PIECE_BYTES", 256)
    return opened(tmp_path, gpu_profile(num_gpus=2, num_steps=STEPS))


def test_a_file_with_too_many_events_keeps_all_steps(imported: strategy_profiles.Profile) -> None:
    assert imported.table("steps")["step"].to_pylist() == list(range(5, 5 + STEPS))


def test_each_device_keeps_about_as_many_events(imported: strategy_profiles.Profile) -> None:
    kept = Counter(imported.table("spans")["replica"].to_pylist())
    assert kept[0] > 100
    assert abs(kept[0] - kept[1]) < 10


def test_a_note_says_that_events_were_left_out(imported: strategy_profiles.Profile) -> None:
    notes = " ".join(note.message for note in imported.events(Note))
    assert "events are kept, for they fill the memory" in notes
