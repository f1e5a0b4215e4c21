"""Why is it slow? Each finding is one sentence with its evidence, and what to try.

A finding is one function of the facts of a segment; the order is by the share of a step that it
explains, the largest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from strategy_lab.profiles.analysis.facts import Facts, Finding, finding, gather_facts, of_a_step
from strategy_lab.profiles.analysis.findings_of_input import input_bound
from strategy_lab.profiles.analysis.findings_of_python import (
    between_calls,
    idle,
    python_ops,
    retracing,
)
from strategy_lab.profiles.analysis.findings_of_replicas import detours, late_replicas
from strategy_lab.profiles.reporting import units

__all__ = ["Facts", "Finding", "findings", "gather_facts", "main_finding"]

EXPOSED_SHARE = 0.25
SMALL_CALL_BYTES = 1_000_000
MANY_CALLS = 8
TINY_BATCH = 8
UNSTEADY = 2.0
COSTLY_CAPTURE = 1.05
LONG_FIRST_STEP = 0.3
"""Share of all the time in steps."""
WORTH_SAYING = 0.1
"""Least share of a step that a finding must explain to be named in a headline."""


def findings(facts: Facts) -> tuple[Finding, ...]:
    """What is wrong with this segment, then everything that explains a slow step of it, the largest
    share first."""
    found = [item for question in _QUESTIONS for item in question(facts)]
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


def _exposed_communication(facts: Facts) -> Iterator[Finding]:
    wall, transfer = facts.breakdown.mean_ms("wall"), facts.breakdown.mean_ms("transfer")
    if not wall or transfer is None or transfer / wall < EXPOSED_SHARE:
        return
    yield finding(
        facts,
        "communication-exposed",
        f"{of_a_step(facts, transfer, wall)} moves tensors between devices while nothing is "
        "computed.",
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
    "reduction-to-one-device": (
        "Tensors are reduced one by one: try an algorithm that packs them (hierarchical-copy, "
        "collective-ring), or fewer and larger variables."
    ),
}
"""How to make each cross-device algorithm reduce fewer, larger tensors."""
_NO_PACKING = (
    "Give each step more work, so that communication is a smaller share, or use fewer and "
    "larger variables."
)


def _many_small_collectives(facts: Facts) -> Iterator[Finding]:
    """The most frequent of them; the others have the same reason."""
    frequent = sorted(facts.communication.collectives, key=lambda use: -use.per_step)
    for use in frequent:
        size = use.bytes_per_call
        if use.per_step < MANY_CALLS or size is None or size > SMALL_CALL_BYTES:
            continue
        wall = facts.breakdown.mean_ms("wall")
        yield finding(
            facts,
            "many-small-collectives",
            f"{use.per_step:.0f} {use.op} calls a step move {units.size(size)} each: starting "
            "a call costs more than transferring its bytes.",
            _PACKING.get(facts.segment.cross_device_ops, _NO_PACKING),
            use.transfer_ms / wall if use.transfer_ms and wall else None,
            calls_per_step=use.per_step,
            bytes_per_call=size,
        )
        return


def _shared_cores(facts: Facts) -> Iterator[Finding]:
    cpus = facts.environment.host.cpus if facts.environment else None
    on_cpu = sum("/device:CPU:" in device for device in facts.segment.replica_devices)
    if cpus is None or on_cpu < 2 or on_cpu <= cpus:
        return
    yield finding(
        facts,
        "shared-cores",
        f"{on_cpu} replicas share {cpus} CPU cores and run in turn, so more replicas cannot be "
        "faster here.",
        f"On this machine, compare the speed of strategies with at most {cpus} replicas only. "
        "More replicas still show how a strategy behaves.",
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
    yield finding(
        facts,
        "tiny-batch",
        f"Each replica computes on {per_replica:.3g} examples a step, and only "
        f"{units.share(compute / wall)} of the step is computation.",
        "Raise the global batch size: the other parts of the step grow little with it.",
        1 - compute / wall,
        examples_per_replica=per_replica,
        compute_ms=compute,
    )


def _first_step(facts: Facts) -> Iterator[Finding]:
    first, total = facts.steps.first_step_ms, float(np.nansum(facts.steps.wall_ms))
    if facts.steps.count < 2 or first is None or not total or first / total < LONG_FIRST_STEP:
        return
    yield finding(
        facts,
        "tracing",
        f"The first step took {units.milliseconds(first)}, {units.share(first / total)} of the "
        "time of all steps, because it traces the program. Other numbers do not include it.",
        "This is normal: the share falls as the run gets longer.",
        None,
        first_step_ms=first,
    )


def _unsteady(facts: Facts) -> Iterator[Finding]:
    if not facts.breakdown.is_in_sync:
        return  # from one worker's result to another's: of no even length by nature
    low, high = facts.steps.quantile_ms(0.1), facts.steps.quantile_ms(0.9)
    if facts.steps.count < 10 or not low or not high or high / low < UNSTEADY:
        return
    yield finding(
        facts,
        "unsteady",
        f"Steps vary between {units.milliseconds(low)} (10th percentile) and "
        f"{units.milliseconds(high)} (90th).",
        "Check whether other programs use this machine, and compare runs with care.",
        None,
        p10_ms=low,
        p90_ms=high,
    )


def _costly_capture(facts: Facts) -> Iterator[Finding]:
    ratio = facts.capture.overhead_ratio
    if ratio is None or ratio < COSTLY_CAPTURE:
        return
    yield finding(
        facts,
        "costly-capture",
        f"Full captures made this segment {ratio:.2f} times as long.",
        "Record longer (the first window is always early), lower capture.overhead_budget, or "
        "do not capture every step.",
        1 - 1 / ratio,
        overhead_ratio=ratio,
    )


def _lost_loss(facts: Facts) -> Iterator[Finding]:
    """Yield a finding if steps of the lab's own runs have no finite loss."""
    steps = facts.steps
    lost = np.flatnonzero(~np.isfinite(steps.loss))
    if not facts.segment.spec or not lost.size:
        return
    first = int(steps.step[lost[0]])
    yield finding(
        facts,
        "loss-lost",
        f"The loss is NaN or infinity in {lost.size} of {steps.count} steps, first in step "
        f"{first}: the weights are no longer usable.",
        "Lower the learning rate, or look for a logarithm, a root or a division in model and loss.",
        None,
        first_step=first,
        num_steps=int(lost.size),
    )


_QUESTIONS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    retracing,
    detours,
    late_replicas,
    input_bound,
    python_ops,
    between_calls,
    _exposed_communication,
    _many_small_collectives,
    _tiny_batch,
    idle,
    _shared_cores,
    _first_step,
    _unsteady,
    _costly_capture,
    _lost_loss,
)
