"""Times what Keras's `fit` does between the last step of an epoch and the next step.

Call the methods in the order in which Keras does the work; times are of the monotonic clock, in ns:

    ends.step_ended(step)                       # each step
    event = ends.validation_begins()            # if the epoch is validated
    ends.validated(now_ns)
    event = ends.callbacks_begin(now_ns, is_first=...)  # `on_epoch_end` of the callbacks
    ends.callbacks_ended(now_ns)                # if that is known
    event = ends.next_epoch_begins()            # `on_epoch_begin` of the callbacks
    event = ends.close(now_ns, next_step)       # before each step, and once `fit` is over

Under a strategy, `evaluate` makes two iterators over its data, one before `on_test_begin`, and
frees them after `on_test_end`, which may take longer than what is between. So validation is counted
from the last step on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategy_profiles.run.events import EpochEnded, EpochEnding

if TYPE_CHECKING:
    from strategy_core.recorder.step import RecordedStep


class EpochEnds:
    """The ends of the epochs of one `fit`."""

    def __init__(self) -> None:
        self._last: RecordedStep | None = None
        """The last step, until the end of its epoch is recorded."""
        self._validated_ns: int | None = None
        self._callbacks_began_ns: int | None = None
        """Set once the epoch has ended."""
        self._callbacks_ns: int | None = None

    def step_ended(self, step: RecordedStep) -> None:
        self._last = step
        self._validated_ns = self._callbacks_began_ns = self._callbacks_ns = None

    def validation_begins(self) -> EpochEnding | None:
        """None if no step was recorded since the last end of an epoch."""
        return None if self._last is None else EpochEnding(doing="validation")

    def validated(self, now_ns: int) -> None:
        self._validated_ns = now_ns

    def callbacks_begin(self, now_ns: int, *, is_first: bool) -> EpochEnding | None:
        """`is_first` says that no other callback's `on_epoch_end` has been called before."""
        self._callbacks_began_ns = now_ns
        if is_first and self._validated_ns is not None:
            self._validated_ns = now_ns
        return None if self._last is None else EpochEnding(doing="callbacks")

    def callbacks_ended(self, now_ns: int) -> None:
        if self._callbacks_began_ns is not None and self._callbacks_ns is None:
            self._callbacks_ns = now_ns - self._callbacks_began_ns

    def next_epoch_begins(self) -> EpochEnding | None:
        """None in the first epoch."""
        has_ended = self._last is not None and self._callbacks_began_ns is not None
        return EpochEnding(doing="next_epoch") if has_ended else None

    def close(self, now_ns: int, next_step: int) -> EpochEnded | None:
        """Return the event if an epoch has ended since the last step.

        None as well if `next_step`, the number of the next step, does not follow the last one: then
        other steps were recorded meanwhile, such as those of another `fit` in a callback.
        """
        last, validated_ns = self._last, self._validated_ns
        if last is None or self._callbacks_began_ns is None:
            return None
        self._last = None
        if last.step + last.num_steps != next_step:
            return None
        return EpochEnded(
            segment=last.segment,
            step=next_step - 1,
            start_ns=last.start_ns + last.end_ns - last.begin_ns,
            wall_ms=(now_ns - last.end_ns) / 1e6,
            validation_ms=None if validated_ns is None else (validated_ns - last.end_ns) / 1e6,
            callbacks_ms=None if self._callbacks_ns is None else self._callbacks_ns / 1e6,
        )
