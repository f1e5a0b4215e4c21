"""The slack of the op of a span: known for every op of a replayed step, else with the reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.errors import LabError
from strategy_profiles.step_graph.graph import ENTER
from strategy_profiles.step_graph.recording import read_recording
from strategy_profiles.timeline import Timeline, lay_out
from strategy_profiles.timeline.critical_path import path_of_step
from strategy_profiles.timeline.slack import StepSlack, slack_of, step_of_span, step_slack
from tests.synthetic import write_run

Spans = list[tuple[int, int]]
"""Row and start of each."""


@pytest.fixture(scope="module")
def step(finished_run: Path) -> tuple[Timeline, StepSlack, Spans]:
    """A captured step of four replicas, and its spans."""
    profile = strategy_profiles.load(finished_run)
    timeline = lay_out(profile)
    number = read_recording(profile, 1).steps[-1]
    chosen = np.flatnonzero(timeline.step == number)
    rows = np.searchsorted(timeline.row_starts, chosen, side="right") - 1
    spans = list(zip(rows.tolist(), timeline.start[chosen].tolist(), strict=True))
    return timeline, step_slack(profile, timeline, number), spans


@pytest.mark.run
def test_every_op_has_a_slack_or_a_reason(step: tuple[Timeline, StepSlack, Spans]) -> None:
    timeline, known, spans = step
    slacks, reasons = [], set[str]()
    for row, start in spans:
        try:
            slacks.append(slack_of(timeline, known, row, start))
        except LabError as error:
            reasons.add(str(error))
    assert len(slacks) > 0.9 * len(spans)
    assert all("was" in each or "is" in each for each in reasons)
    assert all(0 <= each.slack_ns <= known.graph.wall_ns for each in slacks)
    on_path = [each for each in slacks if each.is_on_path]
    assert on_path
    assert all(each.slack_ns == 0 and "critical path" in each.sentence for each in on_path)
    assert any("could end that much later" in each.sentence for each in slacks)
    assert all(each.replay_error == known.replay_error for each in slacks)


@pytest.mark.run
def test_an_early_replica_could_enter_a_collective_later(
    step: tuple[Timeline, StepSlack, Spans],
) -> None:
    timeline, known, spans = step
    nodes = known.graph.nodes
    entries = {
        known.begin_ns + round(nodes.start_ns[at])
        for at, kind in enumerate(nodes.category)
        if kind == ENTER
    }
    slacks = [
        slack_of(timeline, known, row, start)
        for row, start in spans
        if start in entries and timeline.categories[_category(timeline, row, start)] == "collective"
    ]
    assert slacks
    assert any("this replica could enter that much later" in each.sentence for each in slacks)


@pytest.mark.run
def test_ops_of_the_drawn_path_are_on_it(
    step: tuple[Timeline, StepSlack, Spans], finished_run: Path
) -> None:
    timeline, known, _ = step
    parts = path_of_step(strategy_profiles.load(finished_run), timeline, known.graph.step)
    ops = [(part.row, part.span_ns) for part in parts if part.kind == "compute"]
    drawn = [(row, at) for row, at in ops if row is not None and at is not None]
    on_path = [slack_of(timeline, known, *each).is_on_path for each in drawn]
    assert sum(on_path) > 0.9 * len(ops)


def _category(timeline: Timeline, row: int, start: int) -> int:
    first = timeline.row_starts[row]
    at = first + np.searchsorted(timeline.start[first : timeline.row_starts[row + 1]], start)
    return int(timeline.category[at])


def test_a_run_without_a_graph_says_why(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=20, windows=1))
    timeline = lay_out(profile)
    start = int(timeline.start[0])
    step = step_of_span(timeline, 0, start)
    with pytest.raises(LabError, match="graph of segment 0 is missing"):
        step_slack(profile, timeline, step)
    with pytest.raises(LabError, match="No op starts there"):
        step_of_span(timeline, 0, start + 1)
