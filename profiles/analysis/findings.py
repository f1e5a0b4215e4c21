"""Why is it slow? Each finding is one sentence with its evidence, and what to try.

A finding is one function of the facts of a segment; the order is by the share of a step that it
explains, the largest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from strategy_lab.profiles import units
from strategy_lab.profiles.analysis.breakdown import StepBreakdown, step_breakdown
from strategy_lab.profiles.analysis.capture_cost import CaptureCost, capture_cost
from strategy_lab.profiles.analysis.communication import Communication, communication
from strategy_lab.profiles.analysis.input_share import InputShare, input_share
from strategy_lab.profiles.analysis.steps import StepTimes, step_times
from strategy_lab.profiles.analysis.stragglers import Stragglers, stragglers

if TYPE_CHECKING:
    from strategy_lab.profiles.events import SegmentOpened
    from strategy_lab.profiles.store import Profile

EXPOSED_SHARE = 0.25
IDLE_SHARE = 0.3
SMALL_CALL_BYTES = 1_000_000
MANY_CALLS = 8
TINY_BATCH = 8
UNSTEADY = 2.0
COSTLY_CAPTURE = 1.05
NOTICEABLE_SLOWDOWN = 1.02
"""What a run gains without a straggler's own work, at least, for that work to be the reason."""
WORTH_SAYING = 0.1
"""A finding is named in a headline where it explains this share of a step."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason. `share` is the part of a step it explains, None where that is not a share."""

    key: str
    segment: int
    sentence: str
    advice: str
    share: float | None
    evidence: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the questions about a segment were answered."""

    segment: SegmentOpened
    environment: dict[str, Any]
    steps: StepTimes
    breakdown: StepBreakdown
    communication: Communication
    stragglers: Stragglers
    input: InputShare
    capture: CaptureCost


def gather_facts(profile: Profile, segment: SegmentOpened) -> Facts:
    number = segment.segment
    return Facts(
        segment=segment,
        environment=profile.environment or {},
        steps=step_times(profile, number),
        breakdown=step_breakdown(profile, segment),
        communication=communication(profile, segment),
        stragglers=stragglers(profile, number),
        input=input_share(profile, number),
        capture=capture_cost(profile, number),
    )


def findings(facts: Facts) -> tuple[Finding, ...]:
    """What is wrong with this segment, then everything that explains a slow step of it, the largest
    share first."""
    found = [finding for question in _QUESTIONS for finding in question(facts)]
    return tuple(sorted(found, key=lambda item: (item.key != "loss-lost", -(item.share or 0.0))))


def main_finding(facts: Facts) -> Finding | None:
    """The finding that a sentence about the segment names; None where all are small.

    What recording cost is never the answer to why a program is slow.
    """
    return next(
        (
            item
            for item in findings(facts)
            if (item.share or 0.0) >= WORTH_SAYING and item.key != "costly-capture"
        ),
        None,
    )


def _straggler(facts: Facts) -> Iterator[Finding]:
    worst, wall = facts.stragglers.straggler, facts.steps.median_ms
    if worst is None or not wall:
        return
    yield _finding(
        facts,
        "straggler",
        f"{worst.name.capitalize()} is late by {units.milliseconds(worst.late_ms)}: the others "
        f"wait for it in {units.share(worst.last_share)} of the steps.",
        _beside_a_straggler(worst.slowdown),
        worst.late_ms / wall,
        replica=worst.replica,
        worker=worst.worker,
        late_ms=worst.late_ms,
        last_share=worst.last_share,
        slowdown=worst.slowdown,
    )


def _beside_a_straggler(slowdown: float) -> str:
    """What to look at; one that works no longer than the others has only begun later."""
    if slowdown < NOTICEABLE_SLOWDOWN:
        return (
            "It works no longer than the others, it begins its steps later: look at its input, at "
            "full captures of it alone, and at how long results take to reach it."
        )
    return (
        "Look at what its device does besides: an injected delay, more data, another program "
        f"on it. Without it the run would be {slowdown:.2f} times as fast."
    )


def _input_bound(facts: Facts) -> Iterator[Finding]:
    if facts.input.share is None or not facts.input.is_input_bound:
        return
    yield _finding(
        facts,
        "input-bound",
        f"{units.share(facts.input.share)} of every step "
        f"({units.milliseconds(facts.input.mean_ms)}) is waiting for its batch.",
        "Let the input run ahead: dataset.prefetch(tf.data.AUTOTUNE), a parallel map, cache().",
        facts.input.share,
        mean_ms=facts.input.mean_ms,
    )


def _exposed_communication(facts: Facts) -> Iterator[Finding]:
    wall, transfer = facts.breakdown.mean_ms("wall"), facts.breakdown.mean_ms("transfer")
    if not wall or transfer is None or transfer / wall < EXPOSED_SHARE:
        return
    yield _finding(
        facts,
        "communication-exposed",
        f"{_of_a_step(facts, transfer, wall)} is moving tensors between devices with nothing "
        "computed meanwhile.",
        "Raise the batch per replica (the bytes stay the same), "
        + (
            "try another cross-device algorithm, or use fewer replicas."
            if facts.breakdown.is_in_sync
            else "or spread the variables over more parameter servers."
        ),
        transfer / wall,
        transfer_ms=transfer,
        bytes_per_step=facts.communication.collective_bytes,
    )


_PACKING = {
    "collective-ring": "Pack the gradients: set bytes_per_pack, so that fewer, larger tensors are "
    "reduced.",
    "nccl": "Pack the gradients: lower num_packs, or set bytes_per_pack, so that fewer, larger "
    "tensors are reduced.",
    "hierarchical-copy": "Pack the gradients: lower num_packs, so that fewer, larger tensors are "
    "reduced.",
    "reduction-to-one-device": "Its tensors go one by one: try an algorithm that packs them "
    "(hierarchical-copy, collective-ring), or fewer and larger variables.",
}
"""How the cross-device algorithm in force is told to reduce fewer, larger tensors."""
_NO_PACKING = "Give each step more work, so that it weighs less, or use fewer and larger variables."


def _many_small_collectives(facts: Facts) -> Iterator[Finding]:
    """The most frequent of them; the others have the same reason."""
    frequent = sorted(facts.communication.collectives, key=lambda use: -use.per_step)
    for use in frequent:
        size = use.bytes_per_call
        if use.per_step < MANY_CALLS or size is None or size > SMALL_CALL_BYTES:
            continue
        wall = facts.breakdown.mean_ms("wall")
        yield _finding(
            facts,
            "many-small-collectives",
            f"{use.per_step:.0f} {use.op} calls a step move {units.size(size)} each: their start "
            "costs more than their bytes.",
            _PACKING.get(facts.segment.cross_device_ops, _NO_PACKING),
            use.transfer_ms / wall if use.transfer_ms and wall else None,
            calls_per_step=use.per_step,
            bytes_per_call=size,
        )
        return


def _shared_cores(facts: Facts) -> Iterator[Finding]:
    host = facts.environment.get("host")
    cpus = host.get("cpus") if isinstance(host, dict) else None
    on_cpu = sum("/device:CPU:" in device for device in facts.segment.replica_devices)
    if not isinstance(cpus, int) or on_cpu < 2 or on_cpu <= cpus:
        return
    yield _finding(
        facts,
        "shared-cores",
        f"{on_cpu} replicas share {cpus} CPU cores: they take turns, so more replicas cannot be "
        "faster here.",
        f"Compare strategies with at most {cpus} replicas on this machine, or read the numbers as "
        "a lesson in behaviour and not in speed.",
        None,
        num_replicas=on_cpu,
        cpus=cpus,
    )


def _tiny_batch(facts: Facts) -> Iterator[Finding]:
    if facts.segment.global_batch_size is None:
        return
    batch = facts.segment.global_batch_size
    wall, compute = facts.breakdown.mean_ms("wall"), facts.breakdown.mean_ms("compute")
    if batch is None:
        return
    per_replica = batch / max(1, facts.segment.num_replicas)
    if per_replica > TINY_BATCH or not wall or compute is None or compute / wall > 0.5:
        return
    yield _finding(
        facts,
        "tiny-batch",
        f"Each replica computes on {per_replica:.3g} examples a step, and only "
        f"{units.share(compute / wall)} of the step is computing.",
        "Raise the global batch size: the rest of the step hardly grows with it.",
        1 - compute / wall,
        examples_per_replica=per_replica,
        compute_ms=compute,
    )


def _idle(facts: Facts) -> Iterator[Finding]:
    wall, idle = facts.breakdown.mean_ms("wall"), facts.breakdown.mean_ms("idle")
    if not wall or idle is None or idle / wall < IDLE_SHARE:
        return
    doing, advice = _BETWEEN_STEPS[facts.breakdown.is_in_sync]
    yield _finding(
        facts,
        "idle",
        f"{_of_a_step(facts, idle, wall)} {doing}.",
        advice,
        idle / wall,
        idle_ms=idle,
    )


_BETWEEN_STEPS = {
    True: (
        "no replica runs anything: Python and the runtime between two steps",
        "Run several steps in one tf.function (steps_per_execution), or give each step more work.",
    ),
    False: (
        "it has no closure to do: its last result is on the way, or the coordinator has none ready",
        "Give each step more work, or use fewer workers than the coordinator can keep busy.",
    ),
}
"""Why nothing runs, and what to try: of replicas in sync, and of workers at paces of their own."""


def _of_a_step(facts: Facts, part_ms: float, wall_ms: float) -> str:
    """A share, and whose step it is of: a worker's own is longer than from result to result."""
    is_in_sync = facts.breakdown.is_in_sync
    whose = "every step" if is_in_sync else f"a worker's step of {units.milliseconds(wall_ms)}"
    return f"{units.share(part_ms / wall_ms)} of {whose} ({units.milliseconds(part_ms)})"


