"""A capture is written in a thread; the training waits until its events have left the runtime."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from strategy_profiles.run.events import WindowCaptured
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.spec.run_spec import Capture

pytestmark = pytest.mark.tf

WRITE_S = 0.02
"""Processor time of the pretended writing."""


class PretendedSession:
    """A profiler session that writes when it may, and then takes `WRITE_S`."""

    may_write = threading.Event()

    def start(self, *_options: Any) -> None: ...

    def export_to_tb(self) -> None:
        self.may_write.wait()
        begin_s = time.thread_time()
        while time.thread_time() - begin_s < WRITE_S:
            pass


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What the runtime will answer when it is asked for a session."""
    from strategy_core.recorder import window

    answers = [True, True, False]
    monkeypatch.setattr(PretendedSession, "may_write", threading.Event())
    monkeypatch.setattr(window.private_tf, "profiler_session", PretendedSession)
    monkeypatch.setattr(window.private_tf, "leave_out_thread_pool_events", lambda: None)
    monkeypatch.setattr(window.private_tf, "has_profiler_session", lambda: answers.pop(0))
    return answers


def test_a_window_stops_when_the_runtime_is_free_and_is_written_later(
    tmp_path: Path, runtime: list[bool]
) -> None:
    from strategy_core.recorder.window import Window

    window = Window(number=0, segment=0, first_step=2, num_steps=1, scratch=tmp_path)
    window.start()
    window.stop()
    assert runtime == [], "it asks until the runtime has no session"
    assert not window.is_written
    assert window._thread is not None
    assert window._thread.native_id is not None
    assert os.getpriority(os.PRIO_PROCESS, window._thread.native_id) == 19
    PretendedSession.may_write.set()
    window.wait()
    assert window.is_written
    assert window.write_ms >= WRITE_S * 1e3 - window.stop_ms


def test_a_window_is_written_at_once_if_the_runtime_never_says_that_it_is_free(
    tmp_path: Path, runtime: list[bool]
) -> None:
    from strategy_core.recorder.window import Window

    runtime[:] = [True] * 1_000_000
    PretendedSession.may_write.set()
    window = Window(number=0, segment=0, first_step=2, num_steps=1, scratch=tmp_path)
    window.start()
    window.stop()
    assert window.is_written


@pytest.mark.usefixtures("runtime")
def test_the_writing_of_a_capture_is_part_of_its_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from strategy_core.recorder import windows
    from strategy_core.recorder.graph_trace import GraphTrace

    monkeypatch.setattr(windows.Converter, "warm_up", lambda _converter: None)
    capture = Capture(window_steps=1)
    folder = worker_folder(tmp_path, 0)
    captures = windows.Windows(folder, capture)
    trace = GraphTrace(folder, 0, ["/device:CPU:0"], left_to="The program collects it")
    captures.open_segment(trace, capture, is_warm=True)
    monkeypatch.setattr(captures._planner, "steps_to_capture", lambda: 1)
    assert captures.observe(2) is not None
    monkeypatch.setattr(captures._planner, "steps_to_capture", lambda: 0)
    early = captures.step_done(5.0, 2)
    assert not any(isinstance(event, WindowCaptured) for event in early)

    PretendedSession.may_write.set()
    captures._to_submit[0].window.wait()
    (event,) = (e for e in captures.step_done(5.0, 3) if isinstance(e, WindowCaptured))
    assert event.stop_ms >= WRITE_S * 1e3
    assert event.slower_ms == pytest.approx(0, abs=1e-6)
    assert captures._planner.spent_ms == pytest.approx(event.start_ms + event.stop_ms)


@pytest.mark.parametrize("drains", [False, True])
def test_a_window_on_gpus_begins_and_ends_when_no_device_has_work_left(
    tmp_path: Path, runtime: list[bool], monkeypatch: pytest.MonkeyPatch, drains: bool
) -> None:
    """A GPU's program returns from a step before its kernels have run."""
    from strategy_core.recorder import window as module

    waits: list[bool] = []
    monkeypatch.setattr(
        module.tf.test.experimental, "sync_devices", lambda: waits.append(bool(runtime))
    )
    window = module.Window(number=0, segment=0, first_step=2, num_steps=1, scratch=tmp_path)
    window.drains = drains
    window.start()
    before_ns = window.drained_ns
    PretendedSession.may_write.set()
    window.stop()
    assert len(waits) == 2 * drains
    assert window.drained_ns > before_ns > 0
