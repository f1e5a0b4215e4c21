"""The frames that TensorFlow puts on Python's stack are recognised: each here is a real one."""

from __future__ import annotations

import inspect
import re
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from strategy_core.private_tf import frame_names

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


def files_while(wait: Callable[[Callable[[], None]], object]) -> list[str]:
    """The files on this thread's stack, innermost first, while `wait` waits for what it calls."""
    waiting = threading.get_ident()
    files: list[str] = []

    def look() -> None:
        frame = sys._current_frames()[waiting]
        files.extend(each.filename for each in inspect.getouterframes(frame, context=0))

    wait(look)
    return files


def batches(look: Callable[[], None]) -> Any:
    def examples() -> Iterable[float]:
        look()
        yield 1.0

    import tensorflow as tf

    return tf.data.Dataset.from_generator(examples, output_signature=tf.TensorSpec([]))


def test_a_wait_for_a_batch_is_recognised():
    files = files_while(lambda look: next(iter(batches(look).batch(1))))
    assert any(map(frame_names.is_input_file, files))


def test_a_wait_for_a_distributed_batch_is_recognised():
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])

    def wait(look: Callable[[], None]) -> object:
        return next(iter(strategy.experimental_distribute_dataset(batches(look).batch(1))))

    files = files_while(wait)
    assert any(map(frame_names.is_input_file, files))


def test_a_wait_for_an_op_is_recognised_and_is_no_wait_for_input():
    import tensorflow as tf

    def wait(look: Callable[[], None]) -> object:
        @tf.function
        def step() -> None:
            tf.numpy_function(look, [], [])

        return step()

    files = files_while(wait)
    assert any(map(frame_names.is_file_of_tensorflow, files))
    assert not any(map(frame_names.is_input_file, files))


def test_a_call_by_autograph_differs_from_other_calls_by_tensorflow():
    import tensorflow as tf

    callers: list[str] = []

    def called() -> None:
        frame = inspect.currentframe()
        while frame is not None:
            callers.append(str(frame.f_globals.get("__name__", "")))
            frame = frame.f_back

    @tf.function
    def converted() -> None:
        called()

    converted()
    of_tensorflow = [name for name in callers if frame_names.is_library(name)]
    assert any(map(frame_names.is_autograph, of_tensorflow))
    assert not all(map(frame_names.is_autograph, of_tensorflow))


def test_modules_of_tensorflow_and_keras_differ_from_the_programs_own():
    import keras
    import tensorflow as tf

    assert frame_names.is_library(tf.Variable.__module__)
    assert frame_names.is_library(keras.Model.__module__)
    assert not frame_names.is_library("tensorflow_datasets.core")
    assert not frame_names.is_library(__name__)


def test_the_classes_that_need_embedding_hardware_are_recognised():
    import tensorflow as tf

    embedding = tf.tpu.experimental.embedding
    for kind in (
        embedding.TPUEmbedding,
        embedding.TPUEmbeddingForServing,
        embedding.TPUEmbeddingV0,
    ):
        assert frame_names.is_tpu_embedding(kind.__module__), kind
    assert not frame_names.is_tpu_embedding(tf.distribute.TPUStrategy.__module__)


def test_the_thread_that_waits_for_a_worker_of_a_coordinator_is_recognised():
    from tensorflow.python.distribute.coordinator import cluster_coordinator

    worker = cluster_coordinator.Worker
    name = re.search(r'name="(\S+)%d"', inspect.getsource(worker.__init__))
    assert name is not None
    assert frame_names.closure_worker(f"{name[1]}3") == 3
    assert frame_names.closure_worker("Thread-3") is None
    runs = worker._process_closure.__name__
    assert frame_names.is_run_of_closure(runs)
    assert f"self.{runs}(" in inspect.getsource(worker._process_queue)


def test_the_functions_that_make_the_keys_of_collectives_are_recognised():
    """No collective runs: a second strategy of a process would share its keys with the first."""
    import tensorflow as tf
    from tensorflow.python.distribute.cross_device_utils import CollectiveReplicaLauncher

    names: list[str] = []

    def key() -> Any:
        frame = inspect.currentframe()
        assert frame is not None
        names.extend(each.function for each in inspect.getouterframes(frame, context=0))
        return tf.constant(1)

    @tf.function
    def step() -> Any:
        graph: Any = tf.compat.v1.get_default_graph()
        return graph.capture_call_time_value(key, tf.TensorSpec([], tf.int32))

    step()
    names.clear()  # of the tracing
    step()
    assert any(map(frame_names.is_collective_key, names))
    makes_key = CollectiveReplicaLauncher._next_instance_key
    assert frame_names.is_collective_key(makes_key.__name__)
    assert "capture_call_time_value" in inspect.getsource(makes_key)


def test_the_function_that_waits_for_the_runtime_is_recognised():
    import tensorflow as tf

    waiting = threading.get_ident()
    names: list[str] = []

    def look() -> None:
        frame = sys._current_frames()[waiting]
        names.extend(each.function for each in inspect.getouterframes(frame, context=0))

    @tf.function
    def step() -> None:
        tf.numpy_function(look, [], [])

    step()
    assert any(map(frame_names.is_execution, names))


def test_the_function_that_makes_tensors_of_arguments_is_recognised():
    from tensorflow.core.function.polymorphism.function_type import FunctionType
    from tensorflow.python.eager.polymorphic_function import tracing_compilation

    makes = FunctionType.unpack_inputs.__name__
    assert frame_names.is_conversion_of_arguments(makes)
    assert f".{makes}(" in inspect.getsource(tracing_compilation.call_function)
