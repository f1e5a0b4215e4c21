"""What-if on steps with a known answer: the error, the edits, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.analysis.compare.run_spread import RunSpread
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.capture.graph import Graph
from strategy_profiles.step_graph.graph import StepGraph
from strategy_profiles.step_graph.recording import Recording, ReplayError, why_no_replay
from strategy_replay.engine.edits import AverageReplica, Faster, InputFree, RemoveDelay
from strategy_replay.engine.replays import Replays, replay_graphs
from strategy_replay.engine.sentences import (
    finding_sentence,
    gain_sentence,
    may_change_nothing,
    spread_sentence,
    times_as_fast,
    unlike_sentence,
)
from strategy_replay.engine.what_if import WhatIf, predict, what_if
from tests.plugins.replay.drawn_steps import step_of, two_replicas
from tests.replaced import replace
from tests.synthetic import write_run

DATA = Path(__file__).parents[2] / "data"
MS = 1e6
HOST_LEFT, LEAST_HOST_LEFT = 0.5, 0.35
"""Of the time of the host, if ops that keep it up take none: as predicted, and at least."""
KINDS = ["input", "compute", "compute", "delay", "transfer", "transfer"]


def late_step(number: int, gap_ns: float = 0.0) -> StepGraph:
    """Input, then two replicas of 10 ms, of which replica 1 sleeps 30 ms; then 2 ms each way."""
    drawn = [
        (5 * MS, ()),
        (10 * MS, (0,)),
        (10 * MS, (0,)),
        (30 * MS, (2,)),
        (2 * MS, (1, 3)),
        (2 * MS, (1, 3)),
    ]
    replicas = [-1, 0, 1, 1, 0, 1]
    return step_of(drawn, 2.0, KINDS, replicas, step=number, gap_ns=gap_ns)


def replays_of(steps: list[StepGraph]) -> Replays:
    recording = Recording(two_replicas(), Graph([], []), (), {}, 2.0)
    return Replays(recording, replay_graphs(steps, 2.0))


@pytest.fixture(scope="module")
def known() -> Replays:
    return replays_of([late_step(number) for number in range(6)])


def test_equal_steps_replay_without_error(known: Replays) -> None:
    assert known.error == pytest.approx(0.0, abs=1e-9)
    assert known.measured_ms == pytest.approx(47.0)


def test_a_step_is_not_replayed_with_its_own_gaps() -> None:
    slow = late_step(5, gap_ns=0.4 * MS)
    known_steps = replays_of([*(late_step(number) for number in range(5)), slow])
    assert known_steps.steps[-1].unexplained_ns == pytest.approx(5 * 0.4 * MS)
    assert known_steps.steps[0].error == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("edit", "predicted_ms"),
    [
        (RemoveDelay(), 15.8),  # 5 + 10 + 2, less 4 % of 30
        (RemoveDelay(recovered=0.0), 17.0),
        (InputFree(), 42.0),
        (Faster("communication", 2), 46.0),
        (Faster("Op2", 2), 42.0),
        (Faster("compute", np.inf), 37.0),
        (AverageReplica(1), 17.0),
    ],
)
def test_each_edit_has_its_known_gain(
    known: Replays, edit: RemoveDelay, predicted_ms: float
) -> None:
    prediction = predict(known, [edit])
    assert prediction.predicted_ms == pytest.approx(predicted_ms)
    assert prediction.low_ms <= prediction.predicted_ms <= prediction.high_ms


def test_edits_combine(known: Replays) -> None:
    prediction = predict(known, [RemoveDelay(recovered=0.0), InputFree()])
    assert prediction.predicted_ms == pytest.approx(12.0)
    assert len(prediction.edits) == 2


def test_the_interval_without_a_delay_holds_what_idle_cores_may_have_cost(known: Replays) -> None:
    prediction = predict(known, [RemoveDelay()])
    assert (prediction.least_ms, prediction.most_ms) == pytest.approx((17 - 0.08 * 30, 17))


def test_the_interval_with_free_input_holds_what_idle_cores_may_have_cost(known: Replays) -> None:
    prediction = predict(known, [InputFree()])
    assert (prediction.least_ms, prediction.most_ms) == pytest.approx((42 - 0.08 * 5, 42), rel=1e-3)


def test_without_its_python_ops_the_host_has_more_time() -> None:
    """3 ms of the host's Python, then a Python op of 20 ms and one of 5 ms."""
    drawn = [(3 * MS, ()), (20 * MS, (0,)), (5 * MS, (1,))]
    steps = [step_of(drawn, 2.0, ["host", "compute", "compute"], step=n) for n in range(4)]
    for step in steps:
        step.nodes.op[1] = "EagerPyFunc"
    known = replays_of(steps)
    prediction = predict(known, [Faster("EagerPyFunc", np.inf)])
    assert prediction.predicted_ms == pytest.approx(HOST_LEFT * 3 + 5)
    least_and_most_ms = pytest.approx((LEAST_HOST_LEFT * 3 + 5, 3 + 5))
    assert (prediction.least_ms, prediction.most_ms) == least_and_most_ms
    half = predict(known, [Faster("EagerPyFunc", 2)])
    assert half.predicted_ms == half.most_ms == pytest.approx(3 + 10 + 5)


