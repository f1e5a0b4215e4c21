"""What did the replicas send each other, on which link, how fast, and how much of it was hidden?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from strategy_profiles.analysis.breakdown import ReplicaBreakdown, StepBreakdown
from strategy_profiles.analysis.busiest_link import busiest_link, heaviest_source
from strategy_profiles.analysis.captured_steps import length_of_steps
from strategy_profiles.analysis.collective_calls import (
    CollectiveCall,
    ReplicaCall,
    collective_calls,
)
from strategy_profiles.analysis.communication import (
    NO_COLLECTIVE,
    CollectiveUse,
    Communication,
    Traffic,
)
from strategy_profiles.analysis.facts import Facts
from strategy_profiles.analysis.key_numbers import (
    busbw,
    calls_note,
    exposed,
    in_unlike_steps,
    made_number,
    traffic,
)
from strategy_profiles.analysis.no_capture import LOST
from strategy_profiles.analysis.overlap import Overlap
from strategy_profiles.analysis.retracing import first_trace_note
from strategy_profiles.analysis.sends import Send, sends
from strategy_profiles.answers.answer import (
    Alternatives,
    Answer,
    Bars,
    Bold,
    Column,
    KeyNumber,
    Matrix,
    Missing,
    Part,
    Table,
    table,
)
from strategy_profiles.questions.links import links_part
from strategy_profiles.reporting import units
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.tables.schema import ESTIMATED
from strategy_profiles.tables.store import Profile

KEY = "communication"
ONE = "One replica: nothing to communicate"
RUN_SEVERAL = "Run a strategy with several replicas, e.g. mirrored on cpu:4."
FORMULAS = ("traffic", "algbw", "busbw", "overlap", "exposed", "transfer_bytes", "ring_share")
AT_A_GLANCE = 6
_WAITING = "Wait and transfer per replica"
_ESTIMATE = (
    "Estimated: at the end of a capture the event of a replica is missing. That replica entered "
    "the collective before any other left it, which bounds where wait ends and transfer begins."
)
_OF_SOURCE: dict[str, tuple[str, Any, str]] = {
    "measured": (
        "Sends of the runtime",
        "measured",
        (
            "Measured: tensors that the runtime sent outside of collectives. Their sizes come from "
            "the traced graph, or from the copies of an imported profile."
        ),
    ),
    "ring model": (
        "Collectives, as a ring",
        "derived",
        (
            "Derived: what each device sends to its neighbour if every collective runs as a ring, "
            f"{DEFINITIONS['ring_share'].formula} ({DEFINITIONS['ring_share'].source})."
        ),
    ),
}
"""Title, source and note of a matrix, by the source of its traffic."""


def _instances(call: CollectiveCall) -> str | None:
    if call.instances is None:
        return None
    first, last = call.instances
    return str(first) if first == last else f"{first} to {last}"


_OP = Column("op", "Collective")
_GROUP = (
    Column("group_size", "Group", "count", "n: number of participating replicas."),
    Column("per_step", "Per step", "number"),
)
_BANDWIDTHS = (
    Column("algbw_gbps", "algbw", "gbps", "algbw"),
    Column("busbw_gbps", "busbw", "gbps", "busbw"),
    Column("source", "Time from", is_detail=True),
)
_SIZE_FROM = Column("bytes_source", "Size from", is_detail=True)
_CALLS = (
    _OP,
    Column("name", "Op in the graph", "name"),
    Column("place", "Call", "count", "Its place among the calls of this op in a step.", True),
    Column("instances", "Instances", "text", "The runtime's instance keys.", True, _instances),
    *_GROUP,
    Column("bytes", "Size", "bytes", "S: size of one call."),
    Column("wait_ms", "Wait", "ms", "wait"),
    Column("transfer_ms", "Transfer", "ms", "transfer"),
    *_BANDWIDTHS,
    _SIZE_FROM,
)
_KINDS = (
    _OP,
    *_GROUP,
    Column("bytes", "Size per step", "bytes", "traffic"),
    Column("call_wait_ms", "Wait per call", "ms", "wait"),
    Column("call_transfer_ms", "Transfer per call", "ms", "transfer"),
    *_BANDWIDTHS,
)
_OVERLAPS = (
    Column("replica", "Replica", "count"),
    Column(
        "communication_ms",
        "Communication",
        "ms",
        "Collectives, transfers and waits for tensors, whatever else runs; without the wait at the "
        "end of a call until the last device is done.",
    ),
    Column("overlap", "Overlap", "share", "overlap"),
)
_SENDS = (
    Column("tensor", "Tensor", "name"),
    Column("send_device", "From"),
    Column("recv_device", "To"),
    Column("bytes", "Size", "bytes"),
    Column("per_step", "Sends per step", "number"),
    Column("duration_ms", "Duration", "ms", "From the send of the tensor to its receipt."),
    _BANDWIDTHS[-1],
    _SIZE_FROM,
)


def communication(profile: Profile, facts: Facts) -> Answer:
    """Return the answer for a segment."""
    number = facts.segment.segment
    links = links_part(profile, facts.segment)
    if not facts.communication.num_steps:
        return _without_window(profile, facts, links)
    calls, sent = collective_calls(profile, number), sends(profile, number)
    if facts.segment.num_replicas == 1 and not calls and not sent:
        return Answer(KEY, parts=(_one_replica(profile),))
    note = first_trace_note(profile, number)
    captured = units.counted(facts.communication.num_steps, "captured step")
    return Answer(
        KEY,
        _sentence(facts, calls),
        _numbers(facts),
        (
            *_kinds(facts.communication.collectives, len(calls)),
            _collectives(facts, calls, profile.process_titles),
            _waiting(facts.breakdown, profile.process_titles),
            _matrices(facts.communication.traffic, facts.segment.replica_devices),
            _hidden(facts.overlaps),
            *links,
            _transfers(sent),
        ),
        (
            f"Computed from {captured} of this segment. Times of different clocks are never added.",
            *([note] if note else []),
            *length_of_steps(facts.breakdown, facts.steps.median_ms),
        ),
        FORMULAS,
    )


def _sentence(facts: Facts, calls: Sequence[CollectiveCall]) -> tuple[str, ...]:
    """What a step communicates."""
    if not calls and facts.is_imported:
        why = facts.communication.why_no_bytes or NO_COLLECTIVE
        moving = _shares(facts) if facts.breakdown.mean_ms("transfer") else ()
        return (f"{why[0].upper()}{why[1:]}", *moving, ".")
    if not calls:
        return ("A step contains no collective: nothing is reduced across replicas.",)
    per_step, moved = sum(call.per_step for call in calls), facts.communication.collective_bytes
    kinds = ", ".join(dict.fromkeys(call.op for call in calls))
    times = "1 collective" if round(per_step) == 1 else f"{per_step:.3g} collectives"
    return (
        "A step moves ",
        Bold(units.size(moved)) if moved is not None else "an unknown size",
        f" in {times} ({kinds})",
        *_shares(facts),
        ".",
    )


def _shares(facts: Facts) -> tuple[str, ...]:
    wall, wait, transfer = map(facts.breakdown.mean_ms, ("wall", "wait", "transfer"))
    if not wall or transfer is None:
        return ()
    moving = ": ", Bold(units.share(transfer / wall)), " of the step is transfer"
    if facts.lacks_ranks:
        return *moving, ", or waiting for ranks that the profile has not"
    if wait is None:
        return ()
    return *moving, ", ", Bold(units.share(wait / wall)), " waiting for the last replica"


def _numbers(facts: Facts) -> tuple[KeyNumber, ...]:
    measured = facts.communication
    main, in_steps = measured.main, in_unlike_steps(facts)
    algbw, note = main.algbw_gbps if main else None, f"{calls_note(main)}{in_steps}"
    known = [item.overlap for item in facts.overlaps if item.overlap is not None]
    hidden, sent = sum(known) / len(known) if known else None, measured.transfer_bytes
    nothing = "nothing was communicated"
    return (
        exposed(facts),
        traffic(measured),
        _busiest(measured.traffic),
        made_number("algbw", algbw, units.bandwidth(algbw), note, measured.why_no_busbw, "derived"),
        busbw(measured, in_steps),
        made_number("overlap", hidden, units.share(hidden), "", nothing, "derived"),
        made_number(
            "transfer_bytes",
            sent,
            units.size(sent),
            "per step",
            measured.why_no_transfers,
            "derived",
        ),
    )


def _busiest(pairs: Sequence[Traffic]) -> KeyNumber:
    """On which link do most bytes go?"""
    source = heaviest_source(pairs)
    most = busiest_link(pairs, source) if source else None
    if most is None:
        why = "no bytes between devices are known"
        return made_number("busiest_link", None, units.MISSING, "", why)
    note = f"{_ends(most.send_device, most.recv_device)}, per step{_as_many(most.num_equal)}"
    return made_number("busiest_link", most.bytes, units.size(most.bytes), note, "", "derived")


def _ends(send: str, recv: str) -> str:
    short = short_names((send, recv))
    return f"{short[send]} to {short[recv]}"


def _as_many(num_equal: int) -> str:
    return f"; as many on {units.counted(num_equal, 'other link')}" if num_equal else ""


def _kinds(uses: Sequence[CollectiveUse], num_calls: int) -> Iterator[Table]:
    """Collectives by kind, if they are too many to be seen at a glance."""
    if num_calls > AT_A_GLANCE:
        yield table("kinds", "Collectives by kind", uses, _KINDS, source="measured")


def _collectives(facts: Facts, calls: Sequence[CollectiveCall], titles: Mapping[int, str]) -> Table:
    """Every collective op of the graph, the largest traffic first."""
    is_estimated = any(ESTIMATED in (call.source or "") for call in calls)
    whose = whose_times(calls, facts.segment.num_replicas)
    bandwidths = DEFINITIONS["algbw"], DEFINITIONS["busbw"]
    formulas = "; ".join(item.formula for item in bandwidths)
    return table(
        "collectives",
        "Collectives",
        calls,
        _CALLS,
        empty="No collective in the captured steps: nothing was reduced across replicas.",
        definition="traffic",
        source="measured",
        notes=(
            *filter(None, (whose, _ESTIMATE if is_estimated else "")),
            f"{formulas} ({bandwidths[1].source}). n is the group size; 1 GB is 10^9 bytes.",
        ),
        details=tuple(
            _bars(call.replicas, facts.breakdown, titles, "ms per call", _call_text(call))
            for call in calls
        ),
    )


def _call_text(call: CollectiveCall) -> str:
    return f"{call.op} {call.place}, {call.name}."


def whose_times(calls: Sequence[CollectiveCall], num_replicas: int) -> str:
    """Whose times the table has; empty if it has those of all members of each collective.

    A member that is no replica, such as a pod's coordinator, has no times of its own.
    """
    numbers = sorted({part.replica for call in calls for part in call.replicas})
    members = [(min(call.group_size or 0, num_replicas), len(call.replicas)) for call in calls]
    if not numbers or all(size <= num_known for size, num_known in members):
        return ""
    which = "replica" if len(numbers) == 1 else "replicas"
    return (
        f"Wait, transfer and bandwidths are those of {which} "
        f"{units.listed([*map(str, numbers)])}: the processes of the others recorded no ops."
    )


def _waiting(breakdown: StepBreakdown, titles: Mapping[int, str]) -> Part:
    """Who waits and how long tensors move, in the whole step.

    It is the breakdown's: collectives that run side by side are never summed.
    """
    replicas = breakdown.replicas
    if all(each.wait_ms is None for each in replicas):
        return Missing("waiting", _WAITING, "not recorded per replica")
    return _bars(replicas, breakdown, titles, "ms per step")


def _bars(
    parts: Sequence[ReplicaCall | ReplicaBreakdown],
    breakdown: StepBreakdown,
    titles: Mapping[int, str],
    unit: str,
    note: str = "",
) -> Bars:
    lengths = {
        "wait": tuple(part.wait_ms for part in parts),
        "transfer": tuple(part.transfer_ms for part in parts),
    }
    if not any(map(any, lengths.values())):
        note = f"{note} No replica waits in a collective, and none moves a tensor.".strip()
    names = tuple(_names(parts, breakdown, titles))
    notes = (note,) if note else ()
    return Bars(
        "waiting",
        _WAITING,
        names,
        lengths,
        unit,
        definition="wait",
        notes=notes,
        is_detail=True,  # the breakdown of the step has both
    )


def _names(
    parts: Sequence[ReplicaCall | ReplicaBreakdown],
    breakdown: StepBreakdown,
    titles: Mapping[int, str],
) -> list[str]:
    """`replica 1`, or `worker 1 / replica 1` where they are in several processes."""
    worker = {known.replica: known.worker for known in breakdown.replicas}
    names = [f"replica {part.replica}" for part in parts]
    if len(set(worker.values())) < 2:
        return names
    process = {each: titles.get(number, f"worker {number}") for each, number in worker.items()}
    return [
        f"{process[part.replica]} / {name}" if part.replica in process else name
        for part, name in zip(parts, names, strict=True)
    ]


def _matrices(pairs: Sequence[Traffic], devices: Sequence[str]) -> Part:
    """Bytes between every two devices: the source with most bytes first."""
    title = "From device to device"
    heavy = heaviest_source(pairs)
    sources = sorted({item.source for item in pairs}, key=lambda source: source != heavy)
    if not sources:
        nothing = "outside of collectives, no tensor that one device sent to another was recorded"
        return Missing("traffic", title, nothing)
    options = [
        _matrix(source, [each for each in pairs if each.source == source], devices)
        for source in sources
    ]
    return Alternatives("traffic", title, tuple(options), definition="transfer_bytes")


def _matrix(source: str, pairs: Sequence[Traffic], devices: Sequence[str]) -> Matrix:
    ends = sorted({end for item in pairs for end in (item.send_device, item.recv_device)})
    names = list(dict.fromkeys([*devices, *ends]))
    short, sent = short_names(names), {(item.send_device, item.recv_device): item for item in pairs}
    title, made_by, note = _OF_SOURCE[source]
    return Matrix(
        source,
        title,
        tuple(short[name] for name in names),
        tuple(
            tuple(item.bytes if (item := sent.get((send, recv))) else None for recv in names)
            for send in names
        ),
        made_by,
        notes=tuple(filter(None, (_fullest(pairs, source), note))),
    )


def _fullest(pairs: Sequence[Traffic], source: str) -> str:
    """The pair with most bytes, and how many are of unknown size."""
    num_unknown, said = sum(item.bytes is None for item in pairs), ""
    if most := busiest_link(pairs, source):
        ends = _ends(most.send_device, most.recv_device)
        said = f"Most bytes per step: {ends}, {units.size(most.bytes)}{_as_many(most.num_equal)}. "
    if num_unknown:
        said += f"The sizes of what {units.counted(num_unknown, 'pair')} sent are not known."
    return said.rstrip()


def _hidden(overlaps: Sequence[Overlap]) -> Table:
    """How much of each replica's communication overlaps with its own compute."""
    return table(
        "overlap",
        "Communication behind compute",
        overlaps,
        _OVERLAPS,
        empty="No span of communication is known.",
        definition="overlap",
        source="measured",
        notes=("Means of a captured step.",),
    )


