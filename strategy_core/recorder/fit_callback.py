"""`lab.RecorderCallback`: the recorder in Keras `fit`, for any model."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from strategy_core.recorder.program import ProgramRecorder
from strategy_core.recorder.step import RecordedStep
from strategy_core.runtime.error_message import type_and_cause
from strategy_lab.profiles.run.events import Failed
from strategy_lab.profiles.spec.run_spec import Capture


class RecorderCallback(keras.callbacks.Callback):
    """Records every training batch of `fit` into a run folder.

    A step runs from `on_train_batch_begin` to `on_train_batch_end`. Keras fetches the batch inside
    its train function, so the input time is measured in captured steps only. With
    `steps_per_execution=n` Keras calls back once per execution, so a recorded step covers n
    batches. The `loss` comes from Keras's logs: a running mean over the epoch.

    Args:
      path: the run folder. It is created when training begins; a folder that already holds a run is
        refused.
      capture: how much to record.
      global_batch_size: examples per step, for the throughput, which is unknown without it.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        capture: Capture | None = None,
        global_batch_size: int | None = None,
    ) -> None:
        super().__init__()
        self._path = path
        self._capture = capture
        self._global_batch_size = global_batch_size
        self._program: ProgramRecorder | None = None
        self._step: RecordedStep | None = None
        self._exit = ExitStack()

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        """Open the run. Keras makes and traces the train function with the first batch."""
        self._program = ProgramRecorder(
            self._path,
            tf.distribute.get_strategy() if tf.distribute.has_strategy() else None,
            capture=self._capture,
            global_batch_size=self._global_batch_size,
            variables=self._variables,
        )
        self._program.open()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._leave_step()
        if self._program is not None:
            self._step = self._exit.enter_context(self._program.step())

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        if self._step is not None:
            self._step.result(loss=(logs or {}).get("loss"))
        self._leave_step()

    def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002
        self._leave_step()
        if self._program is not None:
            self._program.close()
        self._program = None

    def failed(self, error: BaseException) -> None:
        """Record the exception that ended the training; Keras does not pass it to callbacks."""
        if self._program is not None:
            self._program.recorder.write(Failed(type_and_cause(error)))

    def _leave_step(self) -> None:
        self._step = None
        self._exit.close()

    def _variables(self) -> list[Any]:
        optimizer = getattr(self.model, "optimizer", None)
        return [*self.model.variables, *(optimizer.variables if optimizer is not None else [])]
