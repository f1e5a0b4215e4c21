"""What viewers see of the workers of parameter servers while these train."""

from __future__ import annotations

from typing import Any

from strategy_app.live.server_worker_view import NEWEST, ServedView
from strategy_profiles.run.events import ClosureDone, SegmentOpened
from tests.event_records import event_of, usual

MS = 1_000_000
BEGIN_NS = 1_700_000_000_000_000_000


def closure(worker: int, *lengths_ms: float, segment: int = 0) -> ClosureDone:
    """One whose input, pull, compute and push took so long."""
    start, *rest = (BEGIN_NS + round(sum(lengths_ms[:count]) * MS) for count in range(5))
    return ClosureDone(segment, 0, worker, 0, (start, *rest), 0)


def view_of(*closures: ClosureDone) -> dict[str, Any]:
    view = ServedView()
    for each in closures:
        view.take(each, None)
    return view.message()


def test_each_worker_has_the_means_of_its_own_steps_without_the_first() -> None:
    message = view_of(
        closure(1, 900, 1, 1, 1),
        closure(2, 1, 2, 3, 4),
        closure(1, 1, 2, 30, 4),
        closure(1, 3, 4, 50, 6),
    )
    assert message["1"] == {"steps": 3, "parts": [2, 3, 40, 0, 5]}
    assert message["2"] == {"steps": 1, "parts": [1, 2, 3, 0, 4]}, "better than nothing"


def test_what_was_long_ago_no_longer_counts() -> None:
    slow, quick = [closure(1, 0, 0, 80, 0)] * NEWEST, [closure(1, 0, 0, 4, 0)] * (NEWEST + 1)
    assert view_of(*slow, *quick)["1"] == {"steps": 2 * NEWEST + 1, "parts": [0, 0, 4, 0, 0]}
    assert view_of(*slow, closure(1, 0, 0, 4, 0, segment=1))["1"]["parts"] == [0, 0, 4, 0, 0]


def test_a_step_that_does_not_tell_its_parts_counts_and_has_none() -> None:
    own_step = ClosureDone(0, 0, 1, 0, (1, None, None, None, 5), 6)
    assert view_of(own_step) == {"1": {"steps": 1, "parts": None}}


def test_a_clock_that_was_set_back_gives_nothing_below_zero() -> None:
    assert view_of(closure(1, 1, -5, 3, 4))["1"]["parts"] == [1, 0, 3, 0, 4]


def test_an_injected_delay_is_a_part_of_its_own() -> None:
    spec = {"inject": [{"replica": 0, "ms": 30.0}]}
    record = {"kind": "segment", "num_replicas": 2, "num_workers": 2, "spec": spec}
    segment = event_of(usual(record))
    assert isinstance(segment, SegmentOpened)
    view = ServedView()
    view.take(closure(1, 1, 2, 50, 4), segment)
    view.take(closure(2, 1, 2, 50, 4), segment)
    row = view.message()
    assert row["1"]["parts"] == [1, 2, 20, 30, 4]
    assert row["2"]["parts"] == [1, 2, 50, 0, 4]