def _transfers(transfers: Sequence[Send]) -> Table:
    """Every tensor sent between devices: what, how large, from where to where, how long."""
    short = short_names(name for item in transfers for name in (item.send_device, item.recv_device))
    return table(
        "sends",
        "Transfers",
        [
            replace(item, send_device=short[item.send_device], recv_device=short[item.recv_device])
            for item in transfers
        ],
        _SENDS,
        empty="The runtime sent no tensor from one device to another in the captured steps.",
        definition="transfer_bytes",
        source="measured",
        is_searched=True,
    )


def _without_window(profile: Profile, facts: Facts, links: Sequence[Part]) -> Answer:
    """Timestamps say who waited; sizes and bandwidths need a capture."""
    if facts.segment.num_replicas == 1:
        return Answer(KEY, parts=(_one_replica(profile),))
    wall, wait, transfer = map(facts.breakdown.mean_ms, ("wall", "wait", "transfer"))
    sentence: tuple[str, ...] = ("What a step communicates is not known.",)
    if wall and wait is not None:
        moving = (" and ", Bold(units.share(transfer / wall)), " transfer") if transfer else ()
        waiting = Bold(units.share(wait / wall))
        end = ". How many bytes move is known of captured steps only."
        sentence = "Of a step, ", waiting, " is waiting for the last replica", *moving, end
    parts: list[Part] = []
    if facts.breakdown.source is not None:
        parts.append(_waiting(facts.breakdown, profile.process_titles))
    return Answer(KEY, sentence, parts=(*parts, *links, _no_capture(profile, facts.communication)))


def _no_capture(profile: Profile, measured: Communication) -> Missing:
    if measured.reason == LOST:
        return Missing("collectives", "Collectives", LOST, "Record the run again.")
    return Missing(
        "collectives",
        "Collectives",
        measured.reason or "not captured",
        "Record a longer run, or capture every step (under Capture of a new run; "
        "--set capture.every_step=true): bytes, bandwidths and transfers come from capture windows."
        if profile.status.is_over
        else "The first capture window has not been recorded yet.",
    )


def _one_replica(profile: Profile) -> Missing:
    if profile.is_imported:
        why = profile.unknown.get("collectives", NO_COLLECTIVE)
        return Missing("collectives", "", why, "Import a profile of several devices.")
    return Missing("collectives", "", ONE, RUN_SEVERAL, needs_new_run=True)
