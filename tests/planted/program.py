"""Programs of others with one cause of slowness planted in each: `python -m tests.planted.program`.

    python -m tests.planted.program KIND RUN

Each is an ordinary `tf.distribute` program on two virtual CPU devices, recorded by `lab.record` or
`lab.RecorderCallback`. What is planted is marked with `planted`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import strategy_core as lab
from strategy_profiles.spec.run_spec import Capture

STEPS = 24
BATCH = 32
FEATURES = 64
GENERATOR_S = 0.05
CAPTURE = Capture(every_step=True)
"""A short run: its one early window would be over before a full buffer is empty."""


def strategy() -> tf.distribute.Strategy:
    """Two replicas, and a device that no replica has."""
    (cpu,) = tf.config.list_physical_devices("CPU")
    three = [tf.config.LogicalDeviceConfiguration()] * 3
    tf.config.set_logical_device_configuration(cpu, three)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def in_memory() -> tf.data.Dataset:
    features = np.random.default_rng(0).normal(size=(BATCH * 8, FEATURES)).astype("f")
    data = tf.data.Dataset.from_tensor_slices((features, features[:, :1]))
    return data.repeat().batch(BATCH, drop_remainder=True).prefetch(8)


def of_two_kinds() -> tf.data.Dataset:
    """Every fourth batch has numbers above 1, which `computing_by_batch` computes on for long."""
    batches = np.zeros((8, BATCH, FEATURES), "f")
    batches[::4] = 4.0  # planted
    features = batches.reshape(-1, FEATURES)
    data = tf.data.Dataset.from_tensor_slices((features, features[:, :1]))
    return data.repeat().batch(BATCH, drop_remainder=True).prefetch(8)


def in_float64() -> tf.data.Dataset:
    features = np.random.default_rng(0).normal(size=(BATCH * 8, FEATURES))  # planted: no dtype
    data = tf.data.Dataset.from_tensor_slices((features, features[:, :1]))
    return data.repeat().batch(BATCH, drop_remainder=True).prefetch(8)


def in_memory_with_a_rest() -> tf.data.Dataset:
    features = np.random.default_rng(0).normal(size=(BATCH + 2, FEATURES)).astype("f")
    data = tf.data.Dataset.from_tensor_slices((features, features[:, :1]))
    return data.batch(BATCH).repeat().prefetch(8)


def of_changing_length() -> tf.data.Dataset:
    """A little shorter, batch after batch."""

    def batches() -> Iterator[Any]:
        for number in range(STEPS):
            features = np.ones((2 * BATCH - 2 * number, FEATURES), "f")  # planted
            yield features, features[:, :1]

    shapes = (tf.TensorSpec((None, FEATURES)), tf.TensorSpec((None, 1)))
    return tf.data.Dataset.from_generator(batches, output_signature=shapes)


def python_prefetched() -> tf.data.Dataset:
    """Python in a map that runs ahead of the steps, for about as long as a step."""

    def python(values: Any) -> Any:
        sum(number * 1e-12 for number in range(100_000))  # planted
        return values

    def mapped(features: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        computed = tf.numpy_function(python, [features], tf.float32)
        return tf.ensure_shape(computed, features.shape), labels

    return in_memory().map(mapped, num_parallel_calls=2).prefetch(8)


def slow_generator() -> tf.data.Dataset:
    def batches() -> Iterator[Any]:
        features = np.random.default_rng(0).normal(size=(BATCH, FEATURES)).astype("f")
        while True:
            time.sleep(GENERATOR_S)  # planted
            yield features, features[:, :1]

    shapes = (tf.TensorSpec((BATCH, FEATURES)), tf.TensorSpec((BATCH, 1)))
    return tf.data.Dataset.from_generator(batches, output_signature=shapes)


def fit(
    run: str,
    data_of: Callable[[], tf.data.Dataset],
    *callbacks: keras.callbacks.Callback,
    hidden: int = 0,
    steps: int = STEPS,
    epochs: int = 1,
    validation_of: Callable[[], tf.data.Dataset | None] = lambda: None,
    **compiled: Any,
) -> None:
    """Keras `fit`. `callbacks` come after the recorder, `compiled` are arguments of `compile`.

    `hidden` is the size of three more layers.
    """
    mirrored = strategy()  # before TensorFlow's runtime starts, which data would do
    with mirrored.scope():
        layers = [keras.layers.Dense(hidden) for _ in range(3 if hidden else 0)]
        model = keras.Sequential([keras.Input((FEATURES,)), *layers, keras.layers.Dense(1)])
        model.compile("sgd", "mse", **compiled)
    recorder = lab.RecorderCallback(run, capture=CAPTURE, global_batch_size=BATCH)
    called = [recorder, *callbacks]
    model.fit(
        data_of(),
        steps_per_epoch=steps,
        epochs=epochs,
        validation_data=validation_of(),
        verbose=0,
        callbacks=called,
    )


def loop(
    run: str,
    *,
    scale_of: Callable[[int], Any] = lambda _step: 1.0,
    after: Callable[[Any], Any] = lambda loss: loss,
    in_replica: Callable[[tf.Tensor], tf.Tensor] = lambda features: features,
    data_of: Callable[[], tf.data.Dataset] = in_memory,
    between: Callable[[], Any] = lambda: None,
    compiled: bool = True,
    by_xla: bool = False,
) -> None:
    """A custom loop; each argument is where one program differs from the healthy one."""
    mirrored = strategy()
    data = data_of()
    with mirrored.scope():
        weights = tf.Variable(tf.zeros((FEATURES, 1), data.element_spec[0].dtype))

    def replica_step(features: tf.Tensor, labels: tf.Tensor, scale: Any) -> tf.Tensor:
        features = in_replica(features)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((features @ weights - labels) ** 2) * scale
        gradient = tape.gradient(loss, weights)
        replica = tf.distribute.get_replica_context()
        weights.assign_sub(1e-3 * replica.all_reduce("sum", gradient))
        return loss

    def train_step(batch: Any, scale: Any) -> tf.Tensor:
        losses = mirrored.run(replica_step, args=(*batch, scale))
        return mirrored.reduce("mean", losses, axis=None)

    step_of = tf.function(train_step, jit_compile=by_xla or None) if compiled else train_step
    batches = mirrored.experimental_distribute_dataset(data)
    with lab.record(run, mirrored, capture=CAPTURE, global_batch_size=BATCH) as recorder:
        for number, batch in zip(range(STEPS), recorder.dataset(batches), strict=False):
            with recorder.step() as step:
                loss = step_of(batch, scale_of(number))
                step.result(loss=after(loss))
            between()


def fit_in_float64(run: str) -> None:
    keras.config.set_floatx("float64")  # planted
    fit(run, in_float64, hidden=768)


def fit_in_float16(run: str) -> None:
    keras.mixed_precision.set_global_policy("mixed_float16")  # planted
    fit(run, in_memory, hidden=768)


def checking_each_op(run: str) -> None:
    tf.debugging.enable_check_numerics()  # planted
    loop(run, in_replica=computing)


def on_one_thread(run: str) -> None:
    tf.config.threading.set_inter_op_parallelism_threads(1)  # planted
    loop(run, in_replica=computing)


def fit_on_one_thread(run: str) -> None:
    os.environ["TF_NUM_INTEROP_THREADS"] = "1"  # planted: TensorFlow's runtime has not started
    fit(run, in_memory, hidden=768)


def creating_in_first_step(run: str, *, is_model_built: bool) -> None:
    """A model that is built, or not, and an optimizer that creates its slots in the first step."""
    mirrored = strategy()
    with mirrored.scope():
        model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
        if is_model_built:
            model.build((None, FEATURES))
        # SGD without momentum has no slots
        optimizer = keras.optimizers.Adam() if is_model_built else keras.optimizers.SGD()

    def replica_step(features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(features) - labels) ** 2)  # planted
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    @tf.function
    def train_step(batch: Any) -> tf.Tensor:
        return mirrored.reduce("mean", mirrored.run(replica_step, args=batch), axis=None)

    batches = mirrored.experimental_distribute_dataset(in_memory())
    with lab.record(run, mirrored, capture=CAPTURE, global_batch_size=BATCH) as recorder:
        for _, batch in zip(range(STEPS), recorder.dataset(batches), strict=False):
            with recorder.step():
                train_step(batch)


def of_two_strategies(run: str) -> None:
    """Two models that take turns, each under a strategy of its own."""
    first = strategy()
    second = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])  # planted

    def step_of(mirrored: tf.distribute.Strategy, size: int) -> Callable[[], Any]:
        def replica_step() -> tf.Tensor:
            return tf.distribute.get_replica_context().all_reduce("sum", tf.ones([size]))

        return tf.function(lambda: mirrored.run(replica_step))

    steps = [step_of(first, 3), step_of(second, 5)]
    with lab.record(run, first, capture=CAPTURE) as recorder:
        for number in range(STEPS):
            with recorder.step():
                steps[number % 2]()


def of_different_shapes(features: tf.Tensor) -> tf.Tensor:
    """Each replica reduces a tensor of another length."""
    rows = BATCH // 2 - is_replica(1)  # planted
    replica = tf.distribute.get_replica_context()
    return features + tf.reduce_sum(replica.all_reduce("sum", features[:rows])) * 1e-9


def lookups(run: str, densely: Callable[[tf.IndexedSlices], tf.Tensor]) -> None:
    """A table of 8 MB, of which a step uses a few rows."""
    mirrored = strategy()
    with mirrored.scope():
        table = tf.Variable(tf.zeros((65_536, 32)))

    def replica_step(features: tf.Tensor, _labels: tf.Tensor) -> tf.Tensor:
        rows = tf.cast(tf.abs(features) * 1000, tf.int32)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.gather(table, rows) - 1.0) ** 2)
        gradient = densely(tape.gradient(loss, table))
        replica = tf.distribute.get_replica_context()
        table.assign_sub(replica.all_reduce("sum", gradient))
        return loss

    @tf.function
    def train_step(batch: Any) -> tf.Tensor:
        return mirrored.reduce("mean", mirrored.run(replica_step, args=batch), axis=None)

    batches = mirrored.experimental_distribute_dataset(in_memory())
    with lab.record(run, mirrored, capture=CAPTURE, global_batch_size=BATCH) as recorder:
        for _, batch in zip(range(STEPS), recorder.dataset(batches), strict=False):
            with recorder.step() as step:
                step.result(loss=train_step(batch))


def reading_elsewhere(run: str, megabytes: int, device: str = "CPU:2") -> None:
    """Both replicas read a table that is on one device: that of another or of neither."""
    tables: list[tf.Variable] = []

    def look_up(features: tf.Tensor) -> tf.Tensor:
        return features + tf.reduce_sum(tables[0].read_value(), axis=0)

    def data() -> tf.data.Dataset:
        with tf.device(device):  # planted
            tables.append(tf.Variable(tf.zeros((megabytes * 1_000_000 // 256, FEATURES))))
        return in_memory()

    loop(run, in_replica=look_up, data_of=data)


def taking_a_table(run: str, device: str) -> None:
    """Both replicas use rows of a table that the step's function captures, on one device."""
    tables: list[tf.Tensor] = []

    def look_up(features: tf.Tensor) -> tf.Tensor:
        rows = tf.cast(tf.abs(features[:, 0]) * 1000, tf.int32)
        return features + tf.gather(tables[0], rows)

    def data() -> tf.data.Dataset:
        with tf.device(device):
            tables.append(tf.zeros((16_000, FEATURES)))  # planted
        return in_memory()

    loop(run, in_replica=look_up, data_of=data)


