"""A replay of a real run reproduces its steps and refuses what was not recorded."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.analysis.facts import Finding, Gain
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.predictors import gain_of
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.step_graph.build import StepBuilder
from strategy_profiles.step_graph.graph import StepGraph
from strategy_profiles.step_graph.recording import read_rows
from strategy_replay.engine.batch_fit import at_other_batches
from strategy_replay.engine.edits import Faster
from strategy_replay.engine.replays import Replays, replays
from strategy_replay.engine.simulate import own_work, simulate
from strategy_replay.engine.what_if import predict
from tests.replaced import replace
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.run
LAST = 1


@pytest.fixture(scope="module")
def known(finished_run: Path) -> Replays:
    return replays(strategy_profiles.load(finished_run), LAST)


def _with_its_own_gaps_ns(graph: StepGraph, cores: float) -> float:
    return simulate(graph, own_work(graph, cores), graph.gap_ns, cores).length_ns


def test_with_its_own_gaps_each_step_is_as_long_as_measured(known: Replays) -> None:
    for step in known.steps:
        length_ns = _with_its_own_gaps_ns(step.graph, step.cores)
        assert length_ns == pytest.approx(step.graph.wall_ns)


def test_a_step_does_not_wait_for_an_op_that_ends_after_it(
    finished_run: Path, known: Replays
) -> None:
    step = known.middle.graph.step
    rows = read_rows(strategy_profiles.load(finished_run), LAST, [step])
    last_end_ns = known.middle.graph.nodes.end_ns[:-1].max()
    for cut_ns in (1_000, 500_000):
        begin = known.recording.bounds[step][0]
        until = begin + int(last_end_ns) - cut_ns
        early = replace(known.recording, bounds={step: (begin, until)})
        graph = StepBuilder(early, rows).build(step)
        assert _with_its_own_gaps_ns(graph, early.cores) == pytest.approx(graph.wall_ns)


def test_the_graph_joins_the_replicas_through_their_collectives(known: Replays) -> None:
    graph = known.middle.graph
    nodes = graph.nodes
    exits = [at for at, category in enumerate(nodes.category) if category == "collective"]
    assert exits
    for at in exits:
        awaited = {int(nodes.replica[before]) for before in graph.waits_for[at]}
        assert awaited == {0, 1, 2, 3}


def test_few_recorded_edges_contradict_the_times(known: Replays) -> None:
    """Most steps have less than 3 %; one of a run beside other programs had 4.3 %."""
    shares = [step.graph.num_dropped / sum(map(len, step.graph.waits_for)) for step in known.steps]
    assert statistics.median(shares) < 0.03
    assert max(shares) < 0.1


def test_compute_for_free_leaves_less_than_faster_compute(known: Replays) -> None:
    half, none = (predict(known, [Faster("compute", times)]) for times in (2.0, np.inf))
    assert none.predicted_ms < half.predicted_ms < known.measured_ms


def test_a_finding_of_a_real_run_has_a_gain(finished_run: Path) -> None:
    removal = Removal("free-ops", kind_of_op="compute", is_bound=True)
    item = Finding("any", LAST, "It computes.", "", None, {}, removal=removal)
    predicted_gain = gain_of(strategy_profiles.load(finished_run), item)
    assert isinstance(predicted_gain, Gain)
    assert 0 < predicted_gain.step_ms < predicted_gain.measured_ms


def test_a_live_change_of_the_batch_gives_a_second_recorded_batch(
    launcher: Launcher, tmp_path: Path
) -> None:
    spec = RunSpec.model_validate(
        {
            "workload": "digits-mlp",
            "devices": "cpu:2",
            "global_batch_size": 64,
            "steps": 40,
            "capture": {"every_step": True, "keep_xplane": False},
            "reconfigure": [{"step": 20, "changes": {"global_batch_size": 128}}],
        }
    )
    assert launcher.launch(spec, tmp_path / "run").wait(MAX_WAIT_S)
    profile = strategy_profiles.load(tmp_path / "run")
    for segment, other in ((0, 128), (1, 64)):
        opened = replays(profile, segment).recording.segment
        predictions = at_other_batches(profile, opened)
        assert [each.recording.segment.global_batch_size for each in predictions] == [other]
