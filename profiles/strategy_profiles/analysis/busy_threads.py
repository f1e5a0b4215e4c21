"""Which other Python threads of the program compute while it trains?"""

from __future__ import annotations

from collections import Counter, defaultdict

from msgspec import Struct

from strategy_profiles.analysis.account.regions import regions_of
from strategy_profiles.run.event_parts import StackFrame
from strategy_profiles.tables.store import Profile, once


class BusyThread(Struct, frozen=True):
    """A function of the program in a thread other than the one that trains."""

    function: str
    line: StackFrame
    """At which it most often was."""
    cores: float
    """Processor time of all threads that run it, per time of the loop."""


@once
def busy_threads(profile: Profile, segment: int) -> tuple[BusyThread, ...]:
    """The functions whose threads compute in the loop of a segment, the busiest first.

    Of a part of the recording that only begins or ends in the loop, their time is divided by the
    length: processor time is read once in a few seconds.
    """
    regions = regions_of(profile, segment)
    if regions is None or not regions.loop_ms:
        return ()
    begin_ns = regions.over_ns - regions.loop_ms * 1e6
    used_us: dict[tuple[str, str], float] = defaultdict(float)
    lines: dict[tuple[str, str], Counter[StackFrame]] = defaultdict(Counter)
    for part in regions.stacks.threads:
        inside_ns = min(part.end_ns, regions.over_ns) - max(part.begin_ns, begin_ns)
        if inside_ns <= 0:
            continue
        share = inside_ns / (part.end_ns - part.begin_ns)
        for thread in part.threads:
            key = thread.line.file, thread.line.function
            used_us[key] += share * thread.cpu_us
            lines[key][thread.line] += 1
    threads = [
        BusyThread(key[1], lines[key].most_common(1)[0][0], spent_us / 1e3 / regions.loop_ms)
        for key, spent_us in used_us.items()
    ]
    return tuple(sorted(threads, key=lambda each: -each.cores))
