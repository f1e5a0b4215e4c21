"""Sizes of tensors and graphs come from TensorFlow's C API, which does not hold Python's lock."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

NUM_OPS = 1500
MOST_CALLS_PER_OP = 12
"""Python calls for the size of an op's tensor: 9 today, 80 through TensorFlow's Python importer."""


def _graph_def(num_ops: int = 3) -> Any:
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default():
        value = tf.compat.v1.placeholder(tf.float32, [None, 4], name="rows")
        tf.compat.v1.placeholder(tf.float64, None, name="any")
        tf.constant("text", name="text")
        tf.zeros([0, 3], name="empty")
        tf.unique(tf.constant([1, 2, 2]), name="unique")  # two outputs, one of unknown length
        tf.nn.moments(tf.ones([8, 2], tf.float16), axes=[0])
        for _ in range(num_ops):
            value = tf.nn.relu(value)
            tf.matmul(value, tf.ones([4, 4]))
    return graph.as_graph_def()


def test_sizes_are_those_of_the_python_importer() -> None:
    import tensorflow as tf

    from strategy_core.private_tf import tensor_sizes as sizes

    tensors = list(sizes.tensor_sizes(_graph_def()))
    assert tensors == list(sizes._imported_in_python(_graph_def()))
    by_name = {name: (count, dtype) for name, count, dtype in tensors}
    assert by_name["rows:0"] == (None, tf.float32)
    assert by_name["any:0"] == (None, tf.float64)
    assert by_name["text:0"] == (1, tf.string)
    assert by_name["empty:0"] == (0, tf.float32)
    assert by_name["unique:1"] == (3, tf.int32)


@pytest.mark.parametrize("has_library", [True, False])
def test_an_unknown_op_is_a_value_error(
    monkeypatch: pytest.MonkeyPatch, *, has_library: bool
) -> None:
    from strategy_core.private_tf import c_api, tensor_sizes

    if not has_library:
        monkeypatch.setattr(c_api, "_library", lambda: None)
    graph_def = _graph_def()
    graph_def.node[0].op = "NobodysOp"
    with pytest.raises(ValueError, match="NobodysOp"):
        list(tensor_sizes.tensor_sizes(graph_def))


def test_the_size_of_a_tensor_costs_few_python_calls() -> None:
    from strategy_core.private_tf.tensor_sizes import tensor_sizes

    graph_def = _graph_def(NUM_OPS)
    num_calls = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal num_calls
        num_calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        num_tensors = sum(1 for _ in tensor_sizes(graph_def))
    finally:
        sys.setprofile(None)
    assert num_tensors > NUM_OPS
    assert num_calls < MOST_CALLS_PER_OP * num_tensors


def _collected_step(num_ops: int) -> None:
    import tensorflow as tf

    @tf.function(autograph=False)
    def step(value: Any) -> Any:
        for _ in range(num_ops):
            value = tf.raw_ops.MatMul(a=value, b=value)  # no optimizer joins these
        return value

    step(tf.ones([2, 2]))


@pytest.mark.parametrize("has_library", [True, False])
def test_the_collected_graph_is_there_once(
    monkeypatch: pytest.MonkeyPatch, *, has_library: bool
) -> None:
    from strategy_core.private_tf import c_api, tracing

    if not has_library:
        monkeypatch.setattr(c_api, "_library", lambda: None)
    assert tracing.begin_graph_collection()
    _collected_step(5)
    (metadata,) = tracing.end_graph_collection()
    ops = [
        node.op
        for graphs in metadata.function_graphs
        for partition in graphs.partition_graphs
        for node in partition.node
    ]
    assert sum(op.endswith("MatMul") for op in ops) == 5  # oneDNN has one of its own
    (again,) = tracing.end_graph_collection()
    assert not again.function_graphs


def test_another_thread_runs_while_the_graph_is_exported() -> None:
    """With a long switch interval a thread runs only if the other one gives up Python's lock."""
    from strategy_core.private_tf import tracing

    exported: list[Any] = []
    assert tracing.begin_graph_collection()
    _collected_step(NUM_OPS)
    export_began = threading.Event()
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(60.0)
    try:

        def end() -> None:
            export_began.set()
            exported.extend(tracing.end_graph_collection())

        tracing.end_graph_collection_beside(end)
        export_began.wait()
        num_turns = 0
        while not exported:
            time.sleep(0)
            num_turns += 1
        tracing.wait_for_graphs()
    finally:
        sys.setswitchinterval(usual_s)
    (metadata,) = exported
    assert metadata.function_graphs
    assert num_turns  # none while the lock is held; about 200 on a core that is free


def test_the_next_collection_waits_for_the_export_of_the_last() -> None:
    from strategy_core.private_tf import tracing

    may_end, order = threading.Event(), []

    def end() -> None:
        may_end.wait()
        tracing.end_graph_collection()
        order.append("ended")

    assert tracing.begin_graph_collection()
    tracing.end_graph_collection_beside(end)
    threading.Thread(target=may_end.set).start()
    assert tracing.begin_graph_collection()
    order.append("begun")
    assert order == ["ended", "begun"]
    tracing.end_graph_collection()


def test_the_trainings_thread_does_little_for_the_graph_of_a_large_step(tmp_path: Path) -> None:
    """Processor time, of which the export in a thread of its own takes the most."""
    from strategy_core.recorder.graph_trace import GraphTrace
    from strategy_profiles.run.layout import worker_folder

    folder = worker_folder(tmp_path, 0)
    folder.path.mkdir()
    trace = GraphTrace(folder, 0, ["/device:CPU:0"])
    _collected_step(2 * NUM_OPS)
    begin_s = time.thread_time()
    trace.first_step_done()
    took_s = time.thread_time() - begin_s
    outcome = trace.outcome(wait=True)
    assert outcome is not None
    assert outcome.reason is None
    assert trace.is_reported
    assert took_s < 0.1 * trace.take_cost_ms() / 1e3
