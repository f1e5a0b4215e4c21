"""Where did the time of the loop go? Each millisecond is in one row.

    program = before training + loop + after it
    loop    = first step + steps + between steps
    steps   = tracing + first batches of epochs + phases of the replicas, or what the samples say
              without captures
    compute = ops by layer and type

Steps and gaps are measured. The phases are those of the typical captured steps, scaled to all. What
happens between steps, and in the first one, is sampled (`regions`). Without samples, as in runs of
earlier versions, it is the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from strategy_profiles.analysis.account.regions import Regions, regions_of
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.account.sampled import sampled_rows
from strategy_profiles.analysis.account.step_time import step_rows
from strategy_profiles.analysis.capture_cost import capture_cost
from strategy_profiles.analysis.cost import Cost, Source
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.store import Profile, once


class Account(Struct, frozen=True):
    """The rows of a segment; empty without a step."""

    segment: int
    num_steps: int
    """Of the loop, with those of the first call."""
    rows: tuple[Row, ...]
    num_first: int = 0
    """Steps of the first call; 0 in an imported profile."""
    first_ms: float = 0.0
    """Length of the first call, without what the lab's recorder does in it: a part of the row
    `loop/first`, which begins with the loop."""

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

    def share_of_usual(self, row: Row) -> float:
        """Share of the loop without its first step."""
        return row.total_ms / self.usual_ms if self.usual_ms else 0.0

    def ms_per_step(self, row: Row) -> float:
        return row.total_ms / self.num_steps

    @property
    def usual_ms(self) -> float:
        """Length of the loop after its first step; of the whole loop if that was its only one."""
        rows = (self.row("loop/steps"), self.row("loop/between"))
        return sum(row.total_ms for row in rows if row) or self.loop_ms or 0.0

    def cost(self, total_ms: float, source: Source, num_steps: int = 0) -> Cost | None:
        """What takes so long in all, in terms of the loop; None without a loop."""
        if not self.loop_ms or not self.num_steps:
            return None
        total_ms = min(total_ms, self.loop_ms)
        return Cost(
            total_ms / self.num_steps,
            total_ms / self.loop_ms,
            total_ms / self.usual_ms,
            source,
            num_steps,
        )

    def cost_of_program(self, total_ms: float, source: Source) -> Cost | None:
        """What takes so long once, before the loop; None if the program's length is not known."""
        program = self.row("program")
        if program is None or not program.total_ms:
            return None
        share = total_ms / program.total_ms
        return Cost(total_ms / self.num_steps, share, 0.0, source, of="program")

    @property
    def is_sampled(self) -> bool:
        return any(row.source == "sampled" for row in self.rows)


@once
def account(profile: Profile, segment: SegmentOpened) -> Account:
    """Divide the time of the lowest worker's loop, as `steps` are its."""
    steps = step_times(profile, segment.segment)
    regions = regions_of(profile, segment.segment)
    if regions is None:
        return Account(segment.segment, 0, ())
    rows = [] if len(profile.segments) > 1 else [*_outside(regions)]
    rows.append(Row("loop", "loop", regions.loop_ms, "measured"))
    if steps.num_warm_up:
        rows.append(Row("loop/first", "first", regions.first_ms, "measured"))
        rows += sampled_rows("loop/first", regions, regions.is_first, regions.first_ms)
    rows.append(Row("loop/steps", "steps", regions.steps_ms, "measured"))
    rows += step_rows(profile, segment, regions)
    rows.append(Row("loop/between", "between", regions.between_ms, "measured"))
    windows_ms = capture_cost(profile, segment.segment).in_program_ms
    rows += sampled_rows(
        "loop/between", regions, regions.is_between, regions.between_ms, windows_ms
    )
    recorded_ms = sum(row.total_ms for row in rows if row.row == "loop/first/recording")
    first_ms = max(0.0, (steps.first_step_ms or 0.0) - recorded_ms) if steps.num_warm_up else 0.0
    return Account(segment.segment, steps.count, tuple(rows), steps.num_warm_up, first_ms)


def _outside(regions: Regions) -> Iterator[Row]:
    if regions.program_ms is not None:
        yield Row("program", "program", regions.program_ms, "measured")
    if regions.before_ms is not None:
        yield Row("program/before", "before", regions.before_ms, "measured")
        if regions.start_ms:
            yield Row("program/before/start", "start", regions.start_ms, "measured")
        sampled_ms = regions.before_ms - regions.start_ms
        yield from sampled_rows("program/before", regions, regions.is_before, sampled_ms)
    if regions.after_ms is not None:
        yield Row("program/after", "after", regions.after_ms, "measured")
        yield from sampled_rows("program/after", regions, regions.is_after, regions.after_ms)
