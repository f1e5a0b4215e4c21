"""A run that returns to an earlier configuration builds and traces nothing again, and goes on."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from strategy_core.training import state

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

START: dict[str, Any] = {"devices": "cpu:4", "workload": "digits-mlp", "global_batch_size": 24}
THERE_AND_BACK: dict[str, list[dict[str, Any]]] = {
    "devices": [{"devices": "cpu:2"}, {"devices": "cpu:4"}],
    "strategy": [{"strategy": "central-storage"}, {"strategy": "mirrored"}],
    "algorithm": [{"cross_device_ops": "reduction-to-one-device"}, {"cross_device_ops": "auto"}],
    "delay": [{"inject": [{"replica": 1, "ms": 1}]}, {"inject": []}],
    "xla": [{"xla": True}, {"xla": False}],
    "marks": [{"capture.marks": False}, {"capture.marks": True}],
}


@pytest.fixture(scope="module")
def unchanged() -> tuple[list[float], state.State]:
    """Losses and final state of ten steps without a change."""
    from tests.strategy_core.in_memory import trained

    return trained(10, **START)


@pytest.mark.long(keep=2)
@pytest.mark.parametrize("changed", THERE_AND_BACK)
def test_changing_there_and_back_twice_trains_the_same(
    changed: str, unchanged: tuple[list[float], state.State]
) -> None:
    from tests.strategy_core.in_memory import opened, run_steps

    expected_losses, expected_state = unchanged
    training, recorder = opened(**START)
    first = training._current
    for changes in 2 * THERE_AND_BACK[changed]:
        run_steps(training, 2)
        training.reconfigure(training.spec.with_changes(changes))
    run_steps(training, 2)
    assert training._current.model is first.model
    assert training._current.traced is first.traced
    assert recorder.same_as == [(), (), (0,), (1,), (0,)]
    assert training.num_traced == 2
    for segment in recorder.segments[1:]:
        assert segment.state_checksum_before == segment.state_checksum_after
    np.testing.assert_allclose(recorder.losses, expected_losses, rtol=1e-5)
    for actual, expected in zip(training.take_state(), expected_state, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)


def test_changing_the_length_of_a_delay_needs_no_retracing() -> None:
    """The graph has a place for it, and the length is asked for when the step runs."""
    from tests.strategy_core.in_memory import opened, run_steps

    training, recorder = opened(**START, inject=[{"replica": 1, "ms": 1}])
    run_steps(training, 2)
    training.reconfigure(training.spec.with_changes({"inject": [{"replica": 1, "ms": 80}]}))
    run_steps(training, 2)
    assert recorder.same_as == [(), (0,)]
    inputs, ready, _ = np.asarray(recorder.marks[-1]).T
    assert (ready[1] - inputs[1]) / 1e6 > 79, "its gradients are ready 80 ms late, or later"


def test_a_first_delay_needs_no_retracing_where_each_replica_has_a_place_for_one() -> None:
    from tests.strategy_core.in_memory import opened, run_steps

    training, recorder = opened(**START, live_delays=True)
    run_steps(training, 2)
    for inject in ([{"replica": 1, "ms": 80}], [{"replica": 3, "ms": 60}], []):
        training.reconfigure(training.spec.with_changes({"inject": inject}))
        run_steps(training, 2)
    assert training.num_traced == 1
    assert recorder.same_as == [(), (0,), (0,), (0,)]
    late = [_late_ms(recorder.marks[at]) for at in (-7, -5, -3, -1)]
    assert [[replica for replica in range(4) if ms[replica] > 55] for ms in late] == [
        [],
        [1],
        [3],
        [],
    ]


def _late_ms(marks: Any) -> Any:
    """How long after its inputs each replica's gradients were ready."""
    inputs, ready, _ = np.asarray(marks).T
    return (ready - inputs) / 1e6


def test_a_changed_algorithm_is_traced_and_the_former_graph_is_reused(tmp_path: Path) -> None:
    from strategy_core.recorder.recorder import Recorder
    from strategy_core.training.trainer import Training
    from strategy_profiles.run.layout import worker_folder
    from strategy_profiles.spec.run_spec import RunSpec
    from tests.strategy_core.in_memory import run_steps

    spec = RunSpec(**START)
    recorder = Recorder(worker_folder(tmp_path, 0, 0), capture=spec.capture)
    training = Training(spec, recorder)
    training.open()
    for algorithm in ("reduction-to-one-device", "collective-ring", "auto"):
        run_steps(training, 1)
        training.reconfigure(training.spec.with_changes({"cross_device_ops": algorithm}))
    run_steps(training, 1)
    recorder.close("finished")
    folder = recorder.folder
    tables = [pq.read_table(folder.placement(number)) for number in range(4)]
    has_ring = ["CollectiveReduceV2" in table["op"].to_pylist() for table in tables]
    assert has_ring == [True, False, True, True]
    assert [set(table["segment"].to_pylist()) for table in tables] == [{0}, {1}, {2}, {3}]
    before, back = (tables[number].drop_columns(["segment"]) for number in (0, 3))
    assert back.equals(before)
    assert folder.graph(3).read_bytes() == folder.graph(0).read_bytes()


def test_recording_contexts_traces_the_step_again() -> None:
    from tests.strategy_core.in_memory import opened, run_steps

    training, recorder = opened(**START)
    run_steps(training, 1)
    training.reconfigure(training.spec.with_changes({"capture.contexts": True}))
    run_steps(training, 1)
    assert recorder.same_as == [(), ()]


def test_the_segment_cache_is_bounded() -> None:
    from strategy_core.training.segment_cache import SegmentCache
    from tests.strategy_core.in_memory import opened

    training, _ = opened(**START)
    left, held = training._current, training.take_state()
    rates = [left.spec.with_changes({"learning_rate": rate}) for rate in (0.1, 0.2, 0.3)]
    num_bytes = sum(array.nbytes for array in held) * left.plan.num_replicas
    for kept in (SegmentCache(max_kept=2), SegmentCache(max_bytes=2 * num_bytes)):
        for spec in rates:
            segment = copy(left)
            segment.spec = spec
            kept.keep(segment, held)
        assert kept.find(rates[0]) is None, "the one left longest ago goes first"
        assert kept.find(rates[1]) is not None
        assert kept.find(rates[2].with_changes({"inject": [{"replica": 1, "ms": 5}]})) is not None
    none = SegmentCache(max_bytes=num_bytes - 1)
    none.keep(left, held)
    assert none.find(left.spec) is None


def test_a_workload_file_saved_again_is_built_again(tmp_path: Path) -> None:
    from strategy_core.planning.workload_catalog import find
    from strategy_core.training.segment_cache import SegmentCache
    from tests.strategy_core.in_memory import opened

    file = tmp_path / "mine.py"
    file.write_text(find("digits-mlp").read_text())
    training, _ = opened(**START | {"workload": str(file)})
    kept = SegmentCache()
    kept.keep(training._current, training.take_state())
    assert kept.find(training.spec) is not None
    file.write_text(file.read_text() + "\n# saved again\n")
    assert kept.find(training.spec) is None
