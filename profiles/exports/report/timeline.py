"""The timeline: op spans of captured steps, in a compact encoding.

A run may have millions of spans. The report includes whole stretches of consecutive steps up to a
budget, beginning with the slowest, the typical and the last one, and says how many there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from strategy_lab.profiles.exports.report.facts import RunFacts
from strategy_lab.profiles.exports.report.markup import Markup, join, tag
from strategy_lab.profiles.exports.report.section import Section, legend, note
from strategy_lab.profiles.exports.report.spans import Packed, pack_spans
from strategy_lab.profiles.reporting.palette import phase_name
from strategy_lab.profiles.tables.columns import ints
from strategy_lab.profiles.timeline import lay_out

MAX_SPANS = 60_000
MAX_STEPS = 20
"""Steps of one stretch; with more steps, spans would be too narrow to see."""

PHASES = ("compute", "delay", "wait", "transfer", "input", "other")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive captured steps of one segment."""

    segment: int
    steps: tuple[int, ...]
    num_spans: int
    mean_ms: float

    @property
    def title(self) -> str:
        first, last = self.steps[0], self.steps[-1]
        return f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"


def timeline(facts: RunFacts) -> Section | None:
    """Return the section, or None for a run without a segment.

    Without captures, the section says why it is empty.
    """
    if not facts.segments:
        return None
    spans = facts.profile.table("spans")
    found = stretches(facts, spans)
    if not found:
        missing = "Unavailable: this run has no capture window. Run more steps, or every one."
        return Section("timeline", "Timeline", note(missing))
    shown = choose(found)
    packed = pack_spans(facts, lay_out(facts.profile), [item.steps for item in shown])
    slowest = max(range(len(shown)), key=lambda index: shown[index].mean_ms)
    data = packed.document | {"first": slowest}
    titles = [f"{item.title} ({item.mean_ms:.3g} ms a step)" for item in shown]
    body = _body(titles, slowest, _about(found, shown, packed))
    return Section("timeline", "Timeline", body, timeline=data)


def stretches(facts: RunFacts, spans: pa.Table) -> list[Stretch]:
    """Return every stretch of captured steps, in order; long ones are split into equal parts."""
    counts = spans.group_by(["segment", "step"]).aggregate([([], "count_all")])
    counts = counts.sort_by([("segment", "ascending"), ("step", "ascending")])
    segment, step, number = (ints(counts, key) for key in ("segment", "step", "count_all"))
    walls = _step_walls(facts)
    found: list[Stretch] = []
    begin = 0
    for end in range(1, len(step) + 1):
        is_cut = (
            end == len(step)
            or segment[end] != segment[begin]
            or step[end] != step[end - 1] + 1
            or end - begin == MAX_STEPS
            or number[begin : end + 1].sum() > MAX_SPANS // 3
        )
        if is_cut:
            members = tuple(step[begin:end].tolist())
            known = [walls[item] for item in members if item in walls]
            mean_ms = float(np.mean(known)) if known else 0.0
            total = int(number[begin:end].sum())
            found.append(Stretch(int(segment[begin]), members, total, mean_ms))
            begin = end
    return found


def _step_walls(facts: RunFacts) -> dict[int, float]:
    return {
        step: wall
        for item in facts.segments
        for step, wall in zip(item.steps.step.tolist(), item.steps.wall_ms.tolist(), strict=True)
        if math.isfinite(wall)
    }


def choose(found: list[Stretch]) -> list[Stretch]:
    """Choose stretches within the budget: slowest, typical, last, first, then evenly spread."""
    by_time = sorted(range(len(found)), key=lambda index: found[index].mean_ms)
    order = [by_time[-1], by_time[len(by_time) // 2], len(found) - 1, 0]
    stride = len(found)
    while stride > 1:
        stride = -(-stride // 2)
        order += range(0, len(found), stride)
    chosen: list[int] = []
    left = MAX_SPANS
    for index in dict.fromkeys(order):
        if not chosen or found[index].num_spans <= left:
            chosen.append(index)
            left -= found[index].num_spans
    return [found[index] for index in sorted(chosen)]


def _about(found: list[Stretch], shown: list[Stretch], packed: Packed) -> str:
    parts = []
    if len(shown) < len(found):
        all_spans = sum(item.num_spans for item in found)
        parts.append(
            f"{len(shown)} of {len(found)} captured stretches are in this file, "
            f"{packed.num_spans:,} of {all_spans:,} spans, the slowest and the typical among them."
        )
    if packed.num_dropped:
        parts.append(f"{packed.num_dropped:,} of the shortest spans are omitted.")
    parts.append(
        "Times are in the first worker's clock, as far as the offsets of the others are known."
    )
    return " ".join(parts)


def _body(titles: list[str], first: int, about: str) -> Markup:
    options = [
        tag("option", title, value=index, selected=index == first)
        for index, title in enumerate(titles)
    ]
    buttons = [
        tag("button", text, type="button", data_timeline=key, aria_label=label)
        for text, key, label in (
            ("+", "+", "Zoom in"),
            ("−", "-", "Zoom out"),
            ("◂ step", "PageUp", "Previous step"),
            ("step ▸", "PageDown", "Next step"),
            ("All", "Home", "Show all"),
        )
    ]
    picker = tag("select", *options, id="timeline-stretch", aria_label="Captured steps shown")
    help_text = (
        "Drag to pan, Ctrl and wheel or double-click to zoom. Keys: arrows pan and change lane, "
        "+ and − zoom, 0 shows all, Page Up and Down go by steps, n and p by spans."
    )
    canvas = tag(
        "canvas",
        tabindex="0",
        role="application",
        aria_label="Timeline of op spans per replica",
        aria_describedby="timeline-help",
    )
    return join(
        legend((phase, phase_name(phase)) for phase in PHASES),
        tag("div", picker, *buttons, class_="tools"),
        tag(
            "div",
            canvas,
            tag("div", class_="tip", hidden=True),
            id="timeline-view",
            class_="timeline",
        ),
        tag("p", id="timeline-said", class_="selected", aria_live="polite"),
        tag("p", help_text, id="timeline-help", class_="note tools"),
        note(about),
    )
