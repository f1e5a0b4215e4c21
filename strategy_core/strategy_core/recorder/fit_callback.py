"""`lab.RecorderCallback`: the recorder in Keras `fit`, for any model."""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import keras

from strategy_core.recorder.epoch_end import EpochEnds
from strategy_core.recorder.fit_error import FitError
from strategy_core.recorder.program import ProgramRecorder
from strategy_core.recorder.step import RecordedStep
from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.run.events import EpochEnded, EpochEnding
from strategy_profiles.spec.run_spec import Capture


class RecorderCallback(keras.callbacks.Callback):
    """Records every training batch of `fit` into a run folder.

    A step runs from `on_train_batch_begin` to `on_train_batch_end`. Keras fetches the batch inside
    its train function, so the input time is measured in captured steps only. With
    `steps_per_execution=n` Keras calls back once per execution, so a recorded step covers n
    batches. The `loss` comes from Keras's logs: a running mean over the epoch.

    Each `fit` with this callback is a run of its own: `path`, then `path-2`, `path-3` and so on. An
    exception that ends `fit` is recorded as the run's failure; after Ctrl-C the run is stopped.

    Args:
      path: the run folder. It is created when training begins. If it already holds a run, or cannot
        be written, a warning says so, and `fit` goes on without a record.
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
        """The recorder of the current `fit`, if it is recorded."""
        self._newest: ProgramRecorder | None = None
        self._num_runs = 0
        self._fit_error: FitError | None = None
        self._step: RecordedStep | None = None
        self._ends = EpochEnds()
        self._exit = ExitStack()

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        """Open the run. Keras makes and traces the train function with the first batch."""
        if self._program is not None:
            self.failed(RuntimeError("fit ended with an error, which the program caught"))
        number = self._num_runs + 1
        path = Path(self._path)
        path = path if number == 1 else path.with_name(f"{path.name}-{number}")
        try:
            program = ProgramRecorder(
                path,
                getattr(self.model, "distribute_strategy", None),
                capture=self._capture,
                global_batch_size=self._global_batch_size,
                variables=self._variables,
            )
        except RunFolderError as error:
            warnings.warn(f"This fit is not recorded. {error}", stacklevel=2)
            return
        self._num_runs = number
        self._program = self._newest = program
        self._ends = EpochEnds()
        self._fit_error = FitError(self.model, self.failed, self._drop_step)
        program.open()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._write(self._ends.next_epoch_begins())

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._leave_step()
        self._record_epoch_end()
        if self._program is not None:
            self._step = self._exit.enter_context(self._program.step())

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        step = self._step
        if step is not None:
            step.result(loss=(logs or {}).get("loss"))
        self._leave_step()
        if step is not None:
            self._ends.step_ended(step)

    def on_test_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        self._write(self._ends.validation_begins())

    def on_test_end(self, logs: Any = None) -> None:  # noqa: ARG002
        self._ends.validated(time.monotonic_ns())

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._write(self._ends.callbacks_begin(time.monotonic_ns(), is_first=False))

    def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002
        self._leave_step()
        self._record_epoch_end()
        if self._program is not None:
            self._program.close()
        self._fit_is_over()

    def failed(self, error: BaseException) -> None:
        """Record the exception that ended the training: as the run's failure, or for Ctrl-C that
        the run was stopped.

        The callback finds an exception of `fit` itself.
        """
        self._drop_step(error)
        if self._program is not None:
            self._program.failed(error)
        self._fit_is_over()

    def show(self) -> None:
        """Show the report of the newest `fit`, as far as it is recorded, below the cell of a
        notebook.

        Raises LabError outside of IPython, or if no `fit` is recorded.
        """
        if self._newest is None:
            raise LabError(
                "No fit was recorded with this callback",
                advice="Pass it to model.fit(..., callbacks=[callback]) first",
            )
        self._newest.show()

    def _record_epoch_end(self) -> None:
        """Write an epoch's end, if one has ended; what other callbacks took of it is not known."""
        if self._program is not None:
            next_step = self._program.recorder.next_step
            self._write(self._ends.close(time.monotonic_ns(), next_step))

    def _write(self, event: EpochEnding | EpochEnded | None) -> None:
        if self._program is not None and event is not None:
            self._program.recorder.write(event)

    def _fit_is_over(self) -> None:
        self._program = None
        if self._fit_error is not None:
            self._fit_error.close()
        self._fit_error = None

    def _drop_step(self, error: BaseException) -> None:
        """Leave the step without recording it: there was no batch for it, or it failed."""
        self._step = None
        self._exit.__exit__(type(error), error, error.__traceback__)

    def _leave_step(self) -> None:
        self._step = None
        self._exit.close()

    def _variables(self) -> list[Any]:
        optimizer = getattr(self.model, "optimizer", None)
        return [*self.model.variables, *(optimizer.variables if optimizer is not None else [])]