def host_work(loss: tf.Tensor) -> float:
    value = float(loss.numpy())
    for number in range(200_000):
        value += number * 1e-12  # planted
    return value


def pinned(features: tf.Tensor, replica: int = 0) -> tf.Tensor:
    """A replica's own work on the other replica's device."""
    if is_replica(replica):
        features = tf.ensure_shape(features, (BATCH // 2, FEATURES))
        with tf.device(f"CPU:{1 - replica}"):  # planted
            large = tf.tile(features, [64, 8])
            for _ in range(2):
                large = tf.matmul(large, tf.matmul(large, large, transpose_a=True)) * 1e-6
            features = features + large[: BATCH // 2, :FEATURES] * 1e-9
    return features


def is_replica(number: int) -> bool:
    replica = tf.distribute.get_replica_context().replica_id_in_sync_group
    return bool(tf.get_static_value(tf.convert_to_tensor(replica)) == number)


def late(features: tf.Tensor, replica: int) -> tf.Tensor:
    """A replica with three times the work of the other."""
    for _ in range(3 if is_replica(replica) else 1):  # planted
        features = computing(features)
    return features


def in_python(features: tf.Tensor, work: Callable[[], Any]) -> tf.Tensor:
    def python(values: Any) -> Any:
        work()  # planted
        return values

    return tf.ensure_shape(tf.numpy_function(python, [features], tf.float32), features.shape)


def pause(loss: Any) -> Any:
    time.sleep(0.02)  # planted
    return loss


def computing(features: tf.Tensor) -> tf.Tensor:
    """Enough work for a step that nothing but the replicas limits."""
    large = tf.tile(features, [64, 8])
    for _ in range(2):
        large = tf.matmul(large, tf.matmul(large, large, transpose_a=True)) * 1e-6
    return features + large[: tf.shape(features)[0], :FEATURES] * 1e-9


def in_a_loop(features: tf.Tensor) -> tf.Tensor:
    """Ops on some thousand numbers each, which TensorFlow takes for cheap and does not record."""
    for _ in tf.range(1000):
        features = tf.ensure_shape(tf.sin(features) * 1.001, (BATCH // 2, FEATURES))  # planted
    return features


def multiplying_in_a_loop(features: tf.Tensor) -> tf.Tensor:
    """Ops that are recorded."""
    for _ in tf.range(500):
        features = features - 1e-9 * tf.matmul(features, tf.ones((FEATURES, FEATURES)))  # planted
        features = tf.ensure_shape(features, (BATCH // 2, FEATURES))
    return features


def printing(features: tf.Tensor) -> tf.Tensor:
    many = tf.tile(features, [8, 1])
    tf.print(many, summarize=-1, output_stream=f"file://{os.devnull}")  # planted
    return features


def checking(features: tf.Tensor) -> tf.Tensor:
    for number in range(25):
        features = tf.debugging.check_numerics(features * 1.001, f"{number}")  # planted
    return features


def in_float16(features: tf.Tensor) -> tf.Tensor:
    half = tf.tile(tf.cast(features, tf.float16), [64, 4])  # planted
    product = tf.cast(tf.matmul(half, half, transpose_a=True), tf.float32)
    return features + product[: BATCH // 2, :FEATURES] * 1e-9


def computing_by_batch(features: tf.Tensor) -> tf.Tensor:
    rounds = 1 + 3 * tf.cast(features[0, 0] > 1, tf.int32)
    for _ in tf.range(rounds):
        features = tf.ensure_shape(computing(features), (BATCH // 2, FEATURES))
    return features


def computing_on_some(features: tf.Tensor) -> tf.Tensor:
    """Only the batches that are of the other kind are computed on."""
    if features[0, 0] > 1:
        for _ in range(4):
            features = tf.ensure_shape(computing(features), (BATCH // 2, FEATURES))
    return features


class SavingEachBatch(keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        time.sleep(GENERATOR_S)  # planted


class SavingEachSeventh(keras.callbacks.Callback):
    """After another number of steps than a capture window has."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        if batch % 7 == 6:
            time.sleep(0.5)  # planted


class SavingEachEpoch(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        time.sleep(0.5)  # planted


def dense_product(gradient: tf.IndexedSlices) -> tf.Tensor:
    return tf.convert_to_tensor(gradient) * 1e-3  # planted


def dense_sum(gradient: tf.IndexedSlices) -> tf.Tensor:
    return tf.add_n([gradient, gradient])  # planted


PROGRAMS: dict[str, Callable[[str], None]] = {
    "healthy": lambda run: loop(run, in_replica=computing),
    "healthy-light": loop,
    "healthy-fit": lambda run: fit(run, in_memory),
    "retracing": lambda run: loop(run, scale_of=lambda step: 1.0 + step / 1000),
    "retracing-shapes": lambda run: loop(run, data_of=of_changing_length),
    "host-round-trip": lambda run: loop(run, after=host_work),
    "host-pause": lambda run: loop(run, after=pause),
    "pinned-op": lambda run: loop(run, in_replica=pinned),
    "pinned-op-back": lambda run: loop(run, in_replica=lambda each: pinned(each, 1)),
    "generator": lambda run: fit(run, slow_generator),
    "generator-prefetched": lambda run: fit(run, lambda: slow_generator().prefetch(4)),
    "python-prefetched": lambda run: loop(run, data_of=python_prefetched),
    "late-replica": lambda run: loop(run, in_replica=lambda each: late(each, 1)),
    "late-replica-0": lambda run: loop(run, in_replica=lambda each: late(each, 0)),
    "python-op": lambda run: loop(
        run, in_replica=lambda each: in_python(each, lambda: sum(range(200_000)))
    ),
    "python-op-asleep": lambda run: loop(
        run, in_replica=lambda each: in_python(each, lambda: time.sleep(0.02))
    ),
    "eager": lambda run: loop(run, compiled=False),
    "eager-computing": lambda run: loop(run, compiled=False, in_replica=computing),
    "partial-batch": lambda run: loop(run, data_of=in_memory_with_a_rest),
    "partial-batch-computing": lambda run: loop(
        run, data_of=in_memory_with_a_rest, in_replica=computing
    ),
    "dense-gradient": lambda run: lookups(run, dense_product),
    "dense-gradient-sum": lambda run: lookups(run, dense_sum),
    "one-thread": on_one_thread,
    "one-thread-fit": fit_on_one_thread,
    "float64": lambda run: loop(run, data_of=in_float64, in_replica=computing),
    "float64-fit": fit_in_float64,
    "float16": lambda run: loop(run, in_replica=in_float16),
    "float16-fit": fit_in_float16,
    "loop-of-small-ops": lambda run: loop(run, in_replica=in_a_loop),
    "loop-of-products": lambda run: loop(run, in_replica=multiplying_in_a_loop),
    "printing": lambda run: loop(run, in_replica=printing),
    "checking": lambda run: loop(run, in_replica=checking),
    "checking-each-op": checking_each_op,
    "between-steps": lambda run: loop(run, between=lambda: time.sleep(GENERATOR_S)),
    "slow-callback": lambda run: fit(run, in_memory, SavingEachBatch()),
    "saving-each-seventh": lambda run: fit(run, in_memory, SavingEachSeventh(), steps=60),
    "saving-each-epoch": lambda run: fit(run, in_memory, SavingEachEpoch(), epochs=4),
    "validated-each-epoch": lambda run: fit(
        run, in_memory, epochs=4, validation_of=lambda: slow_generator().take(8)
    ),
    "unsteady": lambda run: loop(run, data_of=of_two_kinds, in_replica=computing_by_batch),
    "unsteady-branch": lambda run: loop(run, data_of=of_two_kinds, in_replica=computing_on_some),
    "two-strategies": of_two_strategies,
    "shapes-differ": lambda run: loop(run, in_replica=of_different_shapes),
    "compiled-step": lambda run: loop(run, by_xla=True),
    "compiled-fit": lambda run: fit(run, in_memory, jit_compile=True),
    "optimizer-not-built": lambda run: creating_in_first_step(run, is_model_built=True),
    "model-not-built": lambda run: creating_in_first_step(run, is_model_built=False),
    "captured-table": lambda run: taking_a_table(run, "CPU:0"),
    "captured-table-of-another": lambda run: taking_a_table(run, "CPU:1"),
    "variable-elsewhere": lambda run: reading_elsewhere(run, 1),
    "large-variable-elsewhere": lambda run: reading_elsewhere(run, 16),
    "variable-of-another": lambda run: reading_elsewhere(run, 16, "CPU:1"),
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](sys.argv[2])
