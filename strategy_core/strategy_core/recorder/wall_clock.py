"""Detects that the system's wall clock was set during a run.

Durations are measured on the monotonic clock and stay correct. Wall-clock times do not:
TensorFlow's own timestamps and captures follow the wall clock, so they cannot be corrected here.
"""

from __future__ import annotations

import time

from strategy_profiles.run.events import Note

JUMP_NS = 1_000_000_000
"""Smallest change between two checks that counts as a set clock.

NTP corrects up to half a second in a quarter of an hour.
"""


class WallClock:
    """Compares wall clock and monotonic clock between consecutive checks.

    Comparing with the previous check, not with the start, keeps slow corrections from adding up.
    """

    def __init__(self, realtime_ns: int, monotonic_ns: int) -> None:
        self._ahead_ns = realtime_ns - monotonic_ns

    def look(self, step: int) -> Note | None:
        """Return a warning if the clock was set before the end of `step`, else None."""
        return self.compare(time.time_ns(), time.monotonic_ns(), step)

    def compare(self, realtime_ns: int, monotonic_ns: int, step: int) -> Note | None:
        """Like `look`, for two readings that were taken together."""
        ahead_ns = realtime_ns - monotonic_ns
        jump_ns, self._ahead_ns = ahead_ns - self._ahead_ns, ahead_ns
        if abs(jump_ns) < JUMP_NS:
            return None
        way = "forward" if jump_ns > 0 else "back"
        return Note(
            "warning",
            f"The wall clock of this machine went {way} by {abs(jump_ns) / 1e9:.1f} s before "
            f"the end of step {step}: it was set, or the machine was suspended. Times of day "
            "before and after cannot be compared. Step times are not affected",
            {"step": step, "jump_ns": jump_ns},
        )
