"""Links of a span to other tracks: the ranks of its collective, its sends, and who waited."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from strategy_profiles.tables.store import Profile, load
from strategy_profiles.timeline import Timeline, flows_of, lay_out
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    run = tmp_path_factory.mktemp("runs") / "one"
    return load(write_run(run, steps=20, windows=1, straggler=(2, 30.0)))


@pytest.fixture(scope="module")
def timeline(profile: Profile) -> Timeline:
    return lay_out(profile)


def row_of(timeline: Timeline, replica: int) -> int:
    return next(track.first_row for track in timeline.tracks if track.replica == replica)


def test_the_ranks_of_a_collective_are_linked_to_the_one_that_came_last(
    timeline: Timeline, profile: Profile
) -> None:
    rows = [row for row in profile.table("collectives").to_pylist() if row["replica"] == 0]
    first = min(rows, key=lambda row: row["start_ns"])
    start = first["start_ns"] - timeline.origin_ns
    flows = flows_of(timeline, row_of(timeline, 0), start)
    assert {flow.from_row for flow in flows} == {row_of(timeline, 2)}
    assert {flow.to_row for flow in flows} == {row_of(timeline, replica) for replica in (0, 1, 3)}
    (own,) = (flow for flow in flows if flow.to_row == row_of(timeline, 0))
    assert own.kind == "all-reduce"
    assert own.bytes == first["bytes"]
    assert own.waited_ns == pytest.approx(first["wait_ms"] * 1e6, abs=1)
    assert own.waited_ns > 25e6


def test_a_send_is_linked_to_its_receiver(timeline: Timeline) -> None:
    sends = timeline.sends
    flows = flows_of(timeline, int(sends["from_row"][0]), int(sends["start"][0]))
    assert (int(sends["to_row"][0]), int(sends["end"][0])) in {
        (flow.to_row, flow.to_ns) for flow in flows if flow.kind == "send"
    }


def test_an_op_without_links_has_none(timeline: Timeline) -> None:
    starts = np.concatenate([timeline.links["start"], timeline.sends["start"]])
    alone = np.flatnonzero(~np.isin(timeline.start, starts))[0]
    row = int(np.searchsorted(timeline.row_starts, alone, side="right")) - 1
    assert flows_of(timeline, row, int(timeline.start[alone])) == []


def test_a_time_between_spans_has_no_links(timeline: Timeline) -> None:
    assert flows_of(timeline, 0, timeline.length_ns + 5) == []


@pytest.mark.parametrize("missing", ["collectives", "transfers"])
def test_a_run_with_a_table_missing_has_no_links_from_it(missing: str, tmp_path: Path) -> None:
    timeline = lay_out(load(write_run(tmp_path / "run", steps=20, windows=1, missing=(missing,))))
    for row in range(timeline.num_rows):
        flows_of(timeline, row, int(timeline.start[timeline.row_starts[row]]))
