"""What is drawn for each replica: captured steps, ops as the timeline lays them out, transfers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from strategy_chrome.slices import Flow, Row, Slice, in_sequence
from strategy_chrome.tracks import Owner, Track, Tracks
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.lanes import assign_lanes
from strategy_profiles.timeline.layout import Timeline
from strategy_profiles.timeline.one_clock import table_on_one_clock

_STEPS, _OPS, _SENDS, _RECEIVES = range(4)
"""The order of a replica's tracks."""
_PHASES = ("wall_ms", *(f"{phase}_ms" for phase in CATEGORIES), "source")
_TRANSFER_ARGS = (
    "step",
    "tensor",
    "bytes",
    "send_device",
    "recv_device",
    "duration_ms",
    "source",
    "bytes_source",
)


def captured_steps(profile: Profile, tracks: Tracks, origin_ns: int) -> Iterator[Slice]:
    """Yield each replica's captured steps, with their phases."""
    slices: dict[Track, list[Slice]] = defaultdict(list)
    for row in table_on_one_clock(profile, "replica_steps").to_pylist():
        owner = Owner(row["worker"], row["replica"])
        track = tracks.of_replica(owner, "captured steps", _STEPS)
        start_ns, end_ns = _interval(row, row["wall_ms"], origin_ns)
        args = {name: row[name] for name in _PHASES}
        slices[track].append(Slice(track, f"step {row['step']}", "step", start_ns, end_ns, args))
    for own in slices.values():
        yield from in_sequence(own)


def tracks_of_rows(timeline: Timeline, tracks: Tracks) -> list[Track]:
    """Return the track of each row of the timeline."""
    short = short_names(track.device for track in timeline.tracks)
    return [
        tracks.of_replica(
            Owner(track.worker, track.replica),
            _lane_name(f"ops of {short[track.device] or 'no device'}", row - track.first_row),
            _OPS,
            row,
        )
        for track in timeline.tracks
        for row in track.rows
    ]


def ops(timeline: Timeline, rows: Sequence[Track], later_ns: int) -> Iterator[Slice]:
    """Yield the timeline's spans; its times are counted from `later_ns` after the run's start."""
    for track in timeline.tracks:
        about = {"device": track.device or None, "clock": track.clock or None}
        for row in track.rows:
            spans = np.arange(timeline.row_starts[row], timeline.row_starts[row + 1])
            columns = (timeline.start, timeline.end, timeline.step, timeline.name, timeline.op)
            values = [column[spans].tolist() for column in (*columns, timeline.category)]
            threads = timeline.threads(spans).tolist()
            for start, end, step, name, op, category, thread in zip(*values, threads, strict=True):
                yield Slice(
                    rows[row],
                    timeline.names[name] or timeline.ops[op] or "?",
                    timeline.categories[category] or "other",
                    start + later_ns,
                    end + later_ns,
                    {
                        "step": step if step >= 0 else None,
                        "op": timeline.ops[op] or None,
                        **about,
                        "thread": thread if thread != -1 else None,
                    },
                )


def collective_flows(timeline: Timeline, rows: Sequence[Track], later_ns: int) -> Iterator[Flow]:
    """Yield arrows from the rank of a collective that starts last to the others, which wait.

    Of ranks that start together, the first is taken for the last one.
    """
    group, start = timeline.links["group"], timeline.links["start"]
    order = np.lexsort((-np.arange(len(start)), start, group))
    # Of a collective derived from its sends, the sends are the arrows.
    order = order[timeline.links["is_derived"][order] == 0]
    for ranks in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        starts = zip(timeline.links["row"][ranks].tolist(), start[ranks].tolist(), strict=True)
        spans = [(row, timeline.span_at(row, at_ns)) for row, at_ns in starts]
        known = [(row, span) for row, span in spans if span is not None]
        for row, span in known[:-1]:
            last_row, last = known[-1]
            if timeline.end[span] > timeline.start[last]:
                at_ns = int(timeline.start[last]) + later_ns
                name = timeline.names[timeline.name[last]]
                yield Flow(name, rows[last_row], at_ns, rows[row], at_ns)


def transfers(
    profile: Profile, tracks: Tracks, origin_ns: int
) -> Iterator[tuple[Slice, Slice, Flow]]:
    """Yield send, receive and the arrow between them of every transfer whose start is known."""
    rows = table_on_one_clock(profile, "transfers").to_pylist()
    rows = sorted(
        (row for row in rows if row["start_ns"] is not None), key=lambda row: int(row["start_ns"])
    )
    times = [_interval(row, row["duration_ms"], origin_ns) for row in rows]
    sends = _lanes(rows, times, tracks, "send_device", "sends", _SENDS)
    receives = _lanes(rows, times, tracks, "recv_device", "receives", _RECEIVES)
    for row, (start, end), source, target in zip(rows, times, sends, receives, strict=True):
        name = row["tensor"] or "transfer"
        args = {key: row[key] for key in _TRANSFER_ARGS}
        send = Slice(source, name, "transfer", start, end, args)
        receive = replace(send, track=target)
        # The end of a slice is not part of it.
        yield send, receive, Flow(name, source, start, target, max(start, end - 1))


def _lanes(
    rows: Sequence[Row],
    times: Sequence[tuple[int, int]],
    tracks: Tracks,
    device: str,
    title: str,
    order: int,
) -> list[Track]:
    """Return the track of each transfer: as few lanes as avoid overlap, per owner of its device."""
    transfers_of: dict[Owner, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        owner = tracks.owner(row["segment"], row[device], row["worker"])
        transfers_of[owner].append(index)
    track_of: dict[int, Track] = {}
    for owner, indices in transfers_of.items():
        starts, ends = np.array([times[index] for index in indices], np.int64).T
        for index, lane in zip(indices, assign_lanes(starts, ends).tolist(), strict=True):
            track_of[index] = tracks.of_replica(owner, _lane_name(title, lane), order, lane)
    return [track_of[index] for index in range(len(rows))]


def _interval(row: Row, length_ms: float | None, origin_ns: int) -> tuple[int, int]:
    start_ns = row["start_ns"] - origin_ns
    return start_ns, start_ns + round((length_ms or 0) * 1e6)


def _lane_name(title: str, lane: int) -> str:
    return f"{title}, lane {lane + 1}" if lane else title
