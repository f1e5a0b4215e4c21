"""TPU cores: what does each do in a step, what do they exchange, and what fell back to one?"""

from __future__ import annotations

from collections.abc import Mapping
from operator import methodcaller
from typing import TYPE_CHECKING

from strategy_profiles.added_questions import Question
from strategy_profiles.analysis.breakdown import shown_phases
from strategy_profiles.analysis.captured_steps import length_of_steps
from strategy_profiles.analysis.cores import Cores
from strategy_profiles.analysis.cores import cores as cores_of
from strategy_profiles.answers.answer import (
    Answer,
    Bars,
    Bold,
    Column,
    Missing,
    Part,
    Table,
    table,
)
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.reporting.palette import phase_name
from strategy_profiles.run.event_parts import CoreTraffic
from strategy_profiles.run.events import CoresExpanded, SegmentOpened
from strategy_tpu.shown.mesh_links import AXES, MeshLinks, mesh_links

if TYPE_CHECKING:
    from strategy_profiles.analysis.facts import Facts
    from strategy_profiles.tables.store import Profile

KEY = "cores"
_TIMES = "Step time of each core"
_AXIS_NAMES = ("x", "y", "z", "cores of a chip")
_CORE = (
    Column("replica", "Replica", "count"),
    Column("core", "Core", "count"),
    Column("place", "On the mesh", value=lambda core: core.coordinates and str(core.coordinates)),
)
_MOVED = (
    Column("sent_bytes", "Sent", "bytes"),
    Column("received_bytes", "Received", "bytes"),
)
_BETWEEN = (
    Column("op", "Communication"),
    Column("group_size", "Cores", "count"),
    Column("count", "Per step", "count"),
    Column("bytes", "Bytes of each core", "bytes"),
    Column("moved_bytes", "Bytes moved, all cores", "bytes"),
)
_FALLBACKS = (
    Column("op", "Op type", "name"),
    Column("count", "Ops", "count"),
    Column("bytes", "Bytes gathered", "bytes"),
    Column("reason", "Why", "names"),
    Column("names", "Names", "names", is_detail=True, value=lambda item: ", ".join(item.names)),
)


def cores(profile: Profile, facts: Facts) -> Answer:
    """Return the answer for a segment."""
    segment = facts.segment
    measured = cores_of(profile, segment)
    if measured.reason and profile.is_imported:
        remedy = "Why and Timeline show each core as a replica."
        return Answer(KEY, parts=(Missing(KEY, "", _capital(measured.reason), remedy),))
    if measured.reason:
        remedy = "Choose TPUStrategy for a new run: virtual devices emulate a TPU's cores."
        missing = Missing(KEY, "", _capital(measured.reason), remedy, needs_new_run=True)
        return Answer(KEY, parts=(missing,))
    on_mesh = _axes(mesh_links(profile, segment, measured)) if measured.expansion else ()
    return Answer(
        KEY,
        _sentence(measured, segment),
        parts=(
            *on_mesh,
            _times(measured, facts),
            _cores(measured),
            _between(measured),
            _gathered(measured),
        ),
    )


def _capital(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}"


def _sentence(measured: Cores, segment: SegmentOpened) -> tuple[str, ...]:
    """What ran where, and whether all of it was partitioned."""
    per_replica = len(segment.core_devices[0]) if segment.core_devices else 1
    cores_each = " core." if per_replica == 1 else " cores."
    said = Bold(str(segment.num_replicas)), " replicas of ", Bold(str(per_replica)), cores_each
    if measured.expansion is None:
        return *said, " How the program is spread over them is known after its first step."
    moving = _moved(measured, measured.expansion)
    if per_replica == 1:
        return *said, *moving
    num_back = sum(item.count for item in measured.fallbacks)
    back: tuple[str, ...] = ("and none fell back to core 0.",)
    if num_back:
        back = Bold(f"{num_back:,}"), " could not be split and were gathered to core 0."
    num_split = Bold(f"{sum(measured.expansion.partitioned.values()):,}")
    return *said, *moving, " ", num_split, " ops were split over cores, ", *back


def _moved(measured: Cores, expansion: CoresExpanded) -> tuple[str, ...]:
    """What moves between the cores: in captured steps, or in the program before TensorFlow's
    optimizer has removed what no result needs."""
    if measured.sent_between_bytes is not None:
        return " A step moves ", Bold(units.size(measured.sent_between_bytes)), " between cores."
    is_partial = any(item.moved_bytes is None for item in expansion.collectives)
    least = " The traced step moves at least " if is_partial else " The traced step moves "
    return least, Bold(units.size(sum(expansion.moved_bytes.values()))), " between cores."


