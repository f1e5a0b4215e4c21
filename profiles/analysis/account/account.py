"""Where did the time of the loop go? Each millisecond is in one row.

    program = before training + loop + after it
    loop    = first step + steps + between steps
    steps   = tracing + phases of the replicas, or what the samples say without captures
    compute = ops by layer and type

Steps and gaps are measured. The phases are those of the typical captured steps, scaled to all. What
happens between steps, and in the first one, is sampled (`regions`). Without samples, as in runs of
earlier versions, it is the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from strategy_lab.profiles.analysis.account.op_time import op_times
from strategy_lab.profiles.analysis.account.regions import Regions, regions, split
from strategy_lab.profiles.analysis.account.row import Row
from strategy_lab.profiles.analysis.breakdown import StepBreakdown, step_breakdown
from strategy_lab.profiles.analysis.steps import StepTimes, step_times
from strategy_lab.profiles.run.event_parts import StackPlace
from strategy_lab.profiles.run.layout import worker_folders
from strategy_lab.profiles.run.stacks import NO_STACKS, Stacks, read_stacks
from strategy_lab.profiles.tables.schema import CATEGORIES

if TYPE_CHECKING:
    from strategy_lab.profiles.run.events import SegmentOpened
    from strategy_lab.profiles.tables.store import Profile

MOST_LINES = 6
"""Lines of the program that a kind of row is divided by; the others are one row."""
MOST_OPS = 10
SMALLEST = 0.002
"""Share of the loop below which a line or an op has no row of its own."""
_OWN = frozenset({"op", "call", "python"})


@dataclass(frozen=True)
class Account:
    """The rows of a segment; empty without a step."""

    segment: int
    num_steps: int
    rows: tuple[Row, ...]

    def row(self, path: str) -> Row | None:
        return next((row for row in self.rows if row.row == path), None)

    def children(self, path: str) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.parent == path)

    @property
    def loop_ms(self) -> float | None:
        loop = self.row("loop")
        return loop.total_ms if loop else None

    def share(self, row: Row) -> float:
        """Share of the loop; of a row outside of it, relative to the loop."""
        loop_ms = self.loop_ms
        return row.total_ms / loop_ms if loop_ms else 0.0

    def ms_per_step(self, row: Row) -> float:
        return row.total_ms / self.num_steps

    @property
    def leaves(self) -> tuple[Row, ...]:
        parents = {row.parent for row in self.rows}
        return tuple(row for row in self.rows if row.row not in parents)


def account(profile: Profile, segment: SegmentOpened) -> Account:
    """Divide the time of the lowest worker's loop, as `steps` are its."""
    return profile.once(("account", segment.segment), lambda: _account(profile, segment))


def _account(profile: Profile, segment: SegmentOpened) -> Account:
    steps = step_times(profile, segment.segment)
    found = regions(steps, _stacks(profile))
    if found is None:
        return Account(segment.segment, 0, ())
    breakdown = step_breakdown(profile, segment)
    rows = [Row("loop", "loop", found.loop_ms, "measured")]
    if len(profile.segments) == 1:
        rows += _outside(found)
    rows.append(Row("loop/first", "first", found.first_ms, "measured"))
    rows += _sampled("loop/first", found, found.is_first, found.first_ms, is_step=True)
    rows.append(Row("loop/steps", "steps", found.steps_ms, "measured"))
    rows += _steps(profile, segment.segment, steps, breakdown, found)
    rows.append(Row("loop/between", "between", found.between_ms, "measured"))
    rows += _sampled("loop/between", found, found.is_between, found.between_ms)
    return Account(segment.segment, steps.count, tuple(rows))


def _stacks(profile: Profile) -> Stacks:
    folders = list(worker_folders(profile.path)) if profile.path.is_dir() else []
    lowest = min((folder.worker for folder in folders), default=0)
    found = [read_stacks(folder) for folder in folders if folder.worker == lowest]
    known = [stacks for stacks in found if stacks.count]
    return known[-1] if known else NO_STACKS


