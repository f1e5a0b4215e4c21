"""The timeline: op spans of captured steps, in a compact encoding.

A run may have millions of spans. The report includes whole stretches of consecutive steps up to a
budget, beginning with the slowest, the typical and the last one, and says how many there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from strategy_profiles.reporting.palette import PHASE_NAMES
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.timeline import lay_out
from strategy_report.facts import RunFacts, Section
from strategy_report.spans import Packed, pack_spans

MAX_SPANS = 60_000
MAX_STEPS = 20
"""Steps of one stretch; with more steps, spans would be too narrow to see."""
OUTSIDE = -1
"""The step of spans outside of every step, which a profile of another program may have."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive captured steps of one segment, or its spans outside of every step."""

    segment: int
    steps: tuple[int, ...]
    """Numbers; `(OUTSIDE,)` for spans outside of every step."""
    num_spans: int
    mean_ms: float | None
    """Of a step; None if the time of none of them is known."""

    @property
    def is_outside(self) -> bool:
        return self.steps == (OUTSIDE,)

    @property
    def title(self) -> str:
        if self.is_outside:
            return "outside of every step"
        first, last = self.steps[0], self.steps[-1]
        title = f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"
        return title if self.mean_ms is None else f"{title} ({self.mean_ms:.3g} ms a step)"


def timeline(facts: RunFacts) -> Section | None:
    """Return the section, or None for a run without a segment.

    Without captures, the section says why it is empty.
    """
    if not facts.segments:
        return None
    captured = stretches(facts)
    if not captured:
        return Section("timeline", "Timeline", {"titles": []})
    chosen = choose(captured)
    only = {step for item in chosen for step in item.steps}
    packed = pack_spans(facts, lay_out(facts.profile, only), [item.steps for item in chosen])
    slowest = max(range(len(chosen)), key=lambda index: _slowness(chosen[index]))
    data = packed.document | {"first": slowest, "phase_names": PHASE_NAMES}
    titles = [item.title for item in chosen]
    about = _about(captured, chosen, packed)
    drawn = set(packed.document["categories"])
    phases = [name for name in (*CATEGORIES, "other") if name in drawn]
    values = {"titles": titles, "first": slowest, "about": about, "phases": phases}
    return Section("timeline", "Timeline", values, timeline=data)


def stretches(facts: RunFacts) -> list[Stretch]:
    """Return every stretch of captured steps, in order; long ones are split into equal parts."""
    counts = sorted(facts.profile.rows_by_step("spans").items())
    segment, step = (np.array([key[part] for key, _ in counts], np.int64) for part in (0, 1))
    number = np.array([count for _, count in counts], np.int64)
    before = np.concatenate([[0], np.cumsum(number)]).tolist()
    walls = _step_walls(facts)
    captured: list[Stretch] = []
    begin = 0
    for end in range(1, len(step) + 1):
        is_cut = (
            end == len(step)
            or segment[end] != segment[begin]
            or step[end] != step[end - 1] + 1
            or step[begin] == OUTSIDE
            or end - begin == MAX_STEPS
            or before[end + 1] - before[begin] > MAX_SPANS // 3
        )
        if is_cut:
            members = tuple(step[begin:end].tolist())
            known = [walls[item] for item in members if item in walls]
            mean_ms = float(np.mean(known)) if known else None
            total = before[end] - before[begin]
            captured.append(Stretch(int(segment[begin]), members, total, mean_ms))
            begin = end
    return captured


def _step_walls(facts: RunFacts) -> dict[int, float]:
    return {
        step: wall
        for item in facts.segments
        for step, wall in zip(item.steps.step.tolist(), item.steps.wall_ms.tolist(), strict=True)
        if math.isfinite(wall)
    }


def _slowness(item: Stretch) -> float:
    return 0.0 if item.mean_ms is None else item.mean_ms


def choose(captured: list[Stretch]) -> list[Stretch]:
    """Choose stretches within the budget: slowest, typical, last, first, then evenly spread."""
    within = [index for index, item in enumerate(captured) if not item.is_outside]
    within = within or list(range(len(captured)))
    by_time = sorted(within, key=lambda index: _slowness(captured[index]))
    order = [by_time[-1], by_time[len(by_time) // 2], within[-1], within[0]]
    stride = len(captured)
    while stride > 1:
        stride = -(-stride // 2)
        order += range(0, len(captured), stride)
    chosen: list[int] = []
    left = MAX_SPANS
    for index in dict.fromkeys(order):
        if not chosen or captured[index].num_spans <= left:
            chosen.append(index)
            left -= captured[index].num_spans
    return [captured[index] for index in sorted(chosen)]


def _about(captured: list[Stretch], chosen: list[Stretch], packed: Packed) -> str:
    parts = []
    if len(chosen) < len(captured):
        all_spans = sum(item.num_spans for item in captured)
        parts.append(
            f"{len(chosen)} of {len(captured)} captured stretches are in this file, "
            f"{packed.num_spans:,} of {all_spans:,} spans, the slowest and the typical among them."
        )
    if packed.num_dropped:
        parts.append(f"{packed.num_dropped:,} of the shortest spans are omitted.")
    parts.append(
        "Times are in the first worker's clock, as far as the offsets of the others are known."
    )
    return " ".join(parts)
