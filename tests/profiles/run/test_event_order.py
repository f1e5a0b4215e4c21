"""The lines of an event file count in the order of their numbers, whatever order they stand in."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.layout import worker_folder
from tests.synthetic import write_run


@pytest.mark.parametrize("how", ["reversed", "shuffled", "one moved"])
def test_lines_in_another_order_are_read_in_that_of_their_numbers(tmp_path: Path, how: str) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1)
    before, summary = read_sources(run), strategy_profiles.load(run).summary()
    events = worker_folder(run, 0).events
    lines = events.read_bytes().splitlines(keepends=True)
    if how == "reversed":
        lines.reverse()
    elif how == "shuffled":
        random.Random(1).shuffle(lines)
    else:
        lines.insert(2, lines.pop())
    events.write_bytes(b"".join(lines))
    after = read_sources(run)
    for old, new in zip(before, after, strict=True):
        assert new.events == old.events
        assert np.array_equal(new.steps.line, old.steps.line)
        assert np.array_equal(new.steps.marks_ns, old.steps.marks_ns)
        assert np.array_equal(new.memory.line, old.memory.line)
    profile = strategy_profiles.load(run)
    assert profile.summary()["memory"] == summary["memory"]
    (note,) = [each for each in profile.notes if "order of their numbers" in each]
    assert note.startswith("worker-0-0/events.jsonl: ")
    assert all(
        "order" not in each for each in strategy_profiles.load(write_run(tmp_path / "b")).notes
    )
