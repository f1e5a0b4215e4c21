"""A real step with an edit on rows of the timeline: where the replay with the edit puts each op."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.errors import LabError
from strategy_profiles.step_graph.graph import END, ENTER
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline import Timeline, lay_out
from strategy_replay.engine.edits import Edit, Faster
from strategy_replay.engine.replays import replays
from strategy_replay.engine.what_if import edited_schedule, predict
from strategy_replay.predicted_step import PredictedStep, predicted_step
from tests.synthetic import write_run

LAST = 1


@pytest.fixture(scope="module")
def opened(finished_run: Path) -> tuple[Profile, Timeline]:
    profile = strategy_profiles.load(finished_run)
    return profile, lay_out(profile)


def _drawn(opened: tuple[Profile, Timeline], *edits: Edit) -> PredictedStep:
    return predicted_step(*opened, LAST, edits)


@pytest.mark.run
def test_without_an_edit_the_rows_are_the_replay(opened: tuple[Profile, Timeline]) -> None:
    drawn = _drawn(opened)
    middle = replays(opened[0], LAST).middle
    assert drawn.step == middle.graph.step
    assert drawn.predicted_ns == drawn.replayed_ns == round(middle.schedule.length_ns)
    nodes = middle.graph.nodes
    starts = {
        (nodes.name[at], nodes.device[at], drawn.start_ns + round(start))
        for at, start in enumerate(middle.schedule.start_ns.tolist())
        if nodes.category[at] != ENTER and nodes.op[at] != END
    }
    devices = [track.device for track in drawn.tracks for _ in range(track.num_rows)]
    for span in drawn.spans:
        if span.category not in ("wait", "input"):
            assert (span.name, devices[span.row], span.start_ns) in starts


@pytest.mark.run
def test_the_rows_end_with_the_edited_schedule(opened: tuple[Profile, Timeline]) -> None:
    edit = Faster("compute", 2.0)
    drawn = _drawn(opened, edit)
    known = replays(opened[0], LAST)
    assert drawn.predicted_ns == round(edited_schedule(known.middle, [edit]).length_ns)
    assert drawn.predicted_ns < drawn.replayed_ns
    last_ns = max(span.start_ns + span.duration_ns for span in drawn.spans) - drawn.start_ns
    assert last_ns <= drawn.predicted_ns
    assert drawn.prediction == predict(known, [edit])
    assert drawn.sentence.startswith("predicted: with compute 2 times as fast, ")


@pytest.mark.run
def test_the_rows_are_those_of_the_measured_step(opened: tuple[Profile, Timeline]) -> None:
    _, timeline = opened
    rows = _drawn(opened, Faster("compute", 2.0))
    for drawn in rows.tracks:
        assert drawn.track is not None
        assert drawn.device == timeline.tracks[drawn.track].device
        assert drawn.num_rows <= timeline.tracks[drawn.track].num_rows
    with_row = [span for span in rows.spans if span.measured_row is not None]
    assert len(with_row) > 0.9 * len(rows.spans)
    by_row: dict[int, list[int]] = defaultdict(list)
    for row in range(timeline.num_rows):
        first, last = timeline.row_starts[row], timeline.row_starts[row + 1]
        by_row[row] = timeline.start[first:last].tolist()
    for span in with_row:
        assert span.measured_row is not None
        assert span.span_start_ns in by_row[span.measured_row]


@pytest.mark.run
def test_columns_hold_each_text_once(opened: tuple[Profile, Timeline]) -> None:
    drawn = _drawn(opened, Faster("compute", 2.0))
    document = drawn.as_columns()
    assert {len(column) for column in document["spans"].values()} == {len(drawn.spans)}
    assert len(set(document["texts"])) == len(document["texts"])
    names = [document["texts"][code] for code in document["spans"]["name"]]
    assert names == [span.name for span in drawn.spans]


def test_a_run_without_a_graph_is_refused(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=20, windows=1))
    with pytest.raises(LabError, match="graph of segment 0 is missing"):
        predicted_step(profile, lay_out(profile), 0, [Faster("compute", 2.0)])
