"""The steps of a recording: their lanes, reasons, and the values on their arrows."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_contexts import course
from strategy_contexts.shipped import shipped
from strategy_contexts.stepper.story import steps
from tests.doors.hostile import no_hang


def steps_of(name: str) -> list[dict[str, Any]]:
    recording = shipped(course.demonstration(name).source, "mirrored", "cpu:2")
    assert recording is not None
    return steps(recording)


def arrows_of(name: str) -> list[tuple[str, str, str]]:
    return [
        (arrow["start"], arrow["end"], arrow["text"])
        for step in steps_of(name)
        for arrow in step["arrows"]
    ]


def test_every_replica_gives_its_value_to_the_merge_function_and_gets_the_result() -> None:
    assert arrows_of("merge_call") == [
        ("default", "cross-replica", ""),
        ("cross-replica", "replica 0", ""),
        ("cross-replica", "replica 1", ""),
        ("replica 0", "cross-replica", "1"),
        ("replica 1", "cross-replica", "2"),
        ("cross-replica", "replica 0", "3"),
        ("cross-replica", "replica 1", "3"),
        ("replica 0", "cross-replica", "0.3333"),
        ("replica 1", "cross-replica", "0.6667"),
        ("cross-replica", "default", ""),
    ]


def test_each_replica_gets_its_own_part_of_the_arguments() -> None:
    arrows = arrows_of("standard_update_pattern")
    assert ("default", "cross-replica", "1 | 2") in arrows
    assert ("cross-replica", "replica 0", "x = 1") in arrows
    assert ("cross-replica", "replica 1", "x = 2") in arrows
    assert ("cross-replica", "update", "var = 10, 3") in arrows


def test_a_replica_waits_in_merge_call_for_those_that_are_not_there() -> None:
    first, last = [
        step["why"]
        for step in steps_of("merge_call")
        if step["kind"] == "enter" and "merge function" in step["why"]
    ]
    assert "stops here until replica 1 makes the same call" in first
    assert "Every replica has made this call" in last


@pytest.mark.parametrize("item", course.demonstrations(), ids=lambda item: item.name)
def test_every_entered_context_has_a_reason(item: course.Demonstration) -> None:
    for step in steps_of(item.name):
        if step["kind"] == "enter" and step["arrows"]:
            assert step["why"], step


def test_printed_lines_of_an_older_recording_have_the_context_of_their_caller() -> None:
    recording = shipped(
        course.demonstration("nested_scopes_and_mixing").source, "mirrored", "cpu:2"
    )
    assert recording is not None
    for line in recording["trace"]["printed"]:
        del line["context"], line["replica"]
    (printed,) = [step for step in steps(recording) if step["kind"] == "print"]
    assert printed["context"] == "cross-replica"


def test_many_merge_calls_take_time_in_proportion_to_their_number() -> None:
    """A loop of a thousand steps has thousands; each was compared with each."""
    recording = shipped(course.demonstration("merge_call").source, "mirrored", "cpu:2")
    assert recording is not None
    entries = recording["trace"]["entries"]
    span = max(max(entry["seq"], entry["end_seq"] or 0) for entry in entries) + 1
    later = [
        entry
        | {
            key: None if entry[key] is None else entry[key] + number * span
            for key in ("seq", "end_seq", "parent")
        }
        for number in range(2_000)
        for entry in entries
    ]
    with no_hang("merge calls"):
        story = steps({"trace": {"entries": later, "printed": []}})
    assert len(story) == 2_000 * len(steps({"trace": {"entries": entries, "printed": []}}))
