"""A recording of contexts under way: started, watched, stopped; kept per program and place."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from strategy_core.contexts import child
from strategy_lab.profiles.errors import LabError

KEPT = 40
"""Recordings kept per browser session, so that going back to one costs nothing."""

Key = tuple[str, str, str]
"""Program, strategy and devices: what a recording depends on."""


@dataclass
class Recordings:
    """The recordings of one browser session."""

    done: dict[Key, dict[str, Any]] = field(default_factory=dict)
    refused: dict[Key, str] = field(default_factory=dict)
    running: tuple[Key, child.ContextRecording] | None = None

    def start(self, key: Key) -> None:
        """Record `key`; a recording that still runs is stopped for it."""
        self.stop()
        self.refused.pop(key, None)
        source, strategy, devices = key
        try:
            self.running = (key, child.start(source, strategy=strategy, devices=devices))
        except LabError as error:
            self.refused[key] = str(error)

    def stop(self) -> None:
        """End what runs; its program counts as refused, so that it does not start again."""
        if self.running is None:
            return
        key, recording = self.running
        recording.close()
        self.refused[key] = "The recording was stopped. Press Record to start it again."
        self.running = None

    def poll(self) -> bool:
        """Whether one still runs; one that ended is taken in."""
        if self.running is None:
            return False
        key, recording = self.running
        if recording.is_running:
            return True
        try:
            self.done[key] = recording.result()
            for oldest in list(self.done)[:-KEPT]:
                del self.done[oldest]
        except LabError as error:
            self.refused[key] = str(error)
        finally:
            recording.close()
            self.running = None
        return False


def recordings() -> Recordings:
    """Those of this browser session."""
    state: MutableMapping[Any, Any] = st.session_state
    if "context_recordings" not in state:
        state["context_recordings"] = Recordings()
    found: Recordings = state["context_recordings"]
    return found
