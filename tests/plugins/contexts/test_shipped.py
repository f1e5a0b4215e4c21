"""The recordings that come with the lab are what the demonstrations do today."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from strategy_contexts import course, shipped
from strategy_contexts.demonstrations import COURSE
from strategy_core.processes.import_path import module_command, with_own_code
from tests.plugins.contexts.transcript import transcript

MB = 1_000_000


@pytest.mark.parametrize("name", COURSE)
def test_a_demonstration_comes_with_its_recording(name: str) -> None:
    item = course.demonstration(name)
    recording = shipped.shipped(item.source, "mirrored", "cpu:2")
    assert recording is not None
    assert (recording["title"], recording["source"]) == (item.title, item.source)
    assert len(recording["devices"]) == 2
    lines = item.source.count("\n")
    assert all(entry["source"]["line"] <= lines for entry in recording["trace"]["entries"])


def test_the_recordings_are_small_and_name_no_path_of_a_machine() -> None:
    texts = [path.read_text() for path in shipped.FOLDER.iterdir()]
    assert len(texts) == len(COURSE)
    assert sum(map(len, texts)) < MB / 2
    assert not any("/tmp/" in text or str(Path.home()) in text for text in texts)


@pytest.mark.parametrize(
    ("source", "strategy", "devices"),
    [("changed", "mirrored", "cpu:2"), ("", "one-device", "cpu:2"), ("", "mirrored", "cpu:4")],
)
def test_another_program_strategy_or_number_of_replicas_has_to_be_recorded(
    source: str, strategy: str, devices: str
) -> None:
    program = course.demonstration("merge_call").source + source
    assert shipped.shipped(program, strategy, devices) is None


@pytest.fixture(scope="module")
def recorded_now(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All demonstrations, recorded by a process of their own.

    In a process that ran other programs before, TensorFlow numbers names differently.
    """
    folder = tmp_path_factory.mktemp("recordings")
    command = [*module_command("strategy_contexts.ship"), str(folder)]
    subprocess.run(command, check=True, capture_output=True, env=with_own_code(os.environ))
    return folder


@pytest.mark.tf
@pytest.mark.parametrize("name", COURSE)
def test_a_recording_is_what_the_demonstration_does_today(name: str, recorded_now: Path) -> None:
    recorded = json.loads((recorded_now / shipped.file_of(name).name).read_text())
    kept = json.loads(shipped.file_of(name).read_text())
    renew = "if the change is meant: make recordings"
    assert transcript(recorded) == transcript(kept), renew
    if recorded["tensorflow"] == kept["tensorflow"]:
        assert recorded == kept, renew
