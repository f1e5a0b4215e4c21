"""A capture window of a TPU pod: the coordinator's profiler, and that of every host.

The steps are marked where they are called, the ops run on the hosts. Each host has TensorFlow's own
profiler server. It can only be asked for a length of time: for as long as the window's steps should
take, and a little longer; the window stays open until all have answered. Steps that are not wholly
inside of every host's capture are left out when it is converted.
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
"""What a step may take longer than those before, and a host until it has begun."""


class PodWindow(Window):
    """A window over the coordinator and the hosts whose profilers listen at `hosts`.

    `step_ms` is how long a step is expected to take.
    """

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
        # Asked for several in one call, TensorFlow 2.18 goes from one to the next.
        self._asking = [
            threading.Thread(target=self._ask, args=(host,), name=f"profiler {host}", daemon=True)
            for host in self._hosts
        ]
        for each in self._asking:
            each.start()

    @property
    def is_full(self) -> bool:
        return super().is_full and self.is_written

    @property
    def is_written(self) -> bool:
        return not any(each.is_alive() for each in self._asking)

    def wait(self) -> None:
        for each in self._asking:
            each.join()

    def xplane(self) -> Path | None:
        found = super().xplane()
        if found is not None and len(self.of_hosts()) < len(self._hosts):
            self.error = self._trouble or "The profiler of a host left no file"
        return None if self.error else found

    def of_hosts(self) -> list[Path]:
        return sorted(self._scratch_of_hosts.rglob("*.xplane.pb"))

    @property
    def _own_scratch(self) -> Path:
        return self.scratch / "coordinator"

    @property
    def _scratch_of_hosts(self) -> Path:
        return self.scratch / "hosts"

    def _ask(self, host: str) -> None:
        """Comes back when it has answered, or cannot."""
        try:
            tf.profiler.experimental.client.trace(
                f"grpc://{host}",
                str(self._scratch_of_hosts),
                self._length_ms,
                num_tracing_attempts=1,
            )
        except Exception as error:  # a host that is gone ends the run in its own words
            self._trouble = f"The profiler of {host} did not answer: {first_line(error)}"
