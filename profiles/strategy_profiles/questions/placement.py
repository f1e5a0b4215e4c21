"""On which device is each op and each variable, and what did a live change move?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from strategy_profiles.analysis.facts import Facts
from strategy_profiles.analysis.placement import NO_PLACEMENT, DevicePlacement, Placement
from strategy_profiles.analysis.placement import placement as placement_of
from strategy_profiles.analysis.placement_change import How, PlacementChange, placement_change
from strategy_profiles.analysis.retracing import first_trace_note
from strategy_profiles.answers.answer import Answer, Bold, Column, Missing, Part, Table, table
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import folded, short_names
from strategy_profiles.reporting.gpus import gpu_lines
from strategy_profiles.reporting.thread_pools import thread_pools
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.store import Profile

KEY = "placement"
MOVED = "What the reconfiguration moved"
_VARIABLES = (
    "A mirrored variable has one copy on every replica's device, and every update keeps the copies "
    "equal. A SyncOnRead variable is summed or averaged when it is read."
)
_MATCHED = (
    "Variables and ops of both segments, matched by name. Names are compared without the counters "
    "that TensorFlow appends, ops by their type as well."
)
_WAYS: dict[How, tuple[str, str]] = {
    "moved": ("moved", "moved"),
    "fewer copies": ("has fewer copies", "have fewer copies"),
    "more copies": ("has more copies", "have more copies"),
    "added": ("was added", "were added"),
    "gone": ("is gone", "are gone"),
}
"""What happened to a variable, and to several."""


def placement(profile: Profile, facts: Facts) -> Answer:
    """Return the answer for a segment."""
    segment = facts.segment
    placed = placement_of(profile, segment.segment)
    if placed.reason:
        when = (
            "when a segment traces its step for the first time"
            if profile.status.is_over
            else "when the first step is traced"
        )
        remedy = f"It is recorded {when}." if placed.reason == NO_PLACEMENT else ""
        return Answer(KEY, parts=(Missing(KEY, "Placement", placed.reason, remedy),))
    earlier = [item for item in profile.segments if item.segment < segment.segment]
    since = _since(profile, earlier[-1], segment) if earlier else ()
    note = first_trace_note(profile, segment.segment)
    return Answer(
        KEY,
        (*_sentence(placed, has_variables="variables" not in profile.unknown), *since),
        parts=(
            *_placed(profile, placed),
            *(moved(profile, earlier[-1], segment) if earlier else ()),
        ),
        notes=(note,) if note else (),
    )


def _sentence(placed: Placement, *, has_variables: bool) -> tuple[str, ...]:
    num_ops = sum(item.num_ops for item in placed.devices)
    devices = units.counted(sum(item.num_ops > 0 for item in placed.devices), "device")
    begin: tuple[str, ...] = (Bold(f"{num_ops:,}"), f" ops run on {devices}; ")
    if not num_ops:
        begin = ("The step's ops are not recorded; it has ",)
    if not has_variables:
        return *begin, "variables are not known."
    one_copy = [item.bytes_per_copy for item in placed.variables]
    known = one_copy and None not in one_copy
    of = f" of {units.size(sum(size or 0 for size in one_copy))}" if known else ""
    counted = Bold(f"{len(placed.variables):,}"), f" variables{of}"
    return *begin, *counted, _copies([len(item.devices) for item in placed.variables])


def _copies(counts: list[int]) -> str:
    most, copied = max(counts, default=0), sum(count > 1 for count in counts)
    if not counts:
        return "."
    if not copied:
        return ", each with one copy."
    if len(set(counts)) == 1:
        return f", each with a copy on {most} devices."
    return f", {copied:,} of them with a copy on up to {most} devices."


def _placed(profile: Profile, placed: Placement) -> Iterator[Table]:
    """A row per device, and one per variable with all its copies."""
    short = short_names(item.device for item in placed.devices)
    has_variables, environment = bool(placed.variables), profile.environment
    why = profile.unknown.get("variables", "no variable was recorded in this segment")
    facts = (
        *thread_pools(environment.threads if environment else None),
        *gpu_lines(environment.gpus if environment else ()),
    )
    environment_text = " ".join(f"{label}: {value}." for label, value in facts if value is not None)
    columns = (
        Column("device", "Device", "name", value=lambda item: short[item.device]),
        Column("num_ops", "Ops", "count"),
        Column("types", "Commonest op types", "names", is_detail=True, value=_types),
    )
    held = (
        Column("num_variables", "Variables", "count"),
        Column("variable_bytes", "Bytes of variables", "bytes"),
    )
    yield table(
        "placement_devices",
        "Each device",
        placed.devices,
        (*columns, *held) if has_variables else columns,
        notes=tuple(filter(None, ("" if has_variables else _sentence_of(why), environment_text))),
    )
    if has_variables:
        yield table(
            "placement_variables",
            "Variables",
            sorted(placed.variables, key=lambda item: (-(item.bytes_per_copy or 0.0), item.name)),
            (
                Column("name", "Variable", "name"),
                Column("kind", "Kind"),
                Column("bytes_per_copy", "Bytes of a copy", "bytes"),
                Column("copies", "Copies", "count", value=lambda item: len(item.devices)),
                Column("devices", "Devices", "names", value=lambda item: _on(item.devices)),
            ),
            definition=_VARIABLES,
            is_searched=True,
        )


def _sentence_of(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."


def _types(item: DevicePlacement) -> str:
    return ", ".join(f"{op} {count:,}" for op, count in item.top_ops)


def _on(devices: Iterable[str]) -> str:
    """The devices, several in a row as one."""
    names = list(devices)
    short = short_names(names)
    return ", ".join(folded(short[name] for name in names))


def _since(profile: Profile, before: SegmentOpened, segment: SegmentOpened) -> tuple[str, ...]:
    """What a change moved, in a sentence; nothing if it is not known."""
    change = placement_change(profile, before.segment, segment.segment)
    if change.reason:
        return ()
    ops = f"{units.counted(len(change.moved_ops), 'op')} changed device"
    if len(change.moved_ops) == 1:
        (move,) = change.moved_ops
        short = short_names((move.before, move.after))
        ops += f": {move.name} from {short[move.before]} to {short[move.after]}"
    return (f" Since segment {before.segment}, {_counted(change)}; {ops}.",)


def moved(profile: Profile, before: SegmentOpened, segment: SegmentOpened) -> tuple[Part, ...]:
    """Return what is on another device in a segment than in an earlier one of its run."""
    change = placement_change(profile, before.segment, segment.segment)
    if change.reason:
        return (Missing("placement_changes", MOVED, change.reason),)
    variables = (
        Column("how", "Change"),
        Column("name", "Variable", "name"),
        Column("before", "Was on", "names", value=lambda move: _on(move.before)),
        Column("after", "Is on", "names", value=lambda move: _on(move.after)),
    )
    said = f"From {before.title} to {segment.title}: {_counted(change)}."
    ops = short_names(name for move in change.moved_ops for name in (move.before, move.after))
    columns = (
        Column("name", "Op", "name"),
        Column("type", "Type"),
        Column("before", "Was on", value=lambda move: ops[move.before]),
        Column("after", "Is on", value=lambda move: ops[move.after]),
    )
    parts = [
        table("placement_changes", MOVED, change.variables, variables, empty=said, notes=(said,),
              definition=_MATCHED),
        table("placement_moved_ops", "Ops that changed device", change.moved_ops, columns,
              empty=_about_ops(change), notes=(_about_ops(change),)),
    ]  # fmt: skip
    if change.moved_ops or any(device.before != device.after for device in change.ops):
        parts.append(_op_counts(change))
    return tuple(parts)


def _op_counts(change: PlacementChange) -> Table:
    short = short_names(item.device for item in change.ops)
    columns = (
        Column("device", "Device", "name", value=lambda item: short[item.device]),
        Column("before", "Ops before", "count"),
        Column("after", "Ops after", "count"),
    )
    return table("placement_op_counts", "Ops of each device", change.ops, columns)


def _counted(change: PlacementChange) -> str:
    """`35 variables have fewer copies, 2 are gone; 3 stayed`."""
    counts = Counter(move.how for move in change.variables)
    words = [
        f"{counts[how]:,} {ways[counts[how] > 1]}" for how, ways in _WAYS.items() if counts[how]
    ]
    if not words:
        return "every variable stayed where it was"
    number, _, rest = ", ".join(words).partition(" ")
    noun = "variable" if number == "1" else "variables"
    return f"{number} {noun} {rest}; {change.num_same:,} stayed"


def _about_ops(change: PlacementChange) -> str:
    """Say how many ops changed device, stayed, and could not be matched."""
    num, same = len(change.moved_ops), change.num_same_ops
    if not num + same:
        return "No op of one segment could be matched with one of the other."
    text = f"{units.counted(num, 'op')} changed device" if num else "No op changed device"
    before, after = change.num_unmatched
    unmatched = (
        f" Not matched: {units.counted(before, 'op')} of segment {change.before} and {after:,} of "
        f"segment {change.after}, whose names are not equally frequent in both."
    )
    return f"{text}; {same:,} stayed.{unmatched if before or after else ''}"
