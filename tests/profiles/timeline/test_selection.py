"""A range of the timeline: its phases, ops and bytes, as the run recorded them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.store import Profile, load
from strategy_profiles.timeline import Timeline, lay_out, select
from strategy_profiles.timeline.self_time import self_times
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    run = tmp_path_factory.mktemp("runs") / "one"
    return load(write_run(run, steps=60, windows=2, straggler=(2, 30.0)))


@pytest.fixture(scope="module")
def timeline(profile: Profile) -> Timeline:
    return lay_out(profile)


def step_bounds(timeline: Timeline, at: int = 0) -> tuple[int, int]:
    return timeline.steps["start"][at], timeline.steps["end"][at]


def test_a_whole_step_has_the_phases_that_the_capture_found(
    timeline: Timeline, profile: Profile
) -> None:
    selection = select(timeline, *step_bounds(timeline))
    rows = profile.table("replica_steps").to_pylist()
    step = timeline.steps["step"][0]
    assert selection.steps == [step, step]
    for part in selection.replicas:
        (row,) = (r for r in rows if (r["step"], r["replica"]) == (step, part.replica))
        assert part.phases_ns == {name: round(row[f"{name}_ms"] * 1e6) for name in CATEGORIES}


def test_two_halves_of_a_step_add_up_to_it(timeline: Timeline) -> None:
    start, end = step_bounds(timeline)
    middle = (start + end) // 2
    whole, *halves = (
        select(timeline, *bounds) for bounds in ((start, end), (start, middle), (middle, end))
    )
    for number, part in enumerate(whole.replicas):
        for phase, length in (part.phases_ns or {}).items():
            cut = [(half.replicas[number].phases_ns or {})[phase] for half in halves]
            assert sum(cut) == pytest.approx(length, abs=0.01 * (end - start))


def test_between_captures_there_is_no_phase(timeline: Timeline) -> None:
    gap = select(timeline, step_bounds(timeline, 9)[1], step_bounds(timeline, 10)[0])
    assert gap.captured_ns == 0
    assert gap.steps == []
    assert [part.phases_ns for part in gap.replicas] == [None] * 4


def test_every_op_of_the_range_is_counted_once(timeline: Timeline) -> None:
    start, end = step_bounds(timeline)
    selection = select(timeline, start, end)
    inside = (timeline.end > start) & (timeline.start < end)
    assert selection.num_ops == inside.sum() == sum(op.count for op in selection.ops)
    assert sum(op.share for op in selection.ops) == pytest.approx(1)
    assert [op.self_ns for op in selection.ops] == sorted(
        (op.self_ns for op in selection.ops), reverse=True
    )
    by_type = select(timeline, start, end, by_type=True)
    assert by_type.num_op_rows < selection.num_op_rows
    assert sum(op.total_ns for op in by_type.ops) == sum(op.total_ns for op in selection.ops)


def test_of_an_op_at_the_edge_the_part_inside_counts(timeline: Timeline) -> None:
    first = int(timeline.row_starts[0])
    start, end = int(timeline.start[first]), int(timeline.end[first])
    (op,) = select(timeline, start, (start + end) // 2, {0}).ops
    assert op.total_ns == (start + end) // 2 - start


def test_a_collective_counts_once_for_all_its_ranks(timeline: Timeline, profile: Profile) -> None:
    moved_by_kind = {moved.kind: moved for moved in select(timeline, 0, timeline.length_ns).moved}
    rows = profile.table("collectives").to_pylist()
    sizes = {(row["step"], row["instance"]): row["bytes"] for row in rows}
    assert moved_by_kind["all-reduce"].count == len(sizes)
    assert moved_by_kind["all-reduce"].bytes == sum(sizes.values())


def test_a_selection_of_tracks_leaves_the_others_out(timeline: Timeline) -> None:
    selection = select(timeline, *step_bounds(timeline), {1, 3, 99})
    assert [part.replica for part in selection.replicas] == [1, 3]
    assert {op.track for op in selection.ops} == {1, 3}


@pytest.mark.parametrize("missing", ["spans", "collectives", "replica_steps", "transfers"])
def test_a_run_with_a_table_missing_is_selected_without_it(missing: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=20, windows=1, missing=(missing,))
    timeline = lay_out(load(run))
    selection = select(timeline, 0, timeline.length_ns)
    assert (selection.num_ops == 0) == (missing == "spans")


def test_self_time_leaves_out_what_ran_inside_on_the_same_thread() -> None:
    start = np.array([0, 10, 12, 40, 50, 5])
    end = np.array([100, 30, 20, 60, 120, 25])
    thread = np.array([1, 1, 1, 1, 1, 2])
    # 40 to 60 and 50 to 120 overlap without one being inside of the other.
    own = self_times(start, end, np.zeros(6, np.int64), thread)
    assert own.tolist() == [60, 12, 8, 20, 70, 20]


def test_self_time_of_nothing_is_nothing() -> None:
    none = np.empty(0, np.int64)
    assert self_times(none, none, none, none).tolist() == []
