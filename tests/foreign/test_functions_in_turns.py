"""Functions that train in turns, as the critic and the generator of a GAN: a round is a step."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.foreign.both_ways import Ran, Runner

pytestmark = [pytest.mark.tf, pytest.mark.run]

CRITIC = 8 * 2
"""Its parameters."""


@pytest.fixture(scope="module")
def gan(programs: Runner) -> Ran:
    return programs.traced_as_alone("functions_in_turns", "gan")


def steps_by_segment(ran: Ran) -> list[int]:
    return list(Counter(step["segment"] for step in ran.of_kind("step")).values())


def test_a_round_of_both_is_a_step_from_the_second_on(gan: Ran) -> None:
    steps = gan.of_kind("step")
    assert steps_by_segment(gan) == [3, 1, 9]
    assert [step["step"] for step in steps] == list(range(13))
    assert [step["examples"] for step in steps[-9:]] == [48] * 9
    assert "`train_generator` (functions_in_turns.py:46) train in turns" in gan.notes
    assert "The last calls of `train_critic` (functions_in_turns.py:41) are in no" in gan.notes


def test_a_collective_that_either_function_may_have_done_has_no_bytes(gan: Ran) -> None:
    calls = gan.profile.table("collectives").to_pylist()
    of_rounds = [call for call in calls if call["segment"] == 2 and call["op"] == "all-reduce"]
    assert len(of_rounds) % (4 * 2) == 0 < len(of_rounds)
    assert {call["bytes"] for call in of_rounds} == {None}
    of_critic = {call["bytes"] for call in calls if call["segment"] == 0}
    assert of_critic == {4 * CRITIC}
    of_segment = gan.profile.summary()["segments"][2]["bytes_per_step"]
    assert "functions in turns have collectives of the same name" in of_segment["collective_reason"]


def test_functions_that_train_one_after_the_other_are_not_in_turns(programs: Runner) -> None:
    ran = programs.traced_as_alone("functions_in_turns", "one_by_one")
    steps = ran.of_kind("step")
    assert [step["step"] for step in steps] == list(range(83))
    assert steps_by_segment(ran) == [2, 1, 40, 40]
