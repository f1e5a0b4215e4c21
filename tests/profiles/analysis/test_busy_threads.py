"""What other Python threads compute in the loop of a segment."""

from __future__ import annotations

import pytest

from strategy_profiles.analysis import busy_threads
from strategy_profiles.run.event_parts import StackFrame, ThreadTime
from strategy_profiles.run.stacks import NO_STACKS, ThreadsUsed
from tests.replaced import replace

LINE = StackFrame("/home/me/train.py", 12, "make_batches", "rows.append(row)")
S = 1_000_000_000


class _Loop:
    """A loop from 10 s to 20 s."""

    over_ns = 20 * S
    loop_ms = 10_000.0

    def __init__(self, parts: list[ThreadsUsed]) -> None:
        self.stacks = replace(NO_STACKS, threads=parts)


def test_time_of_a_thread_counts_as_far_as_it_is_in_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used = [ThreadTime("Thread-1", 2_000_000, LINE), ThreadTime("Thread-2", 1_000_000, LINE)]
    parts = [ThreadsUsed(8 * S, 12 * S, used), ThreadsUsed(12 * S, 16 * S, used[:1])]
    parts.append(ThreadsUsed(20 * S, 24 * S, used))
    monkeypatch.setattr(busy_threads, "regions_of", lambda *_: _Loop(parts))
    (thread,) = busy_threads.busy_threads.__wrapped__(None, 0)  # type: ignore[attr-defined]
    assert (thread.function, thread.line) == ("make_batches", LINE)
    assert thread.cores == pytest.approx((1.5 + 2.0) / 10.0)