def test_without_tf_print_no_op_waits_for_its_core() -> None:
    """3 ms of the host's Python, 20 ms of `tf.print` in two ops, and one of 5 ms beside these that
    starts 12 ms late."""
    drawn = [(3 * MS, ()), (15 * MS, (0,)), (5 * MS, (1,)), (5 * MS, (0,)), (10 * MS, (2, 3))]
    categories = ["host", *["compute"] * 4]
    steps = [step_of(drawn, 2.0, categories, step=n) for n in range(6)]
    for step in steps:
        step.nodes.op[1:3] = ["StringFormat", "PrintV2"]
        step.nodes.start_ns[3] += 12 * MS
        step.nodes.end_ns[3] += 12 * MS
    prediction = predict(replays_of(steps), [Faster("tf.print", np.inf)])
    assert prediction.measured_ms == pytest.approx(3 + 15 + 5 + 10)
    assert prediction.predicted_ms == pytest.approx(HOST_LEFT * 3 + 5 + 10)
    assert (prediction.least_ms, prediction.most_ms) == pytest.approx(
        (LEAST_HOST_LEFT * 3 + 15, 3 + 12 + 5 + 10)
    )


def test_another_run_may_differ_more_than_the_steps_of_this_one(known: Replays) -> None:
    assumed = predict(known, [AverageReplica(1)])
    assert assumed.least_ms == assumed.most_ms == pytest.approx(17.0)
    assert assumed.num_other_runs == 0
    two_runs = 1.645 * math.sqrt(2) * 0.1
    assert assumed.high_ms == pytest.approx(17 * math.exp(two_runs))
    assert assumed.low_ms == pytest.approx(17 / math.exp(two_runs))
    sentence = spread_sentence(assumed).replace("\u00a0", " ")
    assert "assume that runs of one spec differ by 10 %: fewer than three others" in sentence


def test_other_runs_of_the_spec_set_the_interval_of_another_run(known: Replays) -> None:
    alike = replace(known, spread=RunSpread(spread=0.01, freedom=5, num_runs=6))
    prediction = predict(alike, [AverageReplica(1)])
    assert 17.3 < prediction.high_ms < 17.6
    assert (prediction.run_spread, prediction.num_other_runs) == (0.01, 6)
    assert "6 other runs of this spec differ by 1" in spread_sentence(prediction)


def test_a_gain_smaller_than_what_runs_differ_by_is_still_named(known: Replays) -> None:
    prediction = predict(known, [Faster("Op2", 2)])
    assert prediction.low_ms < prediction.measured_ms < prediction.high_ms
    assert not prediction.is_within_error
    assert "too noisy" not in gain_sentence(prediction)


def test_ops_that_use_no_core_gain_nothing_but_the_delay() -> None:
    steps = [late_step(number) for number in range(4)]
    for step in steps:
        step.nodes.demand[:] = 0.0
    assert predict(replays_of(steps), [RemoveDelay()]).predicted_ms == pytest.approx(17.0)


def test_a_gain_is_given_with_its_interval_and_error(known: Replays) -> None:
    sentence = gain_sentence(predict(known, [AverageReplica(1)])).replace("\u00a0", " ")
    assert sentence.startswith(
        "Without it the median captured step takes 17.0 ms instead of 47.0 ms"
    )
    assert "13.5 to 21.5 ms in another run; replay error 0" in sentence


def test_a_sentence_says_that_replayed_steps_are_unlike_the_others(known: Replays) -> None:
    prediction = predict(known, [])
    sentence = unlike_sentence(prediction, 20.0).replace("\u00a0", " ")
    assert sentence.startswith("Steps without a capture take 20.0 ms, the replayed ones 47.0 ms")
    assert unlike_sentence(prediction, 45.0) == unlike_sentence(prediction, None) == ""


