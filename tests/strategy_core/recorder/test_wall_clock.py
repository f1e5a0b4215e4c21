"""A wall clock that is set during a run leaves a note; one that is corrected slowly does not."""

from __future__ import annotations

import pytest

from strategy_core.recorder.wall_clock import WallClock

HOUR_NS = 3600 * 10**9


@pytest.mark.parametrize(("jump_ns", "way"), [(HOUR_NS, "forward"), (-HOUR_NS, "back")])
def test_an_hours_jump_is_noted_once(jump_ns: int, way: str) -> None:
    clock = WallClock(10 * HOUR_NS, 5)
    assert clock.compare(10 * HOUR_NS + 10**9, 5 + 10**9, step=1) is None
    note = clock.compare(10 * HOUR_NS + jump_ns + 2 * 10**9, 5 + 2 * 10**9, step=2)
    assert note is not None
    assert note.level == "warning"
    assert f"went {way} by 3600.0 s before the end of step 2" in note.message
    assert note.fields == {"step": 2, "jump_ns": jump_ns}
    assert clock.compare(10 * HOUR_NS + jump_ns + 3 * 10**9, 5 + 3 * 10**9, step=3) is None


def test_slow_corrections_never_add_up_to_a_jump() -> None:
    clock = WallClock(0, 0)
    for second in range(10_000):
        assert clock.compare(second * (10**9 + 500_000), second * 10**9, step=second) is None
