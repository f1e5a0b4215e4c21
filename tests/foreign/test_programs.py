"""Programs of others do the same under `strategy-lab trace`, and their record is right."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from strategy_lab.profiles import load
from strategy_lab.profiles.analysis.findings import gather_facts, main_finding
from strategy_lab.profiles.analysis.headline import headline
from strategy_lab.profiles.run.events import SegmentOpened
from strategy_lab.profiles.tables.store import Profile
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
    limits: tuple[str, ...] = ()
    """What limits its steps: keys of findings that are all true of it, one of which has to lead."""
    says: str = ""
    """A pattern of the sentence."""


LARGE, SMALL = (8 * 4 + 4 + 4 * 3 + 3) * 4, (8 * 3 + 3) * 4
"""Bytes of the gradients of the models with two layers and with one, float32."""
ALONE: dict[str, Any] = {"replicas": 1, "strategy": "one-device"}
UNSPREAD: dict[str, Any] = {"replicas": 1, "strategy": "default"}
TINY: dict[str, Any] = {
    "limits": ("tiny-batch",),
    "says": r"Each replica computes on 8 examples a step, and only [\d.]+ % of the step is computa",
}
"""Models of a few dozen weights on a few examples: of a step hardly anything is computation."""
STARTED: dict[str, Any] = {
    "limits": ("dispatch", "short-steps", "between-steps", "epoch-end", "idle"),
    "says": r"in TensorFlow's Python around the calls|passes in the Python .*that starts? it|"
    r"(Between two steps|After \d+ of \d+ steps) the program does something else|"
    r"At the end of (an epoch|\d+ epochs) Keras's fit took|"
    "no replica runs an op, for a reason",
}
"""The same on one replica, with 16 examples: Python that starts the step takes longer than it.