def test_how_many_times_as_fast_has_the_interval_of_the_recorded_steps(known: Replays) -> None:
    prediction = predict(known, [RemoveDelay()])  # 15.8 (14.6 to 17.0) instead of 47.0 ms
    assert times_as_fast(prediction) == "2.97 times as fast (2.76 to 3.22 in the recorded steps)"
    unknown = replace(prediction, least_ms=0.0)
    assert "(at least 2.76 in the recorded steps)" in times_as_fast(unknown)


def test_what_is_not_there_cannot_be_edited(known: Replays) -> None:
    with pytest.raises(ReplayError, match="No op of kind 'Conv9D'"):
        predict(known, [Faster("Conv9D", 2)])


@pytest.mark.parametrize("written", ["Conv2D", "conv2d", "_MklNativeConv2D"])
def test_a_type_of_op_is_that_of_the_program_though_a_library_runs_another(written: str) -> None:
    """TensorFlow replaces `Conv2D` by an op of oneDNN on CPUs."""
    steps = [late_step(number) for number in range(6)]
    for step in steps:
        step.nodes.op[2] = "_MklNativeConv2D"
    known = replays_of(steps)
    assert predict(known, [Faster(written, 2)]).predicted_ms == pytest.approx(42.0)
    with pytest.raises(ReplayError) as refused:
        predict(known, [Faster("Conv9D", 2)])
    named = str(refused.value).partition("one of ")[2].rstrip(".").split(", ")
    assert named.index("Op3") < named.index("Conv2D") < named.index("Op4"), "the longest first"


def test_the_interval_is_as_wide_as_the_replay_is_wrong() -> None:
    uneven = [late_step(number, gap_ns=number % 3 * MS) for number in range(9)]
    prediction = predict(replays_of(uneven), [RemoveDelay()])
    assert prediction.replay_error > 0.01
    width_ms = prediction.most_ms - prediction.least_ms
    assert width_ms >= 2 * prediction.replay_error_p95 * prediction.predicted_ms * 0.99


def test_a_gain_smaller_than_the_error_is_not_claimed() -> None:
    uneven = [late_step(number, gap_ns=number % 3 * 9 * MS) for number in range(9)]
    prediction = predict(replays_of(uneven), [Faster("communication", 2)])
    assert prediction.is_within_error
    assert "too noisy to predict" in gain_sentence(prediction)


def test_that_a_change_may_have_no_effect_is_said_with_the_interval(known: Replays) -> None:
    assert not may_change_nothing(predict(known, [RemoveDelay()]))
    uneven = [late_step(number, gap_ns=number % 3 * 9 * MS) for number in range(9)]
    prediction = predict(replays_of(uneven), [Faster("communication", 2)])
    said = may_change_nothing(prediction).replace("\u00a0", " ")
    assert (
        f"{prediction.least_ms:.0f} to {prediction.most_ms:.0f} ms, includes the measured 92.0 ms:"
        in said
    )


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ("captured_step", "1 captured step, and a replay needs 3"),
        ("runs_of_0_1_0/mirrored", "graph of segment 1 is missing"),
        ("runs_of_0_1_0/served", "parameter servers have no graph"),
    ],
)
def test_a_run_that_allows_no_replay_says_why(run: str, reason: str) -> None:
    profile = strategy_profiles.load(DATA / run)
    assert reason in (why_no_replay(profile, profile.segments[-1].segment) or "")
    with pytest.raises(ReplayError):
        what_if(profile, profile.segments[-1].segment, [])


def test_a_run_with_marks_alone_says_so(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "marks", replicas=2, windows=0, steps=20))
    assert "no captured step" in (why_no_replay(profile, 0) or "")


def test_a_run_without_its_graph_says_so(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", replicas=2, windows=2, steps=40))
    assert "graph of segment 0 is missing" in (why_no_replay(profile, 0) or "")


@pytest.mark.parametrize(
    ("predicted_ms", "length"),
    [(10.31, "takes 10.3 ms, as long as now, so"), (12.0, "takes 12.0 ms instead of 10.3 ms, so")],
)
def test_a_step_of_the_same_length_is_not_instead_of_itself(
    predicted_ms: float, length: str
) -> None:
    interval = (7.0, 14.0, 9.0, 13.0)
    numbers = (24, 10.3, 10.3, 0.04, 0.05, 0.1, predicted_ms)
    twice = WhatIf(0, ("with twice the batch",), *numbers, *interval, 0.1, 0, times_examples=2.0)
    removal = Removal("spec", changes={"global_batch_size": 256})
    assert length in finding_sentence(twice, removal).replace("\u00a0", " ")
