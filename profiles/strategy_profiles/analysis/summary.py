"""A run in one JSON-ready mapping: what `strategy-lab summary --json` prints.

Milliseconds (`_ms`), integer nanoseconds (`_ns`), bytes, and 10^9 bytes per second (`_gbps`).
A value that could not be had is None, and `<name>_reason` beside it says why. `steps.count`
counts every step; times are of the `steps.timed` ones (see `steps`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import asdict

from strategy_profiles.analysis.account.account import Account
from strategy_profiles.analysis.account.table import row_fields
from strategy_profiles.analysis.captured_steps import sentence_if_unlike
from strategy_profiles.analysis.clocks import ClockAnswer, worker_clocks
from strategy_profiles.analysis.communication import (
    UNKNOWN_USE,
    CollectiveUse,
)
from strategy_profiles.analysis.cores import NO_CORE_STEP, Core, cores
from strategy_profiles.analysis.cost import cost_text
from strategy_profiles.analysis.efficiency import efficiency
from strategy_profiles.analysis.epoch_ends import EpochEnds
from strategy_profiles.analysis.failures import explained_without_steps
from strategy_profiles.analysis.findings import Facts, Finding, Predict, findings, gather_facts
from strategy_profiles.analysis.headline import headline
from strategy_profiles.analysis.input_stages import InputStages, input_stages
from strategy_profiles.analysis.key_numbers import (
    key_numbers,
    why_no_examples,
)
from strategy_profiles.analysis.links import Link, Links, links
from strategy_profiles.analysis.memory import memory_use
from strategy_profiles.analysis.placement import Placement, placement
from strategy_profiles.analysis.retracing import first_trace_note
from strategy_profiles.analysis.segment_numbers import (
    Json,
    busbw_entries,
    bytes_entry,
    explained,
    loop_entry,
    loss_entry,
    replica_entries,
    straggler_entries,
)
from strategy_profiles.analysis.serving_summary import serving_summary
from strategy_profiles.analysis.step_memory import StepMemory, step_memory
from strategy_profiles.analysis.steps import StepTimes
from strategy_profiles.analysis.tpu_check import tpu_check
from strategy_profiles.analysis.xla import num_compiled
from strategy_profiles.answers.answer import KeyNumber
from strategy_profiles.run.events import Environment, Note, SegmentOpened
from strategy_profiles.tables.schema import CATEGORIES, SCHEMA_VERSION
from strategy_profiles.tables.store import Profile

NO_SIZES = "the size of what a step moves is not known"
NO_COST = "the run does not show what this costs"
NO_GAIN = "no prediction was asked for (`summary --gains`)"
NO_CHANGE = "the advice is no change of one recorded line of the program"
NO_OTHER_CAUSE = "no other finding explains this one"
MOST_HOLDERS = 10
"""Entries of what a device holds at the peak of a step."""
NO_THREADS = "this run does not record the threads of TensorFlow"
NEVER_STARTED = "the run ended before TensorFlow reported its devices"


def summarize(profile: Profile, predict: Predict | None = None) -> Json:
    """The summary of a run; see the module's text for its units and missing values.

    Args:
      predict: adds to each finding what a step would gain without it.
    """
    segments = [summarize_segment(profile, segment, predict) for segment in profile.segments]
    environment = _environment(profile.environment)
    return {
        "schema_version": SCHEMA_VERSION,
        "run": profile.name,
        "path": str(profile.path),
        "status": profile.status.state,
        "status_message": profile.status.message,
        "headline": _headline_without_steps(profile),
        "created_ns": profile.identity.created_ns if profile.identity else None,
        "environment": environment,
        "segments": segments,
        "clocks": [_clock(item) for item in worker_clocks(profile)],
        "memory": [asdict(item) for item in memory_use(profile)],
        "notes": _notes(
            profile, [item["segment"] for item in segments if item["placement"]["ops"]]
        ),
    }


def _headline_without_steps(profile: Profile) -> str | None:
    """Why the run failed before its first step; segments have headlines of their own."""
    explained = explained_without_steps(profile)
    return " ".join(explained.lines) if explained else None


def summarize_segment(
    profile: Profile, segment: SegmentOpened, predict: Predict | None = None
) -> Json:
    """One entry of `segments` in the summary."""
    facts = gather_facts(profile, segment)
    factors = efficiency(facts.breakdown)
    unknown = profile.unknown
    return {
        "segment": segment.segment,
        "strategy": segment.strategy,
        "num_replicas": segment.num_replicas,
        "num_workers": segment.num_workers,
        **explained(
            {"global_batch_size": segment.global_batch_size},
            unknown.get("batch", "the program reported none"),
        ),
        **({"batch_sizes": segment.batch_sizes} if segment.batch_sizes else {}),
        "cross_device_ops": segment.cross_device_ops,
        **explained(
            {"num_compiled": num_compiled(profile, segment.segment)},
            "the graph of this segment was not recorded",
        ),
        "account": _account(facts.account),
        "headline": "".join(headline(profile, facts)),
        "key_numbers": [_key_number(item) for item in key_numbers(facts)],
        "first_step": segment.first_step,
        "moved": segment.moved,
        **explained(
            {"parameter_bytes": segment.parameter_bytes},
            unknown.get("parameters", "not recorded by the program"),
        ),
        "loop": loop_entry(profile, segment.segment),
        "steps": _steps(facts.steps),
        "epoch_ends": _epoch_ends(facts.epoch_ends),
        "replicas": replica_entries(facts.breakdown),
        "cores": [_core(core) for core in cores(profile, segment).cores],
        **_tpu_check(profile, segment),
        **explained({"replicas_source": facts.breakdown.source}, facts.breakdown.reason),
        "collectives": [_collective(use) for use in facts.communication.collectives],
        **busbw_entries(facts.communication),
        "bytes_per_step": bytes_entry(facts.communication),
        **_links(links(profile, segment)),
        **serving_summary(profile, segment),
        "placement": _placement(placement(profile, segment.segment)),
        **straggler_entries(facts.stragglers),
        "loss": loss_entry(facts.steps),
        "input": explained(
            {
                "mean_ms": facts.input.mean_ms,
                "median_ms": facts.input.median_ms,
                "share": facts.input.share,
            },
            facts.input.reason,
        ),
        "input_stages": _input_stages(input_stages(profile, segment.segment)),
        "step_memory": _step_memory(step_memory(profile, segment.segment)),
        "efficiency": explained(
            {
                "load_balance": factors.load_balance,
                "communication": factors.communication,
                "orchestration": factors.orchestration,
                "parallel": factors.parallel,
            },
            factors.reason,
        ),
        "capture": _capture(facts),
        **explained(
            {"machine_load": asdict(facts.load) if facts.load else None},
            "no launcher sampled the CPUs while the segment trained",
        ),
        "findings": _findings(facts, predict),
    }


def _input_stages(pipeline: InputStages) -> Json:
    """Settings that a stage does not report are left out of its entry."""
    stages = [
        {key: value for key, value in asdict(stage).items() if value is not None}
        for stage in pipeline.stages
    ]
    limiting = pipeline.limiting.path if pipeline.limiting else None
    return {
        "sentence": pipeline.sentence,
        **explained({"steps": pipeline.num_steps or None}, pipeline.reason),
        **explained(
            {"limiting": limiting}, pipeline.reason or "no stage held up the captured steps"
        ),
        **explained({"stages": stages or None}, pipeline.reason),
    }


def _step_memory(memory: StepMemory) -> Json:
    """Each device's peak over a step, and the largest of what it holds then."""
    devices = [
        {
            "worker": item.worker,
            "device": item.device,
            "peak_bytes": item.peak_bytes,
            "peak_at_ms": item.peak_at_ms,
            **explained({"variable_bytes": item.variable_bytes}, "not every size is recorded"),
            "holders": [asdict(holder) for holder in item.holders[:MOST_HOLDERS]],
            "num_holders": len(item.holders),
        }
        for item in memory.devices
    ]
    known = {"step": memory.step, "source": memory.source, "devices": devices or None}
    return explained(known, memory.reason)


