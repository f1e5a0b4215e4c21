"""Programs of others do the same under `strategy-lab trace`, and their record is right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from strategy_lab.profiles import load
from tests.foreign.both_ways import Ran, Runner, runner

pytestmark = [pytest.mark.tf, pytest.mark.run]


@dataclass(frozen=True)
class Expected:
    """What is true of a program's record."""

    steps: int
    replicas: int = 2
    strategy: str = "mirrored"
    collective_bytes: int | None = None
    """Of the gradients that a step all-reduces; None without an all-reduce."""
    batch: int | None = 16
    notes: tuple[str, ...] = ()


LARGE, SMALL = (8 * 4 + 4 + 4 * 3 + 3) * 4, (8 * 3 + 3) * 4
"""Bytes of the gradients of the models with two layers and with one, float32."""
ALONE = {"replicas": 1, "strategy": "one-device"}
UNSPREAD = {"replicas": 1, "strategy": "default"}
PROGRAMS = {
    "custom_loop": Expected(10, collective_bytes=LARGE, notes=("The loss is the number that",)),
    "keras_fit": Expected(
        12,
        collective_bytes=LARGE,
        notes=("The validation in Keras's `fit` is not recorded: it ran 2 times",),
    ),
    "steps_per_execution": Expected(30, notes=("`steps_per_execution`",), **UNSPREAD),
    "loop_in_function": Expected(
        20, collective_bytes=SMALL, batch=None, notes=("what the optimizer has counted",)
    ),
    "gan": Expected(12, **UNSPREAD),
    "eager_one_device": Expected(9, **ALONE),
    "own_profiler": Expected(
        12, batch=None, notes=("Steps 4 to 7 had the program's own",), **ALONE
    ),
    "summary_trace": Expected(
        8,
        batch=None,
        notes=(
            "Steps 0 to 1 had the program's own profiler",
            "`tf.summary.trace_on` on. The graph of segment 0 went to it",
            "Step 2 had the program's own `tf.summary.trace_on` on",
        ),
        **UNSPREAD,
    ),
    "run_eagerly": Expected(8, notes=("`evaluate` is not recorded: it ran once",), **UNSPREAD),
    "profile_batch": Expected(
        10, notes=("Steps 2 to 4 had the program's own profiler",), **UNSPREAD
    ),
    "train_on_batch": Expected(10, batch=None, **UNSPREAD),
    "jit_compile": Expected(8, **UNSPREAD),
    "mixed_precision": Expected(12, **UNSPREAD),
    "threads_that_train": Expected(
        10, batch=None, notes=("6 steps of other threads are not recorded",), **UNSPREAD
    ),
    "own_workers": Expected(6, strategy="multi-worker-mirrored", collective_bytes=SMALL),
    "cluster_coordinator": Expected(
        9,
        replicas=1,
        strategy="parameter-server",
        batch=None,
        notes=("Workers do the steps between two calls of `ClusterCoordinator.join`",),
    ),
    "package.train": Expected(
        12, batch=None, notes=("The number of examples in a step of `fit` is unknown",), **UNSPREAD
    ),
    "records_itself": Expected(2, notes=("From step 2 on the program records itself",), **UNSPREAD),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with runner(tmp_path_factory.mktemp("foreign")) as running:
        yield running


def both(programs: Runner, name: str) -> tuple[Ran, Ran]:
    plain, traced = programs.both(name)
    assert plain.code == (name == "exception_in_step_7"), plain.errors
    return plain, traced


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_traced_program_does_what_it_does_alone(programs: Runner, name: str) -> None:
    plain, traced = both(programs, name)
    assert (traced.code, traced.output) == (plain.code, plain.output), traced.errors
    assert traced.weights == plain.weights
    assert traced.errors == plain.errors


@pytest.mark.parametrize("name", PROGRAMS)
def test_its_record_has_its_steps_replicas_and_traffic(programs: Runner, name: str) -> None:
    expected, (_, traced) = PROGRAMS[name], both(programs, name)
    summary = traced.profile.summary()
    assert summary["status"] == "finished"
    (segment,) = summary["segments"]
    assert segment["strategy"] == expected.strategy
    assert segment["num_replicas"] == expected.replicas
    assert segment["steps"]["count"] == expected.steps
    assert segment["global_batch_size"] == expected.batch
    assert [note for note in expected.notes if note not in traced.notes] == []
    sizes = [row["bytes"] for row in segment["collectives"] if row["op"] == "all-reduce"]
    if expected.collective_bytes is None:
        assert sizes == []
    else:
        assert expected.collective_bytes in sizes


def test_the_programs_own_profiler_has_its_steps_to_itself(programs: Runner) -> None:
    _, traced = both(programs, "own_profiler")
    captured = [step["step"] for step in traced.of_kind("step") if step["captured"]]
    assert captured
    assert not set(captured) & {4, 5, 6, 7}
    assert [window["error"] for window in traced.of_kind("window") if window["error"]] == []


def test_two_strategies_are_two_segments(programs: Runner) -> None:
    plain, traced = both(programs, "two_strategies")
    assert (traced.output, traced.weights) == (plain.output, plain.weights)
    assert traced.errors == plain.errors
    segments = traced.profile.summary()["segments"]
    found = [(each["strategy"], each["num_replicas"], each["steps"]["count"]) for each in segments]
    assert found == [("mirrored", 2, 12), ("one-device", 1, 6)]
    sizes = [[row["bytes"] for row in each["collectives"]] for each in segments]
    assert SMALL in sizes[0]
    assert sizes[1] == []


def test_steps_after_the_programs_own_profiler_are_captured(programs: Runner) -> None:
    _, traced = both(programs, "summary_trace")
    captured = {step["step"] for step in traced.of_kind("step") if step["captured"]}
    assert {3, 7} <= captured
    assert not captured & {0, 1}


def test_a_program_that_records_itself_has_its_steps_in_its_own_run(programs: Runner) -> None:
    for ran in both(programs, "records_itself"):
        (segment,) = load(ran.folder / "own-run").summary()["segments"]
        assert segment["steps"]["count"] == 6


def test_an_exception_is_the_programs_own_and_the_end_of_its_record(programs: Runner) -> None:
    plain, traced = both(programs, "exception_in_step_7")
    assert (traced.code, traced.weights) == (plain.code, plain.weights)
    assert traced.code == 1
    # TensorFlow's own message lists every frame under which a failed op was made
    assert "strategy_core" not in traced.errors.partition("Detected at node")[0]
    assert plain.errors.splitlines()[-1] == traced.errors.splitlines()[-1]
    summary = traced.profile.summary()
    assert summary["status"] == "failed"
    assert summary["segments"][0]["steps"]["count"] == 7
    (failure,) = traced.of_kind("failed")
    assert failure["message"].startswith("InvalidArgumentError: ")


def test_tracing_crashes_no_program_that_does_not_crash_alone(programs: Runner) -> None:
    """One crash in all of these runs may be TensorFlow's; a second one is no accident.

    It comes last, when both sides of all programs have run.
    """
    num_traced = sum(ran.run is not None for ran in programs.crashes)
    num_plain = len(programs.crashes) - num_traced
    assert num_traced <= num_plain + 1, [ran.errors for ran in programs.crashes]
