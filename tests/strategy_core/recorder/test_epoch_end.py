"""Which times the end of an epoch is recorded with, by a clock of the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from strategy_core.recorder.step import RecordedStep

pytestmark = pytest.mark.tf
MS = 1_000_000


def _step(number: int, num_steps: int = 1) -> RecordedStep:
    """A step from 100 to 110 ms by the monotonic clock, and from 1,000 ms by the wall clock."""
    from strategy_core.recorder.step import RecordedStep

    step = RecordedStep(number, segment=2)
    step.num_steps = num_steps
    step.start_ns, step.begin_ns, step.end_ns = 1000 * MS, 100 * MS, 110 * MS
    return step


def test_an_epochs_end_lasts_until_the_next_step() -> None:
    from strategy_core.recorder.epoch_end import EpochEnds

    ends = EpochEnds()
    ends.step_ended(_step(7))
    ends.callbacks_begin(115 * MS, is_first=True)
    ends.callbacks_ended(118 * MS)
    ends.callbacks_ended(140 * MS)  # of `fit` itself, if this was the last epoch
    event = ends.close(150 * MS, next_step=8)
    assert event is not None
    assert (event.segment, event.step, event.start_ns) == (2, 7, 1010 * MS)
    assert (event.wall_ms, event.validation_ms, event.callbacks_ms) == (40, None, 3)
    assert ends.close(151 * MS, next_step=8) is None


@pytest.mark.parametrize(("is_first", "validation_ms"), [(True, 25), (False, 20)])
def test_iterators_that_are_freed_belong_to_the_validation_if_no_callback_came_before(
    is_first: bool, validation_ms: float
) -> None:
    from strategy_core.recorder.epoch_end import EpochEnds

    ends = EpochEnds()
    ends.step_ended(_step(0, num_steps=4))
    ends.validated(130 * MS)
    ends.callbacks_begin(135 * MS, is_first=is_first)
    event = ends.close(140 * MS, next_step=4)
    assert event is not None
    assert (event.step, event.validation_ms, event.callbacks_ms) == (3, validation_ms, None)


def test_between_steps_of_one_epoch_nothing_ends() -> None:
    from strategy_core.recorder.epoch_end import EpochEnds

    ends = EpochEnds()
    assert ends.close(90 * MS, next_step=0) is None
    ends.step_ended(_step(0))
    assert ends.close(120 * MS, next_step=1) is None


def test_steps_of_another_fit_in_a_callback_are_not_in_an_end() -> None:
    from strategy_core.recorder.epoch_end import EpochEnds

    ends = EpochEnds()
    ends.step_ended(_step(0))
    ends.callbacks_begin(115 * MS, is_first=True)
    assert ends.close(150 * MS, next_step=9) is None


def test_what_fit_does_is_recorded_when_it_begins_after_a_step_and_only_then() -> None:
    from strategy_core.recorder.epoch_end import EpochEnds

    ends = EpochEnds()
    assert ends.validation_begins() is None
    assert ends.next_epoch_begins() is None
    ends.step_ended(_step(0))
    assert ends.next_epoch_begins() is None
    begun = [ends.validation_begins(), ends.callbacks_begin(115 * MS, is_first=True)]
    begun.append(ends.next_epoch_begins())
    doing = [None if event is None else event.doing for event in begun]
    assert doing == ["validation", "callbacks", "next_epoch"]
    ends.close(150 * MS, next_step=1)
    assert ends.next_epoch_begins() is None


def test_of_steps_that_are_recorded_together_the_first_may_have_its_own_time() -> None:
    step = _step(7, num_steps=4)
    step.first_ended_ns = 104 * MS
    parts = step.parts()
    assert [part.wall_ms for part in parts] == [4.0, 2.0, 2.0, 2.0]
    assert [part.start_ns for part in parts] == [1000 * MS, 1004 * MS, 1006 * MS, 1008 * MS]