def _key_number(item: KeyNumber) -> Json:
    return {"key": item.key, "label": item.label, "text": item.text, "note": item.note}


def _environment(environment: Environment | None) -> Json:
    if environment is None:
        return explained(
            {"tensorflow": None, "devices": None, "host": None, "threads": None}, NEVER_STARTED
        )
    known = {
        "tensorflow": environment.tensorflow,
        "python": environment.python,
        "devices": msgspec.to_builtins(environment.devices),
        "host": _without_nulls(environment.host),
        "threads": msgspec.to_builtins(environment.threads),
    }
    if environment.gpus:
        known["gpus"] = [_without_nulls(gpu) for gpu in environment.gpus]
    return explained(known, NO_THREADS)


def _without_nulls(struct: msgspec.Struct) -> Json:
    return {k: v for k, v in msgspec.to_builtins(struct).items() if v is not None}


def _account(rows_of: Account) -> list[Json]:
    """What a row does not have, such as a line, is left out of its entry."""
    rows = [row_fields(rows_of, row) for row in rows_of.rows]
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def _steps(steps: StepTimes) -> Json:
    why = steps.why_no_time
    wall = {
        "median": steps.median_ms,
        "p10": steps.quantile_ms(0.1),
        "p90": steps.quantile_ms(0.9),
        "mean": float(steps.timed_ms.mean()) if steps.timed_ms.size else None,
    }
    synced = {} if steps.synced_ms is None else {"synced_mean": steps.synced_ms}
    rest = {
        "examples_per_second": steps.examples_per_second,
        "first_step_ms": steps.first_step_ms,
    }
    return {
        "count": steps.count,
        "warm_up": steps.num_warm_up,
        "timed": int(steps.timed.sum()),
        "wall_ms": explained(wall, why) | synced,
        **explained(rest, why_no_examples(steps)),
    }


