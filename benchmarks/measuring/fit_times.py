"""Runs a program without the lab, with a stopwatch in Keras's `fit`: how long epochs take to start.

    python -m benchmarks.measuring.fit_times PROGRAM

Prints one line of JSON: the seconds of all `fit`s, each from the end of its first step to its end;
and of them, the seconds between the end of an epoch's last step, or of its validation, and the
begin of the next epoch's first step. It judges what the lab says, by Keras's callbacks alone.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from typing import Any

import keras


class Stopwatch(keras.callbacks.Callback):  # type: ignore[misc]
    """Adds up the times of one `fit`."""

    def __init__(self) -> None:
        super().__init__()
        self.loop_s = self.start_s = 0.0
        self._first_s: float | None = None
        self._last_s = 0.0

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        if batch == 0 and self._first_s is not None:
            self.start_s += time.perf_counter() - self._last_s

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._last_s = time.perf_counter()
        if self._first_s is None:
            self._first_s = self._last_s

    def on_test_end(self, logs: Any = None) -> None:  # noqa: ARG002
        self._last_s = time.perf_counter()

    def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002
        if self._first_s is not None:
            self.loop_s = time.perf_counter() - self._first_s


def main() -> None:
    watches, fit = [], keras.Model.fit

    def timed_fit(model: keras.Model, *args: Any, **kwargs: Any) -> Any:
        watches.append(Stopwatch())
        callbacks = [*(kwargs.pop("callbacks", None) or ()), watches[-1]]
        return fit(model, *args, callbacks=callbacks, **kwargs)

    keras.Model.fit = timed_fit
    program, sys.argv = sys.argv[1], sys.argv[1:]
    runpy.run_path(program, run_name="__main__")
    loop_s, start_s = (sum(getattr(each, key) for each in watches) for key in ("loop_s", "start_s"))
    print(json.dumps({"loop_s": loop_s, "epoch_start_s": start_s}))


if __name__ == "__main__":
    main()
