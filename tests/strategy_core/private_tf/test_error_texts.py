"""TensorFlow and Keras still word the errors that the lab recognises as they did."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strategy_core.private_tf import error_texts
from strategy_core.runtime.error_message import cause
from strategy_profiles.run import tensorflow_names

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]
REPOSITORY = Path(__file__).parents[3]


def error_of(call: Callable[[], Any]) -> Exception:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - its text is what is looked at
        call()
    return raised.value


def test_a_label_beyond_the_outputs_is_recognised() -> None:
    import keras
    import tensorflow as tf

    loss = keras.losses.SparseCategoricalCrossentropy()
    error = error_of(lambda: loss(tf.constant([7]), tf.constant([[0.5, 0.5]])))
    match = error_texts.LABEL_OUT_OF_RANGE.search(str(error))
    assert match is not None
    assert match.groups() == ("7", "2")


def test_an_index_beyond_the_rows_is_recognised() -> None:
    import tensorflow as tf

    error = error_of(lambda: tf.gather(tf.zeros([3, 2]), tf.constant([5])))
    match = error_texts.INDEX_OUT_OF_RANGE.search(str(error))
    assert match is not None
    assert match.groups() == ("5", "3")


def test_the_error_of_a_loss_that_depends_on_no_weight_is_recognised() -> None:
    import keras
    import tensorflow as tf

    optimizer, weight = keras.optimizers.SGD(), keras.Variable(1.0)
    error = error_of(lambda: optimizer.apply_gradients([(None, weight)]))
    assert str(error).startswith(error_texts.NO_GRADIENTS)
    assert isinstance(error, ValueError)
    del tf


def test_the_error_of_two_strategies_that_share_a_collective_key_is_recognised() -> None:
    """In a process of its own: the error ends all further collectives of a process."""
    program = """
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
def step_of(size):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    def replica():
        return tf.distribute.get_replica_context().all_reduce("SUM", tf.ones([size]))
    return tf.function(lambda: strategy.run(replica))
first, second = step_of(3), step_of(5)
first()
second()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert tensorflow_names.SHAPES_DIFFER in ended.stderr
    match = tensorflow_names.SHAPES_OF_MEMBERS.search(ended.stderr)
    assert match is not None
    assert set(match.groups()) == {"[3]", "[5]"}


def test_the_error_of_python_that_raises_inside_an_op_is_recognised() -> None:
    import tensorflow as tf

    def broken() -> None:
        raise KeyError("no such column")

    @tf.function
    def step() -> Any:
        return tf.numpy_function(broken, [], tf.float32)

    error = error_of(step)
    assert isinstance(error, tf.errors.UnknownError)
    assert error_texts.PYTHON_TRACEBACK in str(error)
    assert cause(error) == "KeyError: 'no such column'"


def test_a_transformation_of_tf_data_is_not_part_of_the_cause() -> None:
    import tensorflow as tf

    data = tf.data.Dataset.range(2).map(lambda n: tf.gather([1, 2], n + 5))
    text = cause(error_of(lambda: list(data)))
    assert text == "indices = 5 is not in [0, 2)"


def test_a_failing_op_of_a_graph_is_named_by_its_cause_alone() -> None:
    import tensorflow as tf

    @tf.function
    def step(n: tf.Tensor) -> Any:
        return tf.debugging.check_numerics(tf.math.log(n), "loss")

    text = cause(error_of(lambda: step(tf.constant(-1.0))))
    assert text == "loss : Tensor had NaN values"


UNEQUAL_PEERS = """
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

def replica():
    context = tf.distribute.get_replica_context()
    length = tf.reshape(2 + context.replica_id_in_sync_group, [1])
    return context.all_reduce("SUM", tf.zeros(length))

try:
    tf.function(lambda: strategy.run(replica))()
except tf.errors.OpError as error:
    print(error)
"""


def test_the_failure_of_a_peer_is_distinguished_from_the_cause() -> None:
    """In a process of its own: after such an error no collective of a process works again."""
    ended = subprocess.run(
        [sys.executable, "-c", UNEQUAL_PEERS], capture_output=True, text=True, check=True
    )
    assert error_texts.ABOUT_PEERS.search(ended.stdout), ended.stdout


