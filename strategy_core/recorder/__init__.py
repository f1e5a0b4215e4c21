"""Records the steps of any training program into a run folder.

The lab's own training loops use the same public API as other programs.
"""

from strategy_core.recorder.marks import mark
from strategy_core.recorder.recorder import Recorder
from strategy_core.recorder.step import RecordedStep

__all__ = ["RecordedStep", "Recorder", "mark"]
