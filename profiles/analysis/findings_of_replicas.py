"""Findings about single replicas: those that are late, and ops of one on another's device."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from strategy_lab.profiles.analysis.causes import Cause
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding
from strategy_lab.profiles.analysis.injected import injected_delays, injected_sentence
from strategy_lab.profiles.analysis.stragglers import NOTICEABLE_MS, ReplicaLateness
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.device_names import short_names

NOTICEABLE_SLOWDOWN = 1.02
"""What a run gains without a late replica's own work, at least, for that work to be the reason."""
EXPLAINED_WITHIN = 0.25
"""An injected delay explains a lateness that differs from it by at most this share..."""
DETOUR_SHARE = 0.05
"""Ops on another device are worth a sentence if they take this share of a step."""


def late_replicas(facts: Facts) -> Iterator[Finding]:
    """Every late replica, the latest first, with what the lab itself injected."""
    late, wall = facts.stragglers.late, facts.steps.median_ms
    if not late or not wall:
        return
    worst, delays_ms = late[0], injected_delays(facts.segment)
    parts = [f"{item.name} is late by {units.milliseconds(item.late_ms)}" for item in late[:1]]
    parts += [f"{item.name} by {units.milliseconds(item.late_ms)}" for item in late[1:]]
    awaited = "it" if len(late) == 1 else worst.name
    sentence = (
        f"{units.listed(parts).capitalize()}: the others wait for {awaited} in "
        f"{units.share(worst.last_share)} of the steps"
    )
    for before, item in itertools.pairwise(late):
        others = units.share(item.last_share)
        sentence += f", and would wait for {item.name} in {others} without {before.name}"
    injected = f" {injected_sentence(delays_ms)}" if delays_ms else ""
    yield finding(
        facts,
        "straggler",
        f"{sentence}.{injected}",
        _advice(facts, late, delays_ms),
        worst.late_ms / wall,
        replica=worst.replica,
        worker=worst.worker,
        late_ms=worst.late_ms,
        last_share=worst.last_share,
        slowdown=worst.slowdown,
        late={str(item.replica): item.late_ms for item in late},
        injected_ms={str(replica): ms for replica, ms in delays_ms.items()},
    )


def _advice(facts: Facts, late: Sequence[ReplicaLateness], delays_ms: dict[int, float]) -> str:
    if detour := _detour_behind(facts, late[0]):
        where = _short(detour.device)
        if detour.replica == late[0].replica:
            return f"It waits for {detour.name}, which runs on {where}: see that finding."
        return f"Its device runs {detour.name} for replica {detour.replica}: see that finding."
    unexplained = [item for item in late if not _is_injected(facts, item, delays_ms)]
    if not unexplained:
        return "Remove the injected delay to measure the program without it."
    lead = ""
    if delays_ms:
        names = units.listed([item.name for item in unexplained])
        lead = f"The injected delay does not explain {names}. "
    slowdown = facts.stragglers.slowdown if len(late) > 1 else late[0].slowdown
    if (slowdown or 0.0) < NOTICEABLE_SLOWDOWN:
        return (
            f"{lead}It does no more work than the others but starts each step later. Check its "
            "input pipeline, record full captures of it, and check how long results take to "
            "reach it."
        )
    return (
        f"{lead}Its own work takes longer. On the Timeline page, compare its ops with those of "
        "another replica: it may have more data or a slower device. With every replica on time, "
        f"the run would be {slowdown:.2f} times as fast."
    )


def _is_injected(facts: Facts, item: ReplicaLateness, delays_ms: dict[int, float]) -> bool:
    """Whether the lab's delays explain how late a replica is, against those that are on time."""
    late = {other.replica for other in facts.stragglers.late}
    on_time = [delays_ms.get(r.replica, 0.0) for r in facts.stragglers.replicas]
    on_time = [
        ms
        for ms, r in zip(on_time, facts.stragglers.replicas, strict=True)
        if r.replica not in late
    ]
    expected = delays_ms.get(item.replica, 0.0) - min(on_time, default=0.0)
    if expected <= 0:
        return False
    return abs(item.late_ms - expected) <= max(NOTICEABLE_MS, EXPLAINED_WITHIN * expected)


def detours(facts: Facts) -> Iterator[Finding]:
    """Ops of a replica that run on another device, so that its tensors travel there and back."""
    wall = facts.breakdown.mean_ms("wall")
    for cause in facts.held_up.of_kind("detour"):
        if not wall or cause.held_ms / wall < DETOUR_SHARE:
            continue
        late = facts.stragglers.straggler
        is_reason = late is not None and _detour_behind(facts, late) is cause
        share = cause.held_ms / wall
        if is_reason and late:  # told before the lateness that comes from it
            share = max(share, late.late_ms / (facts.steps.median_ms or wall) + 1e-6)
        moved = "an unknown number of bytes" if cause.bytes is None else units.size(cause.bytes)
        yield finding(
            facts,
            "detour",
            f"{cause.detail or cause.name} of replica {cause.replica} runs on "
            f"{_short(cause.device)}, not on its own device: in each step {moved} are moved "
            f"between the two, and it takes {units.milliseconds(cause.held_ms)} of "
            f"{units.milliseconds(wall)}.",
            "Remove the tf.device(...) around this op, so that the strategy places it.",
            share,
            op=cause.name,
            device=cause.device,
            replica=cause.replica,
            bytes=cause.bytes,
            held_ms=cause.held_ms,
        )


def _detour_behind(facts: Facts, late: ReplicaLateness) -> Cause | None:
    """The detour that makes a replica late: of its own ops, or of another's ops on its device."""
    devices = facts.segment.replica_devices
    own = devices[late.replica] if late.replica < len(devices) else None
    for cause in facts.held_up.of_kind("detour"):
        is_its = late.replica == cause.replica or (own is not None and own == cause.device)
        if is_its and cause.held_ms >= late.late_ms / 2:
            return cause
    return None


def _short(device: str | None) -> str:
    return short_names([device])[device] if device else "another device"
