"""Programs that really fail: each by one of the known errors, or by one that must stay unknown.

All run one after the other in one process that has two or more logical CPUs. So each makes its
strategy afresh, with a reduction that an error of one program does not end for the others: the
default one, of collectives, is of no use to a process once a step failed. Errors inside of a graph
are those of one replica, or of no strategy: which of two failed replicas is named is chance.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import keras
import numpy as np
import tensorflow as tf

Call = Callable[[], object]


@dataclass(frozen=True)
class Program:
    """A program and what is to be said of its error."""

    call: Call
    key: str | None
    """Of the known error; None if no entry may explain it."""
    replica: int | None
    layer: str
    """How the layer's name begins; empty for an error of none."""

    @property
    def name(self) -> str:
        return self.call.__name__


PROGRAMS: list[Program] = []


def fails_by(key: str | None, *, replica: int | None = None, layer: str = "") -> Any:
    def registered(call: Call) -> Call:
        PROGRAMS.append(Program(call, key, replica, layer))
        return call

    return registered


def two_cpus() -> tf.distribute.Strategy:
    return tf.distribute.MirroredStrategy(
        ["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )


def on_each(replica: Callable[..., object], *args: object) -> object:
    """Run a function on two replicas, inside of a graph."""
    strategy = two_cpus()
    return tf.function(lambda *given: strategy.run(replica, args=given))(*args)


def in_replica() -> Any:
    return tf.distribute.get_replica_context()


def fit(layers: list[Any], x: Any, y: Any, loss: str = "mse", **fit: Any) -> None:
    """Train a Keras model on two replicas."""
    strategy = two_cpus()
    with strategy.scope():
        model = keras.Sequential(layers)
        model.compile("sgd", loss)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
    model.fit(data, verbose=0, **fit)


def dense(units: int = 1) -> Any:
    return keras.layers.Dense(units)


# Data


@keras.saving.register_keras_serializable()
class ByFirst(keras.layers.Layer):  # type: ignore[misc]
    """Divides a batch by its first example."""

    def call(self, batch: Any) -> Any:
        return batch / batch[0]


@fails_by("empty-batch", replica=1, layer="by_first")
def first_example_of_an_empty_batch() -> None:
    fit([ByFirst(), dense()], np.ones((9, 2)), np.ones((9, 1)))


@fails_by("empty-batch", replica=1)
def largest_of_an_empty_batch() -> None:
    strategy = two_cpus()
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(5).batch(4))
    step = tf.function(lambda batch: strategy.run(lambda one: tf.argmax(one, axis=0), (batch,)))
    for batch in data:
        step(batch)


@fails_by("empty-batch", replica=1, layer="lambda")
def reshape_of_an_empty_batch() -> None:
    at_least_one = keras.layers.Lambda(
        lambda batch: tf.reshape(batch, [tf.maximum(tf.shape(batch)[0], 1), 4])
    )
    fit([at_least_one, dense()], np.ones((9, 2, 2)), np.ones((9, 1)))


@fails_by("fixed-reshape")
def reshape_to_a_known_shape() -> None:
    on_each(lambda: tf.reshape(tf.ones([3]), [2]))


@fails_by("fixed-reshape", replica=1, layer="lambda")
def reshape_to_a_multiple() -> None:
    pairs = keras.layers.Lambda(lambda batch: tf.reshape(batch, [-1, 8]))
    fit([pairs, dense()], np.ones((7, 2, 2)), np.ones((7, 1)))


@fails_by("fixed-reshape", replica=1, layer="lambda")
def reshape_to_a_fixed_batch() -> None:
    fixed = keras.layers.Lambda(lambda batch: tf.reshape(batch, [2, 4]))
    fit([fixed, dense()], np.ones((7, 2, 2)), np.ones((7, 1)))


@fails_by("end-of-data")
def more_steps_than_batches() -> None:
    strategy = two_cpus()
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4))

    @tf.function
    def steps(batches: Any) -> None:
        for _ in tf.range(3):
            strategy.run(tf.square, args=(next(batches),))

    steps(iter(data))


@fails_by("end-of-data")
def more_calls_than_batches() -> None:
    strategy = two_cpus()
    batches = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4)))
    step = tf.function(lambda: strategy.run(tf.square, args=(next(batches),)))
    for _ in range(3):
        step()


@fails_by("end-of-data")
def more_eager_calls_than_batches() -> None:
    strategy = two_cpus()
    batches = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4)))
    for _ in range(3):
        next(batches)


