"""The scenes: their right answers follow the recording, and the recordings come with the lab."""

from __future__ import annotations

import copy
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_contexts.lecture import course
from strategy_contexts.lecture.course import scenes
from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.recording import RUNS, Program, remove_unpacked
from strategy_contexts.lecture.scenes import who_waits, without_the_straggler
from strategy_profiles.analysis.facts import Gain
from strategy_profiles.errors import AnalysisError
from strategy_profiles.predictors import predicts_gains
from tests.synthetic import write_run

PREDICTED = "without_the_straggler"
SCENES = {scene.name: scene for scene in scenes()}
CONTEXTS = {name: scene for name, scene in SCENES.items() if isinstance(scene.recording, Program)}
EXPECTED = {
    "merge_call": "cross-replica context",
    "copies_of_a_variable": "two copies, both assigned",
    "update_beside_each_copy": "once for each copy",
    "unequal_calls": "raises an error",
    "traced_once": "twice",
    "first_step": "50 times or more",
    "bytes_of_a_ring": "142 kB",
    "central_variables": "all on one device",
    "slow_input": "it waits for the batch",
    "who_waits": "the other replicas",
    PREDICTED: "a quarter",
}


def right(question: Question) -> str:
    return question.choices[question.right]


def changed(name: str, call: str, **values: Any) -> Mapping[str, Any]:
    """The recording of a scene with other values in all entries of a call."""
    trace: dict[str, Any] = copy.deepcopy(dict(SCENES[name].recording.recorded()))  # type: ignore[arg-type]
    for entry in trace["trace"]["entries"]:
        if entry["call"] == call:
            entry.update(values)
    return trace


def without(name: str, call: str, replica: int) -> Mapping[str, Any]:
    """The recording of a scene without the entries of a call on one replica."""
    trace: dict[str, Any] = copy.deepcopy(dict(SCENES[name].recording.recorded()))  # type: ignore[arg-type]
    trace["trace"]["entries"] = [
        entry
        for entry in trace["trace"]["entries"]
        if (entry["call"], entry["replica"]) != (call, replica)
    ]
    return trace


@pytest.mark.parametrize("name", SCENES)
def test_the_recording_of_the_lab_answers_the_question(name: str) -> None:
    scene = SCENES[name]
    question = scene.ask(scene.recording.recorded())
    assert right(question) == EXPECTED[name]
    assert 3 <= len(set(question.choices)) == len(question.choices) <= 4
    assert question.evidence.endswith(".")
    assert question.why.endswith(".")


def test_every_scene_of_the_course_has_an_expected_answer() -> None:
    assert list(SCENES) == [name for name in EXPECTED if name in SCENES]
    assert EXPECTED.keys() - SCENES == (set() if predicts_gains() else {PREDICTED})


def test_the_scene_with_a_prediction_is_left_out_where_no_package_predicts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(course, "predicts_gains", lambda: False)
    assert [scene.name for scene in scenes()] == [name for name in EXPECTED if name != PREDICTED]


@pytest.mark.parametrize("name", CONTEXTS)
def test_a_scene_about_a_program_names_its_line_and_its_step(name: str) -> None:
    trace: Any = CONTEXTS[name].recording.recorded()
    question = CONTEXTS[name].ask(trace)
    assert question.line is not None
    assert trace["source"].splitlines()[question.line - 1].strip()
    assert question.step is not None
    assert question.step > 1


def test_the_context_is_that_of_the_recorded_call() -> None:
    trace = changed("merge_call", "reduce", context="replica")
    assert right(SCENES["merge_call"].ask(trace)) == "replica context"


def test_copies_of_different_values_are_not_both_assigned() -> None:
    trace: Any = copy.deepcopy(dict(SCENES["copies_of_a_variable"].recording.recorded()))  # type: ignore[arg-type]
    read = [e for e in trace["trace"]["entries"] if e["call"] == "experimental_local_results"][-1]
    copies = read["values_in"][0][1]["components"]
    copies[1]["value"] = 2.0
    scene = SCENES["copies_of_a_variable"]
    assert right(scene.ask(trace)) == "two copies, one assigned"
    del copies[1]
    assert right(scene.ask(trace)) == "one variable, shared"


def test_a_function_that_runs_on_one_copy_is_no_update_of_each() -> None:
    trace = without("update_beside_each_copy", "enter update", 1)
    assert right(SCENES["update_beside_each_copy"].ask(trace)) == "on one copy, then it is sent"


def test_calls_without_an_error_are_counted() -> None:
    trace = {**changed("unequal_calls", "merge_call"), "error": None}
    assert right(SCENES["unequal_calls"].ask(trace)) == "merges one value"


def test_python_that_runs_once_is_counted_once() -> None:
    trace = without("traced_once", "enter replica", 1)
    assert right(SCENES["traced_once"].ask(trace)) == "once"


def test_a_run_answers_by_its_own_figures(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=2, straggler=(2, 3.0))
    question = SCENES["who_waits"].ask(strategy_profiles.load(run))
    assert right(question) == "the other replicas"
    assert re.search(r"late by 2\.[89]\d ms", question.evidence)


def test_a_step_that_does_not_wait_for_its_batch_has_another_answer(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=2)
    question = SCENES["slow_input"].ask(strategy_profiles.load(run))
    assert right(question) == "it computes"
    waited, rest = question.bars
    assert waited.value < rest.value


def test_a_longer_prediction_is_another_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    profile: Any = without_the_straggler.RECORDING.recorded()
    longer = Gain(55.0, 50.0, 60.0, 100.0, 0.01, 1.0, False, False, "")
    monkeypatch.setattr(without_the_straggler, "gain_without", lambda *_: longer)
    assert right(without_the_straggler.ask(profile)) == "half"


def test_another_late_replica_is_not_among_the_choices(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=2, straggler=(1, 30.0))
    with pytest.raises(AnalysisError, match="No choice names"):
        SCENES["who_waits"].ask(strategy_profiles.load(run))


@pytest.mark.parametrize("scene", [who_waits, without_the_straggler])
def test_a_run_without_a_straggler_does_not_answer(tmp_path: Path, scene: Any) -> None:
    run = write_run(tmp_path / "run", steps=20, windows=1)
    with pytest.raises(AnalysisError):
        scene.ask(strategy_profiles.load(run))


def test_a_variable_on_each_device_is_a_copy(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=20, windows=1)
    assert (
        right(SCENES["central_variables"].ask(strategy_profiles.load(run)))
        == "a copy on each device"
    )


def test_the_folder_of_the_recorded_runs_can_be_removed() -> None:
    first: Any = RUNS[0].recorded()
    assert first.path.is_dir()
    remove_unpacked()
    assert not first.path.exists()
    again: Any = RUNS[0].recorded()
    assert again.path.is_dir()


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_recorded_run_does_not_name_its_machine(run: Any) -> None:
    with zipfile.ZipFile(run.file) as packed:
        lines = [
            line
            for name in packed.namelist()
            for line in packed.read(name).splitlines()
            if name.endswith(".jsonl") and b'"host": {' in line
        ]
        assert not any(name.endswith((".log", ".npz")) for name in packed.namelist())
    assert lines
    assert all(b'"name": "recorded"' in line and b'"boot": ""' in line for line in lines)
