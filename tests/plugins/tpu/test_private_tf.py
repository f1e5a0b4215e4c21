"""The private TensorFlow that the emulation needs is there and does what it is needed for."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from tests.strategy_core.private_tf.lost_name import said_without
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.tf


@pytest.fixture(scope="module")
def tf() -> ModuleType:
    import tensorflow

    return tensorflow


@pytest.fixture(scope="module")
def private_tf() -> ModuleType:
    from strategy_tpu import private_tf

    return private_tf


def test_every_private_name_of_tpus_is_there(tf, private_tf):
    missing = [name for name in private_tf.__all__ if not hasattr(private_tf, name)]
    assert missing == [], f"TensorFlow {tf.__version__} moved {missing}"


@pytest.mark.parametrize(
    "name",
    [
        "_tpu_function_creator",
        "_local_results",
        "_broadcast_to",
        "_gather_to_implementation",
        "_call_for_each_replica",
        "_experimental_run_steps_on_iterator",
    ],
)
def test_the_stock_back_end_still_has_what_is_replaced(name, tf, private_tf):
    assert callable(getattr(private_tf.TPUExtended, name, None)), (
        f"TensorFlow {tf.__version__} has no TPUExtended.{name}: the emulation replaces it"
    )


def test_ops_are_copied_with_name_device_and_attributes(tf, private_tf):
    graph = private_tf.FuncGraph("scratch")
    with graph.as_default():
        a = tf.constant([[1.0, 2.0]])
        template = tf.matmul(a, a, transpose_b=True).op
        attrs = dict(template.node_def.attr)
        new = private_tf.create_op(
            template, [a, a], [tf.float32], "copy", attrs, "/job:localhost/device:CPU:1"
        )
    assert (new.name, new.get_attr("transpose_b")) == ("copy", True)
    assert new.device.endswith("CPU:1")


def test_a_traced_cluster_bears_the_marks_that_are_looked_for(tf, private_tf):
    graph = private_tf.FuncGraph("cluster")
    with graph.as_default():
        private_tf.replicate(lambda x: x + 1.0, [[tf.constant(1.0)], [tf.constant(2.0)]])
    types = {op.type for op in graph.get_operations()}
    assert {"TPUReplicateMetadata", "TPUReplicatedInput", "TPUReplicatedOutput"} <= types
    marked = [op for op in graph.get_operations() if op.type == "AddV2"]
    assert marked[0].get_attr("_tpu_replicate")


def test_topologies_are_drawn_without_tensorflow():
    code = "import sys; from strategy_core.tpu import mesh; sys.exit('tensorflow' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, timeout=MAX_WAIT_S).returncode
        == 0
    )


def test_a_name_that_is_gone_costs_no_other_strategy() -> None:
    module = "tensorflow.python.tpu.tpu"
    said = said_without(module, "replicate", "strategy_tpu.private_tf")
    assert said.startswith(f"The TPU emulation needs {module}:replicate")