@fails_by("not-batched")
def dataset_without_batches() -> None:
    two_cpus().experimental_distribute_dataset(tf.data.Dataset.range(8))


@fails_by("not-batched")
def fit_without_batches() -> None:
    strategy = two_cpus()
    with strategy.scope():
        model = keras.Sequential([dense()])
        model.compile("sgd", "mse")
    model.fit(tf.data.Dataset.from_tensors((1.0, 1.0)).repeat(4), verbose=0)


@fails_by("batch-not-divisible")
def batch_that_does_not_divide() -> None:
    two_cpus().distribute_datasets_from_function(
        lambda context: tf.data.Dataset.range(8).batch(context.get_per_replica_batch_size(3))
    )


def yielding(value: object, signature: tf.TensorSpec) -> tf.data.Dataset:
    def generator() -> Iterator[object]:
        yield from [value] * 8

    return tf.data.Dataset.from_generator(generator, output_signature=signature).batch(4)


@fails_by("generator-type")
def generator_of_another_type() -> None:
    list(yielding("one", tf.TensorSpec([], tf.float32)))


@fails_by("generator-shape")
def generator_of_another_shape() -> None:
    two = yielding(np.zeros(3), tf.TensorSpec([2], tf.float32))
    for batch in two_cpus().experimental_distribute_dataset(two):
        del batch


@fails_by("input-python")
def generator_that_raises() -> None:
    def generator() -> Iterator[float]:
        yield 1.0
        raise KeyError("no such column")

    data = tf.data.Dataset.from_generator(generator, output_signature=tf.TensorSpec([]))
    for batch in two_cpus().experimental_distribute_dataset(data.batch(4)):
        del batch


@fails_by("input-python")
def python_of_a_map_that_raises() -> None:
    def read(value: object) -> object:
        raise ValueError(f"bad row {value}")

    data = tf.data.Dataset.range(4).map(lambda one: tf.py_function(read, [one], tf.int64))
    list(data.batch(4))


@fails_by("input-python")
def generator_of_a_bad_value() -> None:
    def generator() -> Iterator[float]:
        yield float("1.0 kg")

    list(tf.data.Dataset.from_generator(generator, output_signature=tf.TensorSpec([])))


@fails_by("input-python")
def python_of_a_map_that_misses_a_key() -> None:
    def read(value: object) -> object:
        raise KeyError(value)

    data = tf.data.Dataset.range(4).map(lambda one: tf.py_function(read, [one], tf.int64))
    list(data.batch(4))


@fails_by("ragged-batch")
def examples_of_different_shapes() -> None:
    data = tf.data.Dataset.range(1, 9).map(tf.ones).batch(4)
    for batch in two_cpus().experimental_distribute_dataset(data):
        del batch


@fails_by("no-file")
def dataset_of_a_missing_file() -> None:
    list(two_cpus().experimental_distribute_dataset(tf.data.TFRecordDataset("gone").batch(4)))


@fails_by("broken-record")
def dataset_of_a_broken_file() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.tfrecord"
        path.write_bytes(b"no record of TensorFlow's")
        list(two_cpus().experimental_distribute_dataset(tf.data.TFRecordDataset(path).batch(4)))


@fails_by("broken-record")
def dataset_of_a_file_that_is_cut_off() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.tfrecord"
        with tf.io.TFRecordWriter(str(path)) as writer:
            writer.write(b"an example")
        path.write_bytes(path.read_bytes()[:-5])
        list(two_cpus().experimental_distribute_dataset(tf.data.TFRecordDataset(path).batch(4)))


@fails_by("example-feature")
def example_with_more_values_of_the_feature() -> None:
    values = tf.train.Feature(float_list=tf.train.FloatList(value=[1, 2, 3]))
    three = tf.train.Example(features=tf.train.Features(feature={"x": values}))
    parsed = {"x": tf.io.FixedLenFeature([2], tf.float32)}
    tf.io.parse_single_example(three.SerializeToString(), parsed)


@fails_by("example-feature")
def example_without_the_feature() -> None:
    empty = tf.train.Example().SerializeToString()
    tf.io.parse_single_example(empty, {"x": tf.io.FixedLenFeature([], tf.float32)})


def shards_by_file(data: tf.data.Dataset) -> None:
    """What a strategy of two workers does with a dataset that is to be divided by its files."""
    sharded = tf.raw_ops.AutoShardDataset(
        input_dataset=tf.data.experimental.to_variant(data),
        num_workers=2,
        index=0,
        auto_shard_policy=tf.data.experimental.AutoShardPolicy.FILE,
        num_replicas=2,
        output_types=[data.element_spec.dtype],
        output_shapes=[data.element_spec.shape],
    )
    list(tf.data.experimental.from_variant(sharded, data.element_spec))


