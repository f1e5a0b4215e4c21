"""A faster link, other packs and another batch, on steps with a known answer."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategy_profiles
from strategy_profiles.step_graph.graph import ENTER, StepGraph
from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.engine import spec_edits
from strategy_replay.engine.batch_edit import (
    NOT_CHECKED,
    RECORD_ANOTHER,
    OtherBatch,
    other_batch,
)
from strategy_replay.engine.batch_fit import fitted
from strategy_replay.engine.collective_edits import FasterLink, faster_link, other_packs
from strategy_replay.engine.edits import Edit
from strategy_replay.engine.other_algorithm import other_algorithm
from strategy_replay.engine.overlapped import overlapped
from strategy_replay.engine.replays import Replays
from strategy_replay.engine.sentences import times_as_fast
from strategy_replay.engine.what_if import predict
from tests.plugins.replay.drawn_steps import step_of
from tests.plugins.replay.test_what_if import MS, late_step, replays_of
from tests.replaced import replace

DATA = Path(__file__).parents[2] / "data"
LARGE, SMALL = 1_000_000.0, 100_000.0


def reducing_step(number: int, small_ms: float = 2.0) -> StepGraph:
    """Two replicas: 10 ms of passes, all-reduces of 4 ms and of `small_ms`, 3 ms of update."""
    drawn = [
        (10 * MS, ()),
        (10 * MS, ()),
        (0.0, (0,)),
        (0.0, (1,)),
        (4 * MS, (2, 3)),
        (4 * MS, (2, 3)),
        (0.0, (4,)),
        (0.0, (5,)),
        (small_ms * MS, (6, 7)),
        (small_ms * MS, (6, 7)),
        (3 * MS, (8,)),
        (3 * MS, (9,)),
    ]
    pair = [ENTER, ENTER, "collective", "collective"]
    kinds = ["compute", "compute", *pair, *pair, "compute", "compute"]
    graph = step_of(drawn, 2.0, kinds, [0, 1] * 6, step=number)
    graph.nodes.bytes[2:6] = LARGE
    graph.nodes.bytes[6:10] = SMALL
    return graph


@pytest.fixture(scope="module")
def known() -> Replays:
    return replays_of([reducing_step(number) for number in range(6)])


def test_a_faster_link_shortens_the_bytes_and_not_the_latency(known: Replays) -> None:
    ns_per_byte = 2 * MS / (LARGE - SMALL)
    saved_ms = (LARGE + SMALL) * ns_per_byte / 2 / MS
    prediction = predict(known, [faster_link(known, 2)])
    assert prediction.predicted_ms == pytest.approx(19 - saved_ms)
    assert predict(known, [faster_link(known, 1)]).predicted_ms == pytest.approx(19)


def test_each_further_pack_takes_the_latency_again(known: Replays) -> None:
    latency_ms = 4 - LARGE * 2 / (LARGE - SMALL)
    packs = predict(known, [other_packs(known, 275_000)])  # four, instead of two collectives
    assert packs.predicted_ms == pytest.approx(19 + 2 * latency_ms)
    one = predict(known, [other_packs(known, 0)])
    assert one.predicted_ms == pytest.approx(19 - latency_ms)
    assert packs.least_ms <= one.predicted_ms <= packs.predicted_ms <= packs.most_ms


def test_the_interval_holds_what_the_recorded_latencies_leave_open() -> None:
    uneven = [reducing_step(number, 1.0 + number % 3) for number in range(9)]
    steady = [reducing_step(number) for number in range(9)]
    wide, narrow = (
        predict(of, [faster_link(of, 4)]) for of in (replays_of(uneven), replays_of(steady))
    )
    assert wide.most_ms - wide.least_ms > narrow.most_ms - narrow.least_ms


def test_sizes_that_are_alike_leave_all_of_the_latency_open() -> None:
    steps = [reducing_step(number, 4.0) for number in range(4)]
    for step in steps:
        step.nodes.bytes[6:10] = LARGE / 2
    of = replays_of(steps)
    prediction = predict(of, [faster_link(of, np.inf)])
    assert prediction.most_ms == pytest.approx(21)  # all latency: nothing changes
    assert prediction.least_ms < 21 - 4  # all bytes


def test_a_larger_batch_lengthens_the_passes_and_not_the_update(known: Replays) -> None:
    twice = predict(known, [other_batch(known, 128)])
    assert twice.least_ms <= twice.predicted_ms <= twice.most_ms
    # 10 ms of ops, of which each of the three has 12 to 300 us that stay.
    assert 28.6 < twice.predicted_ms < twice.most_ms < 29
    assert other_batch(known, 128).title == "with a global batch of 128 instead of 64"


def step_of_products(number: int) -> StepGraph:
    """One replica: a forward product with a variable, 5 ms, the product that makes its gradient,
    6 ms, an op without a variable, 3 ms, and 4 ms that pack the gradient for its all-reduce.
    """
    drawn: list[tuple[float, tuple[int, ...]]] = [
        (0.0, ()),
        (5 * MS, (0,)),
        (3 * MS, (1,)),
        (6 * MS, (2,)),
        (4 * MS, (3,)),
        (0.0, (4,)),
        (1 * MS, (5,)),
    ]
    kinds = ["compute"] * 5 + [ENTER, "collective"]
    graph = step_of(drawn, np.inf, kinds, step=number)
    ops = ["ReadVariableOp", "_FusedMatMul", "Tanh", "MatMul", "ConcatV2"]
    graph.nodes.op[: len(ops)] = ops
    graph.nodes.bytes[:7] = [LARGE, SMALL, SMALL, LARGE, LARGE, LARGE, LARGE]
    return graph


def test_packing_and_the_moving_of_variables_do_not_grow_with_the_batch() -> None:
    """The packing moves as many bytes in 4 ms as each product has of the variable."""
    known = replays_of([step_of_products(number) for number in range(6)])
    assert known.measured_ms == pytest.approx(19)
    fixed_ms = 0.06
    grows_ms = (5 - 4 - fixed_ms) + (6 - 4 - fixed_ms) + (3 - fixed_ms)
    for batch, times in ((128, 2), (256, 4), (32, 0.5)):
        prediction = predict(known, [other_batch(known, batch)])
        assert prediction.predicted_ms == pytest.approx(19 + (times - 1) * grows_ms)
        assert prediction.least_ms < prediction.predicted_ms < prediction.most_ms


def step_of_reads(number: int) -> StepGraph:
    """One replica, in a chain: a read of a variable, 2 ms, a transfer of 8 bytes and one of 1 MB, 1
    ms each, an op of 3 ms, and an all-reduce of 1 ms.
    """
    lengths_ms = (2, 1, 1, 3, 0, 1)
    drawn: list[tuple[float, tuple[int, ...]]] = [
        (length * MS, (at - 1,) if at else ()) for at, length in enumerate(lengths_ms)
    ]
    kinds = ["compute", "transfer", "transfer", "compute", ENTER, "collective"]
    graph = step_of(drawn, np.inf, kinds, step=number)
    graph.nodes.op[:4] = ["ReadVariableOp", "_Recv", "_Recv", "Tanh"]
    graph.nodes.bytes[:6] = [LARGE, 8, LARGE, SMALL, LARGE, LARGE]
    return graph


def test_reads_of_variables_and_small_transfers_do_not_grow_with_the_batch() -> None:
    known = replays_of([step_of_reads(number) for number in range(6)])
    fixed_ms = 0.06
    grows_ms = (1 - fixed_ms) + (3 - fixed_ms)
    prediction = predict(known, [other_batch(known, 128)])
    assert prediction.predicted_ms == pytest.approx(8 + grows_ms)


def step_of_short_ops(number: int) -> StepGraph:
    """Two replicas: 40 ops of 0.2 ms each in a chain, an all-reduce of 4 ms, 3 ms of update."""
    size = 40
    drawn: list[tuple[float, tuple[int, ...]]] = [
        (0.2 * MS, (at - 2,) if at >= 2 else ()) for at in range(2 * size)
    ]
    last = 2 * size
    drawn += [(0.0, (last - 2,)), (0.0, (last - 1,))]
    drawn += [(4 * MS, (last, last + 1))] * 2
    drawn += [(3 * MS, (last + 2,)), (3 * MS, (last + 3,))]
    kinds = ["compute"] * last + [ENTER, ENTER, "collective", "collective", "compute", "compute"]
    graph = step_of(drawn, 2.0, kinds, [0, 1] * (size + 3), step=number)
    graph.nodes.bytes[last : last + 4] = LARGE
    return graph


@cache
def short_ops() -> Replays:
    return replays_of([step_of_short_ops(number) for number in range(6)])


def at_batch(known: Replays, batch: int, fixed_us: float, share: float = 1.0) -> Replays:
    """Another segment, whose steps are the recorded ones with this fixed time, times `share`."""
    length_ms = share * predict(known, [OtherBatch(batch, 64, 1e3 * fixed_us)]).predicted_ms
    steps = [
        replace(step, graph=replace(step.graph, wall_ns=length_ms * MS)) for step in known.steps
    ]
    opened = msgspec.structs.replace(known.recording.segment, segment=1, global_batch_size=batch)
    return Replays(replace(known.recording, segment=opened), tuple(steps))


@pytest.mark.parametrize(
    ("batch", "is_checked"), [(8, True), (6, False), (512, True), (514, False)]
)
def test_a_batch_far_from_the_recorded_one_is_arithmetic(
    batch: int, is_checked: bool, known: Replays
) -> None:
    (advice,) = predict(known, [other_batch(known, batch)]).advice
    assert advice == (RECORD_ANOTHER if is_checked else f"{NOT_CHECKED} {RECORD_ANOTHER}")


@pytest.mark.parametrize("fixed_us", [15, 150])
@pytest.mark.parametrize("other", [32, 128])
def test_a_second_recorded_batch_tells_the_fixed_time(fixed_us: int, other: int) -> None:
    """The steps of both batches are made with a fixed time; a third batch is then predicted."""
    known = short_ops()
    usual = other_batch(known, 256)
    edit = fitted(usual, known, at_batch(known, other, fixed_us))
    prediction, without = predict(known, [edit]), predict(known, [usual])
    really_ms = at_batch(known, 256, fixed_us).measured_ms
    assert abs(prediction.predicted_ms - really_ms) < 0.6 * abs(without.predicted_ms - really_ms)
    assert prediction.least_ms <= really_ms <= prediction.most_ms
    assert prediction.most_ms - prediction.least_ms < without.most_ms - without.least_ms
    assert edit.title.endswith("instead of 64 (from segments 0 and 1)")
    assert without.advice == (RECORD_ANOTHER,)
    assert prediction.advice == ()


@pytest.mark.slow
@settings(max_examples=20)
@given(
    fixed_us=st.floats(20, 180),
    noise=st.floats(-0.09, 0.09),
    other=st.sampled_from([32, 96, 128]),
)
def test_the_noise_of_a_second_batch_is_not_extrapolated(
    fixed_us: float, noise: float, other: int
) -> None:
    """Steps of the other segment are up to 9 % off, as those of equal segments are."""
    known = short_ops()
    edit = fitted(other_batch(known, 256), known, at_batch(known, other, fixed_us, 1 + noise))
    prediction, really_ms = predict(known, [edit]), at_batch(known, 256, fixed_us).measured_ms
    assert prediction.least_ms <= really_ms <= prediction.most_ms


def test_a_second_batch_that_no_fixed_time_explains_changes_nothing(known: Replays) -> None:
    steps = [replace(step, graph=replace(step.graph, wall_ns=90 * MS)) for step in known.steps]
    opened = msgspec.structs.replace(known.recording.segment, segment=1, global_batch_size=128)
    elsewhere = Replays(replace(known.recording, segment=opened), tuple(steps))
    usual = other_batch(known, 256)
    assert fitted(usual, known, elsewhere) == replace(usual, what_to_record="")


def test_what_the_recording_does_not_tell_is_refused() -> None:
    copies = replays_of([late_step(number) for number in range(4)])
    with pytest.raises(ReplayError, match="No collective of gradients was recorded"):
        faster_link(copies, 2)
    with pytest.raises(ReplayError, match="no collective separates the passes from the update"):
        predict(copies, [other_batch(copies, 128)])
    with pytest.raises(ReplayError, match="cannot be shared equally among 2 replicas"):
        other_batch(copies, 63)
    with pytest.raises(ReplayError, match="Give a number above 0"):
        faster_link(copies, 0)


def test_another_rate_of_an_emulated_link_is_a_faster_link(
    known: Replays, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edited(recorded: dict[str, float]) -> Edit | None:
        opened = msgspec.structs.replace(known.recording.segment, spec={"network": recorded})
        of_rate = replace(known, recording=replace(known.recording, segment=opened))
        monkeypatch.setattr(spec_edits, "replays", lambda _profile, _segment: of_rate)
        profile = strategy_profiles.load(DATA / "captured_step")
        return spec_edits.edit_of(profile, 0, {"network.rate_mbit": 100})

    edit = edited({"rate_mbit": 50.0})
    assert isinstance(edit, FasterLink)
    assert edit.times == 2.0
    assert edited({}) is None


@pytest.mark.parametrize(("small_ms", "predicted_ms"), [(2.0, None), (22.0, 13 + 26 - 20 / 3)])
def test_overlapped_collectives_take_what_the_backward_pass_does_not_hide(
    small_ms: float, predicted_ms: float | None
) -> None:
    """10 ms of passes hide 6.7 ms of the all-reduces; of a short one, the latency stays."""
    of = replays_of([reducing_step(number, small_ms) for number in range(6)])
    edit = overlapped(of)
    prediction = predict(of, [edit])
    assert prediction.predicted_ms == pytest.approx(predicted_ms or 13 + edit.latency_ns / MS)
    assert prediction.least_ms <= prediction.predicted_ms < prediction.most_ms < of.measured_ms


def test_another_batch_is_compared_by_examples(known: Replays) -> None:
    """Four times the batch is slower for each step, and faster for each example."""
    prediction = predict(known, [other_batch(known, 256)])
    assert prediction.times_examples == 4
    assert prediction.measured_ms < prediction.least_ms
    assert not prediction.is_within_error
    faster = 4 * prediction.measured_ms / prediction.predicted_ms
    assert times_as_fast(prediction).startswith(f"{faster:.2f} times as many examples per second (")


def test_overlap_hides_no_more_than_all_of_the_passes() -> None:
    of = replays_of([reducing_step(number, 22.0) for number in range(6)])
    prediction = predict(of, [overlapped(of)])
    assert (prediction.least_ms, prediction.most_ms) == pytest.approx(
        (13 + 26 - 10, 13 + 26 - 10 / 3)
    )


def test_another_algorithm_takes_its_messages_and_bytes(known: Replays) -> None:
    """Of two replicas: a ring has 2 messages and moves S; one device has 2 and moves 2 S."""
    edit = other_algorithm(known, "reduction-to-one-device")
    assert (edit.messages, edit.moved) == (1, 2)
    ns_per_byte = 2 * MS / (LARGE - SMALL)
    prediction = predict(known, [edit])
    assert prediction.predicted_ms == pytest.approx(19 + (LARGE + SMALL) * ns_per_byte / MS)
    reduced_ms = prediction.predicted_ms - 13
    assert prediction.least_ms == pytest.approx(13 + reduced_ms / 3)
    assert prediction.most_ms == pytest.approx(13 + reduced_ms * 3)
    same = predict(known, [other_algorithm(known, "nccl")])
    assert same.predicted_ms == pytest.approx(19)
    assert same.is_within_error


def test_another_algorithm_of_a_spec_is_that_edit(
    known: Replays, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spec_edits, "replays", lambda _profile, _segment: known)
    profile = strategy_profiles.load(DATA / "captured_step")
    changes = {"cross_device_ops": "hierarchical-copy", "num_packs": 1}
    assert spec_edits.edit_of(profile, 0, changes) == other_algorithm(known, "hierarchical-copy")
    assert spec_edits.edit_of(profile, 0, {**changes, "num_packs": 2}) is None
    assert spec_edits.edit_of(profile, 0, {**changes, "devices": "cpu:4"}) is None


def test_an_algorithm_that_has_no_model_is_refused(known: Replays) -> None:
    with pytest.raises(ReplayError, match="reduced by collective-ring already"):
        other_algorithm(known, "collective-ring")
    with pytest.raises(ReplayError, match="no model of the time that 'carrier-pigeon' takes"):
        other_algorithm(known, "carrier-pigeon")
    copies = replays_of([late_step(number) for number in range(4)])
    with pytest.raises(ReplayError, match="No collective of gradients was recorded"):
        other_algorithm(copies, "nccl")
    with pytest.raises(ReplayError, match="No collective of gradients was recorded"):
        overlapped(copies)


def test_xla_is_refused_with_what_measures_it() -> None:
    with pytest.raises(ReplayError, match="--try xla=true"):
        spec_edits.refused_xla()