def _tpu_check(profile: Profile, segment: SegmentOpened) -> Json:
    """What a real TPU would do with the step; None, with a reason, if that was not checked."""
    check = tpu_check(profile, segment)
    known = {
        "findings": msgspec.to_builtins(check.findings),
        "unchecked": check.unchecked,
        "num_ops": check.num_ops,
        "lookup_ms": check.lookup_ms,
        "lowering_ms": check.lowering_ms,
    }
    return explained({"tpu_check": None if check.reason else known}, check.reason)


def _core(core: Core) -> Json:
    """A core of a TPU; replicas of a single device have no such entries."""
    phases = {f"{name}_ms": core.phase_ms(name) for name in ("wall", *CATEGORIES)}
    return {
        "replica": core.replica,
        "core": core.core,
        "worker": core.worker,
        "device": core.device,
        "num_steps": core.split.num_steps if core.split else 0,
        **explained(phases, NO_CORE_STEP),
    }


def _collective(use: CollectiveUse) -> Json:
    known = asdict(use)
    busbw = {"busbw_gbps": known.pop("busbw_gbps")}
    return {**explained(known, UNKNOWN_USE), **explained(busbw, use.why_no_busbw)}


def _links(traffic: Links) -> Json:
    """Return the entry `links`: bytes per step between processes and over network interfaces.

    The entry is null, with its reason, if there is no link, as in a run of one process.
    """
    if not traffic.links:
        return explained({"links": None}, traffic.reason)
    document: Json = {
        "processes": {str(number): name for number, name in traffic.names.items()},
        "steps": traffic.num_steps,
        "pairs": [_link(link, traffic) for link in traffic.links],
        **explained({"derived_from": traffic.derived_from}, NO_SIZES),
        **explained({"overhead": traffic.overhead}, "no link has a measured and a derived size"),
        "interfaces": [
            {**asdict(use), "header_bytes": use.header_bytes, "overhead": use.overhead}
            for use in traffic.interfaces
        ],
    }
    return {"links": document}