@fails_by("too-few-files")
def shards_of_too_few_files() -> None:
    shards_by_file(tf.data.TFRecordDataset(["data.tfrecord"]).batch(4))


@fails_by("no-shardable-files")
def shards_of_files_without_files() -> None:
    shards_by_file(tf.data.Dataset.range(8).batch(4))


@fails_by("arrays-differ")
def arrays_of_different_length() -> None:
    with two_cpus().scope():
        model = keras.Sequential([dense()])
        model.compile("sgd", "mse")
    model.fit(np.ones((8, 2)), np.ones((6, 1)), verbose=0)


@fails_by("not-numbers")
def fit_of_strings() -> None:
    fit([dense()], np.array([["a"], ["b"]] * 4), np.ones((8, 1)))


@fails_by("not-numbers")
def array_of_objects() -> None:
    with two_cpus().scope():
        model = keras.Sequential([dense()])
        model.compile("sgd", "mse")
    model.fit(np.array([[1], [1, 2]] * 4, dtype=object), np.ones((8, 1)), verbose=0)


@fails_by("not-numbers")
def dataset_of_objects() -> None:
    tf.data.Dataset.from_tensor_slices(np.array([[1], [1, 2]] * 4, dtype=object))


@fails_by("not-numbers")
def text_as_numbers() -> None:
    tf.cast(tf.constant("1.0"), tf.float32)


@fails_by("labels", replica=1, layer="sparse_categorical_crossentropy")
def label_beyond_the_classes() -> None:
    fit([dense(2)], np.ones((8, 2)), np.array([0, 1, 0, 7] * 2), SPARSE)


SPARSE = "sparse_categorical_crossentropy"


@fails_by("embedding-index", replica=1, layer="embedding")
def index_beyond_the_table() -> None:
    words = [keras.layers.Embedding(3, 2), keras.layers.Flatten(), dense()]
    fit(words, np.array([[0], [1], [2], [9]] * 2), np.ones((8, 1)))


# Shapes and types


@fails_by("incompatible-shapes", replica=1)
def sum_of_other_shapes() -> None:
    def replica() -> tf.Tensor:
        rank = in_replica().replica_id_in_sync_group
        return tf.ones([2]) + tf.ones(tf.random.uniform([1], 2, 3, tf.int32) + rank)

    on_each(replica)


@fails_by("incompatible-shapes")
def sum_of_other_known_shapes() -> None:
    on_each(lambda: tf.ones(2) + tf.ones(3))


@fails_by("incompatible-shapes")
def product_of_other_shapes() -> None:
    tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))


@fails_by("layer-input")
def input_that_the_layer_was_not_built_for() -> None:
    fit([keras.Input([3]), dense()], np.ones((8, 2)), np.ones((8, 1)))


@fails_by("loss-shape")
def targets_of_another_shape() -> None:
    fit([dense(3)], np.ones((8, 2)), np.ones((8, 2)), "categorical_crossentropy")


@fails_by("assigned-shape")
def assigned_another_shape() -> None:
    with two_cpus().scope():
        weight = tf.Variable(tf.zeros([2]))
    weight.assign(tf.zeros([3]))


@fails_by("mixed-types")
def half_and_single_precision() -> None:
    on_each(lambda: tf.matmul(tf.ones([2, 2], tf.float16), tf.ones([2, 2])))


@fails_by("mixed-types")
def half_and_single_precision_eagerly() -> None:
    tf.add(tf.ones([2], tf.float16), tf.ones([2]))


@fails_by("not-finite", replica=1)
def value_that_is_not_a_number() -> None:
    def replica() -> tf.Tensor:
        rank = tf.cast(in_replica().replica_id_in_sync_group, tf.float32)
        return tf.debugging.check_numerics(tf.math.log(1 - 2 * rank), "loss")

    on_each(replica)


@fails_by("not-finite")
def value_that_is_infinite_in_any_op() -> None:
    tf.debugging.enable_check_numerics()
    try:
        tf.function(lambda: tf.math.log(tf.zeros([2])))()
    finally:
        tf.debugging.disable_check_numerics()


@fails_by("out-of-memory")
def tensor_that_no_machine_holds() -> None:
    tf.function(lambda: tf.random.uniform([1 << 45]))()


# Contexts


