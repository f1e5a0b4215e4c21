"""A recording of contexts in a run folder is read with types: damage ends in a sentence."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_contexts import course
from strategy_contexts.shipped import shipped
from strategy_contexts.stepper import page
from strategy_contexts.stepper.recorded_contexts import read_recording
from strategy_contexts.stepper.story import steps
from strategy_profiles.errors import RunFolderError

ODD = st.sampled_from([None, True, -1, 2**70, 1e400, "x", [], {}, [None], {"a": 1}])


@pytest.fixture(scope="module")
def recordings() -> dict[str, dict[str, Any]]:
    items = course.demonstrations()
    recording_of = {item.name: shipped(item.source, "mirrored", "cpu:2") for item in items}
    return {name: recording for name, recording in recording_of.items() if recording}


def test_every_recording_of_the_course_is_read_as_it_was_written(
    recordings: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    assert len(recordings) > 20
    for name, recording in recordings.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(recording))
        read = read_recording(path)
        assert steps(read) == steps(recording)
        assert read["source"] == recording["source"]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to each value in a document."""
    paths = [path] if path else []
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inner:
            paths += places(item, (*path, key))
    return paths


@given(st.data())
def test_a_changed_recording_is_shown_or_refused_in_a_sentence(
    recordings: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    recording = json.loads(json.dumps(recordings["merge_call"]))
    *way, last = data.draw(st.sampled_from(places(recording)))
    holder = recording
    for key in way:
        holder = holder[key]
    holder[last] = data.draw(ODD)
    path = tmp_path_factory.mktemp("changed") / "contexts-000.json"
    path.write_text(json.dumps(recording))
    with suppress(RunFolderError):  # any other exception is a traceback on the page
        page(read_recording(path))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"title": 1}', "[" * 100_000, "\x00"])
def test_what_is_not_a_recording_is_refused_in_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "contexts-000.json"
    path.write_text(text)
    with pytest.raises(RunFolderError, match="is not a recording of contexts"):
        read_recording(path)


def test_a_folder_in_the_place_of_a_recording_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="is not a file"):
        read_recording(tmp_path)