def _link(link: Link, traffic: Links) -> Json:
    no_need = "a step has nothing to move over it" if traffic.derived_from else NO_SIZES
    measured = {"bytes": link.bytes, "packets": link.packets, "rtt_ms": link.rtt_ms}
    derived = {"derived_bytes": link.derived_bytes, "overhead": link.overhead}
    return {
        "from": link.from_worker,
        "to": link.to_worker,
        **explained(measured, traffic.reason or "neither end counted this link"),
        **explained(
            {"retransmitted_bytes": link.retransmitted_bytes}, "only counted by the sender"
        ),
        **explained(derived, no_need),
    }


def _epoch_ends(ends: EpochEnds) -> Json:
    """Ends of epochs that a step follows. Lengths are those of all of them together."""
    reason = "no end of an epoch of Keras's fit, followed by a step, was recorded"
    return {
        "count": ends.count,
        **explained(
            {
                "total_ms": ends.total_ms if ends.count else None,
                "median_ms": ends.median_ms,
                "validation_ms": ends.validation_ms if ends.count else None,
            },
            reason,
        ),
        **explained(
            {"callbacks_ms": ends.callbacks_ms},
            "the recorder is one of the callbacks, and does not see the others"
            if ends.count
            else reason,
        ),
    }


def _placement(placed: Placement) -> Json:
    ops = {item.device: item.num_ops for item in placed.devices if item.num_ops}
    variables = {item.device: item.num_variables for item in placed.devices if item.num_variables}
    if placed.reason:
        return explained({"ops": None, "variables": None}, placed.reason)
    return {"ops": ops, "variables": variables}


def _clock(clock: ClockAnswer) -> Json:
    document = asdict(clock)
    reason, check = document.pop("reason"), document.pop("check")
    known = {"check": check and asdict(check)}
    needed = "needs a known clock and steps shared with the reference worker"
    is_one = "it uses the reference's clock"
    return {**explained(document, reason or is_one), **explained(known, needed)}


def _capture(facts: Facts) -> Json:
    cost = facts.capture
    return {
        "windows": cost.num_windows,
        "steps": cost.num_steps,
        **explained({"overhead_ratio": cost.overhead_ratio}, cost.reason),
        **explained(
            {"unlike_others": sentence_if_unlike(facts.breakdown, facts.steps.median_ms)},
            "captured steps took about as long as the others, or there are no others",
        ),
        "errors": list(cost.errors),
    }


def _findings(facts: Facts, predict: Predict | None) -> list[Json]:
    return [_finding(item) for item in findings(facts, predict)]


def _finding(item: Finding) -> Json:
    document = asdict(item)
    del document["removal"], document["why_no_gain"]
    gain = asdict(item.gain) if item.gain else None
    change = asdict(item.change) | {"difference": item.change.difference} if item.change else None
    return {
        **document,
        **explained({"cost": asdict(item.cost) if item.cost else None}, NO_COST),
        **explained({"gain": gain}, item.why_no_gain or NO_GAIN),
        **explained({"change": change}, NO_CHANGE),
        **explained({"caused_by": item.caused_by}, NO_OTHER_CAUSE),
        "share": item.cost.share if item.cost else None,
        "cost_text": cost_text(item.cost),
    }


def _notes(profile: Profile, placed: Sequence[int]) -> list[Json]:
    """What the run noted itself, what the graphs of the segments `placed` lack, then what could
    not be read of it.

    Several workers may note the same.
    """
    noted = dict.fromkeys((note.level, note.message) for note in profile.events(Note))
    own = [{"level": level, "message": message} for level, message in noted]
    traced = filter(None, (first_trace_note(profile, segment) for segment in placed))
    own += [{"level": "info", "message": note} for note in traced]
    return own + [{"level": "warning", "message": note} for note in profile.notes]