@fails_by("merge-call-in-cond")
def all_reduce_in_a_condition() -> None:
    def replica() -> tf.Tensor:
        reduce = lambda: in_replica().all_reduce("sum", tf.ones([]))  # noqa: E731
        return tf.cond(tf.random.uniform([]) < 2, reduce, lambda: tf.zeros([]))

    on_each(replica)


@fails_by("merge-call-in-cond")
def all_reduce_in_a_function_of_its_own() -> None:
    inner = tf.function(lambda: in_replica().all_reduce("sum", tf.ones([])))
    on_each(lambda: inner() + 1)


@fails_by("gradient-accumulation")
def fit_that_accumulates_gradients() -> None:
    with two_cpus().scope():
        model = keras.Sequential([dense()])
        model.compile(keras.optimizers.SGD(gradient_accumulation_steps=2), "mse")
    model.fit(np.ones((8, 2)), np.ones((8, 1)), batch_size=4, verbose=0)


@fails_by("unequal-merge-calls")
def all_reduce_of_one_replica() -> None:
    def replica() -> None:
        if in_replica().replica_id_in_sync_group == 0:
            in_replica().merge_call(str)

    two_cpus().run(replica)


@fails_by("cross-replica-call")
def reduce_inside_of_a_replica() -> None:
    strategy = two_cpus()
    strategy.run(lambda: strategy.reduce("SUM", 1.0, axis=None))


@fails_by("cross-replica-call")
def run_inside_of_a_replica() -> None:
    strategy = two_cpus()
    strategy.run(lambda: strategy.run(lambda: 1.0))


@fails_by("cross-replica-call")
def scope_inside_of_a_replica() -> None:
    strategy = two_cpus()

    def replica() -> None:
        with strategy.scope():
            tf.Variable(1.0)

    strategy.run(replica)


@fails_by("replica-call")
def all_reduce_outside_of_a_replica() -> None:
    with two_cpus().scope():
        in_replica().all_reduce("sum", tf.ones([]))


@fails_by("replica-call")
def all_gather_outside_of_a_replica() -> None:
    with two_cpus().scope():
        in_replica().all_gather(tf.ones([1]), axis=0)


@fails_by("replica-call")
def number_of_the_replica_outside_of_it() -> None:
    with two_cpus().scope():
        in_replica().replica_id_in_sync_group  # noqa: B018


@fails_by("replica-call")
def gradients_applied_outside_of_a_replica() -> None:
    with two_cpus().scope():
        weight = keras.Variable(1.0)
        keras.optimizers.SGD().apply_gradients([(tf.ones([]), weight)])


@fails_by("replica-call")
def scaled_gradients_applied_outside_of_a_replica() -> None:
    with two_cpus().scope():
        weight = keras.Variable(1.0)
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
        optimizer.apply_gradients([(tf.ones([]), weight)])


@fails_by("tape-outside-of-replica")
def gradient_outside_of_a_replica() -> None:
    with two_cpus().scope():
        weight = tf.Variable(1.0)
        with tf.GradientTape() as tape:
            loss = weight * 2.0
        tape.gradient(loss, weight)


@fails_by("next-in-replica")
def batch_taken_inside_of_a_replica() -> None:
    strategy = two_cpus()
    batches = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4)))
    strategy.run(lambda: next(batches))


@fails_by("other-strategy")
def run_in_the_scope_of_another_strategy() -> None:
    with two_cpus().scope():
        two_cpus().run(lambda: 1.0)


@fails_by("other-strategy")
def scope_in_the_scope_of_another_strategy() -> None:
    with two_cpus().scope(), two_cpus().scope():
        pass


@fails_by("other-scope")
def method_outside_of_the_scope() -> None:
    strategy = two_cpus()
    strategy.extended.update(tf.Variable(1.0), lambda weight: weight.assign(2.0))


# Variables


@fails_by("variable-in-step")
def variable_made_by_each_call() -> None:
    on_each(lambda: tf.Variable(1.0).read_value())


@fails_by("variable-in-step")
def layer_made_by_each_call() -> None:
    step = tf.function(lambda x: dense()(x) + 1)
    step(tf.ones([1, 2]))
    step(tf.ones([2, 2]))


@fails_by("unknown-variable")
def optimizer_of_other_variables() -> None:
    with two_cpus().scope():
        optimizer = keras.optimizers.SGD()
        optimizer.build([keras.Variable(1.0)])
        weight = keras.Variable(1.0)

    two_cpus().run(lambda: optimizer.apply_gradients([(tf.ones([]), weight)]))