def _outside(found: Regions) -> Iterator[Row]:
    if found.program_ms is not None:
        yield Row("program", "program", found.program_ms, "measured")
    if found.before_ms is not None:
        yield Row("program/before", "before", found.before_ms, "measured")
    if found.after_ms is not None:
        yield Row("program/after", "after", found.after_ms, "measured")


# -- sampled parts


def _sampled(
    parent: str, found: Regions, chosen: np.ndarray, total_ms: float, *, is_step: bool = False
) -> Iterator[Row]:
    """Rows of a part of the loop, by kind, then by line."""
    parts = split(found.stacks, chosen, total_ms)
    if not parts:
        if total_ms > 0:
            yield Row(f"{parent}/rest", "rest", total_ms, "rest")
        return
    starts = _starting_lines(found.stacks.places)
    kinds: dict[tuple[str, str], list[tuple[StackPlace, float, int]]] = defaultdict(list)
    for place, ms, count in parts:
        kinds[_kind(place, starts, is_step=is_step)].append((place, ms, count))
    for (kind, name), members in sorted(kinds.items(), key=lambda item: -_sum(item[1])):
        path = f"{parent}/{kind}:{name}" if name else f"{parent}/{kind}"
        row = Row(path, kind, _sum(members), "sampled", _count(members), call=name or None)
        lines = list(_by_line(path, kind, members, SMALLEST * found.loop_ms))
        if len(lines) == 1:
            row, lines = replace(lines[0], row=path, call=row.call or lines[0].call), []
        yield row
        yield from lines


def _kind(place: StackPlace, starts: set[tuple[str, int]], *, is_step: bool) -> tuple[str, str]:
    """Kind of row, and the name that tells it from others of the kind."""
    if place.within:
        return place.within, place.call if place.within == "callback" else ""
    if place.doing == "python" and _line_of(place) in starts:
        return "epoch-start", ""  # freeing the last iterator has no frame of its own
    if is_step and place.doing == "function":
        return "running", ""
    if place.doing in _OWN:
        return ("own-lines", "") if place.frames else ("rest", "")
    return place.doing, ""


def _starting_lines(places: Iterable[StackPlace]) -> set[tuple[str, int]]:
    """The lines that make iterators, as `for batch in dataset` does."""
    return {
        _line_of(place)
        for place in places
        if place.doing == "epoch-start"
        and place.frames
        and place.frames[-1].text.startswith("for ")
    }


def _line_of(place: StackPlace) -> tuple[str, int]:
    return (place.frames[-1].file, place.frames[-1].line) if place.frames else ("", 0)


def _by_line(
    parent: str, kind: str, members: list[tuple[StackPlace, float, int]], smallest_ms: float
) -> Iterator[Row]:
    lines: dict[tuple[str, int], list[tuple[StackPlace, float, int]]] = defaultdict(list)
    for member in members:
        lines[_line_of(member[0])].append(member)
    ordered = sorted(lines.items(), key=lambda item: -_sum(item[1]))
    others: list[tuple[StackPlace, float, int]] = []
    for number, ((file, line), parts) in enumerate(ordered):
        if not file or (len(ordered) > 1 and (number >= MOST_LINES or _sum(parts) < smallest_ms)):
            others += parts
            continue
        longest = max(parts, key=lambda part: part[1])[0]
        yield Row(
            f"{parent}/{number}",
            kind,
            _sum(parts),
            "sampled",
            _count(parts),
            file=file,
            line=line,
            text=longest.frames[-1].text or None,
            call=longest.call or None,
        )
    if others:
        yield Row(f"{parent}/others", kind, _sum(others), "sampled", _count(others))


def _sum(members: Iterable[tuple[StackPlace, float, int]]) -> float:
    return sum(ms for _, ms, _ in members)


