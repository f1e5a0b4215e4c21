"""A run's spans on rows, cut to what a view can show: nothing lost, nothing drawn twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.tables.store import Profile, load
from strategy_profiles.timeline import Timeline, cut_view, find_spans, lay_out
from strategy_profiles.timeline.lanes import MOST_CHAINS, assign_lanes
from strategy_profiles.timeline.view import MAX_RECTANGLES, _summaries
from tests.doors.hostile import no_hang
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    run = write_run(tmp_path_factory.mktemp("runs") / "one", steps=200, straggler=(2, 30.0))
    return lay_out(load(run))


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), min_size=0, max_size=40).map(sorted)
)
def test_spans_of_a_lane_never_overlap_and_no_lane_is_wasted(spans: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in spans], np.int64)
    ends = np.array([start + length for start, length in spans], np.int64)
    lanes = assign_lanes(starts, ends)
    lasting = np.maximum(ends, starts + 1)
    for lane in set(lanes.tolist()):
        mine = lanes == lane
        assert np.all(starts[mine][1:] >= lasting[mine][:-1])
    busiest = max((int(((starts <= t) & (t < lasting)).sum()) for t in starts), default=0)
    assert len(set(lanes.tolist())) == busiest


def test_many_spans_at_once_take_the_lanes_that_few_do(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    starts = np.sort(random.integers(0, 3000, 2000))
    ends = starts + random.integers(0, 600, 2000)
    monkeypatch.setattr("strategy_profiles.timeline.lanes.MOST_CHAINS", 10_000)
    by_chains = assign_lanes(starts, ends)
    monkeypatch.undo()
    assert by_chains.max() > MOST_CHAINS
    assert np.array_equal(assign_lanes(starts, ends), by_chains)
    with no_hang("lanes"):  # a trace that holds one event 100,000 times
        at_once = assign_lanes(np.zeros(100_000, np.int64), np.ones(100_000, np.int64))
    assert np.array_equal(at_once, np.arange(100_000))


def test_every_span_is_there_once(timeline: Timeline) -> None:
    assert timeline.num_spans == timeline.row_starts[-1]
    for row in range(timeline.num_rows):
        part = slice(timeline.row_starts[row], timeline.row_starts[row + 1])
        assert np.all(timeline.start[part][1:] >= timeline.end[part][:-1])
    assert [track.replica for track in timeline.tracks] == [0, 1, 2, 3]
    assert timeline.start.min() >= 0
    assert timeline.length_ns >= timeline.end.max()


def test_a_narrow_view_shows_each_span_itself(timeline: Timeline) -> None:
    first = timeline.steps["start"][0]
    view = cut_view(timeline, first, first + 5e6, 1500)
    inside = (timeline.end > first) & (timeline.start < first + 5e6)
    assert sorted(view.index.tolist()) == np.flatnonzero(inside).tolist()
    assert np.all(view.covered == 255)


@pytest.mark.parametrize("width_px", [1, 40, 1500, 100_000])
def test_a_wide_view_stays_small_and_covers_what_is_busy(timeline: Timeline, width_px: int) -> None:
    view = cut_view(timeline, 0, timeline.length_ns, width_px)
    assert 0 < len(view.start) <= 2 * MAX_RECTANGLES
    busy = [np.zeros(400, bool) for _ in range(2)]
    edges = np.linspace(0, timeline.length_ns, 401)
    for marked, starts in zip(busy, (timeline.start, view.start), strict=True):
        marked[np.clip(np.searchsorted(edges, starts, side="right") - 1, 0, 399)] = True
    if width_px >= 400:
        assert busy[0].sum() <= busy[1].sum() + 2


def test_a_summary_takes_the_colour_of_what_took_most(
    timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strategy_profiles.timeline.view.MAX_RECTANGLES", 100)
    # In the straggler's row compute fills the steps; in the others' it is the wait for it.
    view = cut_view(timeline, 0, timeline.length_ns, 300)
    names = np.array(timeline.categories)[view.category]
    weight = view.duration * view.covered
    for row, most in ((2, "compute"), (0, "wait")):
        mine = view.row == row
        share = {name: weight[mine & (names == name)].sum() for name in set(names.tolist())}
        assert max(share, key=share.__getitem__) == most


def test_a_collective_is_a_wait_for_the_last_replica_and_a_transfer(timeline: Timeline) -> None:
    first, last = timeline.steps["start"][0], timeline.steps["end"][0]
    view = cut_view(timeline, first, last, 1500)
    is_collective = np.array(timeline.categories)[view.category] == "collective"
    assert np.all((view.waited >= 0) == is_collective)
    assert np.all(view.waited <= view.duration)
    waited_ms = {
        row: view.waited[is_collective & (view.row == row)].sum() / 1e6 for row in range(4)
    }
    assert waited_ms[2] == pytest.approx(0, abs=0.1), "the replica that comes last"
    assert waited_ms[0] == pytest.approx(30, rel=0.2)
    assert timeline.drawn_categories == ["compute", "wait", "transfer", "input"]


def test_a_collective_whose_wait_was_not_measured_is_drawn_as_one(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1, missing=("collectives",))
    laid_out = lay_out(load(run))
    view = cut_view(laid_out, 0, laid_out.length_ns, 100_000)
    assert np.all(view.waited == -1)
    assert "collective" in laid_out.drawn_categories


def test_ranks_of_a_collective_are_linked(timeline: Timeline) -> None:
    first, last = timeline.steps["start"][0], timeline.steps["end"][0]
    view = cut_view(timeline, first, last, 1500)
    assert len(view.links) == 2
    assert [sorted(row for row, _, _ in ranks) for ranks in view.links] == [[0, 1, 2, 3]] * 2
    latest = [max(ranks, key=lambda rank: rank[1])[0] for ranks in view.links]
    assert latest[0] == 2


def test_too_many_links_are_left_out(timeline: Timeline, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = (0, timeline.length_ns, 1500)
    assert cut_view(timeline, *whole).links
    monkeypatch.setattr("strategy_profiles.timeline.view.MAX_LINKS", 10)
    assert cut_view(timeline, *whole).links == []


def test_search_lists_in_order_of_time(timeline: Timeline) -> None:
    spans = find_spans(timeline, " matmul ")
    starts = [start for _, _, start, _ in spans["spans"]]
    assert spans["count"] == len(starts) > 0
    assert starts == sorted(starts)
    assert find_spans(timeline, "") == {"count": 0, "spans": []}
    assert find_spans(timeline, "no such op")["count"] == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_the_layout_of_some_steps_is_what_the_whole_one_has_of_them(
    tmp_path: Path, workers: int
) -> None:
    run = write_run(tmp_path / "run", steps=80, windows=3, workers=workers, straggler=(2, 30.0))
    whole = lay_out(load(run))
    only = {whole.steps["step"][3], whole.steps["step"][-1]}
    some = lay_out(load(run), only)
    assert some.steps["step"] == sorted(only)
    assert _spans_of(some, only) == _spans_of(whole, only)
    assert some.num_spans == len(_spans_of(whole, only)) < whole.num_spans
    assert set(some.steps["start"]) <= set(whole.steps["start"])
    starts = set(some.start.tolist())
    assert len(some.links["start"]) > 0
    assert starts.issuperset(some.links["start"].tolist())


def test_a_view_reads_neither_the_sends_nor_the_phases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", strategy="central-storage", steps=40, windows=1)
    read = []
    table = Profile.table

    def noting(profile: Profile, name: str) -> pa.Table:
        read.append(name)
        return table(profile, name)

    monkeypatch.setattr(Profile, "table", noting)
    laid_out = lay_out(load(run))
    cut_view(laid_out, 0, laid_out.length_ns, 1400)
    assert read
    assert not {"transfers", "replica_steps"}.intersection(read)
    assert len(laid_out.sends["start"]) > 0
    assert len(laid_out.split_steps["step"]) > 0


def _spans_of(timeline: Timeline, steps: set[int]) -> list[tuple[object, ...]]:
    """Track, lane, start, end and texts of each span of these steps."""
    drawn_spans = []
    for track in timeline.tracks:
        for row in track.rows:
            for span in range(timeline.row_starts[row], timeline.row_starts[row + 1]):
                if timeline.step[span] in steps:
                    texts = timeline.names[timeline.name[span]], timeline.ops[timeline.op[span]]
                    times = int(timeline.start[span]), int(timeline.end[span])
                    drawn_spans.append((track.device, row - track.first_row, *times, *texts))
    return drawn_spans


@pytest.mark.parametrize("missing", ["spans", "collectives", "replica_steps"])
def test_a_run_with_a_table_missing_is_laid_out_without_it(missing: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, windows=1, missing=(missing,))
    laid_out = lay_out(load(run))
    assert (laid_out.num_spans == 0) == (missing == "spans")
    assert len(cut_view(laid_out, 0, 1e9, 100).start) >= 0


def test_a_summary_covers_as_much_as_its_spans_and_no_least_share(timeline: Timeline) -> None:
    """A bin in which hardly anything runs is not told as 15 % busy."""
    spans = np.arange(timeline.row_starts[0], timeline.row_starts[1])
    *_, covered, _ = _summaries(timeline, spans, 0, 0, 100 * timeline.length_ns)
    assert 0 < covered[0] <= 0.01 * 255