@fails_by("other-scope")
def model_made_outside_of_the_scope() -> None:
    model = keras.Sequential([keras.Input([2]), dense()])
    with two_cpus().scope():
        model.compile("sgd", "mse")
    model.fit(np.ones((8, 2)), np.ones((8, 1)), verbose=0)


@fails_by("other-scope")
def optimizer_made_outside_of_the_scope() -> None:
    optimizer = keras.optimizers.Adam()
    with two_cpus().scope():
        model = keras.Sequential([keras.Input([2]), dense()])
    model.compile(optimizer, "mse")
    model.fit(np.ones((8, 2)), np.ones((8, 1)), verbose=0)


@fails_by("other-scope")
def variable_of_no_strategy_in_a_step() -> None:
    weight = keras.Variable(1.0)
    strategy = two_cpus()
    with strategy.scope():
        optimizer = keras.optimizers.Adam()
    step = tf.function(
        lambda: strategy.run(lambda: optimizer.apply_gradients([(tf.ones([]), weight)]))
    )
    step()


@fails_by("other-strategy")
def variable_of_another_strategy() -> None:
    with two_cpus().scope():
        weight = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
    two_cpus().run(lambda: weight.assign(2.0))


@fails_by("other-scope")
def update_of_a_variable_of_no_strategy() -> None:
    weight = tf.Variable(1.0)
    strategy = two_cpus()
    with strategy.scope():
        strategy.extended.update(weight, lambda own: own.assign(2.0))


@fails_by("no-aggregation")
def assigned_without_aggregation() -> None:
    strategy = tf.distribute.experimental.CentralStorageStrategy(["CPU:0", "CPU:1"], "CPU:0")
    with strategy.scope():
        weight = tf.Variable(1.0)
    strategy.run(lambda: weight.assign(2.0))


@fails_by("mean-of-integers")
def mean_of_integers() -> None:
    strategy = two_cpus()
    with strategy.scope():
        count = tf.Variable(1, aggregation=tf.VariableAggregation.MEAN)
    strategy.run(lambda: count.assign_add(1))


