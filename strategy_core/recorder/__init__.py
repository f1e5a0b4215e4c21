"""Records any program's steps into a run folder; the lab's own engine uses it as everyone does."""

from strategy_core.recorder.marks import mark
from strategy_core.recorder.recorder import Recorder
from strategy_core.recorder.step import RecordedStep

__all__ = ["RecordedStep", "Recorder", "mark"]
