"""Programs of others do the same under `strategy-lab trace`, and their record is right."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from strategy_profiles import load
from strategy_profiles.analysis.findings import gather_facts, main_finding
from strategy_profiles.analysis.headline import headline
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.store import Profile
from tests.foreign.both_ways import Ran, Runner

pytestmark = [pytest.mark.tf, pytest.mark.run]


@dataclass(frozen=True)
class Expected:
    """What is true of a program's record."""

    steps: int
    replicas: int = 2
    strategy: str = "mirrored"
    collective_bytes: int | Literal["unknown"] | None = None
    """Of the gradients that a step all-reduces; None without an all-reduce."""
    batch: int | None = 16
    notes: tuple[str, ...] = ()
    limit: str | None = None
    """Key of the finding that has to lead; None if nothing was made to limit its steps."""


LARGE, SMALL = (8 * 4 + 4 + 4 * 3 + 3) * 4, (8 * 3 + 3) * 4
"""Bytes of the gradients of the models with two layers and with one, float32."""
ALONE: dict[str, Any] = {"replicas": 1, "strategy": "one-device"}
UNSPREAD: dict[str, Any] = {"replicas": 1, "strategy": "default"}
PROGRAMS = {
    "custom_loop": Expected(
        10,
        collective_bytes=LARGE,
        notes=("The loss is the number that",),
    ),
    "keras_fit": Expected(
        12,
        collective_bytes=LARGE,
        notes=("The validation in Keras's `fit` is not recorded: it ran 2 times",),
    ),
    "partial_batches": Expected(
        12,
        collective_bytes=SMALL,
        notes=("Keras's `evaluate` is not recorded: it ran 2 times",),
    ),
    "two_functions": Expected(
        12,
        collective_bytes=SMALL,
    ),
    "added_gradients": Expected(
        12,
        batch=64,
        notes=("`update` (added_gradients.py:27) applies the gradients of several calls",),
        **UNSPREAD,
    ),
    "added_on_replicas": Expected(
        10,
        batch=64,
        collective_bytes=SMALL,
        notes=("`update` (added_on_replicas.py:43) applies the gradients of several calls",),
    ),
    "eager_accumulation": Expected(
        10,
        batch=32,
        **UNSPREAD,
        notes=("The last calls of `tf.GradientTape` (eager_accumulation.py:17) are in no step",),
    ),
    "eager_update": Expected(
        10,
        batch=48,
        **UNSPREAD,
        notes=("`SGD.apply` applies the gradients of several calls of `gradients`",),
    ),
    "gradient_accumulation": Expected(
        12,
        **UNSPREAD,
    ),
    "steps_per_execution": Expected(
        30,
        notes=("`steps_per_execution`",),
        **UNSPREAD,
    ),
    "loop_in_function": Expected(
        20,
        collective_bytes=SMALL,
        batch=None,
        notes=("what the optimizer has counted",),
    ),
    "gan": Expected(
        12,
        **UNSPREAD,
    ),
    "eager_one_device": Expected(
        9,
        **ALONE,
    ),
    "eager_loop": Expected(
        10,
        **UNSPREAD,
        notes=("Steps are found by `tf.GradientTape` (eager_loop.py:21)",),
    ),
    "eager_variables": Expected(
        12,
        batch=None,
        **UNSPREAD,
        notes=("Steps are found by `tf.GradientTape` (eager_variables.py:14)",),
    ),
    "eager_jacobian": Expected(
        12,
        batch=8,
        **UNSPREAD,
        notes=("Steps are found by `tf.GradientTape` (eager_jacobian.py:13)",),
    ),
    "tf1_gradients": Expected(10, batch=8, **UNSPREAD),
    "tf1_minimize": Expected(10, batch=8, **UNSPREAD),
    "gradients_beside": Expected(
        10,
        **UNSPREAD,
        notes=("10 gradients were computed outside of",),
    ),
    "own_profiler": Expected(
        12,
        batch=None,
        notes=("Steps 4 to 7 had the program's own",),
        **ALONE,
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
    "run_eagerly": Expected(
        8,
        notes=("`evaluate` is not recorded: it ran once",),
        **UNSPREAD,
    ),
    "profile_batch": Expected(
        10,
        notes=("Steps 2 to 4 had the program's own profiler",),
        **UNSPREAD,
    ),
    "train_on_batch": Expected(
        10,
        **UNSPREAD,
    ),
    "whole_batch_on_each": Expected(
        10,
        batch=32,
        notes=("`train_on_batch` (whole_batch_on_each.py:26) does not divide its batch",),
        collective_bytes=SMALL,
    ),
    "replicas_in_turns": Expected(
        10,
        notes=("called outside of a `tf.function` (replicas_in_turns.py:38): the 2 replicas run",),
    ),
    "jit_compile": Expected(
        8,
        notes=(
            "XLA compiled `train_step` (jit_compile.py:13) as a whole (`jit_compile=True`): the",
        ),
        **UNSPREAD,
    ),
    "functions_run_eagerly": Expected(
        10,
        batch=None,
        notes=(
            "`train_step` (functions_run_eagerly.py:13) ran op by op",
            "The number of examples in a step of `train_step` (functions_run_eagerly.py:13) is",
        ),
        **UNSPREAD,
    ),
    "mixed_precision": Expected(
        12,
        **UNSPREAD,
    ),
    "threads_that_train": Expected(
        10,
        batch=None,
        notes=("6 steps of other threads are not recorded",),
        **UNSPREAD,
    ),
    "own_workers": Expected(
        6,
        strategy="multi-worker-mirrored",
        collective_bytes=SMALL,
    ),
    "cluster_coordinator": Expected(
        9,
        replicas=2,
        strategy="parameter-server",
        batch=None,
        notes=(
            "fetches the result of each step (cluster_coordinator.py:49) before it schedules",
            "reads 1 variable as a whole from the parameter servers",
        ),
    ),
    "parameter_servers_keras": Expected(
        12,
        replicas=1,
        strategy="parameter-server",
        batch=None,
        notes=("Workers do the steps between two calls of `ClusterCoordinator.join`",),
    ),
    "package.train": Expected(
        12,
        batch=None,
        notes=("The number of examples in a step of `fit` is unknown",),
        **UNSPREAD,
    ),
    "records_itself": Expected(
        2,
        notes=("From step 2 on the program records itself",),
        **UNSPREAD,
    ),
    "central_storage": Expected(
        10,
        strategy="central-storage",
    ),
    "emulated_tpu": Expected(
        10,
        strategy="tpu",
        collective_bytes=8 * 3 * 4,
    ),
    "transformer": Expected(
        6,
        collective_bytes="unknown",
        batch=64,
        limit="float16-on-cpu",
    ),
    "py_function_input": Expected(
        10,
        **UNSPREAD,
        limit="input-bound",
    ),
    "generator_input": Expected(
        10,
        collective_bytes=8 * 3 * 4,
        limit="input-bound",
    ),
    "python_numbers": Expected(
        10,
        **UNSPREAD,
        limit="retracing",
    ),
    "slow_callback": Expected(
        60,
        collective_bytes=(8 * 2048 + 2048 + 2048 * 3 + 3) * 4,
        limit="callback",
    ),
}
FAILING = ("exception_in_step_7", "exception_in_callback", "jit_compile_mirrored", "tpu_strategy")


def limit_of(profile: Profile, segment: int = -1) -> tuple[str, str]:
    """The key of what the headline names, `none` without a finding, and the headline."""
    facts = gather_facts(profile, profile.segments[segment])
    main = main_finding(facts)
    return (main.key if main else "none"), "".join(headline(profile, facts))


def both(programs: Runner, name: str) -> tuple[Ran, Ran]:
    plain, traced = programs.both(name)
    assert plain.code == (name in FAILING), plain.errors
    return plain, traced


@pytest.mark.long(keep=12)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_traced_program_does_what_it_does_alone(programs: Runner, name: str) -> None:
    plain, traced = both(programs, name)
    assert (traced.code, traced.output) == (plain.code, plain.output), traced.errors
    assert plain.output
    assert traced.weights == plain.weights
    assert traced.errors == plain.errors


@pytest.mark.parametrize("name", FAILING)
def test_a_program_that_fails_does_so_under_trace_as_well(programs: Runner, name: str) -> None:
    plain, traced = both(programs, name)
    assert (traced.code, traced.output) == (plain.code, plain.output) == (1, "")
    assert traced.errors.splitlines()[-1] == plain.errors.splitlines()[-1]
    assert traced.profile.status.state == "failed"
    message = traced.profile.status.message
    assert message is not None
    assert message.partition(":")[0] in plain.errors
    saved = [ran.folder.joinpath("weights.npy").exists() for ran in (plain, traced)]
    assert saved == [name == "exception_in_step_7"] * 2


def test_the_line_that_raised_is_in_the_traceback_if_keras_filters_all_others(
    programs: Runner,
) -> None:
    plain, traced = both(programs, "exception_in_callback")
    assert "in _on_train_batch_end" in plain.errors
    assert traced.errors == plain.errors


@pytest.mark.long(keep=12)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_traced_program_has_its_steps_replicas_and_traffic(programs: Runner, name: str) -> None:
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
    elif expected.collective_bytes == "unknown":  # TensorFlow's graph does not tell the size
        assert sizes == [None]
    else:
        assert expected.collective_bytes in sizes


@pytest.mark.alone
@pytest.mark.parametrize("name", [name for name, each in PROGRAMS.items() if each.limit])
def test_the_headline_says_what_limits_the_program(programs: Runner, name: str) -> None:
    """Alone: other programs on the machine would limit it, for instance by a late replica."""
    key, said = limit_of(programs.run(name, is_traced=True).profile)
    assert key == PROGRAMS[name].limit, said


def test_the_examples_of_each_step_of_fit_are_counted_as_they_arrive(programs: Runner) -> None:
    """After an evaluation, which counts in the same metric, one step does not know them."""
    _, traced = both(programs, "partial_batches")
    assert [step["examples"] for step in traced.of_kind("step")] == [16, 16, 16, None, 16, 8] * 2
    assert traced.profile.summary()["segments"][0]["steps"]["examples_per_second"] > 0


def test_the_ends_of_the_epochs_of_fit_are_recorded(programs: Runner) -> None:
    """Also the last one, which no step follows."""
    _, traced = both(programs, "keras_fit")
    ends = traced.of_kind("epoch")
    assert [end["step"] for end in ends] == [5, 11]
    for end in ends:
        assert min(end["validation_ms"], end["callbacks_ms"]) > 0
        parts_ms = end["validation_ms"] + end["callbacks_ms"]
        assert parts_ms < end["wall_ms"] + 1e-6  # nothing else is in the last one: rounding
    steps = {step["step"]: step for step in traced.of_kind("step")}
    next_ns = ends[0]["start_ns"] + ends[0]["wall_ms"] * 1e6
    assert abs(next_ns - steps[6]["start_ns"]) < abs(ends[0]["wall_ms"]) * 1e6 / 2


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
    recorded = [
        (each["strategy"], each["num_replicas"], each["steps"]["count"]) for each in segments
    ]
    assert recorded == [("mirrored", 2, 12), ("one-device", 1, 6)]
    sizes = [[row["bytes"] for row in each["collectives"]] for each in segments]
    assert SMALL in sizes[0]
    assert sizes[1] == []


def test_a_function_that_is_made_for_each_call_is_traced_again_each_time(
    programs: Runner,
) -> None:
    """The first two could be two functions of the program; each has a segment of its own."""
    plain, traced = both(programs, "made_again")
    assert (traced.output, traced.weights) == (plain.output, plain.weights)
    segments = traced.profile.summary()["segments"]
    assert sum(each["steps"]["count"] for each in segments) == 40
    assert len(segments) == 2
    key, said = limit_of(traced.profile)
    assert key == "retracing", said
    assert re.search(
        r"train_step is traced again in (\d+) of the \1 steps after the first at made_again\.py:20 "
        r"\(`loss = train_step\(batch\)`\): the program makes a new tf\.function for each call "
        r"\(made_again\.py:1[23]\)",
        said,
    ), said
    main = main_finding(gather_facts(traced.profile, traced.profile.segments[-1]))
    assert main is not None
    assert main.advice.startswith("Create each tf.function once, outside the loop")


@pytest.mark.long
def test_the_remedy_for_a_model_that_is_compiled_before_each_fit_is_to_compile_once(
    programs: Runner,
) -> None:
    """The first two could be two ways to train; from the third on it is the same one again."""
    plain, traced = both(programs, "compiled_each_round")
    assert (traced.output, traced.weights) == (plain.output, plain.weights)
    segments = traced.profile.summary()["segments"]
    assert [each["steps"]["count"] for each in segments] == [6, 24]
    key, said = limit_of(traced.profile)
    assert key == "retracing", said
    assert "traced again in 3 of the 23 steps after the first at compiled_each_round.py:" in said
    assert "the model was compiled or built again before it" in said
    main = main_finding(gather_facts(traced.profile, traced.profile.segments[-1]))
    assert main is not None
    assert main.advice.startswith("Build and compile the model once, before the loop")


def test_each_worker_of_the_program_knows_the_replicas_of_all(programs: Runner) -> None:
    """Otherwise the variables of the other workers are on devices that no replica has."""
    _, traced = both(programs, "own_workers")
    devices = [f"/job:worker/replica:0/task:{index}/device:CPU:0" for index in range(2)]
    for source in traced.profile.sources:
        assert [event.replica_devices for event in source.of_kind(SegmentOpened)] == [devices]
    rows = traced.profile.table("placement").to_pylist()
    placed = {(row["device"], row["replica"]) for row in rows if row["kind"] == "variable"}
    assert placed == {(device, index) for index, device in enumerate(devices)}


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
    assert "The run failed in step 7 at exception_in_step_7.py:22" in traced.explanation
    summary = traced.profile.summary()
    assert summary["status"] == "failed"
    assert summary["segments"][0]["steps"]["count"] == 7
    (failure,) = traced.of_kind("failed")
    assert failure["message"].startswith("InvalidArgumentError: ")


def test_xla_across_devices_fails_as_alone_and_the_headline_says_why(programs: Runner) -> None:
    plain, traced = both(programs, "jit_compile_mirrored")
    assert traced.code == plain.code
    assert "located in device" in plain.errors
    key, said = limit_of(traced.profile)
    assert key == "xla-across-devices"
    ended = r"The run ended at jit_compile_mirrored\.py:\d+ because XLA compiled"
    assert re.search(ended, said), said


def test_a_program_for_a_tpu_fails_as_alone_without_one_and_the_run_says_why(
    programs: Runner,
) -> None:
    plain, traced = both(programs, "tpu_strategy")
    assert (traced.code, traced.errors) == (plain.code, plain.errors)
    status = traced.profile.status
    assert status.state == "failed"
    assert status.message == "ValueError: Please provide a TPU Name to connect to."


def test_tracing_crashes_no_program_that_does_not_crash_alone(programs: Runner) -> None:
    """One crash in all of these runs may be TensorFlow's; a second one is no accident.

    It comes last, when both sides of all programs have run.
    """
    num_traced = sum(ran.run is not None for ran in programs.crashes)
    num_plain = len(programs.crashes) - num_traced
    assert num_traced <= num_plain + 1, [ran.errors for ran in programs.crashes]
