"""A captured step as it would be with an edit, on rows like those of the timeline.

The step is the replayed one of median length. Each op is placed where the replay with the edit
starts it, on the row that its measured span has, or on another free one. A track has no more rows
than its measured one: a replay starts many short ops at once, and those that find no free row share
the one that is free first. Of a collective the rows
show both parts: its wait for the last replica and its transfer. Tensors that move from device to
device have no rows, as on the timeline.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from strategy_profiles.capture.graph import RECEIVES
from strategy_profiles.errors import LabError
from strategy_profiles.reporting import units
from strategy_profiles.step_graph.graph import END, ENTER, HOST, StepGraph
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.layout import TRANSFER, WAIT, Timeline, since_origin
from strategy_replay.engine.edits import Edit
from strategy_replay.engine.replays import Replay, replays
from strategy_replay.engine.sentences import in_another_run
from strategy_replay.engine.simulate import Schedule
from strategy_replay.engine.what_if import WhatIf, edited_schedule, predict

MOST_NODES = 40_000
"""A step with more nodes is not drawn: it would be some 3 MB of JSON."""
_MOST_ROWS = 8
"""Of a track that the timeline does not have."""
_SHOWN_AS = {"collective": TRANSFER, HOST: "input"}


@dataclass(frozen=True, slots=True)
class PredictedTrack:
    """A replica's device and its predicted rows."""

    track: int | None
    """Its number among the measured tracks; None if none of them shows it."""
    replica: int | None
    device: str
    num_rows: int


@dataclass(frozen=True, slots=True)
class PredictedSpan:
    """An op of the step, in ns on the timeline."""

    row: int
    """Of the predicted rows, counted over all tracks."""
    start_ns: int
    duration_ns: int
    category: str
    op: str
    name: str
    measured_start_ns: int
    measured_duration_ns: int
    measured_row: int | None
    """Row of the measured span; None if none begins there."""
    span_start_ns: int
    """Start of the measured span: that of a transfer begins with the wait before it."""


@dataclass(frozen=True, slots=True)
class PredictedStep:
    """The rows of a step with an edit, and the prediction that they illustrate."""

    step: int
    start_ns: int
    """Start of the measured step, and of the predicted one."""
    measured_ns: int
    replayed_ns: int
    """Length of its replay without the edit."""
    predicted_ns: int
    """Length of its replay with the edit: the end of the rows."""
    prediction: WhatIf
    """About the steps of the segment."""
    tracks: tuple[PredictedTrack, ...]
    spans: tuple[PredictedSpan, ...]

    def as_columns(self) -> dict[str, Any]:
        """Return it for JSON: a list per column of the spans; texts once, by their number."""
        texts = {text: number for number, text in enumerate(self._texts())}
        columns: dict[str, list[Any]] = {
            each.name: [getattr(span, each.name) for span in self.spans]
            for each in fields(PredictedSpan)
        }
        for name in ("category", "op", "name"):
            columns[name] = [texts[text] for text in columns[name]]
        return {
            "step": self.step,
            "start_ns": self.start_ns,
            "measured_ns": self.measured_ns,
            "replayed_ns": self.replayed_ns,
            "predicted_ns": self.predicted_ns,
            "prediction": asdict(self.prediction),
            "title": units.listed(self.prediction.edits),
            "sentence": self.sentence,
            "tracks": [asdict(track) for track in self.tracks],
            "spans": columns,
            "texts": list(texts),
        }

    @property
    def sentence(self) -> str:
        """`predicted: without the injected delay, 25.0 ms instead of 55.3 ms (20 to 31 ms in
        another run)`."""
        prediction = self.prediction
        unsure = ", may change nothing" if prediction.is_within_error else ""
        return (
            f"predicted: {units.listed(prediction.edits)}, "
            f"{units.milliseconds(prediction.predicted_ms)} instead of "
            f"{units.milliseconds(prediction.measured_ms)} ({in_another_run(prediction)}{unsure})"
        )

    def _texts(self) -> dict[str, None]:
        return dict.fromkeys(
            text for span in self.spans for text in (span.category, span.op, span.name)
        )


@dataclass(frozen=True, slots=True)
class _Bar:
    """What is drawn for a node: its predicted and its measured times since the step's start."""

    node: int
    category: str
    start: float
    end: float
    measured_start: float
    measured_end: float
    span_start: float
    """Start of the measured span that it is a part of."""


def predicted_step(
    profile: Profile, timeline: Timeline, segment: int, edits: Sequence[Edit]
) -> PredictedStep:
    """Return the replayed step of median length with these edits.

    Raises LabError if the segment cannot be replayed or the step is too large to be drawn.
    """
    known = replays(profile, segment)
    replay = known.middle
    if len(replay.graph) > MOST_NODES:
        raise LabError(
            f"Step {replay.graph.step} has {len(replay.graph)} ops, and at most {MOST_NODES} are "
            "drawn as predicted"
        )
    prediction = predict(known, edits)
    schedule = edited_schedule(replay, edits)
    step = replay.graph.step
    begin = since_origin(profile, timeline, step, known.recording.bounds[step][0])
    tracks, spans = _lay_out(timeline, replay, schedule, begin)
    return PredictedStep(
        step=step,
        start_ns=begin,
        measured_ns=round(replay.graph.wall_ns),
        replayed_ns=round(replay.schedule.length_ns),
        predicted_ns=round(schedule.length_ns),
        prediction=prediction,
        tracks=tracks,
        spans=spans,
    )


