"""A program recorded in a process of its own: what it does there never reaches this one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from strategy_core.contexts import child
from strategy_lab.profiles.errors import LabError
from tests.patience import wait_until
from tests.processes import children_of

pytestmark = pytest.mark.run

LOOP = "def demonstrate(strategy):\n    while True: pass\n"
CRASH = "import os\ndef demonstrate(strategy):\n    os._exit(7)\n"
FINE = 'def demonstrate(strategy):\n    print("replicas", strategy.num_replicas_in_sync)\n'


def test_a_program_is_recorded_with_what_it_printed() -> None:
    recording = child.record(FINE, strategy="mirrored", devices="cpu:3")
    assert [line["text"] for line in recording["trace"]["printed"]] == ["replicas 3"]
    assert len(recording["devices"]) == 3


def test_a_program_without_end_is_stopped_at_its_limit() -> None:
    with pytest.raises(LabError, match="within 8 s"):
        child.record(LOOP, strategy="default", devices="cpu:1", time_limit_s=8)
    assert not children_of(command="strategy_core.contexts")


def test_a_program_that_ends_its_process_is_told_with_its_exit_code() -> None:
    with pytest.raises(LabError, match="exit code 7"):
        child.record(CRASH, strategy="one-device", devices="cpu:1")


def test_a_recording_outlives_the_thread_that_asked_for_it() -> None:
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(child.start, FINE, strategy="default", devices="cpu:1").result()
    try:
        wait_until(lambda: not started.is_running)
        assert started.result()["trace"]["printed"][0]["text"] == "replicas 1"
    finally:
        started.close()


def test_stopping_leaves_no_process() -> None:
    recording = child.start(LOOP, strategy="default", devices="cpu:1")
    assert recording.is_running
    recording.close()
    assert not recording.is_running
    assert not children_of(command="strategy_core.contexts")


def test_a_strategy_that_is_none_is_refused_before_anything_starts() -> None:
    with pytest.raises(LabError, match="strategy"):
        child.start(FINE, strategy="nonsense", devices="cpu:2")
    assert not children_of(command="strategy_core.contexts")
