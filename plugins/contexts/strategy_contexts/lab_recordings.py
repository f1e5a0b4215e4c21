"""The recordings of the lab of this process."""

from __future__ import annotations

from strategy_app.server.state import lab
from strategy_app.server.viewers import is_connected
from strategy_contexts import child
from strategy_contexts.context_recordings import ContextRecordings, Key
from strategy_contexts.shipped import shipped

PROGRAM_NICE = 10
"""Programs of the Contexts page run at a lower priority than runs."""


class LabRecordings(ContextRecordings):
    """Recordings for the viewers of this lab, in processes of its own."""

    def __init__(self) -> None:
        super().__init__(_start, is_connected, shipped=lambda key: shipped(*key))


def lab_recordings() -> LabRecordings:
    """The one object, made on first use and closed with the lab."""
    return lab().part(LabRecordings)


def _start(key: Key) -> child.ContextRecording:
    source, strategy, devices = key
    return child.start(source, strategy=strategy, devices=devices, nice=PROGRAM_NICE)