So does the loop around it on a slow machine, and the end of an epoch of `fit`; or no sample of
Python falls into so few short steps.
"""
NO_OP_SEEN: dict[str, Any] = {
    "limits": ("none",),
    "says": "What limits it is unknown: its captures hold no op of a replica's graph",
}
PROGRAMS = {
    "custom_loop": Expected(
        10, collective_bytes=LARGE, notes=("The loss is the number that",), **TINY
    ),
    "keras_fit": Expected(
        12,
        collective_bytes=LARGE,
        notes=("The validation in Keras's `fit` is not recorded: it ran 2 times",),
        limits=("epoch-end",),
        says=r"At the end of an epoch Keras's fit took .*\. This is the first validation",
    ),
    "partial_batches": Expected(
        12,
        collective_bytes=SMALL,
        notes=("Keras's `evaluate` is not recorded: it ran 2 times",),
        limits=(*TINY["limits"], "between-steps", "epoch-end"),
        says=rf"{TINY['says']}|most of it at partial_batches\.py:\d|At the end of an epoch Keras's",
    ),
    "two_functions": Expected(12, collective_bytes=SMALL, **TINY),
    "added_gradients": Expected(
        12,
        batch=64,
        notes=("`update` (added_gradients.py:27) applies the gradients of several calls",),
        **UNSPREAD,
        limits=("between-steps", "dispatch", "short-steps"),
        says=r"most of it at added_gradients\.py:3\d|TensorFlow's Python|the Python .*that start",
    ),
    "added_on_replicas": Expected(
        10,
        batch=64,
        collective_bytes=SMALL,
        notes=("`update` (added_on_replicas.py:43) applies the gradients of several calls",),
        limits=(*STARTED["limits"], *TINY["limits"], "input-bound"),
        says=rf"{STARTED['says']}|Each replica computes on 32 examples a step|for its batch",
    ),
    "eager_accumulation": Expected(
        10,
        batch=32,
        **UNSPREAD,
        notes=("The last calls of `tf.GradientTape` (eager_accumulation.py:17) are in no step",),
        limits=("eager-step",),
        says="op by op, not as a graph",
    ),
    "eager_update": Expected(
        10,
        batch=48,
        **UNSPREAD,
        notes=("`SGD.apply` applies the gradients of several calls of `gradients`",),
        **STARTED,
    ),
    "gradient_accumulation": Expected(12, **UNSPREAD, **STARTED),
    "steps_per_execution": Expected(30, notes=("`steps_per_execution`",), **UNSPREAD, **STARTED),
    "loop_in_function": Expected(
        20,
        collective_bytes=SMALL,
        batch=None,
        notes=("what the optimizer has counted",),
        limits=("dispatch", "short-steps", "small-collective"),
        says="TensorFlow's Python|the Python .*that start|cost is (latency|waiting), not bytes",
    ),
    "gan": Expected(12, **UNSPREAD, **STARTED),
    "eager_one_device": Expected(
        9,
        **ALONE,
        limits=("eager-step",),
        says=r"op by op, not as a graph: .* most of them at eager_one_device\.py:(2|30)",
    ),
    "eager_loop": Expected(
        10,
        **UNSPREAD,
        notes=("Steps are found by `tf.GradientTape` (eager_loop.py:21)",),
        limits=("eager-step",),
        says=r"op by op, not as a graph: .* most of them at eager_loop\.py:\d",
    ),
    "eager_variables": Expected(
        12,
        batch=None,
        **UNSPREAD,
        notes=("Steps are found by `tf.GradientTape` (eager_variables.py:14)",),
        limits=("eager-step",),
        says="op by op, not as a graph",
    ),
    "gradients_beside": Expected(
        10,
        **UNSPREAD,
        notes=("10 gradients were computed outside of",),
        limits=("between-steps", "dispatch", "short-steps"),
        says=r"most of it at gradients_beside\.py:(15|2\d)|TensorFlow's Python|"
        r"the Python .*that start",
    ),
    "own_profiler": Expected(
        12, batch=None, notes=("Steps 4 to 7 had the program's own",), **ALONE, **STARTED
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
        **NO_OP_SEEN,
    ),
    "run_eagerly": Expected(
        8,
        notes=("`evaluate` is not recorded: it ran once",),
        **UNSPREAD,
        limits=("eager-step", "epoch-end"),
        says=r"op by op, not as a graph: .* most of them at run_eagerly\.py:13|"
        "At the end of an epoch Keras's",
    ),
    "profile_batch": Expected(
        10, notes=("Steps 2 to 4 had the program's own profiler",), **UNSPREAD, **STARTED
    ),
    "train_on_batch": Expected(
        10,
        **UNSPREAD,
        limits=("between-steps", "dispatch", "short-steps"),
        says=r"most of it at train_on_batch\.py:1[4-7]|TensorFlow's Python|the Python .*that start",
    ),
    "whole_batch_on_each": Expected(
        10,
        batch=32,
        notes=("`train_on_batch` (whole_batch_on_each.py:26) does not divide its batch",),
        collective_bytes=SMALL,
        limits=("between-steps", "dispatch", "short-steps"),
        says="TensorFlow's Python|the Python .*that start|Between two steps",
    ),
    "replicas_in_turns": Expected(
        10,
        notes=("called outside of a `tf.function` (replicas_in_turns.py:38): the 2 replicas run",),
        limits=("eager-step", "dispatch", "between-steps", "none"),
        says="op by op|TensorFlow's Python|no op of a replica's graph|Between two steps",
    ),
    "jit_compile": Expected(
        8,
        notes=(
            "XLA compiled `train_step` (jit_compile.py:13) as a whole (`jit_compile=True`): the",
        ),
        **UNSPREAD,
        **STARTED,
    ),
    "functions_run_eagerly": Expected(
        10,
        batch=None,
        notes=(
            "`train_step` (functions_run_eagerly.py:13) ran op by op",
            "The number of examples in a step of `train_step` (functions_run_eagerly.py:13) is",
        ),
        **UNSPREAD,
        limits=("eager-step", "between-steps", "none"),
        says=r"because `train_step` \(functions_run_eagerly\.py:13\) ran op by op|"
        "op by op, not as a graph|Between two steps",
    ),
    "mixed_precision": Expected(12, **UNSPREAD, **STARTED),
    "threads_that_train": Expected(
        10,
        batch=None,
        notes=("6 steps of other threads are not recorded",),
        **UNSPREAD,
        **STARTED,
    ),
    "own_workers": Expected(6, strategy="multi-worker-mirrored", collective_bytes=SMALL, **TINY),
    "cluster_coordinator": Expected(
        9,
        replicas=2,
        strategy="parameter-server",
        batch=None,
        notes=("fetches the result of each step (cluster_coordinator.py:49) before it schedules",),
        limits=("none",),
        says="What limits it is unknown: no worker of the parameter servers",
    ),
    "parameter_servers_keras": Expected(
        12,
        replicas=1,
        strategy="parameter-server",
        batch=None,
        notes=("Workers do the steps between two calls of `ClusterCoordinator.join`",),
        limits=("none",),
        says="What limits it is unknown: no worker of the parameter servers",
    ),
    "package.train": Expected(
        12,
        batch=None,
        notes=("The number of examples in a step of `fit` is unknown",),
        **UNSPREAD,
        **STARTED,
    ),
    "records_itself": Expected(
        2,
        notes=("From step 2 on the program records itself",),
        **UNSPREAD,
        limits=("none",),
        says="What limits it is unknown: ",
    ),
    "central_storage": Expected(10, strategy="central-storage", **TINY),
    "emulated_tpu": Expected(10, strategy="tpu", collective_bytes=8 * 3 * 4, **TINY),
    "transformer": Expected(
        6,
        collective_bytes="unknown",
        batch=64,
        limits=("float16-on-cpu",),
        says=r"[5-9]\d % of a typical captured step .* in ops that compute in float16 on CPUs",
    ),
    "py_function_input": Expected(
        10,
        **UNSPREAD,
        limits=("input-bound",),
        says=r"waiting for the batch.* the function of map\(\).* Python runs for \d+ % of that "
        r"time \(EagerPyFunc\)",
    ),
    "generator_input": Expected(
        10,
        collective_bytes=8 * 3 * 4,
        limits=("input-bound",),
        says=r"for its batch.* is the Python generator \(from_generator, PyDataset\)",
    ),
    "python_numbers": Expected(
        10,
        **UNSPREAD,
        limits=("retracing",),
        says="train_step is traced again in 9 of the 9 steps after the first: argument "
        "`learning_rate` is a Python value that changes",
    ),
    "slow_callback": Expected(
        10,
        collective_bytes=(8 * 2048 + 2048 + 2048 * 3 + 3) * 4,
        limits=("between-steps",),
        says=r"Between two steps .* most of it at slow_callback\.py:29 \(`np\.savetxt",
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
    assert traced.last_error == plain.last_error
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
    elif expected.collective_bytes == "unknown":  # TensorFlow's graph does not tell the size
        assert sizes == [None]
    else:
        assert expected.collective_bytes in sizes


@pytest.mark.alone
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_headline_says_what_limits_the_program(programs: Runner, name: str) -> None:
    """Beside other programs, those limit it: a replica is late that is not late otherwise.

    A second try records the program again.
    """
    expected, traced = PROGRAMS[name], programs.run(name, is_traced=True)
    key, said = limit_of(traced.profile)
    assert key in expected.limits, said
    assert re.search(expected.says, said), said


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
    found = [(each["strategy"], each["num_replicas"], each["steps"]["count"]) for each in segments]
    assert found == [("mirrored", 2, 12), ("one-device", 1, 6)]
    sizes = [[row["bytes"] for row in each["collectives"]] for each in segments]
    assert SMALL in sizes[0]
    assert sizes[1] == []
    key, said = limit_of(traced.profile, 0)
    assert key == "tiny-batch", said
    assert re.search(TINY["says"], said), said
    key, said = limit_of(traced.profile, 1)
    assert key in STARTED["limits"], said
    assert re.search(STARTED["says"], said), said


def test_a_function_that_is_made_for_each_call_is_traced_again_each_time(
    programs: Runner,
) -> None:
    """The first two could be two functions of the program; each has a segment of its own."""
    plain, traced = both(programs, "made_again")
    assert (traced.output, traced.weights) == (plain.output, plain.weights)
    segments = traced.profile.summary()["segments"]
    assert sum(each["steps"]["count"] for each in segments) == 12
    assert len(segments) == 2
    key, said = limit_of(traced.profile)
    assert key == "retracing", said
    assert re.search(
        r"train_step is traced again in (\d+) of the \1 steps after the first: the program makes a "
        r"new tf\.function for each call \(made_again\.py:1[23]\)",
        said,
    ), said
    main = main_finding(gather_facts(traced.profile, traced.profile.segments[-1]))
    assert main is not None
    assert main.advice.startswith("Create each tf.function once, outside the loop")


def test_each_worker_of_the_program_knows_the_replicas_of_all(programs: Runner) -> None:
    """Otherwise the variables of the other workers are on devices that no replica has."""
    _, traced = both(programs, "own_workers")
    devices = [f"/job:worker/replica:0/task:{index}/device:CPU:0" for index in range(2)]
    for source in traced.profile.sources:
        assert [event.replica_devices for event in source.of_kind(SegmentOpened)] == [devices]
    rows = traced.profile.table("placement").to_pylist()
    found = {(row["device"], row["replica"]) for row in rows if row["kind"] == "variable"}
    assert found == {(device, index) for index, device in enumerate(devices)}


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
    assert plain.last_error == traced.last_error
    assert "strategy-lab: The run failed in step 7 at exception_in_step_7.py:22" in traced.errors
    summary = traced.profile.summary()
    assert summary["status"] == "failed"
    assert summary["segments"][0]["steps"]["count"] == 7
    (failure,) = traced.of_kind("failed")
    assert failure["message"].startswith("InvalidArgumentError: ")


def test_tiny_steps_are_limited_by_their_start_or_by_the_save_before_each(
    programs: Runner,
) -> None:
    """The save of 32 bytes takes longer than the step only on a slow disk."""
    _, traced = both(programs, "exception_in_step_7")
    key, said = limit_of(traced.profile)
    assert key in ("between-steps", "dispatch", "short-steps"), said
    if key == "between-steps":
        place = r"at exception_in_step_7\.py:2[78] \(`(np\.save|train_step)"
        assert "most of it" not in said or re.search(place, said)
    else:
        assert re.search(r"Python|start", said)


def test_xla_across_devices_fails_as_alone_and_the_headline_says_why(programs: Runner) -> None:
    plain, traced = both(programs, "jit_compile_mirrored")
    assert traced.code == plain.code
    assert "located in device" in plain.errors
    key, said = limit_of(traced.profile)
    assert key == "xla-across-devices"
    ended = (
        r"no step was recorded\. The run ended at jit_compile_mirrored\.py:\d+ because XLA compiled"
    )
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
