"""Numbers of a running run are those that its pages give at its end."""

from __future__ import annotations

from strategy_app.live.key_numbers import LiveNumbers
from strategy_profiles.run.events import SegmentOpened, StepDone
from strategy_profiles.run.tail import WrittenEvent


def test_a_loss_that_a_program_does_not_tell_is_neither_called_nan_nor_promised() -> None:
    numbers = LiveNumbers(lambda _worker, _step: ([], []))
    spec = {"parameter_servers": 2}
    opened = SegmentOpened(0, "parameter-server", 2, 3, 8, 0, 0, ["a", "b"], "auto", spec)
    numbers.take(WrittenEvent(opened, 0, 0))
    assert numbers.message()["numbers"]["loss"][-1] == "after the first step"
    for step in range(3):
        numbers.split(0, StepDone(0, step, 0, 5.0, None, 8, False))
        loss_number = numbers.message()["numbers"]["loss"]
        assert loss_number[-1] == "no step recorded a loss, or none was a finite number"
