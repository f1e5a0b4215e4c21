"""Which calls are one step, if no Keras optimizer shows where the variables are updated."""

from __future__ import annotations

import pytest

from tests.foreign.both_ways import Runner

pytestmark = [pytest.mark.tf, pytest.mark.run]


def test_a_function_that_changes_the_variables_ends_the_step(programs: Runner) -> None:
    ran = programs.traced_as_alone("updates_by_hand", "function")
    steps = ran.of_kind("step")
    assert [step["examples"] for step in steps] == [48] * 4
    assert "`update` (updates_by_hand.py:26) applies the gradients of several calls" in ran.notes
    assert all(step["input_ms"] > 0 for step in steps)


def test_if_python_changes_them_between_calls_each_call_is_a_step_and_a_note_says_so(
    programs: Runner,
) -> None:
    ran = programs.traced_as_alone("updates_by_hand", "python")
    steps = ran.of_kind("step")
    assert [step["step"] for step in steps] == list(range(12))
    assert [step["examples"] for step in steps] == [16] * 12
    assert "changes its variables outside of the calls that compute gradients" in ran.notes


def test_after_64_calls_without_an_update_each_call_is_a_step(programs: Runner) -> None:
    ran = programs.traced_as_alone("updates_by_hand", "never")
    steps = ran.of_kind("step")
    assert [step["step"] for step in steps] == list(range(70))
    assert "64 calls of `add_gradients` (updates_by_hand.py:18) were followed by no" in ran.notes
    begins = [step["start_ns"] for step in steps]
    assert begins == sorted(begins)
    assert all(isinstance(step["loss"], float) for step in steps)
