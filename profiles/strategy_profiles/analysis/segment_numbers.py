"""The entries of a run's summary that hold the metrics with short names (`compare`).

Each value that could not be had is None, and `<name>_reason` beside it says why.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from strategy_profiles.analysis.breakdown import ReplicaBreakdown, StepBreakdown, step_breakdown
from strategy_profiles.analysis.communication import NO_WINDOW, Communication, communication
from strategy_profiles.analysis.key_numbers import why_no_examples, why_no_loss
from strategy_profiles.analysis.loop_pace import loop_pace
from strategy_profiles.analysis.steps import StepTimes, step_times
from strategy_profiles.analysis.stragglers import Stragglers, stragglers
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.store import Profile

Json = dict[str, Any]


def segment_numbers(profile: Profile, segment: SegmentOpened) -> Json:
    """The entries of `summarize_segment` that hold the metrics with short names (`compare`).

    The other analyses are not run: of a comparison of many runs, they would be most of the time.
    """
    measured = communication(profile, segment)
    return {
        "loop": loop_entry(profile, segment.segment),
        "replicas": replica_entries(step_breakdown(profile, segment)),
        **busbw_entries(measured),
        "bytes_per_step": bytes_entry(measured),
        **straggler_entries(stragglers(profile, segment.segment)),
        "loss": loss_entry(step_times(profile, segment.segment)),
    }


def loop_entry(profile: Profile, segment: int) -> Json:
    """The loop without its first step: what is between steps included."""
    why = why_no_examples(step_times(profile, segment))
    return explained(asdict(loop_pace(profile, segment)), why)


def replica_entries(breakdown: StepBreakdown) -> list[Json]:
    return [_replica(replica, breakdown) for replica in breakdown.replicas]


def _replica(replica: ReplicaBreakdown, breakdown: StepBreakdown) -> Json:
    known: Json = {f"{name}_ms": replica.phase_ms(name) for name in ("wall", *CATEGORIES)}
    known["source"] = replica.source
    return {
        "replica": replica.replica,
        "worker": replica.worker,
        "device": replica.device,
        "num_steps": replica.num_steps,
        **explained(known, breakdown.reason or "not recorded for this replica"),
    }


def busbw_entries(measured: Communication) -> Json:
    main = measured.main
    known = {
        "main_collective": main.op if main else None,
        "busbw_gbps": main.busbw_gbps if main else None,
    }
    return explained(known, measured.why_no_busbw)


def bytes_entry(measured: Communication) -> Json:
    return {
        **explained({"collective": measured.collective_bytes}, measured.reason or NO_WINDOW),
        **explained({"transfer": measured.transfer_bytes}, measured.why_no_transfers or NO_WINDOW),
    }


def straggler_entries(waits: Stragglers) -> Json:
    worst = waits.straggler
    latest = waits.latest
    document: Json = {
        "straggler": asdict(worst) if worst else None,
        "late": [asdict(item) for item in waits.late],
        **explained({"lateness": asdict(latest) if latest else None}, waits.why_no_what_if),
        "what_if": explained(
            {"slowdown": waits.slowdown, "replay_error": waits.replay_error}, waits.why_no_what_if
        ),
    }
    if worst is None:
        document["straggler_reason"] = waits.reason or "no replica stands out"
    return document


def loss_entry(steps: StepTimes) -> Json:
    return explained(
        {"first": steps.first_loss, "last": steps.last_loss}, why_no_loss(steps.unknown)
    )


def explained(values: Json, reason: str | None) -> Json:
    """Return `values` with an entry `NAME_reason` added for each NAME whose value is None."""
    document: Json = {}
    for name, value in values.items():
        document[name] = value
        if value is None:
            document[f"{name}_reason"] = reason or "not recorded"
    return document