def test_the_error_of_a_summary_without_tensorboard_is_recognised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import tensorflow as tf

    for name in [name for name in sys.modules if name.split(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)  # as if it was not installed
    error = error_of(lambda: tf.summary.scalar("x", 1.0, 0))
    assert error_texts.NO_TENSORBOARD in str(error)


def test_xla_refuses_a_variable_of_another_device() -> None:
    import tensorflow as tf

    with tf.device("CPU:1"):
        variable = tf.Variable(1.0)

    @tf.function(jit_compile=True)
    def read() -> tf.Tensor:
        return variable + 1.0

    with tf.device("CPU:0"):
        refused = error_of(read)
    assert tensorflow_names.XLA_ACROSS_DEVICES.search(str(refused)), refused


@pytest.fixture(scope="module")
def strategy() -> Any:
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def test_the_error_of_a_cross_replica_call_in_replica_context_is_recognised(strategy: Any) -> None:
    error = error_of(lambda: strategy.run(lambda: strategy.reduce("SUM", 1.0, axis=None)))
    assert error_texts.NEEDS_CROSS_REPLICA_CONTEXT.search(str(error)), error


def test_the_error_of_a_replica_call_in_cross_replica_context_is_recognised(strategy: Any) -> None:
    import tensorflow as tf

    with strategy.scope():
        error = error_of(lambda: tf.distribute.get_replica_context().all_reduce("SUM", 1.0))
    assert error_texts.NEEDS_REPLICA_CONTEXT.search(str(error)), error


def test_the_error_of_replicas_with_unequal_merge_calls_is_recognised(strategy: Any) -> None:
    import tensorflow as tf

    def step() -> None:
        context = tf.distribute.get_replica_context()
        if int(context.replica_id_in_sync_group) == 0:
            context.merge_call(lambda _: None)

    error = error_of(lambda: strategy.run(step))
    assert error_texts.UNEQUAL_MERGE_CALLS.search(str(error)), error


def test_the_error_of_the_scope_of_another_strategy_inside_a_scope_is_recognised(
    strategy: Any,
) -> None:
    import tensorflow as tf

    other = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        error = error_of(other.scope().__enter__)
    assert error_texts.MIXED_STRATEGIES.search(str(error)), error


def test_the_error_of_an_assignment_without_an_aggregation_is_recognised() -> None:
    """Of the variables that replicas share: copies of a mirrored variable then take any value."""
    import tensorflow as tf

    strategy = tf.distribute.experimental.CentralStorageStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        variable = tf.Variable(0.0)
    error = error_of(lambda: strategy.run(lambda: variable.assign(1.0)))
    assert error_texts.NO_AGGREGATION.search(str(error)), error


def test_the_error_of_an_assignment_to_a_sum_of_replicas_in_cross_replica_context_is_recognised(
    strategy: Any,
) -> None:
    import tensorflow as tf

    with strategy.scope():
        variable = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        error = error_of(lambda: variable.assign_add(1.0))
    assert error_texts.SYNC_ON_READ_ASSIGNMENT.search(str(error)), error


def test_the_error_of_a_merge_call_inside_a_function_of_the_replica_is_recognised(
    strategy: Any,
) -> None:
    import tensorflow as tf

    def step() -> Any:
        context = tf.distribute.get_replica_context()
        return tf.function(lambda: context.merge_call(lambda _: tf.constant(1.0)))()

    error = error_of(lambda: strategy.run(step))
    assert error_texts.MERGE_CALL_INSIDE_GRAPH.search(str(error)), error


def test_the_errors_of_a_lost_peer_are_classes_of_tensorflow() -> None:
    import tensorflow as tf

    for name in tensorflow_names.LOST_PEER_ERRORS:
        assert issubclass(getattr(tf.errors, name), tf.errors.OpError)


def test_ops_that_run_python_have_the_types_that_readers_look_for() -> None:
    import tensorflow as tf

    @tf.function
    def runs_python(x: tf.Tensor) -> tf.Tensor:
        eager = tf.py_function(abs, [x], tf.float32)
        return eager + tf.numpy_function(abs, [x], tf.float32, stateful=False)

    graph = runs_python.get_concrete_function(tf.TensorSpec([], tf.float32)).graph
    types = {op.type for op in graph.get_operations() if "Py" in op.type}
    assert types == {"EagerPyFunc", "PyFuncStateless"}
    assert types | {"PyFunc"} == tensorflow_names.PYTHON_OPS


def test_a_graph_reads_a_variable_by_an_op_of_that_name() -> None:
    import tensorflow as tf

    variable = tf.Variable(1.0)
    graph = tf.function(lambda: variable + 1.0).get_concrete_function().graph
    assert tensorflow_names.READ_VARIABLE in {op.type for op in graph.get_operations()}


@pytest.mark.parametrize(
    "text",
    ["Shape mismatch in the", "PyFuncStateless", "Trying to access resource", "UnavailableError"],
)
def test_a_name_of_tensorflow_is_written_in_one_file(text: str) -> None:
    named = {
        str(file.relative_to(REPOSITORY))
        for folder in ("app", "profiles", "strategy_core", "plugins")
        for file in (REPOSITORY / folder).rglob("*.py")
        if f'"{text}' in file.read_text("utf-8")
    }
    assert named == {"profiles/strategy_profiles/run/tensorflow_names.py"}


def test_a_first_step_of_two_replicas_cannot_create_variables() -> None:
    import keras
    import tensorflow as tf

    mirrored = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with mirrored.scope():
        weights = keras.Variable(tf.ones(()))
        optimizer = keras.optimizers.Adam()

    @tf.function
    def step() -> None:
        mirrored.run(lambda: optimizer.apply_gradients([(tf.ones(()), weights)]))

    refused = error_of(step)
    assert tensorflow_names.VARIABLES_IN_FIRST_STEP.search(str(refused)), refused
