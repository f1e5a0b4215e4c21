"""A capture window of a TPU pod: the profilers of the coordinator and of every host.

The coordinator marks the steps; the hosts run the ops. Each host runs TensorFlow's profiler server,
which captures for a requested length of time only. The window requests the expected length of its
steps plus some slack, and stays open until all hosts have answered. The conversion leaves out steps
that are not completely inside every host's capture.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from strategy_core.recorder.window import Window, first_line

_SLACK = 1.25
_SLACK_MS = 100.0
"""Slack for steps longer than the previous ones, and for the delay until a host begins."""


class PodWindow(Window):
    """A window over the coordinator and the hosts whose profilers listen at `hosts`.

    `step_ms` is the expected length of a step.
    """

    subfolder = "coordinator"

    def __init__(self, *args: Any, hosts: Sequence[str], step_ms: float) -> None:
        super().__init__(*args)
        self._hosts = hosts
        self._length_ms = int(_SLACK_MS + _SLACK * self.num_steps * step_ms)
        self._asking: list[threading.Thread] = []
        self._trouble: str | None = None

    def start(self) -> None:
        super().start()
        if self.error is not None:
            return
        # One thread per host: given several hosts in one call, TensorFlow 2.18 profiles them in
        # turn.
        self._asking = [
            threading.Thread(
                target=self._capture_on, args=(host,), name=f"profiler {host}", daemon=True
            )
            for host in self._hosts
        ]
        for each in self._asking:
            each.start()

    @property
    def is_full(self) -> bool:
        return super().is_full and self._is_answered

    @property
    def is_written(self) -> bool:
        return super().is_written and self._is_answered

    @property
    def _is_answered(self) -> bool:
        return not any(each.is_alive() for each in self._asking)

    def wait(self) -> None:
        super().wait()
        for each in self._asking:
            each.join()

    def xplane(self) -> Path | None:
        xplane = super().xplane()
        if xplane is not None and len(self.of_hosts()) < len(self._hosts):
            self.error = self._trouble or "The profiler of a host left no file"
        return None if self.error else xplane

    def of_hosts(self) -> list[Path]:
        return sorted(self._scratch_of_hosts.rglob("*.xplane.pb"))

    @property
    def _scratch_of_hosts(self) -> Path:
        return self.scratch / "hosts"

    def _capture_on(self, host: str) -> None:
        """Request a capture from one host and wait for its answer or failure."""
        try:
            tf.profiler.experimental.client.trace(
                f"grpc://{host}",
                str(self._scratch_of_hosts),
                self._length_ms,
                num_tracing_attempts=1,
            )
        except Exception as error:  # the loss of a host ends the run elsewhere, with its own error
            self._trouble = f"The profiler of {host} did not answer: {first_line(error)}"
