"""A segment in a sentence or two: what was run, how fast, and what limits it."""

from __future__ import annotations

from pathlib import PurePath

from strategy_profiles.analysis.captured_steps import unlike_others_ms
from strategy_profiles.analysis.findings import NO_FURTHER_STEP, WRONG, Facts, main_finding
from strategy_profiles.analysis.headline_segment import prefix_of
from strategy_profiles.analysis.loop_pace import LoopPace
from strategy_profiles.analysis.steps import StepTimes
from strategy_profiles.answers.answer import Bold
from strategy_profiles.errors import shortened
from strategy_profiles.reporting import units
from strategy_profiles.reporting.palette import phase_name
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.store import Profile

MOST_OF_A_STEP = 0.5
"""Computation limits a step without a finding from this share on."""
MOST_OF_A_NAME = 56
"""Characters of a workload's name, beside the dots for those left out."""


def headline(profile: Profile, facts: Facts) -> tuple[str, ...]:
    """The parts of the text in order. What limits the segment is the last, of class `Bold`."""
    segment = facts.segment
    which = prefix_of(segment, len(profile.segments))
    first = _what_runs(
        segment, segment.spec.get("workload") or (profile.spec or {}).get("workload")
    )
    if profile.is_imported:
        size = segment.size if segment.replica_devices else "no known replica"
        if 0 < len(segment.replica_devices) < (profile.num_ranks or 0):
            size = f"{len(segment.replica_devices)} of {profile.num_ranks:,} ranks"
        steps = "" if facts.steps.median_ms is not None else " and no known step"
        first = ("the " if which else "The ", f"imported profile has {size}{steps}")
    main = main_finding(facts)
    is_ended = WRONG if facts.failure is not None else (NO_FURTHER_STEP,)
    if main is not None and main.key in is_ended:
        return *which, *first, ". ", Bold(main.sentence)
    then = _limit(facts)
    is_in_sync = facts.breakdown.is_in_sync
    return *which, *first, ": ", *_pace(facts.pace, facts.steps, is_in_sync=is_in_sync, then=then)


def workload_title(workload: object) -> str:
    """A built-in workload's name; a file's without the folders before it. Long ones are cut."""
    return shortened(PurePath(str(workload)).name, MOST_OF_A_NAME)


def _what_runs(segment: SegmentOpened, workload: object) -> tuple[str, ...]:
    runs = f" trains {workload_title(workload)}" if workload else ""
    batch = segment.global_batch_size
    sized = "" if batch is None else f", batch {batch:,}"
    if segment.batch_sizes:
        least, most = segment.batch_sizes
        sized = f", batches of {least:,} to {most:,} examples, median {batch:,}"
    compiled = ", compiled by XLA" if segment.spec.get("xla") else ""
    return (f"{segment.strategy} on {segment.size}{runs}{sized}{compiled}",)


def _pace(pace: LoopPace, steps: StepTimes, *, is_in_sync: bool, then: str) -> tuple[str, ...]:
    """The loop per step, then the step without its gaps; the step alone if that is all that is
    known, or if workers step beside each other: there one's step takes longer."""
    step_ms, loop_ms = steps.median_ms, pace.ms_per_step
    if step_ms is None:
        return f"{steps.why_no_time}.", *_limited(then)
    if loop_ms is None or not is_in_sync:
        taken = "a step takes " if is_in_sync else "a step is done every "
        return f"{taken}{units.milliseconds(step_ms)}.", *_limited(then)
    rate = pace.examples_per_second
    also = "" if rate is None else f" ({units.rate(rate, 'examples')})"
    has_gaps = loop_ms > step_ms
    alone = f"{also}, the step itself {units.milliseconds(step_ms)}." if has_gaps else f"{also}."
    return f"the loop takes {units.milliseconds(loop_ms)} a step{alone}", *_limited(then)


def _limited(then: str) -> tuple[str, ...]:
    return (" ", Bold(then)) if then else ()


def _limit(facts: Facts) -> str:
    """The finding that explains the largest share; if all are small, where the step went."""
    main = main_finding(facts)
    if main is not None:
        return main.sentence
    if facts.steps.median_ms is None:
        return ""  # why is the reason of the run's end, which is shown beside its status
    wall = facts.breakdown.mean_ms("wall")
    if not wall:
        return f"What limits it is unknown: {facts.breakdown.reason}."
    phases = [(facts.breakdown.mean_ms(name) or 0.0, name) for name in CATEGORIES]
    phases.sort(key=lambda item: -item[0])
    parts = [
        f"{units.share(length / wall)} {phase_name(name)}"
        for length, name in phases
        if length / wall >= 0.05
    ]
    largest_ms, largest = phases[0]
    captured_ms = unlike_others_ms(facts.breakdown, facts.steps.median_ms)
    whole = f"the captured steps, which took {units.milliseconds(captured_ms)}"
    if largest == "compute" and largest_ms / wall >= MOST_OF_A_STEP:
        of_what = whole if captured_ms else "the step"
        return f"The computation limits it: of {of_what}, {', '.join(parts)}."
    return f"Of {whole if captured_ms else 'it'}, {', '.join(parts)}." if parts else ""