def _axes(mesh: MeshLinks) -> tuple[Part, ...]:
    """What the links of each axis of the mesh carry."""
    title = "Bytes over the links of the mesh"
    if mesh.reason:
        return (Missing("mesh_axes", title, mesh.reason),)
    of_axis: Mapping[int, list[float]] = {
        axis: [link.bytes for link in mesh.of_axis(axis)] for axis in range(len(AXES))
    }
    columns = (
        Column("axis", "Axis", value=_AXIS_NAMES.__getitem__),
        Column("links", "Links", "count", value=lambda axis: len(of_axis[axis])),
        Column("bytes", "All links, per step", "bytes", value=lambda axis: sum(of_axis[axis])),
        Column("most", "Busiest, per step", "bytes", value=lambda axis: max(of_axis[axis])),
    )
    sends = units.counted(mesh.num_unsized, "send")
    unsized = f" {sends} of unknown size not counted." if mesh.num_unsized else ""
    note = (
        "The emulated cores' sends in captured steps, both directions together, each routed along "
        "x, then y, z and the chip's cores: an axis carries sum(bytes * distance). A real TPU has "
        f"rings and wrap-around links, so its links carry other amounts.{unsized}"
    )
    known = [axis for axis, links in of_axis.items() if links]
    return (table("mesh_axes", title, known, columns, source="derived", notes=(note,)),)


def _times(measured: Cores, facts: Facts) -> Part:
    """How each core's mean captured step divides into phases."""
    timed = [(item, item.split) for item in measured.cores if item.split]
    if not timed:
        return Missing("core_times", _TIMES, "the segment has no captured step yet")
    num_steps = max(split.num_steps for _, split in timed)
    return Bars(
        "core_times",
        _TIMES,
        tuple(f"replica {item.replica}, core {item.core}" for item, _ in timed),
        {
            phase: tuple(split.phase_ms(phase) for _, split in timed)
            for phase in shown_phases(measured.cores)
        },
        "ms per step",
        "Core",
        tuple(split.wall_ms for _, split in timed),
        notes=(
            f"Measured: means over {num_steps} captured steps, from each core's op spans.",
            "A core waits while a tensor that it needs has not been sent.",
            "A replica computes while any of its cores does.",
            *length_of_steps(facts.breakdown, facts.steps.median_ms),
        ),
    )


def _cores(measured: Cores) -> Table:
    """A row per core; narrow places have its phases in the chart alone."""
    short = short_names(item.device for item in measured.cores)
    phases = (
        Column(
            phase,
            phase_name(phase).capitalize(),
            "ms",
            phase,
            True,
            methodcaller("phase_ms", phase),
        )
        for phase in shown_phases(measured.cores)
    )
    device = Column("device", "Device", "name", value=lambda core: short[core.device])
    ops = Column("num_ops", "Ops", "count")
    steps = units.counted(measured.num_steps, "captured step")
    note = (
        f"Of a step. Bytes are derived from the sends of {steps} and their sizes in the graph."
        if measured.num_steps
        else "Times and bytes need a captured step; this segment has none yet."
    )
    columns = (*_CORE, device, ops, *phases, *_MOVED)
    return table("cores", "Every core", measured.cores, columns, source="measured", notes=(note,))


def _between(measured: Cores) -> Table:
    """What the cores exchange in a step, by kind."""
    rows = measured.expansion.collectives if measured.expansion else []
    note = (
        "Derived from the traced graph. TensorFlow's optimizer removes what no result needs, so "
        "captured steps may send less. A size known only when the step runs is missing."
    )
    return table(
        "core_collectives",
        "Between cores",
        sorted(rows, key=_moved_bytes, reverse=True),
        _BETWEEN,
        empty="The cores of this program exchange nothing.",
        source="derived",
        notes=(note,),
    )


def _moved_bytes(row: CoreTraffic) -> float:
    return -1 if row.moved_bytes is None else row.moved_bytes


def _gathered(measured: Cores) -> Table:
    """Every op that could not be partitioned: correct, but on one core."""
    return table(
        "core_fallbacks",
        "Gathered to core 0",
        measured.fallbacks,
        _FALLBACKS,
        empty="No op with split operands had to be gathered.",
    )


def has_cores(segment: SegmentOpened) -> bool:
    """Whether a segment ran on TPU cores, real or emulated."""
    return bool(segment.core_devices)


def _has_groups(segment: SegmentOpened) -> bool:
    """Whether cores differ from replicas, whose table a summary has anyway."""
    return any(len(devices) > 1 for devices in segment.core_devices or ())


QUESTION = Question("TPU cores", cores, fits=has_cores, fits_summary=_has_groups)