def _count(members: Iterable[tuple[StackPlace, float, int]]) -> int:
    return sum(count for _, _, count in members)


# -- within steps


def _steps(
    profile: Profile, segment: int, steps: StepTimes, breakdown: StepBreakdown, found: Regions
) -> Iterator[Row]:
    """Tracing and recording by samples; the rest of the steps by the phases of captured ones."""
    parts = split(found.stacks, found.is_step, found.steps_ms)
    for kind in ("tracing", "recording"):
        members = [part for part in parts if part[0].doing == kind and not part[0].within]
        if members:
            lines = list(_by_line("", kind, members, np.inf))
            yield replace(lines[0], row=f"loop/steps/{kind}", total_ms=_sum(members))
    left_ms = found.steps_ms - sum(
        ms for place, ms, _ in parts if place.doing in ("tracing", "recording") and not place.within
    )
    phases = {name: breakdown.mean_ms(name) or 0.0 for name in CATEGORIES}
    whole = sum(phases.values())
    if not whole:
        yield from _steps_by_samples(parts, left_ms, found)
        return
    lengths = _scaled(phases, steps, left_ms)
    for name, length in lengths.items():
        if length > 0:
            yield Row(f"loop/steps/{name}", name, length, "derived")
    yield from _ops(profile, segment, lengths.get("compute", 0.0), found.loop_ms)


def _scaled(phases: dict[str, float], steps: StepTimes, left_ms: float) -> dict[str, float]:
    """Scale the phases to all steps. The wait for batches is measured in each, if it is at all."""
    later = steps.input_ms[max(steps.num_warm_up, 1) :]
    known = later[np.isfinite(later)]
    scaled = dict(phases)
    fixed_ms = 0.0
    if len(known) and len(known) == len(later):
        fixed_ms = min(float(known.sum()), left_ms)
        scaled.pop("input")
    whole = sum(scaled.values())
    lengths = (
        {name: ms * (left_ms - fixed_ms) / whole for name, ms in scaled.items()} if whole else {}
    )
    if "input" not in scaled:
        lengths["input"] = fixed_ms
    return lengths


def _steps_by_samples(
    parts: list[tuple[StackPlace, float, int]], left_ms: float, found: Regions
) -> Iterator[Row]:
    members = [part for part in parts if part[0].doing not in ("tracing", "recording")]
    if not members:
        if left_ms > 0:
            yield Row("loop/steps/rest", "rest", left_ms, "rest")
        return
    kinds: dict[str, list[tuple[StackPlace, float, int]]] = defaultdict(list)
    for member in members:
        doing = member[0].doing
        kinds[
            "running"
            if doing == "function"
            else "eager"
            if doing in ("op", "call")
            else "own-lines"
            if doing == "python"
            else doing
        ].append(member)
    for kind, group in sorted(kinds.items(), key=lambda item: -_sum(item[1])):
        path = f"loop/steps/{kind}"
        lines = list(_by_line(path, kind, group, SMALLEST * found.loop_ms))
        row = Row(path, kind, _sum(group), "sampled", _count(group))
        if len(lines) == 1:
            row, lines = replace(lines[0], row=path), []
        yield row
        yield from lines


def _ops(profile: Profile, segment: int, compute_ms: float, loop_ms: float) -> Iterator[Row]:
    times = op_times(profile, segment)
    if not compute_ms or not times:
        return
    shown = [time for time in times[:MOST_OPS] if time.share * compute_ms >= SMALLEST * loop_ms]
    for number, time in enumerate(shown):
        yield Row(
            f"loop/steps/compute/{number}",
            "op",
            time.share * compute_ms,
            "derived",
            op=time.op,
            layer=time.layer,
        )
    left = 1.0 - sum(time.share for time in shown)
    if left > 1e-9:
        yield Row("loop/steps/compute/others", "op", left * compute_ms, "derived")
