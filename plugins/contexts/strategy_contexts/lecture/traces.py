"""What scenes read out of a recording of contexts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strategy_contexts.lecture.recording import Trace
from strategy_contexts.stepper.story import steps
from strategy_profiles.errors import AnalysisError

Entry = Mapping[str, Any]


def entries(trace: Trace, call: str) -> list[Entry]:
    """Return the entries of a call, in order; raises AnalysisError if there is none."""
    own = [entry for entry in trace["trace"]["entries"] if entry["call"] == call]
    if not own:
        raise AnalysisError(f"The recording has no call of {call}")
    return own


def line_with(trace: Trace, text: str) -> int:
    """Return the number of the program's first line that contains `text`."""
    lines = str(trace["source"]).splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def step_of(trace: Trace, entry: Entry, kind: str = "enter") -> int:
    """Return the step of the viewer at which control enters or leaves an entry, from 1."""
    all_steps = steps(trace)
    at = (number for number, step in enumerate(all_steps, 1) if _is_at(step, entry["seq"], kind))
    return next(at, 1)


def _is_at(step: Mapping[str, Any], seq: int, kind: str) -> bool:
    return bool(step["entry"] == seq and step["kind"] == kind)
