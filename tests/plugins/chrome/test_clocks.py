"""Times of a trace: workers on one clock, and no hour that a clock was set by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from strategy_chrome.export import trace_events
from tests.profiles.analysis.test_set_clock import HOUR_NS
from tests.profiles.timeline.test_set_clock import set_and_usual
from tests.profiles.timeline.test_timeline_of_workers import load


@pytest.mark.parametrize("jump_ns", [HOUR_NS, -HOUR_NS])
@pytest.mark.parametrize("workers", [1, 2])
def test_every_event_is_where_it_is_without_the_change(
    workers: int, jump_ns: int, tmp_path: Path
) -> None:
    runs = set_and_usual(workers, jump_ns, tmp_path)
    times = ([event.get("ts", 0) for event in trace_events(each)] for each in runs)
    np.testing.assert_allclose(*times, rtol=0, atol=0.01)


def test_in_the_trace_workers_are_processes_on_one_clock(tmp_path: Path) -> None:
    events = list(trace_events(load(tmp_path)))
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert list(names.values()) == ["Run", "worker 0", "worker 1"]
    threads = {
        e["args"]["name"]
        for e in events
        if e["name"] == "thread_name" and names[e["pid"]][-1] == "1"
    }
    assert {"replica 2: captured steps", "replica 3: ops of worker 1 CPU:1"} <= threads
    collectives = [e for e in events if e.get("cat") == "collective"]
    by_step: dict[int, list[float]] = {}
    for event in collectives:
        by_step.setdefault(event["args"]["step"], []).append(event["ts"] + event["dur"])
    assert {len(ends) for ends in by_step.values()} == {4}
    assert max(max(ends) - min(ends) for ends in by_step.values()) < 200
    reduces = {event["name"] for event in collectives}
    leaving = [e for e in events if e["ph"] == "s" and e["name"] in reduces]
    assert {names[e["pid"]] for e in leaving} == {"worker 1"}