def _tracing(facts: Facts) -> Iterator[Finding]:
    first, total = facts.steps.first_step_ms, float(np.nansum(facts.steps.wall_ms))
    if facts.steps.count < 2 or first is None or not total or first / total < 0.3:
        return
    yield _finding(
        facts,
        "tracing",
        f"The first step took {units.milliseconds(first)}, {units.share(first / total)} of all the "
        "time in steps: it traces the program.",
        "Nothing is wrong; record more steps before you judge the speed.",
        None,
        first_step_ms=first,
    )


def _unsteady(facts: Facts) -> Iterator[Finding]:
    if not facts.breakdown.is_in_sync:
        return  # from one worker's result to another's: of no even length by nature
    low, high = facts.steps.quantile_ms(0.1), facts.steps.quantile_ms(0.9)
    if facts.steps.count < 10 or not low or not high or high / low < UNSTEADY:
        return
    yield _finding(
        facts,
        "unsteady",
        f"Steps vary between {units.milliseconds(low)} (10th percentile) and "
        f"{units.milliseconds(high)} (90th).",
        "Look for another program on this machine, and compare runs with care.",
        None,
        p10_ms=low,
        p90_ms=high,
    )


def _costly_capture(facts: Facts) -> Iterator[Finding]:
    ratio = facts.capture.overhead_ratio
    if ratio is None or ratio < COSTLY_CAPTURE:
        return
    yield _finding(
        facts,
        "costly-capture",
        f"Recording made this segment {ratio:.2f} times as long.",
        "Record longer (the first window comes early, whatever the budget), lower "
        "capture.overhead_budget, or do not capture every step.",
        1 - 1 / ratio,
        overhead_ratio=ratio,
    )


def _lost_loss(facts: Facts) -> Iterator[Finding]:
    """Every step of the lab's own runs tells its loss, where it is a number."""
    steps = facts.steps
    lost = np.flatnonzero(~np.isfinite(steps.loss))
    if not facts.segment.spec or not lost.size:
        return
    first = int(steps.step[lost[0]])
    yield _finding(
        facts,
        "loss-lost",
        f"The loss is NaN or infinity in {lost.size} of {steps.count} steps, first in step "
        f"{first}: what was trained is lost.",
        "Lower the learning rate, or look for a logarithm, a root or a division in model and loss.",
        None,
        first_step=first,
        num_steps=int(lost.size),
    )


def _finding(
    facts: Facts, key: str, sentence: str, advice: str, share: float | None, **evidence: Any
) -> Finding:
    return Finding(key, facts.segment.segment, sentence, advice, share, evidence)


_QUESTIONS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _straggler,
    _input_bound,
    _exposed_communication,
    _many_small_collectives,
    _tiny_batch,
    _idle,
    _shared_cores,
    _tracing,
    _unsteady,
    _costly_capture,
    _lost_loss,
)
