"""What a step would gain without a finding, on steps with a known answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strategy_profiles.analysis.facts import Finding, Gain
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.predictors import gain_of
from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.engine.replays import Replays
from tests.plugins.replay.test_step_edits import reducing_step
from tests.plugins.replay.test_what_if import late_step, replays_of
from tests.replaced import replace

COMMUNICATION = Removal("free-ops", kind_of_op="communication", is_bound=True)


class Replayed:
    """A profile whose steps are replayed already."""

    def __init__(self, known: Replays) -> None:
        self._known = known
        self.segments = (known.recording.segment,)

    def once(self, _key: object, _make: Callable[[], Any]) -> Replays:
        return self._known


LATE = Replayed(replays_of([late_step(number) for number in range(6)]))
"""Steps of 47 ms: 5 of input, 10 of ops, 30 of delay, 2 of transfers."""
REDUCING = Replayed(replays_of([reducing_step(number) for number in range(6)]))
"""Steps of 19 ms: 10 of passes, 6 of all-reduces, 3 of update."""


def finding(removal: Removal | str) -> Finding:
    return Finding("any", 0, "It is slow.", "Change it.", None, {}, removal=removal)


def gain(profile: Any, removal: Removal | str) -> Gain:
    predicted_gain = gain_of(profile, finding(removal))
    assert isinstance(predicted_gain, Gain), predicted_gain
    return replace(predicted_gain, sentence=predicted_gain.sentence.replace("\u00a0", " "))


@pytest.mark.parametrize(
    ("removal", "step_ms"),
    [
        (Removal("no-delay"), 15.8),  # 5 + 10 + 2, less 4 % of the delay: see RemoveDelay
        (Removal("free-input"), 42.0),
        (COMMUNICATION, 45.0),
        (Removal("free-ops", kind_of_op="Op2"), 37.0),
        (Removal("spec", changes={"inject": []}), 15.8),
    ],
)
def test_each_removal_has_its_known_step(removal: Removal, step_ms: float) -> None:
    predicted_gain = gain(LATE, removal)
    assert predicted_gain.step_ms == pytest.approx(step_ms)
    assert predicted_gain.measured_ms == pytest.approx(47.0)
    assert predicted_gain.low_ms <= predicted_gain.step_ms <= predicted_gain.high_ms
    assert f"{step_ms:.1f} ms instead of 47.0 ms" in predicted_gain.sentence
    assert "replay error 0" in predicted_gain.sentence


def test_what_takes_away_more_than_a_remedy_can_is_shown_as_a_bound() -> None:
    predicted_gain = gain(LATE, COMMUNICATION)
    assert predicted_gain.is_bound
    assert predicted_gain.sentence.startswith(
        "With communication for free the median captured step would take 45.0"
    )
    assert "no remedy saves more" in predicted_gain.sentence


def test_the_gain_of_a_larger_batch_is_about_examples() -> None:
    predicted_gain = gain(REDUCING, Removal("spec", changes={"global_batch_size": 256}))
    assert predicted_gain.times_examples == 4
    assert 47.5 < predicted_gain.step_ms < 49  # 40 ms of passes, less what is fixed of them, and 9
    assert not predicted_gain.is_within_error
    faster = 4 * 19 / predicted_gain.step_ms
    assert f"so {faster:.2f} times as many examples per second" in predicted_gain.sentence


def test_a_gain_within_the_interval_names_no_length() -> None:
    uneven = Replayed(replays_of([late_step(n, gap_ns=n % 3 * 9e6) for n in range(9)]))
    predicted_gain = gain(uneven, COMMUNICATION)
    assert predicted_gain.is_within_error
    assert "too noisy to predict" in predicted_gain.sentence


@pytest.mark.parametrize(
    ("removal", "reason"),
    [
        ("Nothing removes it.", "Nothing removes it."),
        (Removal("free-ops", kind_of_op="EagerPyFunc"), "No op of kind 'EagerPyFunc'"),
        (Removal("spec", changes={"devices": "cpu:2"}), "other ops would run"),
        (Removal("spec", changes={"global_batch_size": 63}), "cannot be shared equally"),
    ],
)
def test_a_gain_that_cannot_be_predicted_has_its_reason(
    removal: Removal | str, reason: str
) -> None:
    predicted_gain = gain_of(REDUCING, finding(removal))  # type: ignore[arg-type]
    assert isinstance(predicted_gain, str)
    assert reason in predicted_gain


def test_a_recording_without_a_replay_has_no_gain() -> None:
    class Unreadable(Replayed):
        def once(self, _key: object, _make: Callable[[], Any]) -> Replays:
            raise ReplayError("Segment 0 has 1 captured step")

    predicted_gain = gain_of(Unreadable(LATE.once(0, lambda: None)), finding(COMMUNICATION))  # type: ignore[arg-type]
    assert predicted_gain == "Segment 0 has 1 captured step."


def test_an_op_type_for_free_leaves_the_injected_delay() -> None:
    steps = [late_step(number) for number in range(4)]
    for step in steps:
        step.nodes.op[2] = step.nodes.op[3] = "EagerPyFunc"  # an op of 10 ms, then the delay
    freed = gain(Replayed(replays_of(steps)), Removal("free-ops", kind_of_op="EagerPyFunc"))
    assert freed.step_ms == pytest.approx(37.0)
