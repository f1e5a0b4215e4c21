"""How many functions of Python a step of a traced program costs.

Between two steps Python's code is not in the caches, so each call takes one to three microseconds
of the program's thread. Their number is the same on every machine, once the first window is
converted: until then the recorder looks after each step.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.run]

MOST_CALLS = 25
"""Per step with a batch of two replicas and a loss: 25, and 138 before they were counted."""
MOST_CALLS_OF_FIT = 40
"""The same of Keras's `fit`: 35, and 78 before they were counted."""
COUNT = """
import sys, time

def is_labs(frame):
    return frame is not None and "strategy_core" in frame.f_code.co_filename

def count(frame, event, _argument):
    called_by_lab = is_labs(frame.f_back) and frame.f_back.f_code.co_name not in CALL_THE_PROGRAM
    counts[-1] += event == "call" and (is_labs(frame) or called_by_lab)

CALL_THE_PROGRAM = ("outermost_call", "_fetch", "_batch_begin", "_batch_end")
counts = []
most, gives_up_s = int(sys.argv[1]), time.monotonic() + 60
"""
PROGRAM = """
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
batches = tf.data.Dataset.from_tensor_slices(tf.ones([8, 4])).repeat().batch(4)
batches = iter(strategy.experimental_distribute_dataset(batches))
with strategy.scope():
    weight = tf.Variable(1.0)

def replica_step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(batch * weight)
    gradient = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weight))
    weight.assign_sub(gradient * 0.01)
    return loss

@tf.function
def train_step(batch):
    return strategy.reduce("SUM", strategy.run(replica_step, args=(batch,)), axis=None)

def step():
    train_step(next(batches)).numpy()

for _ in range(20):
    step()
while min(counts, default=most + 1) > most and time.monotonic() < gives_up_s:
    counts.append(0)
    sys.setprofile(count)
    step()
    sys.setprofile(None)
print(min(counts))
"""
FIT = """
import keras
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
data = tf.data.Dataset.from_tensors((tf.ones([4]), tf.ones([4]))).repeat()
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
    model.compile("sgd", "mse")

class Counting(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        sys.setprofile(None)
        is_over = min(counts, default=most + 1) <= most or time.monotonic() > gives_up_s
        self.model.stop_training = is_over
        if batch > 20 and not is_over:
            counts.append(0)
            sys.setprofile(count)

model.fit(
    data.batch(4, drop_remainder=True), steps_per_epoch=10**6, verbose=0, callbacks=[Counting()]
)
print(min(counts))
"""


@pytest.mark.long(keep=1)
@pytest.mark.parametrize(
    ("program", "most"), [(PROGRAM, MOST_CALLS), (FIT, MOST_CALLS_OF_FIT)], ids=["custom", "fit"]
)
def test_a_traced_step_costs_few_calls(tmp_path: Path, program: str, most: int) -> None:
    command = [sys.executable, "-m", "strategy_core", "trace", "-o", str(tmp_path / "run")]
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [*command, "-c", COUNT + program, str(most)],
        env=quiet,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert 0 < int(done.stdout) <= most