def _lay_out(
    timeline: Timeline, replay: Replay, schedule: Schedule, begin: int
) -> tuple[tuple[PredictedTrack, ...], tuple[PredictedSpan, ...]]:
    nodes = replay.graph.nodes
    measured = _Measured(timeline, begin, begin + round(replay.graph.wall_ns))
    by_track: dict[tuple[int | None, int, str], list[_Bar]] = defaultdict(list)
    for bar in _bars(replay.graph, schedule):
        replica, device = int(nodes.replica[bar.node]), nodes.device[bar.node]
        number = measured.track_of(replica, device)
        if number is not None:
            known = timeline.tracks[number]
            replica, device = -1 if known.replica is None else known.replica, known.device
        by_track[number, replica, device].append(bar)
    tracks: list[PredictedTrack] = []
    spans: list[PredictedSpan] = []
    first_row = 0
    for (number, replica, device), bars in sorted(by_track.items(), key=_in_order):
        free_from: list[float] = []
        most = _MOST_ROWS if number is None else timeline.tracks[number].num_rows
        for bar in sorted(bars, key=lambda each: (each.start, each.end)):
            name, span_start = nodes.name[bar.node], begin + round(bar.span_start)
            row = measured.row_of(number, span_start, name)
            wished = 0 if row is None or number is None else row - timeline.tracks[number].first_row
            start = round(bar.start)
            length = max(round(bar.end) - start, 0)
            lane = _free_lane(free_from, wished, start, most)
            free_from[lane] = max(free_from[lane], start + length)
            measured_start = begin + round(bar.measured_start)
            spans.append(
                PredictedSpan(
                    first_row + lane,
                    begin + start,
                    length,
                    bar.category,
                    nodes.op[bar.node],
                    name,
                    measured_start,
                    max(begin + round(bar.measured_end) - measured_start, 0),
                    row,
                    span_start,
                )
            )
        tracks.append(
            PredictedTrack(number, None if replica < 0 else replica, device, len(free_from))
        )
        first_row += len(free_from)
    return tuple(tracks), tuple(spans)


def _bars(graph: StepGraph, schedule: Schedule) -> Iterator[_Bar]:
    """Yield what is drawn of each node: no bar for receives, entries and the step's end."""
    nodes = graph.nodes
    starts, ends = schedule.start_ns.tolist(), schedule.end_ns.tolist()
    measured_starts, measured_ends = nodes.start_ns.tolist(), nodes.end_ns.tolist()
    for at, category in enumerate(nodes.category):
        if category == ENTER or nodes.op[at] == END or nodes.op[at] in RECEIVES:
            continue
        times = starts[at], ends[at], measured_starts[at], measured_ends[at]
        begun = measured_starts[at]
        entry = _own_entry(graph, at) if category == "collective" else None
        if entry is not None:
            begun = measured_starts[entry]
            if starts[at] > starts[entry]:
                yield _Bar(at, WAIT, starts[entry], starts[at], begun, measured_starts[at], begun)
        yield _Bar(at, _SHOWN_AS.get(category, category), *times, begun)


def _own_entry(graph: StepGraph, leave: int) -> int | None:
    """Return the node with which the member of a collective entered it."""
    nodes = graph.nodes
    for at in graph.waits_for[leave]:
        if (
            nodes.category[at] == ENTER
            and nodes.replica[at] == nodes.replica[leave]
            and nodes.device[at] == nodes.device[leave]
        ):
            return at
    return None


def _in_order(item: tuple[tuple[int | None, int, str], list[_Bar]]) -> tuple[bool, int, int, str]:
    number, replica, device = item[0]
    return number is None, number or 0, replica, device


def _free_lane(free_from: list[float], wished: int, start: float, most: int) -> int:
    """Return the wished lane if it is free, else the lowest free one, else the one free first.

    Lanes are added as needed, up to `most`.
    """
    free_from += [float("-inf")] * (wished + 1 - len(free_from))
    if free_from[wished] <= start:
        return wished
    for lane, free in enumerate(free_from):
        if free <= start:
            return lane
    if len(free_from) < most:
        free_from.append(float("-inf"))
        return len(free_from) - 1
    return free_from.index(min(free_from))


class _Measured:
    """The tracks of a timeline, and the rows of a step's spans by their start and name."""

    def __init__(self, timeline: Timeline, from_ns: int, to_ns: int) -> None:
        self._tracks: dict[tuple[int, str], int] = {}
        self._rows: dict[tuple[int, int, str], int] = {}
        for number, track in enumerate(timeline.tracks):
            self._tracks.setdefault((-1, track.device), number)
            replica = -1 if track.replica is None else track.replica
            self._tracks[replica, track.device] = number
            if track.replica is None:
                self._tracks.setdefault((-1, ""), number)
            for row in track.rows:
                first, last = timeline.row_starts[row], timeline.row_starts[row + 1]
                starts = timeline.start[first:last]
                low, high = starts.searchsorted(from_ns), starts.searchsorted(to_ns, side="right")
                chosen = slice(first + low, first + high)
                names = timeline.name[chosen].tolist()
                for start, name in zip(timeline.start[chosen].tolist(), names, strict=True):
                    self._rows.setdefault((number, start, timeline.names[name]), row)

    def track_of(self, replica: int, device: str) -> int | None:
        return self._tracks.get((replica, device), self._tracks.get((-1, device)))

    def row_of(self, track: int | None, start_ns: int, name: str) -> int | None:
        return None if track is None else self._rows.get((track, start_ns, name))
