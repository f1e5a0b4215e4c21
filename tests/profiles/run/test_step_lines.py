"""The steps of a chunk of lines are the same, read all at once or one by one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from strategy_profiles.run.event_decoder import LeftOut, decode_lines
from strategy_profiles.run.events import StepDone
from strategy_profiles.run.step_columns import StepColumns
from strategy_profiles.run.step_lines import decode_chunk
from strategy_profiles.spec.limits import LARGEST

NOW = 1_760_000_000_000_000_000
TWO = [[NOW, NOW + 5, NOW + 7], [NOW + 1, NOW + 12, NOW + 19]]
CHUNKS: dict[str, list[Any]] = {
    "two replicas": [TWO, [[ns + 1_000 for ns in mark] for mark in TWO]],
    "no marks": [None, None],
    "marks from some step on": [None, TWO],
    "a replica more": [TWO, [*TWO, TWO[0]]],
    "no replica": [[], []],
    "a time of another length": [TWO, [[5, NOW, NOW], TWO[1]]],
    "the largest time": [[[LARGEST] * 3], [[LARGEST] * 3]],
    "a time that is too large": [[[LARGEST + 1] * 3], [[NOW] * 3]],
    "a time below zero": [[[-NOW // 10] * 3], [[NOW] * 3]],
    "two times": [[[NOW, NOW]], [[NOW, NOW]]],
    "a text": ["a" * 61, "a" * 61],
}


def _line(number: int, marks: Any) -> str:
    step = {"segment": 0, "step": number, "start_ns": NOW, "wall_ms": 1.5, "loss": None}
    known = {"examples": 32, "captured": False, "marks_ns": marks, "at_ns": NOW, "line": number}
    return json.dumps({"kind": "step", **step, **known}, separators=(",", ":"))


@pytest.mark.parametrize("marks", CHUNKS.values(), ids=CHUNKS)
def test_steps_read_at_once_are_those_read_one_by_one(marks: list[Any]) -> None:
    sample = '{"kind":"note","level":"info","message":"between two steps"}'
    lines = [_line(1, marks[0]), sample, _line(2, marks[1])]
    chunk, left_out, expected_left_out = "\n".join(lines).encode(), LeftOut(), LeftOut()
    decoded = decode_chunk(chunk, left_out)
    events = decode_lines(chunk, expected_left_out)
    steps = [event for event in events if isinstance(event, StepDone)]
    assert decoded.others == [event for event in events if not isinstance(event, StepDone)]
    assert left_out == expected_left_out
    expected = StepColumns.of(steps)
    for column in StepColumns.__struct_fields__:
        np.testing.assert_array_equal(getattr(decoded.steps, column), getattr(expected, column))


def test_a_damaged_line_costs_itself_alone() -> None:
    left_out = LeftOut()
    chunk = "\n".join([_line(1, TWO), _line(2, TWO)[:-9], _line(3, TWO)]).encode()
    decoded = decode_chunk(chunk, left_out)
    assert decoded.steps.step.tolist() == [1, 3]
    assert left_out.total() == 1
