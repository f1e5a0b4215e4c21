"""A step's line is the one that the encoder for all events gives."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from strategy_lab.profiles.event_log import STEP_FIELDS, line_of, line_of_step
from strategy_lab.profiles.events import StepDone, to_record
from strategy_lab.profiles.step_line import step_line

NS = st.integers(0, 2**63 - 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
STEPS = st.builds(
    StepDone,
    segment=st.integers(0, 1000),
    step=st.integers(0, 2**40),
    start_ns=NS,
    wall_ms=FINITE,
    loss=st.none() | FINITE,
    examples=st.none() | st.integers(0, 2**31),
    captured=st.booleans(),
    input_ms=st.none() | FINITE,
    marks_ns=st.none() | st.lists(st.lists(NS, min_size=3, max_size=3), max_size=16),
)


@given(STEPS, NS)
def test_it_is_what_json_makes_of_it(step: StepDone, at_ns: int) -> None:
    line = step_line(step, at_ns)
    assert line == json.dumps(to_record(step, at_ns))


def _step(**fields: Any) -> StepDone:
    usual: dict[str, Any] = {"wall_ms": 1.5, "loss": 0.5, "examples": 8, "captured": False}
    return StepDone(segment=0, step=0, start_ns=0, **(usual | fields))


def test_a_loss_that_is_no_number_is_null() -> None:
    for loss in (float("nan"), float("inf"), -float("inf")):
        assert json.loads(line_of(_step(loss=loss), 1))["loss"] is None


def test_what_has_the_fields_of_a_step_is_written_as_one() -> None:
    for step in (_step(loss=2.5), _step(loss=np.float32(0.5), examples=np.int64(8))):
        like_it = SimpleNamespace(**{name: getattr(step, name) for name in STEP_FIELDS})
        assert line_of_step(like_it, 7) == line_of(step, 7)
        assert json.loads(line_of(step, 7))["at_ns"] == 7


def test_fields_of_other_types_are_left_to_the_encoder() -> None:
    for fields in ({"loss": 1}, {"examples": np.int64(8)}, {"wall_ms": float("nan")}):
        step = _step(**fields)
        assert step_line(step, 1) is None
        json.loads(line_of(step, 1))