@fails_by("on-read-assigned")
def on_read_variable_added_to_outside_of_a_replica() -> None:
    with two_cpus().scope():
        count = tf.Variable(
            1.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        count.assign_add(1.0)


@fails_by("no-gradients")
def loss_of_no_weight() -> None:
    class Model(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = self.add_weight(shape=(1,))

        def call(self, batch: Any) -> Any:
            return tf.stop_gradient(batch * self.weight)

    with two_cpus().scope():
        model = Model()
        model.compile("sgd", "mse")
    model.fit(np.ones((8, 1)), np.ones((8, 1)), verbose=0)


@fails_by("tape-used-twice")
def two_gradients_of_one_tape() -> None:
    weight = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        loss = weight * 2.0
    tape.gradient(loss, weight)
    tape.gradient(loss, weight)


# Values of replicas


def one_of_each() -> Any:
    return two_cpus().run(lambda: tf.ones([]) * float(in_replica().replica_id_in_sync_group))


@fails_by("per-replica-value")
def number_of_all_replicas() -> None:
    float(one_of_each())


@fails_by("per-replica-value")
def array_of_all_replicas() -> None:
    one_of_each().numpy()


@fails_by("per-replica-value")
def sum_of_all_replicas() -> None:
    one_of_each() + 1.0


@fails_by("per-replica-value")
def mean_of_all_replicas() -> None:
    tf.reduce_mean(one_of_each())


@fails_by("per-replica-value")
def format_of_all_replicas() -> None:
    format(one_of_each(), ".3f")


@fails_by("captured-per-replica")
def batch_of_all_replicas_in_a_closure() -> None:
    strategy = two_cpus()
    every = strategy.run(lambda: tf.ones([]) * float(in_replica().replica_id_in_sync_group))
    strategy.run(lambda: tf.function(lambda one: one)(every))


@fails_by("no-tensor-returned")
def object_returned_to_a_graph() -> None:
    on_each(object)


@fails_by("run-arguments")
def arguments_that_are_no_tuple() -> None:
    two_cpus().run(tf.square, args=tf.ones([]))


@fails_by("reduce-op")
def reduced_by_no_such_operation() -> None:
    two_cpus().reduce("average", 1.0, axis=None)


@fails_by("reduce-axis")
def axis_that_a_scalar_does_not_have() -> None:
    two_cpus().reduce("MEAN", one_of_each(), axis=0)


@fails_by("reduce-axis")
def axis_that_a_scalar_of_a_replica_does_not_have() -> None:
    strategy = two_cpus()
    each = strategy.run(lambda: tf.ones([]) * float(in_replica().replica_id_in_sync_group))
    strategy.reduce("SUM", each, axis=0)


@fails_by("concatenated-shapes")
def gathered_different_shapes() -> None:
    strategy = two_cpus()
    each = strategy.run(lambda: tf.ones([2, in_replica().replica_id_in_sync_group + 1]))
    strategy.gather(each, axis=0)


@fails_by("concatenated-shapes")
def gathered_different_shapes_in_a_step() -> None:
    on_each(
        lambda: in_replica().all_gather(
            tf.ones([2, in_replica().replica_id_in_sync_group + 1]), axis=0
        )
    )


# Graphs


class Calling(keras.layers.Layer):  # type: ignore[misc]
    """A layer that is a function, which AutoGraph does not convert."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def call(self, batch: Any) -> Any:
        return self.function(batch)


@fails_by("python-condition")
def condition_of_python_in_a_layer() -> None:
    halved = Calling(lambda batch: batch / 2 if tf.reduce_sum(batch) > 1 else batch)
    fit([halved, dense()], np.ones((8, 2)), np.ones((8, 1)))


@fails_by("python-condition")
def loop_of_python_in_a_replica() -> None:
    on_each(lambda: list(tf.range(tf.cast(tf.random.uniform([]), tf.int32))))


@fails_by("numpy-in-graph")
def array_of_a_graph() -> None:
    on_each(lambda: tf.ones([]).numpy())


@fails_by("numpy-in-graph")
def number_of_a_tensor_in_a_layer() -> None:
    scaled = Calling(lambda batch: batch * float(tf.reduce_sum(batch)))
    fit([scaled, dense()], np.ones((8, 2)), np.ones((8, 1)))


@fails_by("numpy-in-graph")
def numpy_of_a_graph() -> None:
    on_each(lambda: np.mean(tf.ones([])))


@fails_by("tensor-left-its-graph")
def tensor_kept_by_a_list() -> None:
    kept: list[tf.Tensor] = []
    on_each(lambda: kept.append(tf.random.uniform([])))
    tf.function(lambda: kept[0] + 1)()


@fails_by("xla-op")
def op_that_xla_does_not_have() -> None:
    tf.function(lambda: tf.py_function(float, [1.0], tf.float32), jit_compile=True)()


@fails_by("channels-first")
def channels_first_on_a_cpu() -> None:
    # oneDNN, which TensorFlow uses on some CPUs alone, computes float32 with channels first too.
    images = tf.ones([2, 3, 8, 8], tf.float64)
    tf.nn.max_pool2d(images, 2, 2, "VALID", data_format="NCHW")


# Strategies, devices and clusters


@contextmanager
def only_as_named() -> Iterator[None]:
    """Without soft placement, by which TensorFlow takes another device than the one named."""
    before = tf.config.get_soft_device_placement()
    tf.config.set_soft_device_placement(False)
    try:
        yield
    finally:
        tf.config.set_soft_device_placement(before)


@fails_by("no-device")
def variable_of_a_device_that_does_not_exist() -> None:
    with only_as_named(), tf.distribute.OneDeviceStrategy("GPU:0").scope():
        tf.Variable(1.0)


@fails_by("no-device")
def op_of_a_device_that_does_not_exist() -> None:
    with only_as_named(), tf.device("GPU:0"):
        tf.function(lambda: tf.random.uniform([]))()


@fails_by("device-twice")
def device_given_twice() -> None:
    tf.distribute.MirroredStrategy(["CPU:0", "CPU:0"])


@fails_by("devices-late")
def devices_made_too_late() -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)


@fails_by("devices-late")
def devices_hidden_too_late() -> None:
    tf.config.set_visible_devices([], "CPU")


@fails_by("devices-late")
def threads_set_too_late() -> None:
    tf.config.threading.set_inter_op_parallelism_threads(3)


@contextmanager
def tf_config(text: str) -> Iterator[None]:
    with mock.patch.dict(os.environ, {"TF_CONFIG": text}):
        yield


def cluster(task: dict[str, Any], **jobs: list[str]) -> str:
    return json.dumps({"cluster": jobs, "task": task})


@fails_by("collectives-late")
def workers_joined_too_late() -> None:
    tf.ones([]) + 1
    worker = {"type": "worker", "index": 0}
    with tf_config(cluster(worker, worker=["localhost:1", "localhost:2"])):
        tf.distribute.MultiWorkerMirroredStrategy()


@fails_by("tf-config")
def cluster_that_is_no_json() -> None:
    with tf_config("{'cluster': {}}"):
        tf.distribute.MultiWorkerMirroredStrategy()


@fails_by("tf-config")
def worker_that_the_cluster_does_not_have() -> None:
    worker = {"type": "worker", "index": 2}
    with tf_config(cluster(worker, worker=["localhost:1", "localhost:2"])):
        tf.distribute.MultiWorkerMirroredStrategy()


@fails_by("tf-config")
def job_that_the_cluster_does_not_have() -> None:
    with tf_config(cluster({"type": "chief", "index": 0}, worker=["localhost:1"])):
        tf.distribute.MultiWorkerMirroredStrategy()


@fails_by("tf-config")
def job_of_another_name() -> None:
    trainer = {"type": "trainer", "index": 0}
    with tf_config(cluster(trainer, trainer=["localhost:1", "localhost:2"])):
        tf.distribute.MultiWorkerMirroredStrategy()


@fails_by("tf-config")
def cluster_without_a_task() -> None:
    with tf_config(json.dumps({"cluster": {"worker": ["localhost:1", "localhost:2"]}})):
        tf.distribute.MultiWorkerMirroredStrategy()


@fails_by("no-servers")
def no_parameter_server() -> None:
    with tf_config(cluster({"type": "chief", "index": 0}, chief=["localhost:1"])):
        resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        tf.distribute.ParameterServerStrategy(resolver)


@fails_by("no-servers")
def no_worker_for_parameter_servers() -> None:
    chief = {"type": "chief", "index": 0}
    with tf_config(cluster(chief, chief=["localhost:1"], ps=["localhost:2"])):
        resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        tf.distribute.ParameterServerStrategy(resolver)


@fails_by("no-servers")
def no_cluster_for_parameter_servers() -> None:
    with tf_config("{}"):
        resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        tf.distribute.ParameterServerStrategy(resolver)


@fails_by("coordinator-strategy")
def coordinator_of_another_strategy() -> None:
    tf.distribute.coordinator.ClusterCoordinator(two_cpus())


@fails_by("port-in-use")
def server_on_a_used_port() -> None:
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        listening.listen()
        address = f"localhost:{listening.getsockname()[1]}"
        tf.distribute.Server({"worker": [address]}, job_name="worker", task_index=0)


@fails_by("no-tpu")
def tpu_without_a_name() -> None:
    tf.distribute.cluster_resolver.TPUClusterResolver()


@fails_by("no-tpu")
def tpu_that_is_not_there() -> None:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
    tf.tpu.experimental.initialize_tpu_system(resolver)


# Keras


@fails_by("not-compiled")
def fit_before_compile() -> None:
    with two_cpus().scope():
        model = keras.Sequential([dense()])
    model.fit(np.ones((8, 2)), np.ones((8, 1)), verbose=0)


@fails_by("not-compiled")
def fit_without_a_loss() -> None:
    with two_cpus().scope():
        model = keras.Sequential([dense()])
        model.compile("sgd")
    model.fit(np.ones((8, 2)), np.ones((8, 1)), verbose=0)


@fails_by("keras-2")
def reduction_of_keras_2() -> None:
    keras.losses.MeanSquaredError(reduction="auto")


@fails_by("keras-2")
def optimizer_of_keras_2() -> None:
    keras.optimizers.legacy.SGD()


@fails_by("keras-2")
def argument_of_keras_2() -> None:
    keras.optimizers.SGD(lr=0.1)


@fails_by("old-tensorflow")
def method_of_tensorflow_2_1() -> None:
    two_cpus().experimental_run_v2(lambda: None)


@fails_by("old-tensorflow")
def placeholder_of_tensorflow_1() -> None:
    tf.placeholder(tf.float32)


@fails_by("old-tensorflow")
def session_of_tensorflow_1() -> None:
    tf.Session()


@fails_by("schedule-set")
def learning_rate_set_beside_a_schedule() -> None:
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    with two_cpus().scope():
        model = keras.Sequential([dense()])
        model.compile(keras.optimizers.SGD(schedule), "mse")
    slower = keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (1 + epoch))
    model.fit(np.ones((8, 2)), np.ones((8, 1)), verbose=0, callbacks=[slower])


@fails_by("keras-tensor")
def function_of_tensorflow_on_an_input() -> None:
    with two_cpus().scope():
        tf.reduce_sum(keras.Input([2]))


@fails_by("loss-structure")
def two_targets_for_one_output() -> None:
    with two_cpus().scope():
        model = keras.Sequential([dense()])
        model.compile("sgd", "mse")
    ones = np.ones((8, 1))
    model.fit(ones, [ones, ones], verbose=0)


@fails_by("no-batch")
def fit_of_no_data() -> None:
    fit([keras.Input([2]), dense()], np.ones((0, 2)), np.ones((0, 1)))


@fails_by("not-built")
def weights_saved_before_they_are_made() -> None:
    with tempfile.TemporaryDirectory() as folder:
        keras.Sequential([dense()]).save_weights(f"{folder}/a.weights.h5")


@fails_by("saved-name")
def weights_saved_without_their_suffix() -> None:
    with two_cpus().scope():
        model = keras.Sequential([keras.Input([2]), dense()])
    model.save_weights("weights.ckpt")


@fails_by("saved-name")
def checkpoint_without_its_suffix() -> None:
    keras.callbacks.ModelCheckpoint("model-{epoch}")


@fails_by("saved-name")
def model_saved_without_a_suffix() -> None:
    keras.Sequential([keras.Input([2]), dense()]).save("model")


@fails_by("other-weights")
def weights_of_another_model() -> None:
    with tempfile.TemporaryDirectory() as folder, two_cpus().scope():
        path = f"{folder}/a.weights.h5"
        keras.Sequential([keras.Input([2]), dense()]).save_weights(path)
        keras.Sequential([keras.Input([3]), dense()]).load_weights(path)


@fails_by("other-weights")
def weights_of_a_larger_model() -> None:
    with tempfile.TemporaryDirectory() as folder, two_cpus().scope():
        path = f"{folder}/a.weights.h5"
        keras.Sequential([keras.Input([2]), dense()]).save_weights(path)
        keras.Sequential([keras.Input([2]), dense(), dense()]).load_weights(path)


@fails_by("assigned-shape")
def checkpoint_of_other_shapes() -> None:
    with tempfile.TemporaryDirectory() as folder, two_cpus().scope():
        path = tf.train.Checkpoint(weight=tf.Variable(tf.zeros([2]))).save(f"{folder}/a")
        tf.train.Checkpoint(weight=tf.Variable(tf.zeros([3]))).restore(path)


@fails_by("no-checkpoint")
def checkpoint_that_is_not_there() -> None:
    with two_cpus().scope():
        tf.train.Checkpoint(weight=tf.Variable(1.0)).restore("/gone/checkpoint-1")


# Errors that no entry explains


@fails_by(None)
def error_after_the_end_of_the_data() -> None:
    batches = iter(tf.data.Dataset.range(2))
    try:
        while True:
            next(batches)
    except StopIteration:
        raise ValueError("no model was better than the first one")  # noqa: B904


@fails_by(None)
def end_of_an_iterator_of_the_program() -> None:
    next(iter([]))


@fails_by(None)
def error_that_quotes_a_known_one() -> None:
    if two_cpus().num_replicas_in_sync:  # not: "End of sequence"
        raise ValueError("too few words")  # Tensor had NaN


@fails_by(None)
def value_error_of_the_program() -> None:
    raise ValueError("the learning rate must be positive")


@fails_by(None)
def key_error_of_the_program() -> None:
    raise KeyError("steps")


@fails_by(None)
def attribute_error_of_the_program() -> None:
    None.numpy()  # type: ignore[attr-defined]


@fails_by(None)
def module_that_is_not_there() -> None:
    import no_such_module_of_anyone  # type: ignore[import-not-found]  # noqa: F401


@fails_by(None)
def file_that_is_not_there() -> None:
    Path("/gone/settings.json").read_text("utf-8")


@fails_by(None)
def division_by_zero() -> None:
    1 / 0  # noqa: B018


@fails_by(None)
def assertion_of_the_program() -> None:
    tf.debugging.assert_positive(tf.constant(-1), "the length of a word")


@fails_by(None)
def array_of_numpy_of_another_shape() -> None:
    np.ones(2) + np.ones(3)


@fails_by(None)
def json_of_the_program() -> None:
    json.loads("{'no': json}")


@fails_by(None)
def error_of_a_callback() -> None:
    class Stopping(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            raise RuntimeError(f"no disk for epoch {epoch} with {logs is None}")

    fit([dense()], np.ones((8, 2)), np.ones((8, 1)), callbacks=[Stopping()])


@fails_by(None)
def socket_that_is_used() -> None:
    with ExitStack() as stack:
        one = stack.enter_context(socket.socket())
        one.bind(("localhost", 0))
        stack.enter_context(socket.socket()).bind(one.getsockname())
