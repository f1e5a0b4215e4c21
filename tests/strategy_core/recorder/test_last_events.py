"""The profiler stops a moment after the last captured step, so that no event of it is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strategy_profiles.run.layout import worker_folder
from strategy_profiles.spec.run_spec import Capture

pytestmark = pytest.mark.tf


class PretendedTrace:
    """The graph of a segment with this many replicas, which is never written."""

    is_tracing = is_settled = is_reported = False
    segment = 0
    core_devices = ()

    def __init__(self, num_replicas: int) -> None:
        self.replica_devices = [f"/device:CPU:{number}" for number in range(num_replicas)]

    def write(self) -> None: ...

    def outcome(self, _wait: bool) -> None: ...

    def take_cost_ms(self) -> float:
        return 0.0


@pytest.mark.parametrize("every_step", [False, True])
@pytest.mark.parametrize("num_replicas", [1, 2])
def test_the_profiler_stops_after_the_events_of_the_last_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, every_step: bool, num_replicas: int
) -> None:
    from strategy_core.recorder import window, windows

    did: list[Any] = []

    class PretendedSession:
        def start(self, *_options: Any) -> None:
            did.append("start")

        def export_to_tb(self) -> None:
            did.append("stop")

    profiler = window.tf.profiler.experimental
    monkeypatch.setattr(profiler, "start", lambda _folder: did.append("start"))
    monkeypatch.setattr(profiler, "stop", lambda: did.append("stop"))
    monkeypatch.setattr(window.private_tf, "profiler_session", PretendedSession)
    monkeypatch.setattr(window.private_tf, "leave_out_thread_pool_events", lambda: None)
    monkeypatch.setattr(window.Window, "sleep", staticmethod(did.append))
    monkeypatch.setattr(windows.Converter, "warm_up", lambda _converter: None)
    capture = Capture(every_step=every_step, window_steps=1)
    captures = windows.Windows(worker_folder(tmp_path, 0), capture)
    trace: Any = PretendedTrace(num_replicas)
    captures.open_segment(trace, capture, is_warm=True)
    monkeypatch.setattr(captures._planner, "steps_to_capture", lambda: 1)

    assert captures.observe(2) is not None
    captures.step_done(5.0, 2)
    for each in captures._to_submit:
        each.window.wait()

    waits = [window.LAST_EVENTS_S] if num_replicas > 1 else []
    assert did == ["start", *waits, "stop"]
